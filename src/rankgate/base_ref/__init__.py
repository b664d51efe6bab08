"""A check against a base: judged by its files and by the pull request's own; the worse counts."""
