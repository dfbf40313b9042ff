"""How a verb goes over a network: its route, its arguments, its result and its errors as JSON.

The server and the remote face read the same: the list of verbs and the signatures of the methods.
"""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from functools import lru_cache
from importlib import import_module
from pathlib import Path
from types import NoneType
from typing import TYPE_CHECKING, Any, NamedTuple, get_args, get_origin, get_type_hints
from urllib.parse import quote

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    Json,
    TypeAdapter,
    ValidationError,
    create_model,
)

from simonides.api.call import engine_of
from simonides.api.verbs import VERBS, Verb
from simonides.core import errors, outcome, record, results
from simonides.core.errors import InvalidInput, NotFound, SimonidesError
from simonides.core.outcome import Outcome, Outcomes
from simonides.core.record import Draft, Value
from simonides.core.results import Page, Recall
from simonides.core.validation import invalid, nearest
from simonides.govern.alerts import Alert
from simonides.govern.tokens import Access
from simonides.recall.lookup import name_of

if TYPE_CHECKING:
    from simonides.api.memory import Memory

BEGIN = Verb("begin", "task", "memory:Memory.task", "writes",
             "Begin a task, or resume the open one of this name.", "name",
             path="/tasks")  # fmt: skip
CALL = Verb("call", "tools", "tools:Tools.call", "writes",
            "Carry out a language model's call of a tool.", path="/tools/{name}")  # fmt: skip
FLUSH = Verb("flush", "admin", "store:Store.flush", "writes",
             "Do what waits: counts of reads, what a model has to read, sessions that are to end.",
             result="flushed")  # fmt: skip

ROUTED: tuple[Verb, ...] = (*(each for each in VERBS if each.is_routed), BEGIN, CALL, FLUSH)
"""What goes over a network."""

STATUS: Mapping[str, int] = {
    "invalid_input": 400, "invalid_scope": 400, "owner_required": 400, "unauthenticated": 401,
    "scope_denied": 403, "not_found": 404, "idempotency_mismatch": 409, "not_replayable": 410,
    "changed_meanwhile": 412, "quota_exceeded": 429, "store_unavailable": 503,
    "store_read_only": 503, "store_full": 507,
}  # fmt: skip
"""The HTTP status of each error; another one is 500."""

TEXTS: Mapping[str, Any] = {
    "which": str, "path": str, "place": str, "resolves": str | None,
    "if_version": str | None, "outcome": str | list[str],
}  # fmt: skip
"""Arguments that are texts over a network, whatever else they may be in one process."""

_JSON: Any = Json | None

_HOMES = (
    "data.results life.results safety.results knowledge.results govern.rights govern.tokens".split()
)


class Call(NamedTuple):
    """A verb as it goes over a network.

    Attributes:
        verb: The verb.
        method: Of HTTP.
        path: With its arguments in braces.
        named: The arguments that stand in the path.
        takes: The model of the other arguments; of ``remember``, a `Draft`.
        needs: The right that a caller needs.
    """

    verb: Verb
    method: str
    path: str
    named: tuple[str, ...]
    takes: Any
    needs: Access

    @property
    def model_name(self) -> str:
        """Name of the verb as one word, such as ``PendingApprove``."""
        words = f"{self.verb.group}_{self.verb.name}".split("_")
        return "".join(word.capitalize() for word in words)


@lru_cache
def calls() -> Mapping[str, Call]:
    """Return all calls, by what their method is named: ``Memory.recall``."""
    return {verb.function.partition(":")[2]: _call(verb) for verb in ROUTED}


def _call(verb: Verb) -> Call:
    method, path = verb.route.split(" ")
    named = tuple(re.findall(r"{(\w+)}", path))
    call = Call(verb, method, path, named, None, _needed(verb))
    takes = Draft if verb.function == "memory:Memory.remember" else _arguments(call)
    return call._replace(takes=takes)


def _needed(verb: Verb) -> Access:
    if verb.group in ("admin", "token") or (verb.group == "source" and verb.does == "writes"):
        return Access.ADMIN
    if verb.group == "pending" and verb.does == "writes":
        return Access.REVIEW
    return Access.READ if verb.does == "reads" else Access.WRITE


