"""A provider that is down, limits, fails, is slow and comes back: capture is durable, recall works,
and both say so.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from simonides.api.open.assemble import assemble
from simonides.api.sync import Store
from simonides.domain.errors import ConfigurationError, MissingExtra
from simonides.settings import Settings
from simonides.testing import CountingIds, ManualClock
from simonides.testing.model_server import (
    ModelServer,
    Reply,
    failing,
    hanging,
    saying,
    well,
)
from simonides.testing.models import ScriptedModel

ITEM = {
    "key": "boat_name",
    "value": "Halcyon",
    "scope": "user",
    "ttl_days": 90,
    "confidence": 0.9,
    "quote": "the boat is called Halcyon",
}
SAID = "Please answer in English, the boat is called Halcyon."


def settings_of(server: ModelServer, provider: str, **more: Any) -> Settings:
    urls = {
        "openai": server.base_url,
        "anthropic": server.root_url,
        "gemini": server.gemini_url,
    }
    named = {f"{provider}_api_key": "k", f"{provider}_base_url": urls[provider]}
    fast = {f"{provider}_timeout_seconds": 0.3, "model_failures": 2}
    return Settings(**(named | fast | more))  # type: ignore[arg-type]


def opened(target: object, settings: Settings, clock: ManualClock, **more: Any) -> Store:
    made = assemble(
        str(target),
        settings=settings,
        inline=True,
        clock=clock,
        ids=CountingIds(),
        alarm=clock,
        **more,
    )
    return Store(made)


@pytest.fixture(params=["openai", "anthropic", "gemini"])
def provider(request: pytest.FixtureRequest) -> str:
    return str(request.param)


# A short wait is asked for, so that retries take no time.
SICK = {
    "429": failing(429, "slow down", Retry_After="0.001"),
    "500": failing(500, "broken", Retry_After="0.001"),
    "529": failing(529, "overloaded", Retry_After="0.001"),
}


@pytest.mark.parametrize("sick", SICK.values(), ids=SICK)
def test_an_outage_leaves_capture_durable_and_recall_working_and_ends(
    tmp_path: Path, provider: str, sick: Reply
) -> None:
    clock = ManualClock()
    # Two questions of four attempts each, then the provider is well again.
    with ModelServer([sick] * 8, answers=lambda _: well({"items": [ITEM]})) as server:
        settings = settings_of(server, provider)
        with opened(tmp_path / "m.db", settings, clock) as store:
            memory = store.memory(user="ana")
            reports = [memory.add(SAID) for _ in range(3)]
            asked = len(server.received)
            during = memory.status()
            found = memory.recall("which language?")[0].record.content
            clock.advance(seconds=30)
            after = memory.add(SAID)
            healed = memory.status()

    assert [report.diagnostics for report in reports] == [("llm_timeout",)] * 3
    assert all(report.outcomes.done for report in reports)
    assert asked == 8  # the third was not sent
    assert found == "english"
    assert during["language_model"]["circuit"] == "open"
    assert during["language_model"]["asked_again_in_s"] == 30.0
    assert during["problems"] == [f"model: {provider} does not answer; rules are used"]
    assert "boat_name" in {outcome.record.key for outcome in after.outcomes if outcome.record}
    assert healed["language_model"]["circuit"] == "closed"
    assert healed["problems"] == []
    assert healed["language_model"]["usage"]["model_calls"] == 9
    with opened(tmp_path / "m.db", Settings(), clock) as store:
        kept = {each.key for each in store.memory(user="ana").list()}
    assert kept == {"language", "boat_name"}


def test_a_provider_that_never_answers_is_waited_for_twice_only(tmp_path: Path) -> None:
    # Its retries wait in real time, so this is told of one; the circuit is the same for all.
    provider, clock = "anthropic", ManualClock()
    with ModelServer([hanging()] * 99) as server:
        settings = settings_of(server, provider, **{f"{provider}_timeout_seconds": 0.05})
        with opened(tmp_path / "m.db", settings, clock) as store:
            memory = store.memory(user="ana")
            for _ in range(4):
                assert memory.add(SAID).diagnostics == ("llm_timeout",)
            asked = len(server.received)
            assert memory.recall("which language?")

    assert asked == 8


def test_a_model_that_was_handed_in_is_guarded_too_unless_it_answers_at_once() -> None:
    class Remote(ScriptedModel):
        capabilities = frozenset()

    with opened(":memory:", Settings(openai_api_key="k"), ManualClock(), model=Remote()) as store:
        told = store.memory(user="ana").status()["language_model"]
    with opened(":memory:", Settings(), ManualClock(), model=ScriptedModel()) as store:
        bare = store.memory(user="ana").status()["language_model"]

    assert (told["provider"], told["circuit"]) == ("given", "closed")
    assert told["left_out"] == {"openai": "the caller passed another model"}
    assert bare == {"provider": "given", "model": "scripted", "left_out": {}}


def test_what_was_spent_is_told_in_tokens_and_by_the_prices_that_are_set(tmp_path: Path) -> None:
    answer = saying('{"items": []}', tokens=(1_000, 200))
    with ModelServer([answer] * 2) as server:
        prices = {"model_input_price": 3.0, "model_output_price": 15.0}
        settings = settings_of(server, "anthropic", **prices)
        with opened(tmp_path / "m.db", settings, ManualClock()) as store:
            memory = store.memory(user="ana")
            costs = [memory.add(SAID).usage.input_tokens for _ in range(2)]
            told = memory.status()["language_model"]

    assert costs == [1_000, 1_000]
    assert (told["usage"]["input_tokens"], told["usage"]["output_tokens"]) == (2_000, 400)
    assert told["cost"] == pytest.approx(0.012)


KEYS = {"openai_api_key": "a", "anthropic_api_key": "b", "gemini_api_key": "c"}


@pytest.mark.parametrize(
    ("keys", "provider", "chosen"),
    [
        ((), None, None),
        (("openai", "anthropic", "gemini"), None, "openai"),
        (("anthropic", "gemini"), None, "anthropic"),
        (("gemini",), None, "gemini"),
        (("openai", "anthropic", "gemini"), "gemini", "gemini"),
        (("openai", "anthropic"), "anthropic", "anthropic"),
        (("openai",), "none", None),
    ],
)
def test_one_provider_takes_part_and_status_says_why_the_others_do_not(
    keys: tuple[str, ...],
    provider: str | None,
    chosen: str | None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in keys:
        monkeypatch.setenv(f"{name.upper()}_API_KEY", "k")
    if provider is not None:
        monkeypatch.setenv("SIMONIDES_MODEL_PROVIDER", provider)

    with opened(":memory:", Settings(), ManualClock()) as store:
        status = store.memory(user="ana").status()

    told = status["language_model"]
    assert told["provider"] == chosen
    assert set(told["left_out"]) == set(keys) - {chosen}
    assert all(told["left_out"].values())
    assert status["problems"] == []


@pytest.mark.parametrize("vendor", ["openai", "anthropic", "gemini"])
def test_each_vendor_is_set_by_variables_of_its_own(
    vendor: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with ModelServer(answers=lambda _: well({"items": [ITEM]})) as server:
        urls = {
            "openai": server.base_url,
            "anthropic": server.root_url,
            "gemini": server.gemini_url,
        }
        variables = {"API_KEY": "k", "BASE_URL": urls[vendor], "MODEL": "named"}
        for name, value in (variables | {"TIMEOUT_SECONDS": "7"}).items():
            monkeypatch.setenv(f"{vendor.upper()}_{name}", value)
        settings = Settings()
        with opened(":memory:", settings, ManualClock()) as store:
            report = store.memory(user="ana").add(SAID)
            told = store.memory(user="ana").status()

    assert {outcome.record.key for outcome in report.outcomes.done if outcome.record} == {
        "language",
        "boat_name",
    }
    assert server.received[0].body["model"] == told["model"] == "named"
    assert getattr(settings, f"{vendor}_timeout_seconds") == 7


def test_a_provider_that_is_named_and_has_no_key_is_an_error() -> None:
    with pytest.raises(ConfigurationError, match="anthropic takes a key, ANTHROPIC_API_KEY"):
        opened(":memory:", Settings(model_provider="anthropic"), ManualClock())


def without(monkeypatch: pytest.MonkeyPatch, *modules: str) -> None:
    import importlib.util

    found = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name: None if name in modules else found(name)
    )


def test_where_the_first_is_not_installed_the_next_one_serves(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    without(monkeypatch, "openai")

    with opened(":memory:", Settings(**KEYS), ManualClock()) as store:  # type: ignore[arg-type]
        told = store.memory(user="ana").status()["language_model"]

    assert told["provider"] == "anthropic"
    assert "pip install 'openai>=" in told["left_out"]["openai"]


def test_where_none_is_installed_the_rules_work_and_status_says_how_to_change_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    without(monkeypatch, "openai", "anthropic")

    with opened(":memory:", Settings(anthropic_api_key="k"), ManualClock()) as store:
        memory = store.memory(user="ana")
        assert memory.add("Call me Ana.").outcomes.done
        problems = memory.status()["problems"]

    assert len(problems) == 1
    assert "ANTHROPIC_API_KEY is set but no model is used" in problems[0]
    assert "pip install 'anthropic>=" in problems[0]


def test_one_that_is_named_and_not_installed_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    without(monkeypatch, "anthropic")
    settings = Settings(model_provider="anthropic", anthropic_api_key="k")

    with pytest.raises(MissingExtra, match="pip install 'anthropic>="):
        opened(":memory:", settings, ManualClock())


def test_incognito_asks_no_model_and_says_so() -> None:
    made = assemble(mode="incognito", settings=Settings(**KEYS), inline=True)  # type: ignore[arg-type]
    with Store(made) as store:
        told = store.memory(user="ana").status()["language_model"]

    assert told["provider"] is None
    assert set(told["left_out"].values()) == {"incognito uses no model"}


def test_no_key_shows_in_status_or_settings() -> None:
    settings = Settings(anthropic_api_key="very-secret", gemini_api_key="very-secret")
    with opened(":memory:", settings, ManualClock()) as store:
        assert "very-secret" not in str(store.memory(user="ana").status()) + repr(settings)
