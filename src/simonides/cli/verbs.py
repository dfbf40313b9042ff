"""Commands made from the methods of the Python API.

The parameters of a command are those of its method: positional ones are arguments, keyword-only
ones are options. They are read when a command is called or asked for its help.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import nullcontext
from importlib import import_module
from inspect import Parameter, signature
from typing import TYPE_CHECKING, Any

import typer

import simonides
from simonides.cli.options import (
    ADMINISTRATOR,
    GLOBALS,
    Command,
    Options,
    ProgressBar,
    annotated,
    json_of,
    lines_of,
    options_of,
    params_of,
    progress_bar,
    refuse_if,
    stdin_if_dash,
)
from simonides.cli.parameters import SHORT, help_of
from simonides.cli.tree import NEEDS_YES, Face, command_name
from simonides.domain.errors import InvalidInput

if TYPE_CHECKING:
    from simonides.api.sync import Memory, Store

READ_SOURCES_S = 600.0
"""How long a command may take to read folders of documents, in seconds; chosen."""

SINGULAR = {"kinds", "scopes", "tags", "constraints"}
"""Parameters that take several values; their options are repeated and named in the singular."""

READ_FROM_STDIN = {"content", "messages", "text"}
"""Arguments for which ``-`` means standard input."""

_SCALARS = {"int": int, "float": float, "bool": bool}


class Verb(Command):
    """The command of one method."""

    def __init__(self, face: Face, group: str, method: str, name: str | None = None) -> None:
        super().__init__(
            name or command_name(method), help=face.verbs[method], rich_markup_mode=None
        )
        self._face, self._group, self._method = face, group, method
        self._are_params_read = False

    @property
    def _verb(self) -> str:
        return f"{self._group} {self.name}".strip()

    def get_params(self, ctx: typer.Context) -> list[Any]:  # type: ignore[override]
        """Return the parameters of the method, then the global options."""
        if not self._are_params_read:
            self.params = params_of(self._read_params())
            self._are_params_read = True
        return super().get_params(ctx)

    def parameters(self) -> dict[str, Parameter]:
        """Return the parameters of the method that are given by the command."""
        found = self._signature()
        left_out = {"self", "progress", *GLOBALS}
        if (self._group, self._method) in KEPT_USER:
            left_out -= {"user"}
        return {name: each for name, each in found.items() if name not in left_out}

    def _read_params(self) -> list[Parameter]:
        more = MORE.get(self._verb, MORE.get(self._group, ()))
        own = [_declared(self._verb, each) for each in self.parameters().values()]
        named = {each.name for each in more}
        yes = [_declared(self._verb, _flag("yes"))] if self._verb in NEEDS_YES else []
        return [*more, *(each for each in own if each.name not in named), *yes]

    def invoke(self, ctx: typer.Context) -> None:  # type: ignore[override]
        """Call the method, print its result, end with 1 if it refused."""
        chosen, values = options_of(ctx), ctx.params
        settings = simonides.Settings()
        chosen.require_store(ctx, settings)
        _check_yes(self._verb, values)
        given = self._arguments(chosen, values)
        with (
            chosen.open(ctx, settings) as store,
            progress_bar(str(self.name)) if self._has_progress() else nullcontext() as bar,
        ):
            if bar is not None:
                given["progress"] = _shown_by(bar)
            target = self._target(chosen, store, values)
            if {"documents", "all"} & set(given.get("layer", ())):
                target.maintenance.sources(within_s=READ_SOURCES_S)
            result = getattr(target, self._method)(**given)
            # Imported here: the help of a command needs no renderers.
            from simonides.cli import output

            said = output.text_of(result, self._verb, self._reader(chosen, store))
        chosen.show(result, lambda _: said)
        if self._verb == "receipts replay":
            typer.echo(f"simonides: {result.made}", err=True)
        cursor = getattr(result, "next_cursor", None)
        if cursor is not None:
            option = "--after" if self._method == "messages" else "--cursor"
            typer.echo(f"simonides: there is more; continue with {option} {cursor}", err=True)
        refuse_if(output.is_refused(result, self._verb))

    def _reader(self, chosen: Options, store: Store) -> Memory | None:
        """Return what reads the memories that a write displaced."""
        return None if self._group == "admin" else chosen.memory(store)

    def _has_progress(self) -> bool:
        return "progress" in self._signature()

    def _signature(self) -> Mapping[str, Parameter]:
        type_of = getattr(import_module("simonides.api.sync"), self._face.type)
        return signature(getattr(type_of, self._method)).parameters

    def _arguments(self, chosen: Options, values: Mapping[str, Any]) -> dict[str, Any]:
        """Return what the method is called with; what was not given keeps its default."""
        given = {}
        for name, each in self.parameters().items():
            value = values.get(name)
            if value is not None and value != [] and value != ():
                given[name] = _converted(name, each, value)
        for name in GLOBALS & set(self._signature()):
            if name not in values and self._takes_global(name):
                value = getattr(chosen, name)
                if value is not None:
                    given[name] = value
        prepare = PREPARE.get(self._verb)
        return given if prepare is None else prepare(given, values)

    def _takes_global(self, name: str) -> bool:
        return self._group == "admin" or (self._method, name) == ("forget_many", "session")

    def _target(self, chosen: Options, store: Store, values: Mapping[str, Any]) -> Any:
        if self._group == "admin":
            return store.admin(actor=chosen.actor or ADMINISTRATOR)
        if self._group == "task":
            task = {name: values[name] for name in ("goal", "plan", "constraints") if values[name]}
            return chosen.memory(store).task(name=values["name"], **task)
        if self._group == "session":
            if chosen.session is None:
                raise InvalidInput("--session", "name the session: --session thread-7")
            return chosen.memory(store)
        if self._method == "forget_many" and chosen.user is not None:
            return chosen.user_memory(store)
        memory = chosen.memory(store)
        return getattr(memory, self._group) if self._group else memory


def verbs_of(face: Face, group: str) -> list[Verb]:
    """Return the commands of one group, or of the memory itself (no group)."""
    return [Verb(face, group, method) for method in face.verbs]


KEPT_USER = {
    ("privacy", "grant"),
    ("privacy", "revoke"),
    ("admin", "grant"),
    ("admin", "revoke"),
    ("admin", "erase"),
    ("admin", "erasure"),
}
"""Methods whose parameter ``user`` is an argument of the command, not the global option."""


def _flag(name: str) -> Parameter:
    return Parameter(name, Parameter.KEYWORD_ONLY, default=False, annotation="bool")


def _declared(verb: str, parameter: Parameter) -> Parameter:
    """Return a parameter of a method as one of a command."""
    name, has_default = parameter.name, parameter.default is not Parameter.empty
    kind: Any = _type_of(parameter)
    help = help_of(verb, name)
    if parameter.kind is not Parameter.KEYWORD_ONLY:
        declared: Any = typer.Argument(help=help, show_default=False)
    else:
        option = command_name(name.removesuffix("s") if name in SINGULAR else name)
        flag = f"--{option}"
        if kind is bool and parameter.default is not False:
            flag = f"{flag}/--no-{option}"
        declared = typer.Option(flag, *SHORT.get(name, ()), help=help, show_default=False)
    default = parameter.default if not has_default or kind is bool else None
    annotation = annotated(kind, declared, is_optional=default is not Parameter.empty)
    return Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


def _type_of(parameter: Parameter) -> Any:
    written = str(parameter.annotation)
    if parameter.name in SINGULAR or parameter.name in ("layer", "promote", "plan"):
        return list[str]
    return _SCALARS.get(written.split(" ")[0], str)


def _converted(name: str, parameter: Parameter, value: Any) -> Any:
    """Return a value of the command as the method takes it."""
    written = str(parameter.annotation)
    if "Mapping" in written:
        return json_of(f"--{name}", value)
    if name == "receipt":
        return _receipt(written, value)
    if name in READ_FROM_STDIN:
        return stdin_if_dash(value)
    if name == "path" and value == "-" and "Sequence" in written:
        return lines_of(value)
    return tuple(value) if isinstance(value, list) else value


def _receipt(written: str, file: str) -> Any:
    from simonides.domain.governance.erasure import ErasureReceipt
    from simonides.domain.reading.receipt import Receipt

    raw = json_of(file, "\n".join(lines_of(file)))
    if written == "ErasureReceipt":
        return ErasureReceipt.from_dict(raw)
    # A whole digest or recall holds its receipt.
    return Receipt.from_dict(raw.get("receipt", raw) if isinstance(raw, dict) else raw)


def _shown_by(bar: ProgressBar) -> Callable[..., None]:
    """Return a callback that shows the progress of any verb."""

    def show(*told: Any) -> None:
        if len(told) > 1:
            bar.moved(*told)
            return
        (report,) = told
        if hasattr(report, "step"):
            bar.labelled(report.step)
        bar.moved(report.lines if hasattr(report, "lines") else report.owners, report.of)

    return show


def _check_yes(verb: str, values: Mapping[str, Any]) -> None:
    """Refuse a command that destroys data of all owners without --yes."""
    is_meant = values.get("yes") or values.get("everything") is False
    if verb in NEEDS_YES and not is_meant:
        typer.echo(f"simonides: {verb} cannot be undone; confirm it with --yes", err=True)
        refuse_if(True)


def _message(given: dict[str, Any], values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of ``add`` with the message's role, name and id."""
    said = {key: values[key] for key in ("role", "name") if values.get(key)}
    if said:
        message = {"role": "user", **said, "content": given["messages"]}
        given["messages"] = [message]
    return given


