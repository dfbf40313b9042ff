r"""How a text stands in a slot: as one line that cannot pass for more (WM-1, HY-6).

Goals, results of tools and notes are written by others. White space is folded, so that a text
begins no line; what nobody sees is left out; and a bracket that opens a slot's label or the frame
of the memory digest is written as JSON writes it (``\u005b``), so that it neither opens nor closes
one even for a reader who does not look where lines begin.
"""

from __future__ import annotations

import unicodedata

from simonides.language.visible import folded, visible

LABELS = (
    "TASK_GOAL",
    "CURRENT_STEP",
    "NEXT_STEPS",
    "RECENT_OBSERVATIONS",
    "CONSTRAINTS",
    "SCRATCHPAD",
)
"""Names of the slots, in their order (WM-1)."""

CUT = "…"
"""The mark of a text that was shortened."""

_FRAMES = {
    "[": tuple(name.replace("_", "").lower() for name in LABELS),
    "<": ("memorydata",),
}
_LOOK_AHEAD = 40
"""Characters after a bracket in which a name is looked for; the longest has 19."""

_SPARE = 8
"""Characters that are read for each that is shown: some are folded away or never shown."""


def one_line(text: str, chars: int | None = None) -> str:
    """Return a text as it may stand in a slot.

    Args:
        text: Anything.
        chars: At most so many characters, the mark of what is cut included; None for all.
    """
    if chars is None:
        return _inert(visible(text))
    begin = text.lstrip()[: chars * _SPARE]
    shown = _inert(visible(begin))
    if len(shown) <= chars and len(begin) == len(text.lstrip()):
        return shown
    return shortened(shown, chars)


def shortened(shown: str, chars: int) -> str:
    """Return the beginning of a line with the mark that it was cut."""
    kept = shown[: max(chars - len(CUT), 0)]
    # A letter without the marks that belong to it is another letter.
    while kept and unicodedata.combining(shown[len(kept) : len(kept) + 1] or " "):
        kept = kept[:-1]
    return kept.rstrip() + CUT


def _inert(line: str) -> str:
    if line.isascii() and "[" not in line and "<" not in line:
        return line
    return "".join(
        f"\\u{ord(char):04x}" if _opens_frame(line, place) else char
        for place, char in enumerate(line)
    )


def _opens_frame(line: str, place: int) -> bool:
    """Whether a bracket, in whichever width, stands before a name that is ours."""
    char = line[place]
    if char not in "[<" and (char.isascii() or folded(char) not in _FRAMES):
        return False
    after = unicodedata.normalize("NFKC", line[place + 1 : place + 1 + _LOOK_AHEAD]).casefold()
    said = "".join(filter(str.isalnum, after))
    return said.startswith(_FRAMES[folded(char)])
