"""Commands about conversations: show, add, search and end sessions; import a transcript."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from simonides.cli import render
from simonides.cli.options import Options, refuse_if
from simonides.domain.conversation.session import EntryKind
from simonides.domain.errors import InvalidInput
from simonides.domain.writing.decision import OutcomeKind
from simonides.engine.prompting.render import visible

if TYPE_CHECKING:
    from simonides.api.sync import Memory
    from simonides.domain.conversation.session import LoggedEntry, OpenSession, SessionEndReport
    from simonides.transfer.transcripts import ImportedTurn, NumberedDraft

session_app = typer.Typer(help="Conversations.", no_args_is_help=True, rich_markup_mode=None)

Name = Annotated[
    str | None, typer.Argument(help="Of the session; default: that of --session before the verb.")
]


def list_sessions(context: typer.Context) -> None:
    """Show the sessions that have not ended."""
    chosen: Options = context.obj
    with chosen.open(context) as store:
        found = chosen.memory(store).sessions()
    chosen.show(found, _sessions)


def show(context: typer.Context, name: Name = None) -> None:
    """Show what was said in a session."""
    chosen: Options = context.obj
    with chosen.open(context) as store:
        found = chosen.memory(store).session(name).entries()
    chosen.show(found, _entries)


def add(
    context: typer.Context,
    role: Annotated[str, typer.Argument(help="user, assistant, tool or other.")],
    text: Annotated[str, typer.Argument(help="What was said.")],
    speaker: Annotated[str | None, typer.Option(help="Name of who said it.")] = None,
    at: Annotated[str | None, typer.Option(help="When, ISO 8601.")] = None,
) -> None:
    """Append a turn to the session that --session names."""
    chosen: Options = context.obj
    with chosen.open(context) as store:
        added = chosen.memory(store).session().add(role, text, speaker=speaker, at=at)
    chosen.show(added, _added)


def search(
    context: typer.Context,
    query: Annotated[str, typer.Argument()],
    limit: Annotated[int, typer.Option("--limit", "-k", help="At most this many.")] = 5,
) -> None:
    """Show what of the session that --session names serves a query."""
    chosen: Options = context.obj
    with chosen.open(context) as store:
        found = chosen.memory(store).session().search(query, limit=limit)
    chosen.show(found, render.recall)


def end(
    context: typer.Context,
    name: Name = None,
    due: Annotated[
        bool, typer.Option("--due", help="All that nobody has gone on with, of every owner.")
    ] = False,
) -> None:
    """End a session: store what it leaves, and drop its log. For cron: --due."""
    chosen: Options = context.obj
    if due and name is not None:
        raise typer.BadParameter("--due ends those of every owner; leave out the name")
    with chosen.open(context) as store:
        if due:
            reports = store.end_due_sessions()
            chosen.show(reports, render.sessions_ended)
        else:
            session = chosen.memory(store).session(name)
            reports = (session.end(),)
            chosen.show(reports[0], _ended)
            # Nothing was said in one of this name, now or before: it is a name that slipped.
            refuse_if(not reports[0].already and not reports[0].entries)
    refuse_if(any(note.startswith("failed:") for one in reports for note in one.diagnostics))


def import_session(
    context: typer.Context,
    file: Annotated[Path, typer.Argument(help="JSON Lines, one turn a line; - reads stdin.")],
    end: Annotated[
        bool, typer.Option("--end", help="Take what is new through the end of its session, too.")
    ] = False,
) -> None:
    """Keep a transcript's turns as verbatim memories; importing twice adds nothing."""
    chosen: Options = context.obj
    with chosen.open(context) as store:
        memory = chosen.memory(store)
        read = read_turns(memory, file)
        turns = import_turns(memory, read)
        reports = memory.end_transcript([draft for _, draft in read]) if end else ()
    if end:
        chosen.show({"turns": turns, "sessions": reports}, render.imported_and_ended)
    else:
        chosen.show(turns, render.imported)
    refuse_if(any(turn.outcome.kind is OutcomeKind.BLOCKED for turn in turns))


