"""Growing the gold set: pools to label, and labels merged into the gold set."""
