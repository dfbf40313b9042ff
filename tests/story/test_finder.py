"""What somebody else's detector finds counts as what is found here does."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from simonides import Draft, ModelUnavailable
from simonides.api.open.assemble import assemble
from simonides.api.open.store import IN_MEMORY
from simonides.api.sync import Store
from simonides.providers.presidio import PresidioFinder
from simonides.settings import Settings
from simonides.testing import CountingIds, ManualClock
from simonides.types import Concern, Severity

BADGE = "K-77-ZULU"


class Engine:
    """The part of Presidio's ``AnalyzerEngine`` that is used, with one word for each entity."""

    def __init__(self, **words: str) -> None:
        self.words = words
        self.asked: list[dict[str, Any]] = []
        self.error: Exception | None = None

    def get_supported_entities(self, language: str | None = None) -> list[str]:
        assert language == "en"
        return [*self.words, "PERSON", "DATE_TIME"]

    def analyze(
        self, *, text: str, language: str, entities: list[str], score_threshold: float
    ) -> list[Any]:
        self.asked.append({"language": language, "entities": entities, "least": score_threshold})
        if self.error is not None:
            raise self.error
        found = ((name, text.find(word), len(word)) for name, word in self.words.items())
        return [
            SimpleNamespace(entity_type=name, start=at, end=at + size, score=0.85)
            for name, at, size in found
            if at >= 0 and name in entities
        ]


@contextmanager
def opened(engine: Engine, **settings: Any) -> Iterator[Store]:
    made = assemble(
        IN_MEMORY,
        inline=True,
        clock=ManualClock(),
        ids=CountingIds(),
        finder=PresidioFinder(engine),
        settings=Settings(**settings),
    )
    with Store(made) as store:
        yield store


def test_what_it_finds_is_labelled_as_policy_says_and_the_trail_says_why() -> None:
    with opened(Engine(STAFF_BADGE=BADGE)) as store:
        ana = store.memory(user="ana")
        outcome = ana.remember(f"My badge is {BADGE}")
        plain = ana.remember("My desk is by the window")

    assert outcome.record is not None
    assert outcome.record.sensitivity == "sensitive"
    assert "hygiene_flagged:personal:staff-badge" in outcome.reasons
    assert plain.record is not None
    assert plain.record.sensitivity == "private"


def test_what_is_grave_is_blocked_and_its_words_are_nowhere() -> None:
    with opened(Engine(UK_NHS=BADGE)) as store:
        outcome = store.memory(user="ana").remember(f"My number is {BADGE}")

    assert outcome.kind == "blocked"
    assert outcome.reasons == ("hygiene_blocked:personal:uk-nhs",)
    assert BADGE not in json.dumps([event.to_dict() for event in outcome.events], default=str)


def test_what_policy_strikes_out_is_struck_out_of_text_and_quote(tmp_path: Path) -> None:
    policy = tmp_path / "policy.yaml"
    policy.write_text("hygiene: {classes: {personal: redact}}")
    with opened(Engine(STAFF_BADGE=BADGE), policy=policy) as store:
        memory = (
            store.memory(user="ana")
            .remember(
                Draft(f"My badge is {BADGE}, mail ana@example.org", quote=f"it is {BADGE}, I think")
            )
            .record
        )

    assert memory is not None
    struck = "[redacted personal:staff-badge]"
    assert memory.content == f"My badge is {struck}, mail [redacted personal:email]"
    assert memory.quote == f"it is {struck}, I think"


def test_a_scan_tells_what_it_finds() -> None:
    with opened(Engine(STAFF_BADGE=BADGE)) as store:
        (seen,) = store.memory(user="ana").maintenance.scan(f"badge {BADGE}").seen

    assert (seen.finding.mark, seen.finding.start, seen.finding.score) == (
        "personal:staff-badge", 6, 0.85,
    )  # fmt: skip


def test_one_that_fails_is_told_by_status_and_the_detectors_here_count() -> None:
    engine = Engine()
    engine.error = ValueError(f"cannot parse {BADGE}")
    with opened(engine) as store:
        ana = store.memory(user="ana")
        outcomes = [ana.remember(f"My badge is {BADGE}"), ana.remember("Mail ana@example.org")]
        problems = ana.status()["problems"]
        engine.error = None
        ana.remember("The tide turns at six")
        healed = ana.status()["problems"]

    assert [o.record.sensitivity for o in outcomes if o.record] == ["private", "sensitive"]
    assert problems == ["finder: ModelUnavailable: presidio: ValueError"]
    assert healed == []


def test_people_and_dates_are_left_out_unless_they_are_asked_for() -> None:
    engine = Engine(EMAIL_ADDRESS="a@b.example")
    PresidioFinder(engine).find("x")
    PresidioFinder(engine, entities=["PERSON"], least_score=0.3).find("x")

    assert engine.asked == [
        {"language": "en", "entities": ["EMAIL_ADDRESS"], "least": 0.5},
        {"language": "en", "entities": ["PERSON"], "least": 0.3},
    ]


def test_results_become_findings_without_overlap_and_nonsense_is_left_out() -> None:
    class Odd(Engine):
        def analyze(self, **asked: Any) -> list[Any]:
            rows = [
                ("PHONE_NUMBER", 0, 9, 0.6), ("CREDIT_CARD", 0, 16, 0.9), ("IP_ADDRESS", 20, 25, 7),
                ("US_SSN", 5, 3, 0.9), ("US_SSN", -4, 3, 0.9), ("US_SSN", 25, 900, 0.9),
            ]  # fmt: skip
            return [SimpleNamespace(entity_type=n, start=s, end=e, score=p) for n, s, e, p in rows]

    found = PresidioFinder(Odd()).find("x" * 40)

    assert [(f.rule, f.start, f.end, f.severity, f.score) for f in found] == [
        ("card", 0, 16, Severity.HIGH, 0.9),
        ("ip", 20, 25, Severity.SUSPICIOUS, 1.0),
    ]
    assert {f.concern for f in found} == {Concern.PERSONAL}


def test_what_an_engine_says_of_a_text_is_in_no_error() -> None:
    engine = Engine()
    engine.error = KeyError(BADGE)
    with pytest.raises(ModelUnavailable) as refused:
        PresidioFinder(engine).find(BADGE)

    assert BADGE not in str(refused.value)
