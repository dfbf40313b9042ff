"""Writes simonides into the settings of assistants that speak MCP, and takes it out again.

The edit is made in the text: entries of others, comments and layout stay byte for byte. The result
is parsed before it is written and must hold the old data and our entry, nothing else. Formats are
JSON with comments and trailing commas, which plain JSON is a part of, and TOML.
"""

from __future__ import annotations

import difflib
import json
import os
import re
import sys
import tempfile
import tomllib
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from simonides.core.errors import ConfigurationError

if TYPE_CHECKING:
    from simonides.core.settings import Home

NAME = "simonides"
"""Name of our entry."""

BACKUP = ".simonides-backup"
"""Ending of the backup's name."""

NAMES = ("claude-desktop", "claude-code", "cursor", "vscode", "codex", "windsurf")
"""The clients."""

SPACE = " \t\r\n"

Entry = Mapping[str, Any]


class Client(NamedTuple):
    """Where a client keeps its servers.

    Attributes:
        folder: Exists where the client is installed.
        file: Its settings.
        section: Name of the object or table with one entry a server.
        is_typed: Whether an entry names its transport.
    """

    folder: Path
    file: Path
    section: str = "mcpServers"
    is_typed: bool = False


class Change(NamedTuple):
    """What is to be written.

    Attributes:
        client: Its name.
        path: The settings.
        before: Bytes of the file; None if there is no file.
        after: Bytes to write; None deletes a file that the installation made.
        is_removal: Whether our entry goes.
        is_kept: Whether the bytes before are to be kept beside the file.
    """

    client: str
    path: Path
    before: bytes | None
    after: bytes | None
    is_removal: bool = False
    is_kept: bool = False

    @property
    def kind(self) -> str:
        """``install``, ``remove`` or ``none``."""
        if self.before == self.after:
            return "none"
        return "remove" if self.is_removal else "install"

    @property
    def diff(self) -> list[str]:
        """Lines of a unified diff; without context, which may show secrets of other entries."""
        old, new = ((each or b"").decode("utf-8", "replace") for each in (self.before, self.after))
        was, will = (os.devnull if e is None else str(self.path) for e in (self.before, self.after))
        lines = difflib.unified_diff(old.split("\n"), new.split("\n"), was, will, lineterm="", n=0)
        shown = (
            (c if c.isprintable() or c == "\t" else "?" for c in e.rstrip("\r")) for e in lines
        )
        return ["".join(characters) for characters in shown]


def clients(home: Home) -> dict[str, Client]:
    """Return each client by its name."""
    code, codex = home.claude or home.user / ".claude", home.codex or home.user / ".codex"
    desktop, cursor = home.apps / "Claude", home.user / ".cursor"
    vscode, windsurf = home.apps / "Code" / "User", home.user / ".codeium" / "windsurf"
    found = (
        Client(desktop, desktop / "claude_desktop_config.json"),
        Client(code, (home.claude or home.user) / ".claude.json", is_typed=True),
        Client(cursor, cursor / "mcp.json", is_typed=True),
        Client(vscode, vscode / "mcp.json", "servers", is_typed=True),
        Client(codex, codex / "config.toml", "mcp_servers"),
        Client(windsurf, windsurf / "mcp_config.json"),
    )
    return dict(zip(NAMES, found, strict=True))


def entry_for(options: list[str]) -> dict[str, Any]:
    """Return the command that starts our server in the installation that runs now.

    The path is absolute, as clients do not activate virtual environments.

    Args:
        options: Global options, for example ``--user ana``.

    Raises:
        ConfigurationError: If a part of it cannot stand in a settings file.
    """
    windows = ".exe" if os.name == "nt" else ""
    script = Path(sys.executable).absolute().with_name(f"{NAME}{windows}")
    # -P: a folder of this name in the current directory must not hide the library.
    start = [str(script)] if script.exists() else [sys.executable, "-P", "-m", NAME]
    parts = [*start, "mcp", *options]
    for part in parts:
        if not part.isprintable():
            raise ConfigurationError(f"{part!a} has invisible characters; use another name")
    return {"command": parts[0], "args": parts[1:]}


