"""A route for each verb: arguments from the signature, the result as the verb's own JSON."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from functools import lru_cache, partial
from typing import Annotated, Any, cast, get_args, get_origin
from urllib.parse import unquote

import anyio
from anyio import to_thread
from fastapi import Depends, FastAPI, Query, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from pydantic import BaseModel, TypeAdapter, create_model

from simonides.api.call import engine_of
from simonides.api.memory import Memory
from simonides.api.remote import wire
from simonides.api.remote.wire import Call
from simonides.api.store import Store
from simonides.core.errors import InvalidInput, StoreUnavailable
from simonides.core.outcome import Outcome, Outcomes
from simonides.core.record import Draft, Record, Value
from simonides.core.results import Hit, Page, Recall
from simonides.govern.tokens import Access, Caller
from simonides.server import callers
from simonides.write.remember import keeping_key

IDEMPOTENT = ("Memory.remember", "Memory.add")
"""Calls that take the header ``Idempotency-Key``."""

OTHER = "is another one in the header than in the body"

CONDITIONAL = ("Memory.correct", "Memory.confirm", "Memory.forget")
"""Calls that take the header ``If-Match``, with the id of a version."""


EXAMPLES: Mapping[str, dict[str, Any]] = {
    "Memory.remember": {"content": "Always deploy to us-east-1", "key": "deploy_region"},
    "Memory.remember_many": {"drafts": [{"content": "Ana drives a van"}], "atomic": True},
    "Memory.add": {"messages": [{"role": "user", "content": "Never deploy on Fridays."}]},
    "Memory.recall": {"query": "Where do I deploy?", "limit": 5},
    "Memory.digest": {"about": "Schedule the release", "max_items": 5},
    "Memory.correct": {"content": "Always deploy to eu-west-1"},
    "Memory.explain": {"query": "Where do I deploy?"},
    "Memory.undo": {"outcome": "12"},
    "Memory.task": {"goal": "Upgrade user-service", "name": "upgrade-481", "plan": ["Back up"]},
    "Privacy.refuse": {"about": "my wife"},
    "Pending.resolve": {"keep": "new", "reason": "asked Ana"},
    "Task.observe": {"tool": "psql", "result": "PostgreSQL 18", "verified": True},
    "Admin.new_token": {"name": "web-app", "any_user": True, "org": "acme"},
}
"""Examples of bodies, by call; the description of the API shows them."""


class Problem(BaseModel):
    """What went wrong, where, and what to do (RFC 9457).

    Attributes:
        type: A name of the kind of error.
        title: The same in words.
        status: The HTTP status.
        detail: What was wrong, and where.
        code: Stable name of the kind of error.
        hint: What the caller can do.
        retryable: Whether the same request may succeed later.
    """

    type: str
    title: str
    status: int
    detail: str
    code: str
    hint: str
    retryable: bool


PROBLEMS = {
    400: "The request is malformed, or names nobody.", 401: "No credential that is in force.",
    403: "The credential may not do this.", 404: "There is nothing under this name.",
    409: "The key belongs to another write.", 410: "What it shows was forgotten since.",
    412: "It is another version by now.", 413: "The body is too long.",
    429: "Too many requests.", 503: "Try again later.", 507: "The scope is full.",
}  # fmt: skip


ANSWERS: dict[int | str, dict[str, Any]] = {
    status: {"description": text, "content": {"application/problem+json": {
        "schema": {"$ref": "#/components/schemas/Problem"}}}}
    for status, text in PROBLEMS.items()
}  # fmt: skip
"""What each route may answer instead, as OpenAPI describes it."""


def add(app: FastAPI) -> None:
    """Add the routes of all verbs."""
    chosen = sorted(wire.calls().items(), key=lambda each: -each[1].path.count("/"))
    for name, call in chosen:
        doc = inspect.getdoc(wire.method_of(call.verb)) or call.verb.help
        app.add_api_route(
            f"/v1{call.path}",
            _endpoint(app, name, call),
            methods=[call.method],
            operation_id=call.verb.counted_as.replace(".", "_"),
            tags=[call.verb.group or "memory"],
            summary=call.verb.help,
            description=doc.partition("\n\nArgs:")[0].partition("\n\nRaises:")[0],
            responses={200: {"model": _shape(call)}, **ANSWERS},
            openapi_extra=_described(call),
            dependencies=[Depends(_guard(app, call.needs))],
        )


def _described(call: Call) -> dict[str, Any]:
    """Return the description of a body."""
    is_draft, fields = call.takes is Draft, getattr(call.takes, "model_fields", {})
    if call.method in ("GET", "DELETE") or not (is_draft or fields):
        return {}
    schema = {"$ref": f"#/components/schemas/{'Draft' if is_draft else call.model_name}"}
    is_needed = is_draft or any(each.is_required() for each in fields.values())
    content: dict[str, Any] = {"schema": schema}
    if (example := EXAMPLES.get(call.verb.function.partition(":")[2])) is not None:
        content["example"] = example
    body = {"required": is_needed, "content": {"application/json": content}}
    return {"requestBody": body}


def schemas() -> dict[str, Any]:
    """Return the schemas of all bodies, by name."""
    bodies = [Problem, Draft, *(c.takes for c in wire.calls().values() if c.takes is not Draft)]
    adapters: Any = [(each, "validation", TypeAdapter(each)) for each in bodies]
    _, made = TypeAdapter.json_schemas(adapters, ref_template="#/components/schemas/{model}")
    found: dict[str, Any] = made["$defs"]
    return found


def methods_of(request: Request) -> list[str]:
    """Return the methods of the path of a request; of two that fit, the one with fewer names."""
    routes = [each for each in request.app.routes if isinstance(each, APIRoute)]
    fitting = [each for each in routes if each.path_regex.match(request.scope["path"])]
    path = min((each.path_format for each in fitting), key=lambda each: each.count("{"))
    return sorted({m for each in routes if each.path_format == path for m in each.methods or ()})


def plain(schema: Any) -> Any:
    """Return a schema in which a tuple is a list of so many: few generators know more."""
    if isinstance(schema, list):
        return [plain(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    made = {name: plain(value) for name, value in schema.items() if name != "prefixItems"}
    if "prefixItems" in schema:
        made["items"] = {"anyOf": plain(schema["prefixItems"])}
    return made


def with_properties(schemas: dict[str, Any]) -> dict[str, Any]:
    """Add to schemas of results the properties that are told like fields."""
    for kind in Value.__subclasses__():
        told = {path.split(".")[0]: {"readOnly": True} for path in kind._PROPERTIES}
        if kind.__name__ in schemas:
            schemas[kind.__name__]["properties"].update(told)
    return schemas


def _guard(app: FastAPI, right: Access) -> Callable[..., Any]:
    """Return what checks the credential of a request before its arguments are looked at."""

    async def guard(request: Request) -> None:
        request.state.caller = caller = await app.state.callers.asking(request)
        app.state.rates.check(caller)
        callers.need(caller, right)

    return guard


def _endpoint(app: FastAPI, name: str, call: Call) -> Callable[..., Any]:
    """Return the function that answers a call."""
    store: Store = app.state.store

    async def endpoint(request: Request, query: Any = None, **path: str) -> Response:
        caller: Caller = request.state.caller
        given, named = callers.named(request), {n: unquote(each) for n, each in path.items()}
        if "session" in named:
            given["session"] = named.pop("session")
        values = _of_query(query) if takes_query else wire.given_in(call, await _body(request))
        headed = _of_headers(name, request)
        if any(values.get(field) not in (None, value) for field, value in headed.items()):
            raise InvalidInput(next(iter(headed)), OTHER)
        values |= named | headed
        work = partial(answered, store, caller, given, call, values)
        if call.needs is not Access.READ:
            return await to_thread.run_sync(work)
        try:
            with anyio.fail_after(app.state.limits.seconds):
                return await to_thread.run_sync(work, abandon_on_cancel=True)
        except TimeoutError as error:
            problem = f"did not answer within {app.state.limits.seconds:g} s"
            raise StoreUnavailable("store", problem) from error

    takes_query = call.method in ("GET", "DELETE")
    keyword = inspect.Parameter.KEYWORD_ONLY
    parameters = [inspect.Parameter("request", keyword, annotation=Request)]
    if takes_query and call.takes.model_fields:
        parameters.append(
            inspect.Parameter("query", keyword, annotation=Annotated[call.takes, Query()])
        )
    parameters += [inspect.Parameter(each, keyword, annotation=str) for each in call.named]
    run: Any = endpoint
    run.__signature__ = inspect.Signature(parameters)
    return cast("Callable[..., Any]", run)


async def _body(request: Request) -> dict[str, Any]:
    """Return the JSON object in the body of a request; an empty body has no arguments.

    Raises:
        InvalidInput: If it is none.
    """
    raw = await request.body()
    if not raw:
        return {}
    try:
        data = json.loads(raw.decode(), parse_constant=_no_number)
    except (ValueError, RecursionError) as error:
        raise InvalidInput("body", f"must be JSON in UTF-8: {error}") from error
    if not isinstance(data, dict):
        raise InvalidInput("body", f"must be a JSON object, not {type(data).__name__}")
    return data


def _no_number(name: str) -> None:
    raise ValueError(f"{name} is no JSON")


def _of_query(query: Any) -> dict[str, Any]:
    """Return the arguments in a query, without what was not given."""
    return {} if query is None else {name: getattr(query, name) for name in query.model_fields_set}


def answered(
    store: Store, caller: Caller, given: dict[str, str], call: Call, values: dict[str, Any]
) -> Response:
    """Carry out a call, and return its answer."""
    result = carried_out(store, caller, given, call, values)
    headers = {"ETag": f'"{result.id}"'} if isinstance(result, Record) else {}
    body = json.dumps(wire.encoded(call.verb, result), ensure_ascii=False)
    return Response(body, 200, headers, "application/json")


def carried_out(
    store: Store, caller: Caller, given: dict[str, str], call: Call, values: dict[str, Any]
) -> Any:
    """Carry out a call for a caller.

    Args:
        store: The store.
        caller: By the credential.
        given: Who and what the request names.
        call: The call.
        values: Its arguments.

    Raises:
        ScopeDenied: If the caller may not act for whom it names.
    """
    verb = call.verb
    if caller.org is not None and verb.group in ("admin", "token", "source"):
        values |= _of_organisation(caller, call, values)
    owner, _, method = verb.function.partition(":")[2].partition(".")
    if verb.function == "store:Store.flush":
        callers.check_whole(caller)
        return store.flush()
    if owner == "Store":
        return getattr(store, method)(**values)
    if owner == "Admin":
        return getattr(callers.admin_of(store, caller, given), method)(**values)
    memory = callers.memory_of(store, caller, given)
    once: AbstractContextManager[None] = nullcontext()
    if (key := values.pop("idempotency_key", None)) is not None:
        values, once = _keyed(memory, values, key)
    with once:
        result = wire.carried_out(call, memory, values, given.get("session"))
    if verb.function == "memory:Memory.status":
        result |= {"location": "a server"}  # where the store lies is the server's own
    return result


def _of_organisation(caller: Caller, call: Call, values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the organisation that a call is for, which is the caller's.

    Raises:
        ScopeDenied: If it names another one, or a source that is the server's own: its files, and
            the network around it.
    """
    if values.get("org") not in (None, caller.org):
        raise callers.denied(caller, "org", "the token is of another organisation")
    is_local = "place" in values and "://" not in str(values["place"])
    if is_local or values.get("allow_private"):
        callers.check_whole(caller)
    return {"org": caller.org} if "org" in call.takes.model_fields else {}


