"""`python -m rankgate`."""

import sys

from rankgate.cli import main

sys.exit(main())