def _draft(given: dict[str, Any], values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of a write as one draft with the fields that only drafts have."""
    from simonides import Draft

    fields = {name: values[name] for name in DRAFT_FIELDS if values.get(name) is not None}
    if not fields:
        return given
    of_method = {name: value for name, value in given.items() if name != "content"}
    return {"content": Draft(given["content"], **of_method, **fields)}


def _admin_draft(given: dict[str, Any], values: Mapping[str, Any]) -> dict[str, Any]:
    from simonides import Draft

    fields = {name: values[name] for name in ("key", "category", *DRAFT_FIELDS) if values.get(name)}
    scope = fields.pop("scope", "/global/")
    return {"draft": Draft(stdin_if_dash(values["draft"]), **fields), "scope": scope}


DRAFT_FIELDS = ("kind", "source", "confidence", "scope", "origin")
"""Fields of a draft that ``remember`` has no parameter for."""

PREPARE: Mapping[str, Callable[[dict[str, Any], Mapping[str, Any]], dict[str, Any]]] = {
    "add": _message,
    "session add": _message,
    "remember": _draft,
    "admin remember": _admin_draft,
}
"""Commands whose arguments differ from the method's."""


def _more(verb: str, **kinds: str) -> tuple[Parameter, ...]:
    return tuple(
        _declared(verb, Parameter(name, Parameter.KEYWORD_ONLY, default=None, annotation=kind))
        for name, kind in kinds.items()
    )


_ABOUT_DRAFT = {
    name: "float" if name == "confidence" else "str" for name in DRAFT_FIELDS if name != "scope"
}

MORE: Mapping[str, tuple[Parameter, ...]] = {
    "add": _more("add", role="str", name="str"),
    "session add": _more("session add", role="str", name="str"),
    "remember": _more("remember", **_ABOUT_DRAFT, scope="str"),
    "admin remember": _more("admin remember", key="str", category="str", **_ABOUT_DRAFT),
    "task": (
        _declared("task", Parameter("name", Parameter.POSITIONAL_OR_KEYWORD, annotation="str")),
        *_more("task", goal="str", plan="list", constraints="list"),
    ),
}
"""Parameters that a command, or each command of a group, has besides the method's."""
