"""`python -m rankgate`."""

import sys

from rankgate.cli import console

sys.exit(console())
