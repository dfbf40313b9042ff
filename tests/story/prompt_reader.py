"""Reads a digest as somebody would who knows nothing of it but its grammar, character by character.

    page  = "Memory digest:" NL note NL "<memory-data>" NL (item NL)* "</memory-data>"
    item  = "- [" name "] " (name lead)? string " (" id "; " source " " date " " number
            ("; " remark)* ("; from " string)? ")"
    name  = bare | string;  lead = " = " | ": " | " " name " " name " — "

Nothing is shared with the code that writes it.
"""

import re
from dataclasses import dataclass

REMARKS = {"unverified", "stale?", "in review"}
CONCERNS = {"secret", "personal", "poison"}
TRUSTS = {"system", "user", "tool", "agent", "external"}
BARE = set(" _-.'/@&+,#…")


class Escaped(AssertionError):
    """A text got out of its place."""


@dataclass
class Item:
    """One line.

    Attributes:
        category: What stands in brackets.
        names: Of the lead, each with whether it stood between quotes.
        text: What the last string says.
        id: Of the memory.
        source: As it is attributed.
        trust: As it is attributed, None where it goes without saying.
        cited: Where it can be looked up, of a passage of a document.
        line: The whole of it.
    """

    category: str
    names: list[tuple[str, bool]]
    text: str
    id: str
    source: str
    trust: str | None
    cited: str | None
    line: str


def read_page(page: str) -> list[Item]:
    """Return the items of a page.

    Raises:
        Escaped: If it is not of the grammar.
    """
    lines = page.split("\n")
    if lines[0] != "Memory digest:":
        raise Escaped(f"begins with {lines[0]!r}")
    if len(lines) == 2 and lines[1].startswith("(empty: "):
        return []
    if lines[2] != "<memory-data>" or lines[-1] != "</memory-data>":
        raise Escaped("the frame does not stand where it should")
    body = lines[3:-1]
    if any(set("<>") & set(line) for line in body):
        raise Escaped("a bracket of the frame stands in an item")
    for line in lines:
        if len(line.splitlines()) > 1 or not all(map(_is_seen, line)):
            raise Escaped(f"something hidden stands in {line!r}")
    return [_Reader(line).item() for line in body if not REMARK_LINES.fullmatch(line)]


REMARK_LINES = re.compile(
    r"\(nothing else that is remembered bears on this\)|\(\d+ more standing [a-z ]+ left out\)"
)
"""What the program itself says between the lines; no text of a memory begins with a bracket."""


def _is_seen(char: str) -> bool:
    if ord(char) < 0x80:
        return 0x20 <= ord(char) < 0x7F
    hidden = (
        (0x80, 0x9F), (0xAD, 0xAD), (0x34F, 0x34F), (0x61C, 0x61C), (0x115F, 0x1160),
        (0x17B4, 0x17B5), (0x180E, 0x180E), (0x200B, 0x200B), (0x200E, 0x200F), (0x2028, 0x202E),
        (0x2060, 0x206F), (0x2800, 0x2800), (0x3164, 0x3164), (0xFE00, 0xFE0D), (0xFEFF, 0xFEFF),
        (0xFFA0, 0xFFA0), (0xFFF0, 0xFFFB), (0xE0000, 0xE0FFF), (0xD800, 0xDFFF),
    )  # fmt: skip
    return not any(first <= ord(char) <= last for first, last in hidden)


class _Reader:
    def __init__(self, line: str) -> None:
        self.line = line
        self.at = 0

    def item(self) -> Item:
        self.take("- [")
        category, _ = self.name("]")
        self.take("] ")
        names: list[tuple[str, bool]] = []
        while True:
            name = self.name("=:()—")
            if self.sees(" ("):
                text, is_quoted = name
                if not is_quoted:
                    raise Escaped(f"{text!r} stands outside quotes")
                break
            names.append(name)
            self.take(" = " if self.sees(" =") else ": " if self.sees(":") else " ")
            if self.sees("— "):
                self.take("— ")
        self.take(" (")
        if self.line[-1] != ")":
            raise Escaped("the attribution does not end the line")
        return self.attributed(category, names, text)

    def attributed(self, category: str, names: list[tuple[str, bool]], text: str) -> Item:
        # Nothing before it is quoted, so the first is the one.
        told, _, cited = self.line[self.at : -1].partition('; from "')
        if cited:
            self.at += len(told) + len("; from ")
            cited = self.string()
            if self.line[self.at :] != ")":
                raise Escaped("the citation does not end the line")
        id, said, *remarks = told.split("; ")
        source, date, confidence = said.split(" ")
        if not source.replace("_", "").isalpha() or len(date) != 10 or not float(confidence) >= 0:
            raise Escaped(f"no attribution: {said!r}")
        trust = None
        for remark in remarks:
            if remark.startswith("trust ") and remark[6:] in TRUSTS and trust is None:
                trust = remark[6:]
            elif remark not in REMARKS and remark.split(":")[0] not in CONCERNS:
                raise Escaped(f"no remark: {remark!r}")
        return Item(category, names, text, id, source, trust, cited or None, self.line)

    def sees(self, text: str) -> bool:
        return self.line.startswith(text, self.at)

    def take(self, text: str) -> None:
        if not self.sees(text):
            raise Escaped(f"{text!r} is missing at {self.at} of {self.line!r}")
        self.at += len(text)

    def name(self, ends: str) -> tuple[str, bool]:
        if self.sees('"'):
            return self.string(), True
        start = self.at
        while self.at < len(self.line) and self.line[self.at] not in ends + '"':
            char = self.line[self.at]
            # A triple's parts are parted by spaces; they are read as one name.
            if not (char.isalnum() or char in BARE):
                raise Escaped(f"{char!r} stands outside quotes in {self.line!r}")
            self.at += 1
        bare = self.line[start : self.at]
        if not bare.strip():
            raise Escaped(f"a name is missing at {start} of {self.line!r}")
        self.at -= len(bare) - len(bare.rstrip())
        return bare.rstrip(), False

    def string(self) -> str:
        self.take('"')
        said: list[str] = []
        while self.at < len(self.line):
            char = self.line[self.at]
            self.at += 1
            if char == '"':
                return "".join(said)
            if char == "\\":
                char = self.line[self.at : self.at + 1]
                self.at += 1
                if char == "u":
                    char = chr(int(self.line[self.at : self.at + 4], 16))
                    self.at += 4
                elif char not in ('"', "\\"):
                    raise Escaped(f"an escape of {char!r}")
            said.append(char)
        raise Escaped(f"a quote is not closed in {self.line!r}")
