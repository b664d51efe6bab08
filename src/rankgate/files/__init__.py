"""Files and what git has of them: written so that nobody reads half of one, YAML without surprises, commits by name."""
