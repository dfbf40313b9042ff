"""What tools over MCP do with a memory.

A call speaks for the agent, never for the user. What only a person can decide comes back as a
question.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from pydantic import BaseModel, ConfigDict, Field

from simonides.api.memory import Memory
from simonides.api.tools import is_users, restated
from simonides.change.review import KEEP
from simonides.core.errors import InvalidInput, NotFound, ScopeDenied
from simonides.core.outcome import Outcome, OutcomeKind
from simonides.core.record import Draft, Record, Source
from simonides.core.results import Waiting
from simonides.core.validation import one_of
from simonides.govern.tokens import Access
from simonides.prompt.lines import LINE_CHARS, NOTE, one_line

PERSON = "person-via-mcp"
"""Name of a person who was asked in the client, in the audit trail."""

CHANGES_SHOWN = 20
"""Most entries of the audit trail that `memory_get` shows. Set by judgement."""


@dataclass(frozen=True)
class Door:
    """A memory, and what the client may do with it.

    Attributes:
        memory: Of the principal.
        rights: What it may do.
        tags: What is remembered gets these.
    """

    memory: Memory
    rights: frozenset[Access] = frozenset(Access)
    tags: tuple[str, ...] = ()

    @property
    def whose(self) -> str:
        """Name of the principal."""
        return f"{self.memory._who.home.path} {self.memory._who.name}"

    def need(self, right: Access) -> None:
        """Check that the client has a right.

        Raises:
            ScopeDenied: If it has not.
        """
        if right not in self.rights:
            advice = "the token does not have this right"
            raise ScopeDenied(self.memory._who.home.path, right, advice)

    @property
    def person(self) -> Memory:
        """The memory for a decision of the person."""
        who = replace(self.memory._who, agent=None, is_private=False, actor=PERSON)
        return Memory(self.memory._engine, who)


@dataclass(frozen=True)
class Reply:
    """What a tool answers.

    Attributes:
        text: For the model; empty for the values as JSON.
        values: The same as values, by the schema of the tool.
        ok: Whether the call was carried out, or waits for a person.
    """

    text: str
    values: Mapping[str, Any]
    ok: bool = True


@dataclass(frozen=True)
class Question:
    """What only the person can decide.

    Attributes:
        do: ``forget``, ``correct``, ``resolve`` or ``held``.
        id: Of the version that was seen, or of the entry that waits.
        text: The question.
        choices: The answers.
        unasked: What is told to a client that cannot ask.
        ok: Whether the call was carried out without an answer.
    """

    do: str
    id: str
    text: str
    choices: Sequence[str]
    unasked: str
    ok: bool = True

    @property
    def needs(self) -> Access:
        """The right that a caller needs to bring the answer."""
        return Access.WRITE if self.do in ("forget", "correct") else Access.REVIEW


class Tool(NamedTuple):
    """A tool.

    Attributes:
        title: Its name for people.
        takes: Its arguments; the docstring is its description.
        does: What it does.
        gives: The schema of what it gives.
        needs: The right that a caller needs.
        destroys: Whether it may delete or replace.
        repeats: Whether a second call changes nothing more.
    """

    title: str
    takes: type[BaseModel]
    does: Callable[[Door, Any], Reply | Question]
    gives: Mapping[str, Any]
    needs: Access = Access.READ
    destroys: bool = False
    repeats: bool = True


# -- reading ---------------------------------------------------------------------------------------

Id = Field(min_length=1, max_length=512)
Words = Field(min_length=1, max_length=2_000)


class Arguments(BaseModel):
    """What a model may give a tool; nothing else."""

    model_config = ConfigDict(extra="forbid", strict=True)


class Search(Arguments):
    """Search what is remembered of the user, their work and earlier talks."""

    query: str = Words
    limit: int = Field(5, ge=1, le=20)


class ById(Arguments):
    """Show one memory: text, source, history, and why it is there."""

    id: str = Id


class About(Arguments):
    """Show what always holds for the user, and what bears on a topic or task."""

    about: str = Field("", max_length=2_000)


def _search(door: Door, given: Search) -> Reply:
    found = _found(door, given.query, given.limit)
    results = [{"id": each.id[-8:], "text": _line(each)} for each in found]
    lines = [f"{each['id']} {each['text']}" for each in results]
    text = "\n".join([NOTE, *lines]) if lines else "Nothing is remembered about this."
    return Reply(text, {"results": results})


def _found(door: Door, query: str, limit: int) -> list[Record]:
    who, engine = door.memory._who, door.memory._engine
    least = engine.policies.for_org(who.home.org, who.agent).digest.possible
    return [hit.record for hit in door.memory.recall(query, limit=limit, min_relevance=least)]


def _line(record: Record) -> str:
    head = f"{record.trust.value} {record.said_at:%Y-%m-%d}"
    return f"[{head}] {one_line(record.content, LINE_CHARS)}"


def item(door: Door, id: str) -> dict[str, Any]:
    """Return all of a memory, as `memory_get` gives it.

    Raises:
        NotFound: If there is none that the caller may read.
    """
    record = door.memory.get(id)
    if record is None:
        raise NotFound(id)
    changes = door.memory.audit.list(memory=record.root, limit=CHANGES_SHOWN)
    return {
        "id": record.id,
        "text": record.content,
        "source": f"{record.source.value} ({record.trust.value}), {record.status.value}",
        "history": [f"{e.known_from:%Y-%m-%d} {e.content}" for e in door.memory.history(record)],
        "why": [f"{e.at:%Y-%m-%d} {e.type.value} by {e.actor} {e.reason}".strip() for e in changes],
    }


def shown(values: Mapping[str, Any]) -> str:
    """Return a memory as text."""
    head = [NOTE, f"{values['id']}: {values['text']}", f"source: {values['source']}"]
    versions = [f"version: {each}" for each in values["history"]]
    return "\n".join([*head, *versions, *(f"change: {each}" for each in values["why"])])


def _get(door: Door, given: ById) -> Reply:
    values = item(door, given.id)
    return Reply(shown(values), values)


def digest_of(door: Door, about: str) -> str:
    """Return the digest about something, or what always holds."""
    return str(door.memory.digest(about or None)) or "Nothing is remembered about this."


def _digest(door: Door, given: About) -> Reply:
    text = digest_of(door, given.about)
    return Reply(text, {"text": text})


# -- writing ---------------------------------------------------------------------------------------


class Add(Arguments):
    """Store one statement that matters later. said=true keeps the user's words verbatim."""

    text: str = Words
    said: bool = False


