"""From files to gold and rankings: one module a format, one row each in `formats`."""
