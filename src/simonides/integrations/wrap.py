"""Wraps a client of OpenAI or Anthropic to give it memory.

```python
client = simonides.wrap(openai.OpenAI(), user="ana")
client.chat.completions.create(model="…", messages=[…])
```

The result is a client of the same class that shares the connections of the given one; the given
client does not change. Relevant memories are added to each chat request, as one part of the user's
last turn. New facts are captured after the answer. Everything else is the SDK's own, including raw
responses and ``with_options``. No SDK is imported here.
"""

from __future__ import annotations

import asyncio
import copy
import functools
import os
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack
from contextvars import ContextVar
from functools import cached_property
from types import MappingProxyType, TracebackType
from typing import Any, TypeVar, cast
from weakref import ref

from simonides.api.open.assemble import assemble
from simonides.api.sync import Memory, Store
from simonides.domain.errors import InvalidInput, OwnerRequired
from simonides.domain.value import shown
from simonides.integrations.wrap_memory import Habits, Heard, WrappedMemory
from simonides.integrations.wrap_messages import (
    CHAT,
    RESPONSES,
    SILENCE,
    Api,
    Place,
    Speech,
    said_in,
)

ClientT = TypeVar("ClientT")

_CHATS: Mapping[str, Mapping[str, Api]] = MappingProxyType(
    {
        "openai": {"chat.completions": CHAT, "responses": RESPONSES},
        "anthropic": {"messages": CHAT, "beta.messages": CHAT},
    }
)
"""For each SDK, where its chat calls are, and the shape of their conversations."""

_inside: ContextVar[bool] = ContextVar("simonides_wrapped_call", default=False)
"""Whether a wrapped method is running: calls inside it belong to the same turn."""


def wrap(
    client: ClientT,
    memory: Memory | None = None,
    *,
    user: str | None = None,
    org: str | None = None,
    session: str | None = None,
    agent: str | None = None,
    purpose: str | None = None,
    store: str | os.PathLike[str] | Store | None = None,
    recall: bool = True,
    capture: bool = True,
    min_relevance: float | None = 0.0,
    max_items: int | None = 5,
    preference_bias: bool = True,
    place: str = "part",
) -> ClientT:
    """Return a client that remembers for one user.

    Args:
        client: An ``OpenAI``, ``AsyncOpenAI``, ``Anthropic`` or ``AsyncAnthropic``, or one derived
            from them.
        memory: A memory or a session of an open store, which stays open.
        user: Instead of a memory: its owner. The store is then opened here, and closed with the
            client's memory.
        org: With ``user``: organisation; None means the default one.
        session: With ``user``: conversation.
        agent: With ``user``: the agent that acts.
        purpose: With ``user``: the purpose of recall.
        store: With ``user``: an open store, which stays open; or what :func:`simonides.open` takes.
        recall: Whether memories are added to requests.
        capture: Whether new facts are captured from what the user says.
        min_relevance: Least relevance of an added memory; None takes the policy's.
        max_items: Most memories added to a request; None takes the policy's.
        preference_bias: Show preferences under a key for any request, if there is space.
        place: ``part``: the digest is a text part of its own in the user's last turn; ``message``:
            a message of its own before it, for servers that take texts only.

    Returns:
        A client of the same class, whose ``memory`` is a :class:`WrappedMemory`.

    Raises:
        InvalidInput: If ``client`` is of another class or already wrapped, or ``store`` or
            ``place`` is invalid.
        OwnerRequired: If neither a memory nor a user is named.
        InvalidScope: If an id is malformed.
        ConfigurationError: If a setting or the store's name is wrong, or an extra is missing.
        StoreError: If the store cannot be opened.
    """
    chats = _chats_of(client)
    if place not in {each.value for each in Place}:
        raise InvalidInput("place", f"must be part or message, not {shown(place)}")
    if not (store is None or isinstance(store, (str, os.PathLike, Store))):
        raise InvalidInput(
            "store", f"must be a path, a URL or what simonides.open returns, not {shown(store)}"
        )
    habits = Habits(recall, capture, min_relevance, max_items, preference_bias, Place(place))
    if memory is not None:
        if not isinstance(memory, Memory):
            raise InvalidInput("memory", f"must be a Memory or a Session, not {shown(memory)}")
        if user is not None or store is not None:
            raise InvalidInput("memory", "name a memory or a user, not both")
        used = WrappedMemory(memory, habits, owned=None)
        return cast("ClientT", _ClientWrapper(used, chats).twin_of(client))
    opened = store if isinstance(store, Store) else Store(assemble(store, inline=True))
    owned = None if opened is store else opened
    with ExitStack() as undo:
        if owned is not None:
            undo.callback(owned.close)
        if user is None:
            raise OwnerRequired("pass a memory, or user=…")
        mine = opened.memory(user=user, org=org, agent=agent, purpose=purpose)
        own = mine if session is None else mine.session(session)
        undo.pop_all()
    if owned is not None:
        owned.__enter__()
    used = WrappedMemory(own, habits, owned=owned)
    return cast("ClientT", _ClientWrapper(used, chats).twin_of(client))


