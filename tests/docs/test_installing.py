"""simonides is on no package registry: no text may tell a reader to install it from one."""

import re
from importlib import metadata
from pathlib import Path

import pytest

from simonides.domain.errors import MissingExtra
from simonides.domain.extras import install_command, requirements

ROOT = Path(__file__).parents[2]
TEXTS = sorted(
    {
        *(ROOT / "docs").rglob("*.md"),
        *(
            file
            for room in ("src", "benchmarks", "scripts")
            for file in (ROOT / room).rglob("*.py")
        ),
        *(ROOT / "src").rglob("*.toml"),
        *(ROOT / "benchmarks").rglob("*.md"),
        ROOT / "README.md",
        ROOT / "CONTRIBUTING.md",
        ROOT / "Makefile",
    }
)

COMMAND = re.compile(
    r"\b(?:pip[3x]?|uvx?|poetry|pdm|conda)\b(?: tool)? (?:install|add)((?: \S+){1,10})"
)
OUR_NAME = re.compile(r"simonides(?:\[.*\])?(?:[=<>~!@].*)?")
WITH_EXTRA = re.compile(r"\bsimonides\[[^\]\s]+\]")


def from_registry(text: str) -> list[str]:
    """Return the places of a text that take our name for one of a registry."""
    joined = " ".join(text.split())
    found = WITH_EXTRA.findall(joined)
    for words in COMMAND.findall(joined):
        for word in words.split():
            bare = word.strip("'\"`.,;:()\\")
            if word == "in":
                # "pip install . in the simonides checkout"
                break
            if OUR_NAME.fullmatch(bare):
                found.append(word)
    return found


def test_no_text_tells_to_install_simonides_from_a_registry() -> None:
    found = {
        str(file.relative_to(ROOT)): places
        for file in TEXTS
        if (places := from_registry(file.read_text("utf-8")))
    }

    assert not found


@pytest.mark.parametrize(
    "text",
    [
        "$ pip install simonides",
        "run `pip install 'simonides[openai]'` first",
        "raise Missing(f\"pip install 'simonides[{extra}]'\")",
        "python -m pip install --upgrade simonides>=1.0",
        "pip install\n    simonides",
        "pipx install simonides",
        "uv add simonides",
        "| openai | `simonides[openai]` | yes |",
    ],
)
def test_such_a_text_is_found(text: str) -> None:
    assert from_registry(text)


@pytest.mark.parametrize(
    "text",
    [
        "$ pip install .",
        "$ pip install '.[postgres]'   # in a checkout of simonides",
        "run: pip install '.[openai]' in the simonides checkout",
        "pip install -e . chromadb",
        "pip install 'openai>=3.54'",
    ],
)
def test_other_installations_are_not(text: str) -> None:
    assert from_registry(text) == []


def extras() -> list[str]:
    return metadata.metadata("simonides").get_all("Provides-Extra") or []


@pytest.mark.parametrize("extra", extras())
def test_a_missing_extra_names_its_packages(extra: str) -> None:
    message = str(MissingExtra(extra, "this feature"))

    assert requirements(extra)
    assert message == f"this feature needs more packages; run: {install_command(extra)}"
    assert all(f"'{package}'" in message for package in requirements(extra))


def test_without_metadata_the_command_names_the_checkout(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> list[str]:
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "requires", missing)

    assert install_command("openai") == "pip install '.[openai]' in the simonides checkout"


def test_every_extra_that_the_code_names_exists() -> None:
    named = {
        extra
        for file in (ROOT / "src").rglob("*.py")
        for extra in re.findall(r"\bMissingExtra\(\s*\"(\w+)\"", file.read_text("utf-8"))
    }

    assert named
    assert named <= set(extras())
