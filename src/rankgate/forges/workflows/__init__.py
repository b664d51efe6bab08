"""The two GitHub workflows of `rankgate init`. Pure: a `Job` in, a file's text or the next steps out."""
