"""The reference scenario over two processes and one file (AG-5)."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

import typer

FIRST = (
    "For future incident updates, write in English, keep replies concise, use email as the "
    "primary channel, and remember that I am enterprise tier."
)
SECOND = "Draft an update on the payment incident: card payments fail for some customers"
AUDITED = "where should incident updates go?"


def run_demo(keep: Path | None) -> bool:
    """Play both sessions, each in a process of its own; returns whether all went well."""
    with tempfile.TemporaryDirectory() as temporary:
        store = str(keep or Path(temporary) / "demo.db")
        steps = (
            ("Session 1, first process. The user says:", FIRST, ("agent", "capture", FIRST)),
            ("What is stored now, and on what grounds:", "", ("list",)),
            ("What would be recalled, and why:", AUDITED, ("recall", AUDITED)),
            ("Session 2, second process. The user asks:", SECOND, ("agent", "answer", SECOND)),
            ("Who wrote what, proved by the chain of audit events:", "", ("audit", "verify")),
        )
        return all(_step(title, said, store, verb) for title, said, verb in steps)


def _step(title: str, said: str, store: str, verb: tuple[str, ...]) -> bool:
    typer.echo(f"\n── {title}")
    if said:
        typer.echo(f"   “{said}”\n")
    session = "session-1" if "capture" in verb else "session-2"
    # Both sessions are over one file, whatever mode is set for other stores.
    chosen = ["--mode", "local", "--store", store, "--user", "ana"]
    command = [sys.executable, "-m", "simonides", *chosen]
    done = subprocess.run(  # noqa: S603 - our own interpreter and arguments
        [*command, "--session", session, *verb],
        check=False,
        capture_output=True,
        text=True,
        encoding="utf-8",
    )
    # That the store is new needs no telling here.
    shown = done.stdout if done.returncode == 0 else done.stdout + done.stderr
    typer.echo("\n".join(f"   {line}" for line in shown.splitlines()))
    return done.returncode == 0
