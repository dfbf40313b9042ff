"""Commands that remove data: forget memories, erase a user, check the receipt of an erasure."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import simonides
from simonides.cli import render
from simonides.cli.options import (
    Filter,
    Key,
    Options,
    json_of,
    refuse_if,
)
from simonides.domain.errors import InvalidInput
from simonides.domain.governance.erasure import (
    ErasureReceipt,
    ErasureState,
    ReceiptCheck,
    check_alone,
)
from simonides.domain.scope import DEFAULT_ORG, Principal
from simonides.domain.writing.decision import OutcomeKind

if TYPE_CHECKING:
    from simonides.api.sync import Store

erase_app = typer.Typer(invoke_without_command=True, rich_markup_mode=None)

By = Annotated[
    str | None, typer.Option("--by", help="Administrator in whose name the record is made.")
]
ReceiptFile = Annotated[
    Path | None, typer.Option("--receipt", help="Write the receipt, as JSON, to this file.")
]


def forget(
    context: typer.Context,
    id: Annotated[str | None, typer.Option(help="One memory.")] = None,
    key: Key = None,
    scope: Annotated[
        str | None, typer.Option(help="Where; alone it means everything there.")
    ] = None,
    source: Annotated[
        str | None, typer.Option(help="What came from one source, and all derived from it.")
    ] = None,
    origin: Annotated[
        str | None,
        typer.Option(help="What was read from one URL, document or tool, and all derived from it."),
    ] = None,
    filter: Filter = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only count.")] = False,
) -> None:
    """Delete memories with all their versions and keep them from being learned again."""
    chosen: Options = context.obj
    with chosen.open(context) as store:
        outcome = chosen.memory(store).forget(
            id,
            key=key,
            scope=scope,
            source=source,
            origin=origin,
            filter=json_of("--filter", filter),
            dry_run=dry_run,
        )
    chosen.show(outcome, render.forgotten)
    refuse_if(outcome.kind is not OutcomeKind.FORGOTTEN and "dry_run" not in outcome.reasons)


@erase_app.callback()
def erase(
    context: typer.Context,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    by: By = None,
    receipt: ReceiptFile = None,
) -> None:
    """Erase everything of a user, or of a session without one, and prove it; no way back."""
    if context.invoked_subcommand is not None:
        return
    chosen: Options = context.obj
    name = _subject(chosen, by)
    if not yes:
        said = typer.prompt(f"Everything of {name!r} goes for good. Type the name to erase it")
        if said != name:
            typer.echo("simonides: nothing was erased", err=True)
            refuse_if(True)
    with chosen.open(context) as store:
        if by is None:
            made = chosen.memory(store).erase()
        else:
            made = store.admin(by=by).erase(name, org=chosen.org or DEFAULT_ORG)
    _show_receipt(chosen, made, receipt)


@erase_app.command("status")
def erasure_status(context: typer.Context, by: By = None, receipt: ReceiptFile = None) -> None:
    """Show how the last erasure stands, after trying to complete it."""
    chosen: Options = context.obj
    name = _subject(chosen, by)
    with chosen.open(context) as store:
        if by is None:
            made = chosen.memory(store).erasure()
        else:
            made = store.admin(by=by).erasure(name, org=chosen.org or DEFAULT_ORG)
    if made is None:
        typer.echo("simonides: there was no erasure", err=True)
        refuse_if(True)
        return
    _show_receipt(chosen, made, receipt)


@erase_app.command("verify")
def verify_receipt(
    context: typer.Context,
    file: Annotated[
        Path, typer.Argument(metavar="RECEIPT", help="The receipt's JSON; - for stdin.")
    ],
    store: Annotated[
        str | None, typer.Option("--store", help="Check it beside this store too.")
    ] = None,
) -> None:
    """Check a receipt: by itself, and beside the store if one is named."""
    chosen: Options = context.obj
    receipt = _read_receipt(file)
    target = store or chosen.store
    if target is None:
        offline = "without --store neither the seal nor the rows can be checked"
        check = ReceiptCheck(check_alone(receipt), ("receipt",), (offline,))
    else:
        with simonides.open(target, mode="local") as opened:
            check = _check_with_store(opened, receipt)
    chosen.show(check, _check)
    refuse_if(not check.ok)


def _check_with_store(store: Store, receipt: ErasureReceipt) -> ReceiptCheck:
    return store.admin(by="erase verify").check_erasure(receipt)


def _subject(chosen: Options, by: str | None) -> str:
    """Return the name of whom the options mean; raises as every verb does without one."""
    if by is not None and chosen.user is None:
        raise InvalidInput("--by", "an administrator erases a user; name it with --user")
    Principal.resolve(user=chosen.user, org=chosen.org, session=chosen.session)
    return str(chosen.user if chosen.user is not None else chosen.session)


def _show_receipt(chosen: Options, made: ErasureReceipt, file: Path | None) -> None:
    if file is not None:
        file.write_text(json.dumps(made.to_dict(), indent=1) + "\n", "utf-8")
    chosen.show(made, _receipt)
    refuse_if(made.state is ErasureState.PENDING)


def _read_receipt(file: Path) -> ErasureReceipt:
    try:
        text = (
            typer.get_text_stream("stdin").read() if str(file) == "-" else file.read_text("utf-8")
        )
        raw: Any = json.loads(text)
    except (OSError, ValueError) as error:
        raise InvalidInput("RECEIPT", f"cannot be read: {error}") from error
    return ErasureReceipt.from_dict(raw)


def _receipt(value: ErasureReceipt) -> str:
    lines = [f"{value.state}: subject {value.subject}, erased at {value.erased_at:%F %T} UTC"]
    lines += [f"waits for {code}" for code in value.waits]
    removed = ", ".join(f"{count} {part}" for part, count in sorted(value.removed.items()))
    lines.append(f"removed: {removed or 'nothing'}; {value.copies} copies of others")
    lines.append(f"kept: {value.tombstones} tombstones, link {value.link.seq} of the audit chain")
    if value.unreadable:
        lines.append(
            f"{value.unreadable} of them could not be read: no tombstones of these, and their text "
            "was not looked for"
        )
    lines += [f"{file.result:<8} {file.path} ({file.size} bytes)" for file in value.files]
    lines += [f"may remain in {each.where}: {each.until}" for each in value.remains]
    return "\n".join(lines)


def _check(value: ReceiptCheck) -> str:
    lines = [f"problem: {code}" for code in value.problems]
    lines.append(f"checked: {', '.join(value.checked)}")
    lines += [f"not checked: {why}" for why in value.unchecked]
    return "\n".join(["the receipt holds" if value.ok else "THE RECEIPT DOES NOT HOLD", *lines])
