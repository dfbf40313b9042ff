"""Memory as tools that a language model may call.

A model's call speaks for the agent, never for the user. Its arguments are hostile input: whatever
is wrong with them is a refusal in the reply, which the model can read, and never an error.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from copy import deepcopy
from typing import TYPE_CHECKING, Any

from simonides.api.sync_markers import waits_for_model
from simonides.domain.errors import InvalidInput, NotFound, QuotaExceeded, ScopeDenied
from simonides.domain.governance.consent import RECALL_OFF
from simonides.domain.memory import Draft
from simonides.domain.reading.digest import Tool, ToolReply
from simonides.domain.trust import Source, Trust
from simonides.domain.value import shown
from simonides.domain.writing.decision import Outcome

if TYPE_CHECKING:
    from simonides.api.memory import AsyncMemory

MAX_CALL_CHARS = 64 * 1024
"""Longest arguments of a call that are parsed."""

MAX_LISTED = 50
"""Most memories that one call lists; chosen for the size of a prompt."""

MAX_LISTED_CHARS = 200
"""Longest content of one memory in a list; chosen likewise."""

MAX_SHOWN_CHARS = 4_000
"""Longest content of a memory that is shown by itself; chosen likewise."""

_WHICH = {"type": "string", "minLength": 1, "maxLength": 512, "description": "Its key or its id."}

_OTHERS = {
    "remember": Tool(
        "remember_memory",
        "Store one statement that will matter in later conversations: a fact, a preference, a "
        "decision. It is recorded as said by you, not by the user.",
        {
            "type": "object",
            "properties": {
                "content": {
                    "type": "string",
                    "minLength": 1,
                    "maxLength": 2_000,
                    "description": "One self-contained sentence.",
                },
                "key": {
                    "type": "string",
                    "maxLength": 128,
                    "description": "Name of the fact, such as deploy_region; a later statement "
                    "under it replaces this one.",
                },
            },
            "required": ["content"],
            "additionalProperties": False,
        },
    ),
    "get": Tool(
        "get_memory",
        "Return one memory by its key or id, with its source and date.",
        {
            "type": "object",
            "properties": {"which": _WHICH},
            "required": ["which"],
            "additionalProperties": False,
        },
    ),
    "list": Tool(
        "list_memory",
        "List what is remembered, newest first.",
        {
            "type": "object",
            "properties": {
                "limit": {"type": "integer", "minimum": 1, "maximum": MAX_LISTED, "default": 20}
            },
            "required": [],
            "additionalProperties": False,
        },
    ),
    "forget": Tool(
        "forget_memory",
        "Delete a memory that you stored yourself. What the user said can be deleted by the user "
        "only.",
        {
            "type": "object",
            "properties": {"which": _WHICH},
            "required": ["which"],
            "additionalProperties": False,
        },
    ),
}

NAMES = ("search", *_OTHERS)
"""Names of the tools; a model sees them as ``search_memory`` and so on."""

FORMATS = ("openai", "openai-responses", "anthropic", "gemini", "mcp")
"""Formats of definitions."""


class AsyncTools:
    """Tools for a model, over one memory; built by :meth:`simonides.AsyncMemory.tools`."""

    def __init__(self, memory: AsyncMemory, names: Sequence[str] = ()) -> None:
        """Choose the tools.

        Args:
            memory: Whose memory they use.
            names: Of :data:`NAMES`; none means all.

        Raises:
            InvalidInput: If a name is unknown.
        """
        for name in names:
            if name not in NAMES:
                raise InvalidInput("names", f"must be of {', '.join(NAMES)}, not {shown(name)}")
        self._memory = memory
        self._supplier = memory._bound.supplier
        self._names = tuple(dict.fromkeys(names)) or NAMES

    def __repr__(self) -> str:
        return f"<Tools {', '.join(tool.name for tool in self.all)}>"

    @property
    def all(self) -> tuple[Tool, ...]:
        """The tools in the form common to all vendors."""
        return tuple(
            self._supplier.tool() if name == "search" else _OTHERS[name] for name in self._names
        )

    def definitions(self, format: str = "openai") -> list[dict[str, Any]]:
        """Return the definitions as an SDK takes them.

        Args:
            format: ``openai`` (chat completions), ``openai-responses``, ``anthropic``, ``gemini``
                (function declarations), or ``mcp``.

        Raises:
            InvalidInput: If the format is unknown.
        """
        if format not in FORMATS:
            raise InvalidInput("format", f"must be of {', '.join(FORMATS)}, not {shown(format)}")
        return [_defined(tool, format) for tool in self.all]

    @waits_for_model
    async def call(self, name: str, arguments: Mapping[str, Any] | str) -> ToolReply:
        """Carry out a model's call.

        Args:
            name: As the model named the tool, ``search_memory`` or ``search``.
            arguments: As the model gave them, parsed or as JSON.

        Raises:
            StoreError: If the store could not.
        """
        verb = self._verb(name)
        if verb is None:
            known = ", ".join(tool.name for tool in self.all)
            return _refused(f"there is no tool of this name; there are {known}", "unknown_tool")
        if verb == "search":
            return await self._supplier.call(arguments)
        given = _checked(arguments, _OTHERS[verb].parameters)
        tool = _OTHERS[verb]
        if isinstance(given, str):
            takes = _takes(tool.parameters)
            return _refused(
                f"{tool.name} was refused: {given}. It takes {takes}.", f"invalid:{given}"
            )
        try:
            return await self._carry_out(verb, given)
        except (InvalidInput, NotFound, QuotaExceeded, ScopeDenied) as error:
            return _refused(f"{tool.name} was refused: {error}", error.code)

    def _verb(self, name: str) -> str | None:
        for verb, tool in zip(self._names, self.all, strict=True):
            if name in (verb, tool.name):
                return verb
        return None

    async def _carry_out(self, verb: str, given: Mapping[str, Any]) -> ToolReply:
        if verb == "remember":
            return await self._remember(given)
        bound, supplier = self._memory._bound, self._supplier
        if await bound.lookup.is_off():
            return _refused("recall is paused by the user", RECALL_OFF)
        own = supplier.own_paths()  # a model reads its user's own memories only
        if not own:
            return _refused("policy does not let a model read here", "scope_denied")
        if verb == "list":
            found = await self._memory.list(
                filter={"sensitivity": {"$in": [*map(str, supplier.policy.digest.sensitivities)]}},
                limit=given.get("limit", 20),
                scopes=own,
            )
            text = supplier.page(found, bound.lookup.now, MAX_LISTED_CHARS)
            return ToolReply(text if found else "nothing is remembered")
        record = await self._memory.get(given["which"], scopes=own)
        if record is None or not supplier.may_show(record):
            return _refused(await self._told_missing(given["which"], own), NotFound.code)
        if verb == "get":
            return ToolReply(supplier.page([record], bound.lookup.now, MAX_SHOWN_CHARS))
        if record.trust.rank >= Trust.USER.rank or record.pinned:
            return _refused("only the user can delete this; ask the user", "users_own")
        return _told(await self._memory.forget(record))

    async def _told_missing(self, which: str, own: Sequence[str]) -> str:
        """Say that nothing is remembered under a name; names no key that a model may not see."""
        error = await self._memory._bound.not_found(which)
        near = None if error.nearest is None else await self._memory.get(error.nearest, scopes=own)
        if near is None or not self._supplier.may_show(near):
            return "nothing is remembered under this name; list_memory shows what there is"
        return f"nothing is remembered under this name; did you mean {error.nearest!r}?"

    async def _remember(self, given: Mapping[str, Any]) -> ToolReply:
        draft = Draft(given["content"], key=given.get("key"), source=Source.AGENT_INFERRED)
        return _told(await self._memory.remember(draft))


def _defined(tool: Tool, format: str) -> dict[str, Any]:
    schema = deepcopy(dict(tool.parameters))  # the host's to change
    if format == "anthropic":
        return {"name": tool.name, "description": tool.description, "input_schema": schema}
    if format == "mcp":
        return {"name": tool.name, "description": tool.description, "inputSchema": schema}
    function = {"name": tool.name, "description": tool.description, "parameters": schema}
    if format == "openai":
        return {"type": "function", "function": function}
    if format == "openai-responses":
        # Strict mode would want every argument required.
        return {"type": "function", **function, "strict": False}
    del function["parameters"]
    return {**function, "parameters_json_schema": schema}


def _checked(arguments: object, schema: Mapping[str, Any]) -> Mapping[str, Any] | str:
    """Return a call's arguments, or what is wrong with them."""
    if isinstance(arguments, str):
        # Some models send nothing where a tool needs no arguments.
        arguments = arguments if arguments.strip() else "{}"
        try:
            arguments = json.loads(arguments[: MAX_CALL_CHARS + 1])
        except (ValueError, RecursionError):
            return "not_json"
    if not isinstance(arguments, Mapping):
        return "not_object"
    known: Mapping[str, Mapping[str, Any]] = schema["properties"]
    # Some models write null for an argument that they leave out.
    given = {str(name): value for name, value in arguments.items() if value is not None}
    for name in given:
        if name not in known:
            return "unknown_argument"
    for name in schema["required"]:
        if name not in given:
            return f"missing:{name}"
    for name, value in given.items():
        if not _fits(value, known[name]):
            return name
    return given


def _fits(value: object, field: Mapping[str, Any]) -> bool:
    if field["type"] == "integer":
        if not isinstance(value, int) or isinstance(value, bool):
            return False
        return bool(field["minimum"] <= value <= field["maximum"])
    least, most = field.get("minLength", 0), field["maxLength"]
    return isinstance(value, str) and least <= len(value.strip()) and len(value) <= most


def _takes(schema: Mapping[str, Any]) -> str:
    """Return the arguments of a tool with what is allowed, for a model to mend its call by."""
    told = []
    for name, field in schema["properties"].items():
        optional = "" if name in schema["required"] else ", optional"
        if field["type"] == "integer":
            told.append(f"{name} ({field['minimum']} to {field['maximum']}{optional})")
        else:
            most = f"{field['maxLength']:,}"
            told.append(f"{name} (a text of at most {most} characters{optional})")
    return " and ".join(told)


def _told(outcome: Outcome) -> ToolReply:
    if outcome.refused:
        reason = outcome.reasons[0] if outcome.reasons else outcome.kind.value
        return _refused(outcome.explanation, reason)
    return ToolReply(outcome.explanation)


def _refused(text: str, reason: str) -> ToolReply:
    return ToolReply(text, refused=reason)
