"""Where the accepted run is kept: one module a store, chosen in `stores`."""

import re
from pathlib import Path

# What `--baseline` takes beside a run file, as messages and help name it.
KINDS = "a directory, git+branch:NAME, file://…, s3://… and other addresses"

# `scheme:`, of more than one letter, so that a drive of Windows is none.
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:")


def is_remote(spec: str) -> bool:
    """Whether a value names a store by a scheme and is no path: `git+branch:NAME`, `s3://…`."""
    ours = "://" in spec or spec.startswith("git+branch:")  # whatever file may have that name
    return bool(_SCHEME.match(spec)) and (ours or not Path(spec).exists())