def _keyed(
    memory: Memory, values: dict[str, Any], key: str
) -> tuple[dict[str, Any], AbstractContextManager[None]]:
    """Return the arguments of a call that is done once under a key, and what keeps the key.

    Messages are known by ids that they get from it; a statement keeps the key itself.
    """
    if "messages" not in values:
        draft = values["content"]
        if draft.idempotency_key not in (None, key):
            raise InvalidInput("idempotency_key", OTHER)
        return {"content": replace(draft, idempotency_key=key)}, nullcontext()
    asked = json.dumps(values, sort_keys=True, default=str)
    given = values["messages"]
    turns = given if isinstance(given, list) else [given]
    said = [t if isinstance(t, dict) else {"role": "user", "content": t} for t in turns]
    said = [{"id": f"{key}-{n}", **turn} for n, turn in enumerate(said)]
    once = keeping_key(engine_of(memory._link), memory._who, key, asked)
    return {**values, "messages": said}, once


# -- what a request gives --------------------------------------------------------------------------


def _of_headers(name: str, request: Request) -> dict[str, Any]:
    """Return the arguments that stand in headers."""
    version = callers.header(request, "If-Match")
    key = callers.header(request, "Idempotency-Key")
    if version is not None and name not in CONDITIONAL:
        raise InvalidInput("If-Match", "is for correcting, confirming and forgetting")
    if key is not None and name not in IDEMPOTENT:
        raise InvalidInput("Idempotency-Key", "is for remembering and adding")
    if version is not None and version.strip() != "*":  # which means any version
        version = version.strip().removeprefix("W/").strip('"')
        return {"if_version": version}
    return {} if key is None else {"idempotency_key": key}