def memory_of(client: object) -> WrappedMemory:
    """Return the memory of a wrapped client, like ``client.memory`` but typed.

    Raises:
        InvalidInput: If it is not wrapped.
    """
    memory = vars(client).get("memory") if hasattr(client, "__dict__") else None
    if not isinstance(memory, WrappedMemory):
        raise InvalidInput("client", "is not wrapped: simonides.wrap(client, user=…) does it")
    return memory


def _chats_of(client: object) -> Mapping[str, Api]:
    kinds = [each.__module__.partition(".")[0] for each in type(client).__mro__]
    sdk = next((kind for kind in kinds if kind in _CHATS), None)
    is_client = any(
        each.__name__ in ("SyncAPIClient", "AsyncAPIClient") for each in type(client).__mro__
    )
    if sdk is None or not is_client:
        raise InvalidInput(
            "client", f"must be a client of openai or anthropic, not {type(client).__name__}"
        )
    if isinstance(vars(client).get("memory"), WrappedMemory):
        raise InvalidInput("client", "is wrapped already; wrap the client that it was made from")
    return _CHATS[sdk]


class _ClientWrapper:
    """Makes copies of clients whose chat calls use a memory."""

    def __init__(self, memory: WrappedMemory, chats: Mapping[str, Api]) -> None:
        self._memory = memory
        self._chats = chats

    def twin_of(self, client: Any) -> Any:
        """Return a copy of a client with the same connections and a memory."""
        twin = copy.copy(client)
        for name in list(vars(twin)):
            # Cached resources refer to the original client.
            if isinstance(getattr(type(twin), name, None), cached_property):
                del vars(twin)[name]
        self._wrap_chats(twin)
        twin.close = self._closing(client.close)
        return twin

    def _wrap_chats(self, client: Any) -> None:
        """Replace the chat methods of a new client by ones that use the memory."""
        is_async = any(each.__name__ == "AsyncAPIClient" for each in type(client).__mro__)
        for path, api in self._chats.items():
            chat = functools.reduce(getattr, path.split("."), client)
            turn = _Turn(self._memory, api)
            whole = turn.wrapped_async if is_async else turn.wrapped
            chat.create = whole(chat.create)
            chat.parse = whole(chat.parse)
            # OpenAI's stream helper calls ``create``.
            if path.endswith("messages"):
                chat.stream = turn.streamed(chat.stream)
        copied = type(client).copy.__get__(client)
        client.copy = client.with_options = self._copying(copied)
        client.memory = self._memory

    def _copying(self, make: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(make)
        def copied(*args: Any, **options: Any) -> Any:
            client = make(*args, **options)
            self._wrap_chats(client)
            return client

        return copied

    def _closing(self, close: Callable[[], Any]) -> Callable[[], Any]:
        """Return a function that closes a client and its memory."""
        memory = self._memory
        if asyncio.iscoroutinefunction(close):

            @functools.wraps(close)
            async def aclosed() -> None:
                await asyncio.to_thread(memory.close)
                await close()

            return aclosed

        @functools.wraps(close)
        def closed() -> None:
            memory.close()
            close()

        return closed


class _Turn:
    """One call of a chat method: recall before it, capture after it."""

    def __init__(self, memory: WrappedMemory, api: Api) -> None:
        self._memory = memory
        self._api = api

    def wrapped(self, call: Callable[..., Any]) -> Callable[..., Any]:
        """Return a method that recalls before and captures after."""

        @functools.wraps(call)
        def remembering(*args: Any, **asked: Any) -> Any:
            if _inside.get():
                return call(*args, **asked)
            asked, speech = self._heard(asked)
            asked, heard = self._memory.informed(asked, speech, self._api)
            token = _inside.set(True)
            try:
                answer = call(*args, **asked)
            finally:
                _inside.reset(token)
            return self._with_capture(answer, heard)

        return remembering

    def wrapped_async(self, call: Callable[..., Any]) -> Callable[..., Any]:
        """Return the same for an async method; it never blocks the event loop."""

        @functools.wraps(call)
        async def remembering(*args: Any, **asked: Any) -> Any:
            if _inside.get():
                return await call(*args, **asked)
            asked, speech = self._heard(asked)
            asked, heard = await asyncio.to_thread(self._memory.informed, asked, speech, self._api)
            token = _inside.set(True)
            try:
                answer = await call(*args, **asked)
            finally:
                _inside.reset(token)
            return self._with_capture(answer, heard)

        return remembering

    def streamed(self, call: Callable[..., Any]) -> Callable[..., Any]:
        """Return the same for a method that returns a stream manager."""

        @functools.wraps(call)
        def remembering(*args: Any, **asked: Any) -> Any:
            if _inside.get():
                return call(*args, **asked)
            asked, speech = self._heard(asked)
            informed = functools.partial(self._memory.informed, asked, speech, self._api)
            return _StreamManager(
                informed,
                lambda told: call(*args, **told),
                self._memory.said,
            )

        return remembering

    def _heard(self, asked: dict[str, Any]) -> tuple[dict[str, Any], Speech]:
        """Return the arguments, and what the user says in them."""
        conversation = asked.get(self._api.argument)
        if isinstance(conversation, str):
            return asked, said_in(conversation) if self._api is RESPONSES else SILENCE
        if isinstance(conversation, Mapping) or not isinstance(conversation, Iterable):
            return asked, SILENCE
        if not isinstance(conversation, (list, tuple)):
            # An iterator can be read only once; its values are sent in its place.
            conversation = list(conversation)
            asked = {**asked, self._api.argument: conversation}
        return asked, said_in(conversation)

    def _with_capture(self, answer: Any, heard: Heard) -> Any:
        """Queue the capture: at once, or at the end of a streamed answer."""
        if not heard.speech.new:
            return answer
        if not hasattr(type(answer), "__stream__"):
            self._memory.said(heard)
            return answer
        _on_end(answer, self._memory.said_in(answer, heard))
        return answer


def _on_end(stream: Any, ended: Callable[[], object]) -> None:
    """Call a function when a stream ends or is closed; its events pass unchanged."""
    # No reference cycle: the SDK relies on a dropped stream being collected and closed.
    weak, kind = ref(stream), type(stream)
    if hasattr(kind, "__aiter__"):
        stream._iterator = _apassing(stream._iterator, ended)

        async def aclose() -> None:
            if (there := weak()) is not None:
                await kind.close(there)
            ended()

        stream.close = aclose
        return
    stream._iterator = _passing(stream._iterator, ended)

    def close() -> None:
        if (there := weak()) is not None:
            kind.close(there)
        ended()

    stream.close = close


def _passing(pieces: Iterator[Any], ended: Callable[[], object]) -> Iterator[Any]:
    try:
        yield from pieces
    finally:
        ended()


async def _apassing(pieces: AsyncIterator[Any], ended: Callable[[], object]) -> AsyncIterator[Any]:
    try:
        async for piece in pieces:
            yield piece
    finally:
        ended()


class _StreamManager:
    """Replaces the SDK's stream manager: recalls on entering, captures on leaving."""

    def __init__(
        self,
        informed: Callable[[], tuple[dict[str, Any], Heard]],
        begin: Callable[[dict[str, Any]], Any],
        said: Callable[[Heard], None],
    ) -> None:
        self._informed = informed
        self._begin = begin
        self._said = said
        self._inner: Any = None
        self._heard: Heard | None = None

    def __enter__(self) -> Any:
        told, self._heard = self._informed()
        self._inner = self._begin(told)
        return self._inner.__enter__()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            self._inner.__exit__(kind, error, trace)
        finally:
            if self._heard is not None:
                self._said(self._heard)

    async def __aenter__(self) -> Any:
        told, self._heard = await asyncio.to_thread(self._informed)
        self._inner = self._begin(told)
        return await self._inner.__aenter__()

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            await self._inner.__aexit__(kind, error, trace)
        finally:
            if self._heard is not None:
                self._said(self._heard)