class Correct(Arguments):
    """Replace a memory that is wrong. What the user said changes only if they agree."""

    id: str = Id
    text: str = Words


class Forget(Arguments):
    """Delete a memory. What the user said goes only if they agree."""

    id: str = Id


def _add(door: Door, given: Add) -> Reply | Question:
    if not given.said:
        draft = Draft(given.text, source=Source.AGENT_INFERRED, tags=door.tags)
        return _became(door, door.memory.remember(draft))
    # It is the agent that says so: what it reports teaches nothing as the user's.
    said = [{"role": "user", "content": given.text}]
    [line] = door.memory.add(said, source=Source.AGENT_INFERRED.value).lines
    if not line.kept:
        return _wrote(f"Nothing was kept: {', '.join(line.reasons) or 'empty'}.", ok=False)
    return _became(door, line.kept[0])


def _became(door: Door, outcome: Outcome) -> Reply | Question:
    """Return what became of a write; what waits for a person is a question."""
    id = "" if outcome.record is None else outcome.record.id
    waiting = _waiting(door, outcome)
    if waiting is None:
        done, waits = outcome.done, outcome.pending
        return _wrote(outcome.explanation, done=done, ok=done or waits, id=id)
    unasked = f"{outcome.explanation} It waits in `pending` as {waiting.id[-8:]}."
    if waiting.kind == "contradiction" and len(waiting.sides) == 2:
        new, old = (_line(side) for side in waiting.sides)
        text = f"Two memories contradict each other. Which holds?\nnew: {new}\nold: {old}"
        return Question("resolve", waiting.id, text, KEEP, unasked)
    text = f"The agent wants to remember this. Store it?\n{one_line(waiting.said)}"
    return Question("held", waiting.id, text, ("store", "drop"), unasked)


def _waiting(door: Door, outcome: Outcome) -> Waiting | None:
    """Return what waits for a person because of a write, or None."""
    if not outcome.pending:
        return None
    made = {event.subject for event in outcome.events}
    return next((each for each in door.memory.pending.list() if each.id in made), None)


def _own(door: Door, id: str) -> Record:
    """Return the latest version of a memory of the owner."""
    record = door.memory.history(id)[-1]
    if record.owner != door.memory._who.owner:
        raise NotFound(id)
    return record


def _correct(door: Door, given: Correct) -> Reply | Question:
    record = _own(door, given.id)
    if is_users(record):
        text = f"Change this?\nnow: {_line(record)}\nthen: {one_line(given.text)}"
        return _users("correct", record, text, "change")
    outcome = door.memory.remember(replace(restated(record, given.text), tags=record.tags))
    new, is_stored = outcome.record, outcome.done or outcome.kind is OutcomeKind.REVIEW
    if is_stored and record.key is None and new is not None and new.root != record.root:
        _delete(door, record.id)  # of two contradicting ones of the agent the other holds then
        if _waiting(door, outcome) is None:
            return _wrote("Stored; what it corrects is deleted.", done=True, id=new.id)
    return _became(door, outcome)


def _forget(door: Door, given: Forget) -> Reply | Question:
    record = _own(door, given.id)
    if is_users(record):
        return _users("forget", record, f"Delete this for good?\n{_line(record)}", "delete")
    return _delete(door, record.id)


def _users(do: str, record: Record, text: str, act: str) -> Question:
    unasked = (
        f"This is the user's own, and this client cannot ask them: nothing was done. They can run:"
        f" simonides {do} {record.id[-8:]}"
    )
    return Question(do, record.id, text, (act, "keep"), unasked, ok=False)


