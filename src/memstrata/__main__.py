"""``python -m memstrata`` is the command line."""

import sys

from memstrata.cli import main

sys.exit(main())
