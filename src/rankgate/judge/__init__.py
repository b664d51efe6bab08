"""Answers judged by a model: what is asked, what it said, and where that is kept. `check` reads verdicts, offline."""
