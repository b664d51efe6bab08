"""Every measure that rankgate knows: one file a family, one row each in `registry`, names read by `names`."""
