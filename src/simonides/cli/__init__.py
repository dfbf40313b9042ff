"""The command line."""

from __future__ import annotations

import logging
import sys
from collections.abc import Sequence


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command and return the exit code: 0 done, 1 failed, 2 wrong usage."""
    logging.getLogger("simonides").addHandler(logging.NullHandler())
    arguments = list(sys.argv[1:] if argv is None else argv)
    if arguments[:1] == ["demo"]:
        from simonides.cli.demo import demo

        return demo(arguments[1:])
    print("usage: simonides demo", file=sys.stderr)
    return 2