def _delete(door: Door, id: str) -> Reply:
    """Delete what is the agent's own; what the user said of it stays."""
    reply = door.memory.tools("forget").call("forget_memory", {"which": id})
    return _wrote(reply.text, done=reply.ok, ok=reply.ok)


def not_asked(question: Question) -> Reply:
    """Return what a client is told that cannot ask the person."""
    return _wrote(question.unasked, ok=question.ok)


def decided(door: Door, question: Question, choice: str | None, given: Any) -> Reply:
    """Do what the person has decided; None for no decision.

    Raises:
        ChangedMeanwhile: If it is another version than the person has seen.
        NotFound: If it was decided or deleted meanwhile.
    """
    if choice not in question.choices:
        waits = "it waits in `pending`" if question.ok else "nothing was done"
        return _wrote(f"The user was asked and did not decide: {waits}.")
    person, id = door.person, question.id
    match question.do, choice:
        case "forget", "delete":
            outcome = person.forget(id, if_version=id)
        case "correct", "change":
            outcome = person.correct(id, given.text, if_version=id)
        case "resolve", ("new" | "old" | "both" | "neither"):
            outcome = person.pending.resolve(id, keep=choice)
        case "held", "store":
            outcome = person.pending.approve(id)
        case "held", _:
            outcome = person.pending.reject(id)
        case _:
            return _wrote("The user was asked, and keeps it.")
    record = outcome.record
    text = f"The user was asked: {choice}. {outcome.explanation}"
    return _wrote(text, done=outcome.done, id="" if record is None else record.id)


def _wrote(text: str, *, done: bool = False, ok: bool = True, id: str = "") -> Reply:
    return Reply(text, {"done": done, "text": text, "id": id}, ok)


# -- connectors ------------------------------------------------------------------------------------


class ConnectorSearch(Arguments):
    """Search the user's memory."""

    query: str = Words


class ConnectorFetch(Arguments):
    """Return one memory."""

    id: str = Id


def _connector_search(door: Door, given: ConnectorSearch) -> Reply:
    results = [
        {"id": each.id, "title": _title(each.content), "url": f"memory://item/{each.id}"}
        for each in _found(door, given.query, 10)
    ]
    return Reply("", {"results": results})


def _connector_fetch(door: Door, given: ConnectorFetch) -> Reply:
    values = item(door, given.id)
    kept = {"id": values["id"], "title": _title(values["text"]), "text": values["text"]}
    more = {"source": values["source"], "history": "\n".join(values["history"])}
    return Reply("", {**kept, "url": f"memory://item/{values['id']}", "metadata": more})


def _title(content: str) -> str:
    return one_line(content, 80)


# -- the tools -------------------------------------------------------------------------------------


def _object(**kinds: Any) -> dict[str, Any]:
    """Return the schema of an object, all of whose fields are there."""
    fields = {name: {"type": k} if isinstance(k, str) else k for name, k in kinds.items()}
    return {"type": "object", "properties": fields, "required": list(fields)}


def _list(of: Any) -> dict[str, Any]:
    return {"type": "array", "items": {"type": of} if isinstance(of, str) else of}


_WRITTEN = _object(done="boolean", text="string", id="string")
_ITEM = _object(
    id="string", text="string", source="string", history=_list("string"), why=_list("string")
)
_RESULTS = _object(results=_list(_object(id="string", title="string", url="string")))
_DOCUMENT = _object(
    id="string", title="string", text="string", url="string", metadata={"type": "object"}
)

TOOLS: Mapping[str, Tool] = {
    "memory_search": Tool(
        "Search memory",
        Search,
        _search,
        _object(results=_list(_object(id="string", text="string"))),
    ),
    "memory_get": Tool("Show a memory", ById, _get, _ITEM),
    "memory_add": Tool("Remember", Add, _add, _WRITTEN, Access.WRITE, repeats=False),
    "memory_correct": Tool(
        "Correct a memory", Correct, _correct, _WRITTEN, Access.WRITE, destroys=True
    ),
    "memory_forget": Tool("Forget", Forget, _forget, _WRITTEN, Access.WRITE, destroys=True),
    "memory_digest": Tool("Memory digest", About, _digest, _object(text="string")),
}

CONNECTOR: Mapping[str, Tool] = {
    "search": Tool("Search memory", ConnectorSearch, _connector_search, _RESULTS),
    "fetch": Tool("Fetch a memory", ConnectorFetch, _connector_fetch, _DOCUMENT),
}


def chosen(
    names: Sequence[str] = (), *, read_only: bool = False, connector: bool = False
) -> Mapping[str, Tool]:
    """Return the tools of a server, in the order of the list.

    Args:
        names: Only these; none means all.
        read_only: Only those that write nothing.
        connector: ``search`` and ``fetch`` instead.

    Raises:
        InvalidInput: If there is no tool of a name, or none is left.
    """
    of = CONNECTOR if connector else TOOLS
    wanted = {one_of("tools", name, of) for name in names} or set(of)
    left = {
        name: tool
        for name, tool in of.items()
        if name in wanted and not (read_only and tool.needs is not Access.READ)
    }
    if not left:
        raise InvalidInput("tools", "names only tools that write; leave out --read-only")
    return left
