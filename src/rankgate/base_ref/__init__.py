"""A check against a base: what the base has, what the pull request changed of it, and the stricter verdict."""