def plan(client: str, home: Home, entry: Entry | None) -> Change:
    """Return what would be written; nothing is.

    Args:
        client: Its name, of `NAMES`.
        home: Where settings are.
        entry: Our entry; None removes it. If the file is what we wrote, the removal brings the
            bytes of the backup back; if it was changed since, only our entry goes.

    Raises:
        ConfigurationError: If the file cannot be read, parsed or edited.
    """
    where = clients(home)[client]
    before = _read(where.file)
    if entry is not None:
        ours = {"type": "stdio", **entry} if where.is_typed else entry
        after = edited(where, before, ours)
        is_made_by_us = before is None or _without(where, before) is None
        is_kept = not is_made_by_us and _read(_backup(where.file)) is None
        return Change(client, where.file, before, after, is_kept=is_kept)
    return Change(client, where.file, before, _without(where, before), is_removal=True)


def apply(change: Change) -> None:
    """Write a change: first a backup if there is none yet, then the file, at once.

    Raises:
        ConfigurationError: If the file was changed since the plan, or cannot be written.
    """
    if change.before == change.after:
        return
    if _read(change.path) != change.before:
        raise ConfigurationError(f"{change.path}: was changed meanwhile; run the command again")
    backup = _backup(change.path)
    try:
        change.path.parent.mkdir(parents=True, exist_ok=True)
        target = change.path.resolve()  # a link stays a link
        mode = target.stat().st_mode & 0o7777 if target.exists() else 0o600
        if change.is_kept and change.before is not None:
            _write(backup, change.before, mode)
        if change.after is None:
            target.unlink()
        else:
            _write(target, change.after, mode)
        if change.is_removal:
            backup.unlink(missing_ok=True)
    except OSError as error:
        problem = f"{change.path}: cannot be written: {error.strerror}; make it writable"
        raise ConfigurationError(problem) from error


def edited(where: Client, raw: bytes | None, entry: Entry | None) -> bytes:
    """Return settings with our entry as given, or without it for None.

    Raises:
        ConfigurationError: If they do not parse, or the edit would change anything else.
    """
    text = _text(where, raw)
    body = text.removeprefix("\ufeff")
    old = _parsed(where, body)
    servers = old.get(where.section, {})
    line = body.count("\n", 0, max(0, body.find(where.section))) + 1
    if not isinstance(servers, dict):
        raise _unreadable(where, line, f"{where.section} must hold entries by name")
    rest = {name: each for name, each in servers.items() if name != NAME}
    wanted = {**old, where.section: rest if entry is None else {**rest, NAME: dict(entry)}}
    if servers.get(NAME) == entry:
        return raw or b""
    edit = _edit_toml if where.file.suffix == ".toml" else _edit_json
    new = edit(where, body, entry)
    try:
        is_right = _filled(_parsed(where, new)) == _filled(wanted)
    except ConfigurationError:
        is_right = False
    if not is_right:
        advice = f"edit the entry {NAME} of {where.section} by hand"
        raise _unreadable(where, line, f"has a layout that cannot be edited safely; {advice}")
    return (text[: len(text) - len(body)] + new).encode("utf-8", "surrogatepass")


def _filled(data: dict[str, Any]) -> dict[str, Any]:
    # TOML has no empty table without a header.
    return {name: each for name, each in data.items() if each != {}}


def _without(where: Client, before: bytes | None) -> bytes | None:
    if before is None or (entry := _entry(where, before)) is None:
        return before
    original = _read(_backup(where.file))
    is_plain = isinstance(entry, dict) and entry.keys() <= {"type", "command", "args"}
    with suppress(ConfigurationError):  # a backup that others changed is of no use
        if is_plain and edited(where, original, entry) == before:
            return original
    return edited(where, before, None)


def _entry(where: Client, raw: bytes) -> Any:
    servers = _parsed(where, _text(where, raw).removeprefix("\ufeff")).get(where.section)
    return servers.get(NAME) if isinstance(servers, dict) else None


def _backup(path: Path) -> Path:
    return path.with_name(path.name + BACKUP)


