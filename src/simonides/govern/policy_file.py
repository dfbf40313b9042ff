"""Reads policy files: YAML or JSON, checked against the schema, errors with their line.

A file holds sections of `Policy` that differ from the built-in ones. Under ``orgs`` stand sections
that differ further for one organisation, and under ``agents``, of all or of one organisation, those
that differ for one agent:

```yaml
version: "2026-11"
quotas: {memories: 5000}
agents:
  support-bot: {digest: {lines: 3}}
orgs:
  acme: {denied_keys: [declared_tier]}
```
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from simonides.core.clock import Clock
from simonides.core.errors import PolicyInvalid, shown
from simonides.core.validation import invalid, nearest

if TYPE_CHECKING:
    from simonides.core.policy import Policy

MAX_BYTES = 64 * 1024
"""Largest file. Set by judgement: a policy with a thousand keys has about 30 KiB."""

MAX_DEPTH = 12
"""Deepest nesting. Set by judgement: a policy is five deep."""

CHECK_EVERY_MS = 1_000
"""How often the file is looked at for a change. Set by judgement."""

Lines = dict[tuple[str, ...], int]

Found = dict[tuple[str | None, str | None], "Policy"]
"""Policies by organisation and agent; None stands for any other."""


class Policies:
    """The policies in force; a changed file is read again within a second.

    Thread-safe. A broken change of the file raises until it is mended; the rules never go back
    silently.
    """

    def __init__(self, path: Path | None, clock: Clock) -> None:
        """Read the file.

        Args:
            path: The file, or None for the built-in policy.
            clock: Decides when the file is looked at again.

        Raises:
            PolicyInvalid: If it does not follow the schema, or cannot be read.
        """
        self._path, self._clock = path, clock
        self.after_fork()
        self._stamp: tuple[int, int] | None = None
        self._checked_at = -CHECK_EVERY_MS
        self._policies: Found = {}
        if path is not None:
            self._reload(path)

    def after_fork(self) -> None:
        """Make the lock anew; the old one may be held for ever."""
        self._lock = threading.Lock()

    def for_org(self, org: str | None, agent: str | None = None) -> Policy:
        """Return the policy of an organisation, and of an agent in it; None means any.

        Raises:
            PolicyInvalid: If the file was changed and does not follow the schema now.
        """
        if self._path is None:
            from simonides.core.policy import BUILT_IN

            return BUILT_IN
        self._reload(self._path)
        return policy_in(self._policies, org, agent)

    def _reload(self, path: Path) -> None:
        now = self._clock.now_ms()
        with self._lock:
            if self._stamp is not None and 0 <= now - self._checked_at < CHECK_EVERY_MS:
                return
            try:
                stat = path.stat()
            except OSError as error:
                raise PolicyInvalid(str(path), 0, f"cannot be read: {error.strerror}") from error
            stamp = (stat.st_mtime_ns, stat.st_size)
            if stamp != self._stamp:
                self._policies = load(path)
                self._stamp = stamp
            self._checked_at = now


def policy_in(policies: Found, org: str | None, agent: str | None) -> Policy:
    """Return the policy of an organisation and agent; of one that is not named, the general one."""
    org = org if (org, None) in policies else None
    return policies[org, agent if (org, agent) in policies else None]


def load(path: Path) -> Found:
    """Return the policies of a file.

    Raises:
        PolicyInvalid: With the line, and the nearest right name of an unknown one.
    """
    try:
        raw = path.read_bytes()
    except OSError as error:
        raise PolicyInvalid(str(path), 0, f"cannot be read: {error.strerror}") from error
    return parse(str(path), raw)


def parse(source: str, raw: bytes) -> Found:
    """Return the policies of a file's bytes, as `load` does."""
    from simonides.core.policy import BUILT_IN

    if len(raw) > MAX_BYTES:
        raise PolicyInvalid(source, 0, f"has {len(raw):,} bytes; the limit is {MAX_BYTES:,}")
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw[: error.start].count(b"\n") + 1
        raise PolicyInvalid(source, line, "is not UTF-8 text") from error
    data, lines = _read(source, text)
    orgs, agents = (_named(source, data, lines, name) for name in ("orgs", "agents"))
    general = _policy(source, BUILT_IN, data, lines, ())
    policies: Found = {}
    every: list[tuple[str | None, dict[str, Any]]] = [(None, {}), *orgs.items()]
    for org, sections in every:
        at = () if org is None else ("orgs", org)
        own = _named(source, sections, lines, "agents", at)
        policy = _policy(source, general, sections, lines, at)
        policies[org, None] = policy
        for agent in {**agents, **own}:
            base = _policy(source, policy, agents.get(agent, {}), lines, ("agents", agent))
            of_org = (*at, "agents", agent)
            policies[org, agent] = _policy(source, base, own.get(agent, {}), lines, of_org)
    return policies


