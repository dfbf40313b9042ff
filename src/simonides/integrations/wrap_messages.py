"""Reads what the user said in a chat request, and adds a digest to it.

Pure functions over the three shapes of conversations: OpenAI's ``messages`` and ``input``,
Anthropic's ``messages``. The caller's objects never change; the digest goes into copies.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

from simonides.domain.value import Value

MAX_SAID_CHARS = 16_000
"""Longest text that is captured or searched for; chosen: what the store takes of four bytes a
character. Of a longer one, a document mostly, head and tail count."""
EARLIER = 3
"""How many of the user's turns before are handed on, as capture looks at no more."""


class Place(Enum):
    """Where the digest goes.

    ``PART`` is a text part of its own at the head of the user's last turn. Earlier turns stay byte
    for byte the same, so that a provider's prompt cache still serves them. ``MESSAGE`` is a user's
    message of its own before that turn, for servers that take no parts.
    """

    PART = "part"
    MESSAGE = "message"


@dataclass(frozen=True, slots=True)
class Api:
    """The shape of one API's conversations.

    Attributes:
        argument: Name of the argument with the conversation.
        part: Type of a part with the user's text.
    """

    argument: str
    part: str


CHAT = Api("messages", "text")
RESPONSES = Api("input", "input_text")


@dataclass(frozen=True, slots=True)
class Utterance(Value):
    """One turn of the user.

    Attributes:
        text: The user's words; a very long text is shortened.
        speaker: The name in the message, or None.
    """

    text: str
    speaker: str | None = None


@dataclass(frozen=True, slots=True)
class Speech(Value):
    """What the user says in a request.

    Attributes:
        new: The user's turns without an answer, oldest first.
        before: The user's turns before that, oldest first.
        place: Index of the last turn in the conversation, or None if there is none.
    """

    new: tuple[Utterance, ...] = ()
    before: tuple[str, ...] = ()
    place: int | None = None

    @property
    def query(self) -> str:
        """The query for recall: the user's last words, even if a tool answered since."""
        if self.new:
            return self.new[-1].text
        return self.before[-1] if self.before else ""


SILENCE = Speech()


def said_in(conversation: object) -> Speech:
    """Return what the user says in a conversation: a text, or messages as dictionaries or objects.

    Only the role ``user`` counts, without tool results, images and files. A trailing message of the
    assistant is the beginning of the answer.
    """
    if isinstance(conversation, str):
        spoken = conversation.strip()
        return Speech((Utterance(shortened(conversation)),), (), 0) if spoken else SILENCE
    if not isinstance(conversation, Sequence):
        return SILENCE
    end = len(conversation)
    while end and _field(conversation[end - 1], "role") == "assistant":
        end -= 1
    said: list[tuple[int, Utterance]] = []
    answered = 0
    for place, message in enumerate(conversation[:end]):
        utterance = _utterance(message)
        if utterance is not None:
            said.append((place, utterance))
        elif _is_answer(message):
            answered = len(said)
    before = tuple(utterance.text for _, utterance in said[:answered])
    new = tuple(utterance for _, utterance in said[answered:])
    return Speech(new, before[-EARLIER:], said[-1][0] if said else None)


def with_digest(conversation: Any, place: int, digest: str, api: Api, where: Place) -> Any:
    """Return a conversation with a digest in, or before, the user's turn at an index."""
    told = {"type": api.part, "text": digest}
    if isinstance(conversation, str):
        conversation = [{"role": "user", "content": conversation}]
    messages = list(conversation)
    if where is Place.MESSAGE:
        return [*messages[:place], {"role": "user", "content": digest}, *messages[place:]]
    message = _as_mapping(messages[place])
    content = message["content"]
    if isinstance(content, str):
        parts: list[Any] = [{"type": api.part, "text": content}]
        at = 0
    else:
        parts = list(content)
        # The API requires tool results first in a turn.
        at = next(i for i, part in enumerate(parts) if _text_of(part))
    messages[place] = {**message, "content": [*parts[:at], told, *parts[at:]]}
    return messages


def shortened(text: str) -> str:
    """Return a text; of a very long one only head and tail."""
    if len(text) <= MAX_SAID_CHARS:
        return text
    half = MAX_SAID_CHARS // 2 - 2
    return f"{text[:half]}\n…\n{text[-half:]}"


def _utterance(message: object) -> Utterance | None:
    can_be_sent_anew = isinstance(message, Mapping) or hasattr(message, "model_dump")
    if _field(message, "role") != "user" or not can_be_sent_anew:
        return None
    content = _field(message, "content")
    if isinstance(content, str):
        text = content
    elif isinstance(content, Sequence):
        text = "\n".join(filter(None, map(_text_of, content)))
    else:
        return None
    if not text.strip():
        return None
    name = _field(message, "name")
    return Utterance(shortened(text), name if isinstance(name, str) and name else None)


def _is_answer(message: object) -> bool:
    """Whether a message answers the user: from the assistant or a tool."""
    role = _field(message, "role")
    if role == "user":
        # A turn with tool results only is an answer; a turn with only an image is none.
        content = _field(message, "content")
        parts = content if isinstance(content, Sequence) and not isinstance(content, str) else ()
        return any(str(_field(part, "type")).endswith("tool_result") for part in parts)
    return role not in ("system", "developer")


def _text_of(part: object) -> str | None:
    """Return the text in a part of a message; None for an image, a file, a tool result."""
    if isinstance(part, str):
        return part
    if _field(part, "type") not in ("text", "input_text"):
        return None
    text = _field(part, "text")
    return text if isinstance(text, str) else None


def _field(thing: object, name: str) -> Any:
    return thing.get(name) if isinstance(thing, Mapping) else getattr(thing, name, None)


def _as_mapping(message: Any) -> Mapping[str, Any]:
    if isinstance(message, Mapping):
        return message
    # The SDKs' response objects can be sent again as messages.
    dumped: Mapping[str, Any] = message.model_dump(exclude_unset=True)
    return dumped
