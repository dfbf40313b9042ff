"""``python -m simonides`` is the command line."""

import sys

from simonides.cli import main

sys.exit(main())