def _named(
    source: str, data: dict[str, Any], lines: Lines, name: str, at: tuple[str, ...] = ()
) -> dict[str, dict[str, Any]]:
    """Take the sections by organisation or agent out of a file's data.

    Raises:
        PolicyInvalid: If they are not sections under ids.
    """
    named = data.pop(name, {})
    wrong = [(*at, name)]
    if isinstance(named, dict):
        wrong = [(*at, name, id) for id, own in named.items() if not isinstance(own, dict)]
    for path in wrong:
        raise PolicyInvalid(source, lines[path], f"{'.'.join(path)}: must hold sections")
    return dict(named)


def _policy(
    source: str, base: Policy, data: Mapping[str, Any], lines: Lines, at: tuple[str, ...]
) -> Policy:
    from simonides.core.policy import Category, Policy, merged

    for name in data:
        if name not in Policy.model_fields:
            problem = f"{shown(name)} is not a section{nearest(name, Policy.model_fields)}"
            raise PolicyInvalid(source, lines[(*at, name)], problem)
        if name == "oidc" and at:
            problem = "oidc: is for the whole store; a token says the organisation"
            raise PolicyInvalid(source, lines[(*at, name)], problem)
    try:
        policy = Policy.model_validate(merged(base, data))
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        path = (*at, *map(str, first["loc"]))
        name = str(first["loc"][0])
        section = Category if name == "categories" else Policy.model_fields[name].annotation
        problem = str(invalid(error, tuple(getattr(section, "model_fields", ()))))
        raise PolicyInvalid(source, _line(lines, path), problem) from error
    for kind, category in policy.category_of_kind.items():
        if category not in policy.categories:
            problem = f"{shown(category)} is not a category{nearest(category, policy.categories)}"
            path = (*at, "category_of_kind", kind.value)
            raise PolicyInvalid(source, _line(lines, path), problem)
    return policy


def _line(lines: Lines, path: tuple[str, ...]) -> int:
    """Return the line of a value, or of its nearest ancestor in the file."""
    while path and path not in lines:
        path = path[:-1]
    return lines.get(path, 1)


def _read(source: str, text: str) -> tuple[dict[str, Any], Lines]:
    """Return the data of a YAML or JSON text, and the line of every value."""
    import yaml

    lines: Lines = {}
    # JSON allows tabs as indentation, YAML does not.
    text = text.replace("\t", " ") if source.endswith(".json") else text
    try:
        _note_lines(source, yaml.compose(text, yaml.SafeLoader), (), lines, set())
        data = yaml.safe_load(text)
    except PolicyInvalid:
        raise
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = 1 if mark is None else mark.line + 1
        raise PolicyInvalid(source, line, error.problem or "is not valid YAML") from error
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        raise PolicyInvalid(source, 1, "is not YAML that a policy may hold") from error
    if data is None:
        return {}, lines
    if not isinstance(data, dict):
        raise PolicyInvalid(source, 1, "must be a mapping of sections")
    return data, lines


def _note_lines(
    source: str, node: Any, path: tuple[str, ...], lines: Lines, seen: set[int]
) -> None:
    """Note the line of every value; refuse aliases before anything is built from them."""
    import yaml

    if id(node) in seen or len(path) > MAX_DEPTH:
        problem = "aliases are not allowed" if id(node) in seen else "is nested too deep"
        raise PolicyInvalid(source, lines[path], problem)
    seen.add(id(node))
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            name = (*path, str(key.value))
            if not isinstance(key, yaml.ScalarNode) or key.tag != "tag:yaml.org,2002:str":
                raise PolicyInvalid(source, key.start_mark.line + 1, "names must be text; quote it")
            if name in lines:
                problem = f"{shown(key.value)} is there twice"
                raise PolicyInvalid(source, key.start_mark.line + 1, problem)
            lines[name] = key.start_mark.line + 1
            _note_lines(source, value, name, lines, seen)
    elif isinstance(node, yaml.SequenceNode):
        for number, value in enumerate(node.value):
            lines[(*path, str(number))] = value.start_mark.line + 1
            _note_lines(source, value, (*path, str(number)), lines, seen)