def method_of(verb: Verb) -> Callable[..., Any]:
    """Return the method of a verb."""
    module, _, name = verb.function.partition(":")
    owner, _, method = name.partition(".")
    found: Callable[..., Any] = getattr(
        getattr(import_module(f"simonides.api.{module}"), owner), method
    )
    return found


@lru_cache
def _names() -> dict[str, Any]:
    """Return what the annotations of methods name."""
    modules = [record, outcome, results, *(import_module(f"simonides.{each}") for each in _HOMES)]
    names = {name: value for module in modules for name, value in vars(module).items()}
    return names | {"Any": Any, "Path": Path, "datetime": datetime, "Sequence": Sequence,
                    "Mapping": Mapping, "Task": str}  # fmt: skip


def hints(verb: Verb) -> dict[str, Any]:
    """Return the annotations of a verb's method."""
    return get_type_hints(method_of(verb), localns=_names(), include_extras=True)


def given_in(call: Call, body: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of a call from the body of a request.

    Values are checked where they are used, as in one process.

    Raises:
        InvalidInput: If a name is unknown, or a draft or receipt is malformed.
    """
    _check_names(call, body)
    if call.takes is Draft:
        return {"content": Draft(**body)}
    values = dict(body)
    if isinstance(values.get("drafts"), list):
        values["drafts"] = [_draft(n, each) for n, each in enumerate(values["drafts"])]
    if "receipt" in values and call.verb.group == "receipts":
        try:
            values["receipt"] = _validated(results.Receipt, values["receipt"])
        except ValidationError as error:
            raise invalid(error, tuple(results.Receipt.model_fields)) from error
    return values


def _check_names(call: Call, body: Mapping[str, Any]) -> None:
    """Check that a body names the arguments of a call; truth values must be such."""
    is_draft = call.takes is Draft
    fields: Mapping[str, Any] = Draft.__dataclass_fields__ if is_draft else call.takes.model_fields
    for name, value in body.items():
        if name not in fields:
            raise InvalidInput(name, f"is no argument of this call{nearest(name, fields)}")
        kind: Any = None if is_draft else fields[name].annotation
        if kind in _PLAIN and not isinstance(value, kind):
            raise InvalidInput(name, f"must be {_PLAIN[kind]}, not {type(value).__name__}")
    for name in needed_names(call):
        if name not in body:
            raise InvalidInput(name, "is missing")


def needed_names(call: Call) -> list[str]:
    """Return the arguments that a call cannot do without, but those in its path."""
    if call.takes is Draft:
        return ["content"]
    fields = call.takes.model_fields.items()
    return [name for name, field in fields if field.is_required()]


_PLAIN: Mapping[Any, str] = {bool: "true or false", str: "text"}


def _draft(number: int, data: Any) -> Any:
    """Return a draft; what is none is left to the call, which names it."""
    if not isinstance(data, dict):
        return data
    try:
        return Draft(**data)
    except InvalidInput as error:
        problem = str(error).removeprefix(f"{error.field}: ")
        raise InvalidInput(f"drafts[{number}].{error.field}", problem) from error
    except TypeError as error:
        raise InvalidInput(f"drafts[{number}]", "needs its content") from error


def _arguments(call: Call) -> Any:
    """Return the model of a verb's arguments."""
    of, fields = hints(call.verb), dict[str, Any]()
    for each in inspect.signature(method_of(call.verb)).parameters.values():
        if each.name == "self" or each.name in call.named:
            continue
        hint = TEXTS.get(each.name) or of[each.name]
        if call.method in ("GET", "DELETE") and _is_mapping(hint):
            hint = _JSON
        default = ... if each.default is each.empty else each.default
        fields[each.name] = (hint, Field(default, description=_help(call.verb).get(each.name)))
    config = ConfigDict(extra="forbid", title=call.model_name)
    return create_model(call.model_name, __config__=config, **fields)


def _is_mapping(hint: Any) -> bool:
    return any(get_origin(each) is Mapping for each in (hint, *get_args(hint)))


@lru_cache
def _help(verb: Verb) -> dict[str, str]:
    """Return what the docstring says of each argument."""
    doc = inspect.getdoc(method_of(verb)) or ""
    match = re.search(r"Args:\n(.*?)(?:\n\n|\Z)", doc, re.DOTALL)
    pairs = re.findall(
        r"^    (\w+): (.*?)(?=^    \w+: |\Z)", match[1] if match else "", re.S | re.M
    )
    return {name: " ".join(text.split()) for name, text in pairs}


def carried_out(call: Call, memory: Memory, values: dict[str, Any], session: str | None) -> Any:
    """Carry out a call on a memory.

    Args:
        call: A call of a user, not of an administrator or of the store.
        memory: Of the principal.
        values: The arguments, and ``task`` where the path names one.
        session: The conversation, for a call on one; None is that of the memory.
    """
    from simonides.api.task import Task
    from simonides.tasks import verbs as tasks

    owner, _, method = call.verb.function.partition(":")[2].partition(".")
    if call.verb is BEGIN:
        return memory.task(**values)._who.home.task
    target: Any = memory
    if owner == "Session":
        target = memory.session(session)
    elif owner == "Task":
        who = tasks.principal_of_task(memory._who, values.pop("task"))
        target = Task(memory._link, who, tasks.last_named(engine_of(memory._link), who))
    elif owner == "Tools":
        target = memory.tools()
    elif owner != "Memory":
        target = getattr(memory, owner.lower())
    result = getattr(target, method)(**values)
    if result is None and may_be_none(call.verb):
        raise NotFound(str(values.get("which", "")))
    return result


# -- results ---------------------------------------------------------------------------------------


def encoded(verb: Verb, result: Any) -> Any:
    """Return the result of a verb as JSON-ready data."""
    if hasattr(result, "to_dict"):
        return result.to_dict()
    if isinstance(result, dict):
        told = result.items()
        return {n: [x.to_dict() for x in v] if n == "alerts" else v for n, v in told}
    if verb.result:
        plain = isinstance(result, (bool, int, str))
        return {verb.result: result if plain else str(result) if result is not None else True}
    if isinstance(result, (list, tuple)):
        return {"items": [each.to_dict() for each in result]}
    return result


def may_be_none(verb: Verb) -> bool:
    """Whether a verb returns None where there is nothing."""
    return NoneType in get_args(hints(verb)["return"])


def decoded(verb: Verb, data: Any) -> Any:
    """Return the result of a verb from JSON-ready data: the same object as in one process."""
    hint = hints(verb)["return"]
    if get_origin(hint) is dict:
        more = (
            {"alerts": tuple(_validated(list[Alert], data["alerts"]))} if "alerts" in data else {}
        )
        return data | more
    if verb.result in data and not _is_value(hint):
        value = data[verb.result]
        return None if hint is NoneType else Path(value) if hint is Path else value
    if hint is Recall:
        return Recall(_validated(list[results.Hit], data["items"]), data["degraded"])
    if hint is Outcomes:
        return Outcomes(_validated(list[Outcome], data["items"]))
    origin, inner = get_origin(hint), get_args(hint)
    if origin is Page:
        return Page(_validated(list[inner[0]], data["items"]), data["next_cursor"])  # type: ignore[valid-type]
    if origin in (list, tuple, Sequence):
        items = _validated(list[inner[0]], data["items"])  # type: ignore[valid-type]
        return tuple(items) if origin is tuple else items
    return _validated(hint, data)


def _is_value(hint: Any) -> bool:
    return isinstance(hint, type) and issubclass(hint, Value)


@lru_cache
def _adapter(hint: Any) -> TypeAdapter[Any]:
    return TypeAdapter(hint)


def _validated(hint: Any, data: Any) -> Any:
    """Return data as values; properties that are told like fields are left out."""
    return _adapter(hint).validate_python(data, extra="ignore")


# -- requests --------------------------------------------------------------------------------------


class Request(NamedTuple):
    """A call on its way: HTTP method, path, query and body."""

    method: str
    path: str
    query: dict[str, Any]
    body: dict[str, Any] | None


def request_of(call: Call, given: Mapping[str, Any]) -> Request:
    """Return the request of a call.

    Args:
        call: The call.
        given: Its arguments, and ``task`` and ``session`` where its path names them.
    """
    wire = {name: _plain(name, value) for name, value in given.items() if value is not None}
    if call.takes is Draft:
        draft = wire.pop("content")
        wire = draft if isinstance(draft, dict) else {"content": draft, **wire}
    for name in call.named:
        if not isinstance(wire.get(name), str):
            raise InvalidInput(name, f"must be text, not {type(given.get(name)).__name__}")
        if wire[name] in ("", ".", ".."):  # nothing has such a name, and a path loses it
            raise NotFound(wire[name])
    path = call.path.format(**{name: quote(wire.pop(name), safe="") for name in call.named})
    if call.method not in ("GET", "DELETE"):
        return Request(call.method, path, {}, wire)
    query = {n: json.dumps(v) if n == "filter" else v for n, v in wire.items()}
    return Request(call.method, path, query, None)


def _plain(name: str, value: Any) -> Any:
    """Return an argument as JSON-ready data."""
    match value:
        case Draft():
            return _adapter(Draft).dump_python(value, mode="json", exclude_defaults=True)
        case _ if name == "which":
            return name_of(value)
        case _ if name in ("resolves", "if_version"):
            return getattr(value, "id", value)
        case _ if name == "outcome":
            return _changes(value)
        case results.Receipt():
            return value.to_dict()
        case BaseModel():  # a message of an SDK
            return value.model_dump(mode="json", exclude_none=True)
        case datetime():
            return (value if value.tzinfo else value.astimezone()).isoformat()
        case Path():
            return str(value)
        case tuple() | list():
            return [_plain("", each) for each in value]
        case _:
            return value


def _changes(change: Any) -> str | list[str]:
    """Return the names of the changes that something stands for: events, or ids for `undo`."""
    match change:
        case str():
            return change
        case outcome.Event():
            return f"{change.owner} {change.seq}"
        case Outcome():
            return [f"{each.owner} {each.seq}" for each in change.events]
        case results.Asked():
            return change.undo or []
        case results.AddReport():
            asked = [each.undo for line in change.lines for each in line.asked if each.undo]
            made = [each for line in change.lines for each in (*line.kept, *line.learned)]
            return asked or [n for each in (*made, *change.extracted) for n in _changes(each)]
        case list() | tuple():
            return [name for each in change for name in _changes(each)]
        case _:
            raise InvalidInput(
                "outcome", f"must be what a write returned, not {type(change).__name__}"
            )


# -- errors ----------------------------------------------------------------------------------------

_KEPT = "field which nearest scope right what limit retry_after_s ids path line extra".split()
_ERRORS = {each.code: each for each in vars(errors).values()
           if isinstance(each, type) and issubclass(each, SimonidesError)}  # fmt: skip


def problem(error: SimonidesError) -> dict[str, Any]:
    """Return an error as RFC 9457 describes it, with its code, advice and fields.

    Where the store lies is the server's own.
    """
    detail = str(error)
    if isinstance(error, errors.StoreError):
        detail = detail.removeprefix(f"{error.location}: ")
    fields = {name: getattr(error, name) for name in _KEPT if hasattr(error, name)}
    return {
        "type": f"urn:simonides:error:{error.code}", "title": error.code.replace("_", " "),
        "status": status_of(error), "detail": detail, "code": error.code, "hint": error.hint,
        "retryable": error.retryable, **fields,
    }  # fmt: skip


def status_of(error: SimonidesError) -> int:
    """Return the HTTP status of an error; a full quota that no time frees is 507."""
    if error.code == "quota_exceeded" and not error.retryable:
        return 507
    return STATUS.get(error.code, 500)


def error_of(data: Mapping[str, Any], location: str) -> SimonidesError:
    """Return the error of a problem, of the same class and with the same fields."""
    kind = _ERRORS.get(data.get("code", ""), SimonidesError)
    error = kind.__new__(kind)
    Exception.__init__(error, data.get("detail", "the server refused the request"))
    kept = {name: data[name] for name in ("hint", "retryable", *_KEPT) if name in data}
    if issubclass(kind, errors.StoreError):
        kept["location"] = location
    if "ids" in kept:
        kept["ids"] = tuple(kept["ids"])
    error.__dict__.update(kept)
    return error
