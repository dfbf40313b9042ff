"""The command line: parse, call one verb, render; nothing else.

Exit codes: 0 done, 1 refused or a check failed, 2 bad usage.
"""

from simonides.cli.app import main

__all__ = ["main"]
