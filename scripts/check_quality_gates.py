#!/usr/bin/env python3
"""The gate as one script, for teams whose pipeline calls scripts: `rankgate check` with the same flags and exit codes.

usage: python scripts/check_quality_gates.py [--criteria F] [--gold F] [--run F] [--baseline SPEC] [-o FILE]...
"""

from __future__ import annotations

import sys

try:
    from rankgate.cli import main
except ModuleNotFoundError as error:
    print(f"error: {error}; install it first, as with `pip install .` in the repository", file=sys.stderr)
    sys.exit(2)

if __name__ == "__main__":
    sys.exit(main(["check", *sys.argv[1:]]))