def _read(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise ConfigurationError(f"{path}: cannot be read: {error.strerror}") from error


def _write(path: Path, content: bytes, mode: int) -> None:
    """Replace a file at once: a reader sees the old bytes or the new ones."""
    number, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(number, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        Path(name).chmod(mode)
        Path(name).replace(path)
    finally:
        Path(name).unlink(missing_ok=True)  # what was replaced has this name no more


def _unreadable(where: Client, line: int, problem: str) -> ConfigurationError:
    return ConfigurationError(f"{where.file}:{line}: {problem}; nothing was changed")


def _text(where: Client, raw: bytes | None) -> str:
    try:
        return (raw or b"").decode()
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        raise _unreadable(where, line, "is not UTF-8; save it as UTF-8") from error


def _parsed(where: Client, text: str) -> dict[str, Any]:
    """Return the data of settings; numbers with a fraction stay texts, so that they compare."""
    is_toml = where.file.suffix == ".toml"
    try:
        if is_toml:
            return tomllib.loads(text, parse_float=str)
        plain = _plain(_bare(text))
        data = _DECODER.decode(plain) if plain.strip(SPACE) else {}
    except (ValueError, RecursionError) as error:
        at = re.search(r"\bline (\d+)", str(error))
        problem = f"is not valid {'TOML' if is_toml else 'JSON'}; correct this line"
        raise _unreadable(where, int(at[1]) if at else 1, problem) from error
    if not isinstance(data, dict):
        raise _unreadable(where, 1, "must hold an object")
    return data


def _newline(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"


# JSON


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is not JSON")


_DECODER = json.JSONDecoder(parse_float=str, parse_constant=_refuse)
_INK = re.compile(rf"[^{SPACE}]")
_STRING = r'"(?:[^"\\\r\n]|\\.)*"'
_COMMENT = re.compile(rf"{_STRING}|(//[^\r\n]*|/\*.*?\*/)", re.DOTALL)
_TRAILING = re.compile(rf"{_STRING}|[{{\[,:][{SPACE}]*,|(,)(?=[{SPACE}]*[}}\]])")


def _bare(text: str) -> str:
    """Return the text with spaces for comments; every other character keeps its place."""
    return _COMMENT.sub(lambda m: re.sub(r"[^\r\n]", " ", m[0]) if m[1] else m[0], text)


def _plain(bare: str) -> str:
    """Return a text without comments with spaces for trailing commas, too."""
    return _TRAILING.sub(lambda m: " " if m[1] else m[0], bare)


class _Member(NamedTuple):
    key: str
    start: int
    value: int
    end: int


def _skip(plain: str, at: int) -> int:
    return next(_INK.finditer(plain, at)).start()


def _members(plain: str, start: int) -> tuple[list[_Member], int]:
    """Return the members of the object that begins at `start`, and where its brace closes."""
    found, at = list[_Member](), _skip(plain, start + 1)
    while plain[at] != "}":
        key, end = _DECODER.raw_decode(plain, at)
        value = _skip(plain, _skip(plain, end) + 1)
        _, end = _DECODER.raw_decode(plain, value)
        found.append(_Member(key, at, value, end))
        at = _skip(plain, end)
        at = _skip(plain, at + 1) if plain[at] == "," else at
    return found, at


def _named(where: Client, plain: str, members: list[_Member], key: str) -> _Member | None:
    found = [each for each in members if each.key == key]
    if len(found) > 1:
        line = plain.count("\n", 0, found[1].start) + 1
        raise _unreadable(where, line, f"names {key} twice; remove one")
    return found[0] if found else None


def _edit_json(where: Client, text: str, entry: Entry | None) -> str:
    plain = _plain(_bare(text))
    if not plain.strip(SPACE):
        gap = "" if not text or text.endswith("\n") else _newline(text)
        made = _block(text, {where.section: {NAME: entry}}, "", "  ")
        return f"{text}{gap}{made}{_newline(text)}"
    root = plain.index("{")
    members, _ = _members(plain, root)
    unit = _indent(text, members[0].start)[len(_indent(text, root)) :] if members else ""
    unit = unit or "  "
    section = _named(where, plain, members, where.section)
    if section is None:
        return _insert(text, root, where.section, {NAME: entry}, unit)
    servers, _ = _members(plain, section.value)
    ours = _named(where, plain, servers, NAME)
    if entry is None:
        return text if ours is None else _take(text, servers, ours)
    if ours is None:
        return _insert(text, section.value, NAME, entry, unit)
    is_flat = "\n" not in text[section.value : section.end]
    indent = _indent(text, ours.start)
    made = _line(entry) if is_flat else _block(text, entry, indent, unit)
    return text[: ours.value] + made + text[ours.end :]


def _insert(text: str, start: int, key: str, value: Entry, unit: str) -> str:
    """Return the text with one more member, the last, in the object that begins at `start`."""
    bare = _bare(text)
    members, close = _members(_plain(bare), start)
    tail = len(text[:close].rstrip(SPACE))  # behind comments on the members before
    if members and "\n" not in text[start:close]:
        before, after, made = " ", "", _line(value)
    else:
        outer, newline = _indent(text, start), _newline(text)
        indent = _indent(text, members[-1].start) if members else outer + unit
        before, made = newline + indent, _block(text, value, indent, unit)
        after = "" if "\n" in text[tail:close] else newline + outer
    made = f"{before}{json.dumps(key)}: {made}"
    if not members:
        return text[:tail] + made + after + text[tail:]
    last = members[-1].end
    if "," in bare[last:close]:
        return text[:tail] + made + "," + after + text[tail:]
    return text[:last] + "," + text[last:tail] + made + after + text[tail:]


def _take(text: str, servers: list[_Member], ours: _Member) -> str:
    """Return the text without a member, its comma, and the white space before it."""
    bare, place = _bare(text), servers.index(ours)
    following = _skip(bare, ours.end)
    if bare[following] == ",":
        text = text[:following] + text[following + 1 :]
    rest = text[ours.end :].partition("\n")[0]
    start = len(text[: ours.start].rstrip(SPACE))
    if "\n" in text[start : ours.start] and rest.strip(SPACE):
        start = ours.start  # others stand on the line, too
    text = text[:start] + text[ours.end :]
    if bare[following] != "," and place:
        comma = bare.index(",", servers[place - 1].end)
        text = text[:comma] + text[comma + 1 :]
    return text


def _indent(text: str, at: int) -> str:
    line = text[text.rfind("\n", 0, at) + 1 : at]
    return line[: len(line) - len(line.lstrip(" \t"))]


def _line(value: Entry) -> str:
    return json.dumps(value, ensure_ascii=False)


def _block(text: str, value: Entry, indent: str, unit: str) -> str:
    made = json.dumps(value, indent=unit, ensure_ascii=False)
    return made.replace("\n", _newline(text) + indent)


# TOML


def _edit_toml(where: Client, text: str, entry: Entry | None) -> str:
    tables, newline = _tables(where, text), _newline(text)
    if entry is None:
        for start, end in reversed(tables):
            text = _cut(text, start, end)
        return text
    values = [
        f"{name} = {json.dumps(v, ensure_ascii=False, default=str)}" for name, v in entry.items()
    ]
    made = newline.join([f"[{where.section}.{NAME}]", *values])
    if not tables:
        gap = "" if not text or text.endswith("\n") else newline
        gap += newline if text.strip(SPACE) else ""
        return f"{text}{gap}{made}{newline}"
    for start, end in reversed(tables[1:]):
        text = _cut(text, start, end)
    start, end = tables[0]
    return text[:start] + made + text[end:]


def _tables(where: Client, text: str) -> list[tuple[int, int]]:
    """Return where our tables begin and end, comments and blank lines behind them excluded."""
    found, begun = list[tuple[int, int]](), None
    for line in [*re.finditer(r"^[ \t]*\[.*$", text, re.MULTILINE), None]:
        is_ours = line is not None and _is_ours(where, line[0].strip())
        if line is not None and not (is_ours or begun is not None):
            continue
        at = len(text) if line is None else line.start()
        if line is not None and not _is_toml(text[:at]):
            continue  # inside a string or an array
        if begun is not None:
            lines = text[begun:at].split("\n")
            while not lines[-1].strip() or lines[-1].lstrip().startswith("#"):
                lines.pop()
            found.append((begun, begun + len("\n".join(lines).rstrip(SPACE))))
        begun = at if is_ours else None
    return found


def _is_ours(where: Client, header: str) -> bool:
    if NAME not in header or not _is_toml(header):
        return False
    servers = tomllib.loads(header).get(where.section)
    return isinstance(servers, dict) and NAME in servers


def _is_toml(text: str) -> bool:
    try:
        tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return False
    return True


def _cut(text: str, start: int, end: int) -> str:
    """Return the text without these lines and a blank one before them."""
    head, tail = text[:start], re.sub(r"\A[ \t]*\r?\n", "", text[end:])
    return re.sub(r"(?<=\n)\r?\n\Z", "", head) + tail