def read_turns(memory: Memory, file: Path) -> tuple[NumberedDraft, ...]:
    """Read a file's turns, all of them or none.

    Raises:
        InvalidInput: If the file cannot be read or a line is wrong.
    """
    from simonides.transfer.transcripts import parse_transcript

    return parse_transcript(lines_of(file), memory.check)


def import_file(memory: Memory, file: Path) -> tuple[ImportedTurn, ...]:
    """Read a file and store its turns; nothing is stored if any line is wrong.

    Raises:
        InvalidInput: If the file cannot be read or a line is wrong.
        StoreError: As :func:`import_turns`.
    """
    return import_turns(memory, read_turns(memory, file))


def import_turns(memory: Memory, turns: Sequence[NumberedDraft]) -> tuple[ImportedTurn, ...]:
    """Store turns that were read; those of batches after the user was erased are ``blocked``.

    Raises:
        StoreError: If the store could not; earlier batches are stored, and importing again goes
            on from there.
    """
    from simonides.transfer.transcripts import batches, report

    imported: list[ImportedTurn] = []
    memory = memory.unless_erased()
    with typer.progressbar(length=len(turns), label="importing", file=sys.stderr) as progress:
        for batch in batches(turns):
            outcomes = memory.remember_many([draft for _, draft in batch])
            imported += report(batch, outcomes)
            progress.update(len(batch))
    return tuple(imported)


def lines_of(file: Path) -> list[str]:
    """Return the lines of a file, or of standard input for ``-``.

    Raises:
        InvalidInput: If it cannot be read.
    """
    try:
        text = sys.stdin.read() if str(file) == "-" else file.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInput(str(file), f"cannot be read: {error}") from error
    return text.split("\n")


session_app.command("list")(list_sessions)
for _command in (show, add, search, end):
    session_app.command()(_command)
session_app.command("import")(import_session)


def _sessions(values: Sequence[OpenSession]) -> str:
    lines = []
    for one in values:
        left = "" if one.due_at is None else f"  left at {one.due_at:%Y-%m-%d %H:%M}"
        entries = f"{one.entries:>5} entries"
        lines.append(f"{visible(one.name):<24} {one.started_at:%Y-%m-%d %H:%M} {entries}{left}")
    return "\n".join(lines) or "no session is open"


def _entries(values: Sequence[LoggedEntry]) -> str:
    return "\n".join(map(_entry, values)) or "nothing was said"


def _entry(value: LoggedEntry) -> str:
    entry = value.entry
    who = entry.speaker or entry.tool or str(entry.role)
    told = "decision" if entry.kind is EntryKind.DECISION else visible(who)
    failed = "  (failed)" if entry.failed else ""
    said = visible(" ".join(entry.text.split()))
    return f"{value.number:>4} {value.at:%H:%M:%S} {told:<12} {said}{failed}"


def _added(value: LoggedEntry) -> str:
    return "\n".join([_entry(value), *(f"note: {reason}" for reason in value.reasons)])


def _ended(value: SessionEndReport) -> str:
    if value.already:
        return f"{visible(value.session)} had ended before"
    if not value.entries:
        return f"no session called {visible(value.session)} is open"
    summary = "no summary" if value.summary is None else f"summary {value.summary.kind}"
    promoted = ", ".join(f"{outcome.kind}" for outcome in value.promoted) or "nothing"
    stored = f"{value.counts.get('stored', 0)} stored"
    parts = [f"{value.entries} entries", stored, summary, f"promoted: {promoted}"]
    parts += [f"{value.kept} kept for another session"] if value.kept else []
    parts += [f"{value.let_go} let go"] if value.let_go else []
    parts += [f"note: {note}" for note in value.diagnostics]
    return f"{visible(value.session)} ended: {', '.join(parts)}"
