"""Gives a client of OpenAI or Anthropic a memory.

```python
client = simonides.wrap(openai.OpenAI(), user="ana")
client.chat.completions.create(model="…", messages=[…])
```

Every method of both SDKs that asks a model sends its request through the client's public `post`.
So one changed method serves them all: plain, parsed, streamed, raw, beta. No SDK is imported here.
"""

from __future__ import annotations

import copy
import itertools
import json
import logging
import os
import re
import weakref
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import cached_property, partial
from typing import Any, NamedTuple, TypeVar

from anyio import to_thread

from simonides.api.aio import AsyncMemory
from simonides.api.memory import Memory
from simonides.api.store import Store
from simonides.api.store import open as open_store
from simonides.core.errors import InvalidInput, NotReplayable, OwnerRequired
from simonides.core.results import Digest, Receipt
from simonides.prompt.lines import NOTE, PARTS, TITLE

ClientT = TypeVar("ClientT")

SHOWN = 256
"""Conversations whose last digest is kept for a loop of tool calls. Set by judgement."""

MOST_WAIT_S = 2.0
"""Longest time that a request waits until what was said before is added. Set by judgement."""

NOT_ADDED = "what was said is not added to the memory"

_CHATS = {
    "/chat/completions": ("messages", "messages"),
    "/responses": ("input", "instructions"),
    "/v1/messages": ("messages", "system"),
}
"""For each endpoint, the field of its conversation and the field that takes the digest."""

_BLOCK = re.compile(
    rf"\s*{re.escape(TITLE)}\n{re.escape(NOTE)}"
    rf"(?:\n(?:{'|'.join(PARTS.values())}|- \[.*|\(\d+ more .*))*"
)
"""A digest in a text, up to its last line."""

_EVENT = re.compile(r"^data:(.*)", re.MULTILINE)
"""The data of a server-sent event; both APIs send one line."""

_numbers = itertools.count()
_log = logging.getLogger("simonides.integrations")


def wrap(
    client: ClientT,
    memory: Memory | AsyncMemory | None = None,
    *,
    user: str | None = None,
    org: str | None = None,
    session: str | None = None,
    store: Store | str | os.PathLike[str] | None = None,
    receipts: bool = False,
    said: Callable[[Any], str | None] | None = None,
) -> ClientT:
    """Return a client that remembers; the given one does not change.

    The result is a client of the same class on the same connections. Before a request it adds the
    digest of the conversation, if that shows anything:

    - chat completions: a system message directly before the user's last message;
    - responses: the end of ``instructions``;
    - Anthropic's messages: the end of ``system``, as a block of its own where that is a list.

    The rest of the request is sent as it was given. The digest knows what was said in the requests
    before, and repeats no turn that stands in this one. While a tool's results are sent, the digest
    of the user's last message is repeated, so that the provider's cache serves the prompt. Memories
    that were forgotten meanwhile are no longer in it.

    After the answer the store's worker adds the new messages and the answer to the memory. Of a
    stream that is closed early, it adds what came; of a raw response, what the caller read of it. A
    failed request adds the user's messages only. Whatever fails in the memory, the request is sent
    without a digest, and a warning is logged.

    Args:
        client: An ``OpenAI``, ``AsyncOpenAI``, ``Anthropic`` or ``AsyncAnthropic``.
        memory: A memory or a session of an open store.
        user: Instead of a memory: the user.
        org: With ``user``: the organisation.
        session: With ``user``: the conversation.
        store: With ``user``: an open store; or what `simonides.open` takes, which is closed with
            the client.
        receipts: Whether the receipts of the digests are kept.
        said: Returns what the user typed of a message of the user, None for nothing: for programs
            that put pages, mails or instructions into the messages that they send.

    Raises:
        InvalidInput: If the client is of another class or wrapped already, the memory is none, or
            both a memory and a user are given.
        OwnerRequired: If neither a memory nor a user is given.
        InvalidScope: If an id is malformed.
        StoreError: If the store cannot be opened.
    """
    kinds = {each.__module__.partition(".")[0] for each in type(client).__mro__}
    if not kinds & {"openai", "anthropic"} or not hasattr(client, "post"):
        kind = type(client).__name__
        raise InvalidInput("client", f"must be a client of openai or anthropic, not {kind}")
    if "_simonides" in vars(client):
        raise InvalidInput("client", "is wrapped already; wrap the client that it was made from")
    if memory is None and user is None:
        raise OwnerRequired("pass a memory, or user=…")
    if memory is not None and (user, org, session, store) != (None,) * 4:
        raise InvalidInput("memory", "name a memory, or a user and its store, not both")
    opened = None
    if memory is None:
        opened = store if isinstance(store, Store) else open_store(store)
        memory = opened.memory(user=user, org=org, session=session)
    chat = _Chat(_blocking(memory), receipts=receipts, said=said)
    twin = copy.copy(client)
    for name in list(vars(twin)):
        if isinstance(getattr(type(twin), name, None), cached_property):
            del vars(twin)[name]  # it belongs to the given client
    chat.serve(twin)
    if opened is not None and opened is not store:
        _close_with(twin, weakref.finalize(chat, opened.close))
    return twin


