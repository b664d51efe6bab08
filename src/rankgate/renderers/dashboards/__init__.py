"""What a lead looks at once a month: a memory of runs as values, and the folder that the pages are written to."""
