"""Why and which: what became of the questions that got worse, and what alone explains most of them. Pure."""