def _blocking(memory: object) -> Memory:
    if isinstance(memory, AsyncMemory):
        return memory._blocking
    if isinstance(memory, Memory):
        return memory
    advice = f'; name the user: wrap(client, user="{memory[:60]}")' if type(memory) is str else ""
    kind = type(memory).__name__
    raise InvalidInput("memory", f"must be a memory or a session, not {kind}{advice}")


def memory_of(client: object) -> Memory:
    """Return the memory of a wrapped client.

    Raises:
        InvalidInput: If it is not wrapped.
    """
    chat = getattr(client, "__dict__", {}).get("_simonides")
    if not isinstance(chat, _Chat):
        raise InvalidInput("client", "is not wrapped; use simonides.wrap(client, user=…)")
    return chat.memory


def _close_with(client: Any, close_store: Callable[[], object]) -> None:
    close_client = client.close

    def close() -> Any:
        close_store()
        return close_client()

    client.close = close


@contextmanager
def _forgiving(what: str) -> Iterator[None]:
    """Log what fails in the memory: the caller's request must not fail with it."""
    try:
        yield
    except Exception:  # noqa: BLE001 - a fault of the memory, whatever it is, costs no answer
        _log.warning(what, exc_info=True)


class _Request(NamedTuple):
    """A request to a model.

    Attributes:
        body: What is sent.
        new: The messages since the last answer.
        told: Of its digest, or None.
    """

    body: Mapping[str, Any]
    new: Sequence[Any]
    told: _Told | None


class _Told(NamedTuple):
    """What a request was told.

    Attributes:
        about: What it asked; only in memory.
        receipt: Of its digest.
    """

    about: Sequence[Any]
    receipt: Receipt