def invalid_request(error: RequestValidationError) -> InvalidInput:
    """Return what is wrong with a request as the project's error."""
    first = error.errors()[0]
    place = ".".join(str(each) for each in first["loc"][1:] if each != "arguments") or "body"
    return InvalidInput(place, first["msg"])


# -- what it answers -------------------------------------------------------------------------------


@lru_cache
def _shape(call: Call) -> Any:
    """Return the model of an answer, for the description of the API."""
    hint, name = wire.hints(call.verb)["return"], call.model_name
    if call.verb.result:
        kind = bool if hint is type(None) else str if hint.__module__ == "pathlib" else hint
        named: dict[str, Any] = {call.verb.result: (kind, ...)}
        return create_model(f"{name}Answer", **named)
    item = {Recall: Hit, Outcomes: Outcome}.get(hint)
    origin, inner = get_origin(hint), get_args(hint)
    if origin in (list, tuple, Sequence, Page):
        item = inner[0]
    if item is not None:
        more: dict[str, Any] = {"next_cursor": (str | None, None)} if origin is Page else {}
        if hint is Recall:
            more = {"degraded": (list[str], ...)}
        return create_model(f"{name}Answer", items=(list[item], ...), **more)  # type: ignore[valid-type]
    if isinstance(hint, type) and issubclass(hint, Value):
        return hint
    return next(
        (each for each in inner if isinstance(each, type) and issubclass(each, Value)), dict
    )
