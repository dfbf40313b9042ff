"""The command line: the verbs of the Python API under the same names, and a demonstration."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Sequence


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code.

    Args:
        argv: The arguments without the program's name; None takes those of the process.

    Returns:
        0 done, also for an empty list; 1 refused, nothing found, or a check failed; 2 wrong usage,
        input or settings; 3 any other error of the store; 130 interrupted.
    """
    if argv is None:
        gc.disable()  # most commands are short, and the process ends with them
        # Threads that nothing uses, see `simonides.models.threads`, would still be made.
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # noqa: TID251 - numpy reads it
        # Looking for plugins in every installed package takes 7 ms.
        os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")  # noqa: TID251
    try:
        return _run(argv)
    except BrokenPipeError:
        # The reader of the output went away; the interpreter must not complain at its end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except KeyboardInterrupt:
        return 130


def _run(argv: Sequence[str] | None) -> int:
    if argv is None:
        from simonides.cli.client import ask

        answered = ask(sys.argv[1:], os.environ)  # noqa: TID251 - before anything heavy is loaded
        if answered is not None:
            return answered
    from simonides.cli.app import run

    status = run(sys.argv[1:] if argv is None else argv)
    if argv is None:
        gc.freeze()  # else the interpreter's last collection takes a quarter of `list`
    return status