class _Chat:
    """The memory of a client and of its copies."""

    def __init__(
        self, memory: Memory, *, receipts: bool, said: Callable[[Any], str | None] | None
    ) -> None:
        self.memory, self._keeps, self._said = memory, receipts, said
        self._last: OrderedDict[str, _Told] = OrderedDict()
        who = memory._who
        self._jobs = f"add {who.owner!r} {who.conversation!r} "

    def serve(self, client: Any) -> None:
        """Let a client, and the copies that it makes, use the memory."""
        is_async = any(each.__name__ == "AsyncAPIClient" for each in type(client).__mro__)
        post, copied = client.post, client.copy

        def with_options(*args: Any, **options: Any) -> Any:
            other = copied(*args, **options)
            self.serve(other)
            return other

        client._simonides = self
        client.post = partial(self._post_async if is_async else self._post, post)
        client.copy = client.with_options = with_options

    def _post(self, post: Callable[..., Any], path: str, **options: Any) -> Any:
        request = self._with_digest(path, options.get("body"))
        if request is None:
            return post(path, **options)
        with self._noting(request):
            answer = post(path, **{**options, "body": request.body})
        return self._passed(request, answer)

    async def _post_async(self, post: Callable[..., Any], path: str, **options: Any) -> Any:
        request = await to_thread.run_sync(self._with_digest, path, options.get("body"))
        if request is None:
            return await post(path, **options)
        with self._noting(request):
            answer = await post(path, **{**options, "body": request.body})
        return self._passed(request, answer)

    @contextmanager
    def _noting(self, request: _Request) -> Iterator[None]:
        """Add the user's messages of a request that fails."""
        try:
            yield
        except BaseException:  # also an interrupt: what the user said is kept; raised again
            self._answered(request, [])
            raise

    # -- before the request ------------------------------------------------------------------------

    def _with_digest(self, path: str, body: Any) -> _Request | None:
        """Return a request with its digest, or None if it asks no model."""
        where, target = _CHATS.get(path.partition("?")[0], ("", ""))
        given = body.get(where) if isinstance(body, Mapping) else None
        if not isinstance(given, Iterable):
            return None
        items = [{"role": "user", "content": given}] if isinstance(given, str) else list(given)
        if not isinstance(given, str | list):  # an iterator is empty now
            body = {**body, where: items}
        items = [
            _without_digest(item) if _role(item) == "system" else item
            for item in items
            if not (_role(item) == "system" and _is_digest(_field(item, "content")))
        ]
        roles = [_role(item) for item in items]
        while roles and roles[-1] == "assistant":  # the beginning of the answer
            roles.pop()
        asked = [n for n, role in enumerate(roles) if role == "user"]
        earlier = body.get("previous_response_id") or body.get("conversation")
        key = f"{asked[-1]} {items[asked[-1]]!r}" if asked else str(earlier)
        last = self._last.get(key) if roles[-1:] == ["tool"] else None
        about = [self._typed(items[n]) for n in asked[-2:]] or (
            last.about if last is not None else []
        )
        recalled = self._digest(about, items, last)
        text, of = recalled.text if recalled else "", None
        if recalled is not None:
            of = _Told(about, recalled.receipt)
            self._note(key, of)
            if earlier:
                self._note(str(earlier), of)
        if target == where:
            at = asked[-1] if asked else 0
            value: Any = [{"role": "system", "content": text}] if text else []
            value = [*items[:at], *value, *items[at:]]
        else:
            value = _appended(body.get(target), text)
        answered = max((n for n, role in enumerate(roles) if role == "assistant"), default=-1) + 1
        new = [n for n in range(answered, len(roles)) if roles[n] != "system"]
        said = [self._typed(_without_digest(items[n])) for n in new]
        sent = body if value is body.get(target) else {**body, target: value}
        return _Request(sent, said, of)

    def _typed(self, item: Any) -> Any:
        """Return a message with what the user typed of it, where the program says that."""
        if self._said is None or _role(item) != "user":
            return item
        content = _field(item, "content")
        return {"role": "user", "content": content, "said": self._said(item) or ""}

    @_forgiving("the request is sent without a digest")
    def _digest(
        self, about: Sequence[Any], items: Sequence[Any], last: _Told | None
    ) -> Digest | None:
        """Return the digest of a request: a new one, or in a loop of tool calls the last one."""
        recalled = None
        if last is not None:
            with suppress(NotReplayable):
                recalled = self.memory.receipts.replay(last.receipt)
        if not recalled and about:
            if not self.memory._link.worker.wait(self._jobs, MOST_WAIT_S):
                _log.debug("the digest does not know yet what was said before")
            recalled = self.memory.digest(about, beside=items, receipt=self._keeps)
        return recalled

    def _note(self, key: str, entry: _Told) -> None:
        self._last[key] = entry
        while len(self._last) > SHOWN:
            self._last.popitem(last=False)

    # -- after the answer --------------------------------------------------------------------------

    def _passed(self, request: _Request, answer: Any) -> Any:
        if hasattr(answer, "__stream__"):
            return _Stream(answer, partial(self._answered, request))
        response = _field(answer, "http_response")
        if response is None:
            self._answered(request, [answer])
        elif response.is_closed:
            self._answered(request, _pieces_of([response.content]))
        else:
            _listen(response, lambda read: self._answered(request, _pieces_of(read)))
        return answer

    @_forgiving(NOT_ADDED)
    def _answered(self, request: _Request, pieces: Sequence[Any]) -> None:
        """Let the worker add what was said."""
        response = _field(pieces[0], "response") or pieces[0] if pieces else None
        if request.told is not None and _field(response, "object") == "response":
            self._note(_field(response, "id"), request.told)  # the next request may name it
        text = "".join(_text_of(piece) for piece in pieces)
        messages = [*request.new, *([{"role": "assistant", "content": text}] if text else [])]
        if messages:
            add = partial(_forgiving(NOT_ADDED)(self.memory.add), messages)
            name = f"{self._jobs}{next(_numbers)}"
            self.memory._link.worker.submit(name, add, at_close=True)


