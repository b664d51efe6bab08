"""Where the accepted run is kept: one module a store, chosen in `stores`."""

# What `--baseline` takes beside a run file, as messages and help name it.
KINDS = "a directory, git+branch:NAME, file://…, s3://… and other addresses"
