"""A report becomes the answer to one question: a query's story, how a verdict came about, what was missed. Pure."""