def _listen(response: Any, ended: Callable[[Sequence[bytes]], None]) -> None:
    """Note what the caller reads of a raw response.

    Args:
        response: The response of the HTTP client; every way to read it goes through two methods.
        ended: Called once, with what was read: when the reading ends, or the response is dropped.
    """
    read: list[bytes] = []
    end = weakref.finalize(response, ended, read)
    end.atexit = False
    pieces, awaited_pieces = response.iter_bytes, response.aiter_bytes

    def iter_bytes(chunk_size: int | None = None) -> Iterator[bytes]:
        try:
            for piece in pieces(chunk_size):
                read.append(piece)
                yield piece
        finally:
            end()

    async def aiter_bytes(chunk_size: int | None = None) -> AsyncIterator[bytes]:
        try:
            async for piece in awaited_pieces(chunk_size):
                read.append(piece)
                yield piece
        finally:
            end()

    response.iter_bytes, response.aiter_bytes = iter_bytes, aiter_bytes


class _Stream:
    """A stream of an SDK that hands its pieces on, and notes them for the memory."""

    def __init__(self, stream: Any, ended: Callable[[Sequence[Any]], None]) -> None:
        """Begin.

        Args:
            stream: The stream.
            ended: Called once, with the pieces that came: when the response is closed, or when
                the stream is dropped.
        """
        self._stream, self._pieces = stream, list[Any]()
        end = weakref.finalize(self, ended, self._pieces)
        end.atexit = False
        response, name = stream.response, "aclose" if hasattr(stream, "__anext__") else "close"
        close = getattr(response, name)

        def closed() -> Any:
            end()
            return close()

        setattr(response, name, closed)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def __iter__(self) -> _Stream:
        return self

    def __next__(self) -> Any:
        self._pieces.append(next(self._stream))
        return self._pieces[-1]

    def __enter__(self) -> _Stream:
        return self

    def __exit__(self, *error: object) -> None:
        self._stream.close()

    def __aiter__(self) -> _Stream:
        return self

    async def __anext__(self) -> Any:
        self._pieces.append(await self._stream.__anext__())
        return self._pieces[-1]

    async def __aenter__(self) -> _Stream:
        return self

    async def __aexit__(self, *error: object) -> None:
        await self._stream.close()


# -- the shapes of both SDKs -----------------------------------------------------------------------


def _field(thing: object, name: str) -> Any:
    return thing.get(name) if isinstance(thing, Mapping) else getattr(thing, name, None)


def _role(item: object) -> str:
    """Return ``user``, ``assistant``, ``tool`` or ``system``."""
    role, content = _field(item, "role"), _field(item, "content")
    if role is None:
        return "tool" if str(_field(item, "type")).endswith("_output") else "assistant"
    if role == "user" and isinstance(content, list) and content:
        results = [_field(part, "type") == "tool_result" for part in content]
        return "tool" if all(results) else "user"
    return {"developer": "system", "function": "tool"}.get(role, str(role))


def _is_digest(text: object) -> bool:
    return isinstance(text, str) and _BLOCK.fullmatch(text) is not None


def _without_digest(item: Any) -> Any:
    """Return a message without a digest that the caller sends back."""
    text = _field(item, "content")
    if isinstance(item, Mapping) and isinstance(text, str) and TITLE in text:
        return {**item, "content": _BLOCK.sub("", text)}
    return item


def _appended(given: Any, text: str) -> Any:
    """Return instructions of the caller with a digest at their end."""
    if isinstance(given, list):
        kept = [part for part in given if not _is_digest(_field(part, "text"))]
        return [*kept, *([{"type": "text", "text": text}] if text else [])]
    own = _BLOCK.sub("", given) if isinstance(given, str) else ""
    return "\n\n".join(filter(None, [own, text])) or given


def _pieces_of(read: Sequence[bytes]) -> list[Any]:
    """Return the pieces of an answer from its bytes: one JSON, or server-sent events."""
    text = b"".join(read).decode(errors="replace")
    pieces = []
    for piece in _EVENT.findall(text) or [text]:
        with suppress(ValueError):  # the last one was cut
            pieces.append(json.loads(piece))
    return pieces


def _text_of(piece: Any) -> str:
    """Return the text in an answer, or in a piece of a stream."""
    if _field(piece, "type") in ("response.output_text.delta", "content_block_delta"):
        delta = _field(piece, "delta")
        return str(delta if isinstance(delta, str) else _field(delta, "text") or "")
    for choice in _field(piece, "choices") or ():
        if _field(choice, "index") == 0:
            message = _field(choice, "delta") or _field(choice, "message")
            return str(_field(message, "content") or _field(message, "refusal") or "")
    items = [item for item in _field(piece, "output") or [piece] if _role(item) == "assistant"]
    parts = [part for item in items for part in _field(item, "content") or ()]
    return "".join(_field(part, "text") or _field(part, "refusal") or "" for part in parts)
