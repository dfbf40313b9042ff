r"""Texts from shapes: the small language of the .txt files beside this.

A line is one shape. ``{name}`` stands for one of the values of ``@name: a | b``, ``[a|b]`` for a
or b, either of which may again hold both. ``[[`` and ``]]`` are brackets, ``\n`` is a new line,
``#`` at the start is a comment.
"""

import random
from dataclasses import dataclass, field
from pathlib import Path


@dataclass
class Grammar:
    """Shapes, and the values of what they name."""

    shapes: list[str] = field(default_factory=list)
    values: dict[str, list[str]] = field(default_factory=dict)

    @classmethod
    def of(cls, path: Path) -> "Grammar":
        """Read a file of shapes."""
        made = cls()
        for line in path.read_text("utf-8").splitlines():
            if not line or line.startswith("# "):
                continue
            if line.startswith("@"):
                name, _, values = line[1:].partition(": ")
                made.values[name] = [value.strip() for value in values.split(" | ")]
            else:
                made.shapes.append(line.replace("\\n", "\n"))
        return made

    def texts(self, count: int, *, seed: int) -> list[tuple[str, int]]:
        """Return ``count`` texts with the number of the shape of each, all shapes in turn."""
        chance = random.Random(seed)
        order = [index % len(self.shapes) for index in range(count)]
        return [(self._expand(self.shapes[index], chance), index) for index in order]

    def _expand(self, shape: str, chance: random.Random) -> str:
        text, end = self._sequence(shape, 0, chance, inside=False)
        assert end == len(shape), f"unbalanced brackets in {shape!r}"
        return text[:1].upper() + text[1:]

    def _sequence(
        self, shape: str, at: int, chance: random.Random, *, inside: bool
    ) -> tuple[str, int]:
        """Return the text of a shape from ``at``, and where it stopped."""
        branches = [""]
        while at < len(shape):
            char = shape[at]
            if shape[at : at + 2] in ("[[", "]]") and not (inside and char == "]"):
                branches[-1] += char
                at += 2
            elif char == "[":
                text, at = self._sequence(shape, at + 1, chance, inside=True)
                branches[-1] += text
            elif char == "]" and inside:
                return chance.choice(branches), at + 1
            elif char == "|" and inside:
                branches.append("")
                at += 1
            else:
                text, at = self._value(shape, at, chance)
                branches[-1] += text
        return branches[0], at

    def _value(self, shape: str, at: int, chance: random.Random) -> tuple[str, int]:
        end = shape.find("}", at)
        name = shape[at + 1 : end]
        if shape[at] == "{" and name in self.values:
            value = chance.choice(self.values[name])
            return self._sequence(value, 0, chance, inside=False)[0], end + 1
        return shape[at], at + 1
