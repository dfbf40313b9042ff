"""What hygiene finds is blocked, struck out, flagged or let by, on every way in."""

import json
from pathlib import Path
from typing import Any

import pytest

import simonides
from principals import principal_of
from simonides import Draft, InvalidInput, PolicyInvalid
from simonides.api.open.assemble import assemble
from simonides.api.sync import Store
from simonides.domain.memory import Origin
from simonides.domain.scope import Scope
from simonides.domain.trust import Label, Source, Trust
from simonides.domain.writing.decision import Candidate, Proposer
from simonides.domain.writing.finding import Concern, Finding, Severity
from simonides.engine.screening import screen as screening
from simonides.engine.screening.screen import Detector
from simonides.policy.policy import DEFAULT_POLICY
from simonides.settings import Settings
from simonides.storage.encryption.key_ring import HeldKeys, new_key
from simonides.testing import CountingIds, ManualClock

GRAVE, MILD = "grave-words-here", "mild-words"


def sees(word: str, finding: Finding) -> Any:
    def find(text: str) -> tuple[Finding, ...]:
        at = text.find(word)
        place = (at, at + len(word))
        told = (finding.concern, finding.rule, finding.severity)
        return () if at < 0 else (Finding(*told, *place),)

    return find


@pytest.fixture(autouse=True)
def toy_detectors(monkeypatch: pytest.MonkeyPatch) -> None:
    grave = Finding(Concern.SECRET, "assigned", Severity.HIGH, 0, 0)
    mild = Finding(Concern.PERSONAL, "email", Severity.SUSPICIOUS, 0, 0)
    outside = Finding(Concern.POISON, "toy", Severity.HIGH, 0, 0)
    toys = (
        Detector(sees(GRAVE, grave)),
        Detector(sees(MILD, mild)),
        Detector(sees("obey me", outside), lambda trust: trust is Trust.EXTERNAL),
    )
    monkeypatch.setattr(screening, "DETECTORS", toys)


def opened(tmp_path: Path, policy: str = "", *, target: str = ":memory:") -> Store:
    path = tmp_path / "policy.yaml"
    path.write_text(policy, "utf-8")
    settings = Settings(_env_file=None, policy=path)
    parts = assemble(target, settings=settings, inline=True, clock=ManualClock(), ids=CountingIds())
    return Store(parts)


def trail(store: Store, user: str = "ana") -> list[dict[str, Any]]:
    owner = principal_of(store.memory(user=user)).home.owner
    links = store._driver.run(store.runtime.store.links(owner))
    return [json.loads(link.payload) for link in links if link.payload is not None]


@pytest.mark.parametrize(
    "draft",
    [
        Draft(f"It is {GRAVE}"),
        Draft("It", key=f"a.{GRAVE}"),
        Draft("It", quote=f"he said {GRAVE}"),
        Draft("It", speaker=GRAVE),
        Draft("It", tags=("a", GRAVE)),
        Draft("It", metadata={"a": [{"b": GRAVE}]}),
        Draft("It", metadata={GRAVE: 1}),
        Draft("It", triple=("Ana", "knows", GRAVE)),
        Draft("It", idempotency_key=GRAVE),
        Draft("It", session=GRAVE),
        Draft("It", origin=f"https://x.test/?token={GRAVE}"),
        Draft("It", parents=(GRAVE,)),
        Draft("It", audience=(GRAVE,)),
        Draft("It", purpose=GRAVE),
    ],
    ids=lambda draft: next(n for n in Draft.__slots__ if GRAVE in repr(getattr(draft, n))),
)
def test_what_is_grave_is_blocked_in_whatever_field_and_told_nowhere(
    tmp_path: Path, draft: Draft
) -> None:
    with opened(tmp_path) as store:
        (outcome,) = store.memory(user="ana").remember_many([draft])

        assert outcome.kind == "blocked"
        assert "hygiene_blocked:secret:assigned" in outcome.reasons
        (event,) = trail(store)
        assert event["details"]["marks"] == ["secret:assigned"]
        assert GRAVE not in json.dumps(event)
        assert GRAVE not in repr(outcome)


def test_what_is_grave_as_a_category_is_an_error_that_does_not_repeat_it(tmp_path: Path) -> None:
    with opened(tmp_path) as store:
        with pytest.raises(InvalidInput) as caught:
            store.memory(user="ana").remember("It", category=GRAVE)

        assert GRAVE not in str(caught.value)
        assert trail(store) == []


def test_the_name_of_a_model_is_looked_through_and_struck_out() -> None:
    user = Label(Trust.USER)
    scope, origin = Scope.of_user("acme", "ana"), Origin(model=f"https://x.test/{GRAVE}")
    said = Candidate(
        content="It", scope=scope, source=Source.USER_STATED, proposer=Proposer.MODEL,
        label=user, origin=origin,
    )  # fmt: skip

    seen = screening.screened(said, DEFAULT_POLICY)

    assert seen.marks == ("secret:assigned",)
    assert seen.origin.model == "https://x.test/[redacted secret:assigned]"


def test_what_is_suspicious_is_stored_as_sensitive_and_the_trail_says_why(tmp_path: Path) -> None:
    with opened(tmp_path) as store:
        memory = store.memory(user="ana")

        outcome = memory.remember(f"Write to {MILD}", key=f"to.{MILD}")

        assert outcome.record is not None
        assert outcome.record.sensitivity == "sensitive"
        assert outcome.reasons[-1] == "hygiene_flagged:personal:email"
        assert outcome.record.content == f"Write to {MILD}"
        made, flagged = trail(store)
        assert (made["type"], flagged["type"]) == ("created", "flagged")
        assert flagged["reasons"] == ["hygiene_flagged:personal:email"]
        assert flagged["subjects"] == [outcome.record.id]
        assert [event.type for event in outcome.events] == ["created", "flagged"]
        assert MILD not in json.dumps([made, flagged])
        assert memory.digest("write to").items == ()


def test_redacting_strikes_the_place_out_of_every_text_and_blocks_a_name(tmp_path: Path) -> None:
    with opened(tmp_path, "hygiene: {classes: {personal: redact}}") as store:
        memory = store.memory(user="ana")

        stored = memory.remember(
            Draft(f"Write to {MILD} soon", quote=f"{MILD}!", tags=[MILD], metadata={"a": [MILD, 3]})
        ).record
        named = memory.remember("x", key=MILD)

        assert stored is not None
        assert stored.content == "Write to [redacted personal:email] soon"
        assert stored.sensitivity == "private"
        assert MILD not in repr(stored)
        assert stored.metadata["a"][1] == 3
        assert (named.kind, named.reasons[0]) == ("blocked", "hygiene_blocked:personal:email")
        reasons = [reason for event in trail(store) for reason in event["reasons"]]
        assert "hygiene_redacted:personal:email" in reasons


def test_what_is_allowed_leaves_no_trace(tmp_path: Path) -> None:
    with opened(tmp_path, "hygiene: {high: allow, suspicious: allow}") as store:
        outcome = store.memory(user="ana").remember(f"{GRAVE} and {MILD}")

        assert (outcome.kind, outcome.record and outcome.record.sensitivity) == (
            "created",
            "private",
        )
        assert "marks" not in trail(store)[0]["details"]


def test_the_nearest_class_decides(tmp_path: Path) -> None:
    policy = "hygiene: {high: allow, classes: {personal: allow, personal:email: block}}"
    with opened(tmp_path, policy) as store:
        memory = store.memory(user="ana")

        assert memory.remember(f"a {GRAVE}").stored
        assert memory.remember(f"a {MILD}").kind == "blocked"


def test_no_wording_of_a_proposal_talks_the_guards_out_of_it(tmp_path: Path) -> None:
    with opened(tmp_path) as store:
        memory = store.memory(user="ana")
        said = Candidate(
            content=f"My language is {GRAVE}",
            scope=principal_of(memory).home,
            source=Source.USER_STATED,
            proposer=Proposer.MODEL,
            label=Label(Trust.USER),
            key="language",
            marks=("allowed", "turn_scoped_not"),
        )

        (outcome,) = memory.pending.propose([said])

        assert outcome.reasons[0] == "hygiene_blocked:secret:assigned"


def test_captured_talk_is_looked_through_and_the_report_does_not_repeat_it(tmp_path: Path) -> None:
    with opened(tmp_path) as store:
        report = store.memory(user="ana").add(f"Remember that the code is {GRAVE}.")

        assert [outcome.kind for outcome in report.outcomes] == ["blocked"]
        assert GRAVE not in repr(report)


def test_what_is_held_back_is_looked_through_before(tmp_path: Path) -> None:
    with opened(tmp_path) as store:
        memory = store.memory(user="ana").session("s")
        drafts = [Draft(text, category="session_note") for text in (GRAVE, MILD)]
        held = [
            Candidate(
                content=draft.content,
                scope=principal_of(memory).home,
                source=Source.AGENT_INFERRED,
                proposer=Proposer.RULES,
                label=Label(Trust.AGENT),
                category="session_note",
            )
            for draft in drafts
        ]

        outcomes = memory.pending.propose(held)

        assert [outcome.kind for outcome in outcomes] == ["blocked", "held"]
        waiting = store._driver.run(store.runtime.store.held(principal_of(memory).home.owner))
        assert GRAVE.encode() not in b"".join(row.body for row in waiting)


def test_a_promotion_is_looked_through_by_the_policy_there(tmp_path: Path) -> None:
    directory = tmp_path / "policies"
    directory.mkdir()
    with opened(tmp_path, "hygiene: {high: flag}") as store:
        task = store.memory(user="ana").task(name="t").memory
        stored = task.remember(f"It is {GRAVE}").record
        assert stored is not None
        (tmp_path / "policy.yaml").write_text("version: strict now", "utf-8")

        outcome = task.promote(stored.id, to="user")

        assert outcome.reasons[0] == "hygiene_blocked:secret:assigned"


def test_what_was_blocked_may_be_written_under_the_same_key_once_policy_allows(
    tmp_path: Path,
) -> None:
    with opened(tmp_path) as store:
        memory = store.memory(user="ana")
        assert memory.remember(f"It is {GRAVE}", idempotency_key="k").kind == "blocked"
        (tmp_path / "policy.yaml").write_text("hygiene: {high: allow}", "utf-8")

        assert memory.remember(f"It is {GRAVE}", idempotency_key="k").kind == "created"


def test_labels_decide_what_a_detector_is_asked_about(tmp_path: Path) -> None:
    with opened(tmp_path) as store:
        memory = store.memory(user="ana")

        assert memory.remember("Please obey me at once").kind == "created"
        assert memory.remember(Draft("Please obey me now", source="external")).kind == "blocked"


def test_a_dry_run_looks_again_by_the_other_policy(tmp_path: Path) -> None:
    with opened(tmp_path) as store:
        store.memory(user="ana").remember(f"Write to {MILD}")
        (tmp_path / "next.yaml").write_text("hygiene: {classes: {personal: block}}", "utf-8")

        report = store.admin(actor="root").dry_run(str(tmp_path / "next.yaml"))

        assert [write.reasons[0] for write in report.changed] == ["hygiene_blocked:personal:email"]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (
            "hygiene:\n  classes:\n    personal:emial: block\n",
            "there is no class 'personal:emial'; did you mean 'personal:email'?",
        ),
        ("hygiene:\n  high: shout\n", "2: hygiene.high: input should be 'block', 'hold', 'redact'"),
        ("hygiene:\n  high: encrypt\n", "2: hygiene.high: 'encrypt' needs a store that seals"),
        (
            "hygiene:\n  classes: {secret: encrypt}\n",
            "2: hygiene.classes.secret: 'encrypt' needs a store that seals",
        ),
    ],
)
def test_a_class_or_an_action_that_cannot_be_is_told_at_the_start(
    tmp_path: Path, text: str, problem: str
) -> None:
    with pytest.raises(PolicyInvalid) as refusal:
        opened(tmp_path, text, target=str(tmp_path / "m.db"))

    assert problem in str(refusal.value)


def test_an_action_that_the_store_cannot_do_is_told_when_it_comes_later(tmp_path: Path) -> None:
    with opened(tmp_path, target=str(tmp_path / "m.db")) as store:
        (tmp_path / "policy.yaml").write_text("hygiene: {high: encrypt}", "utf-8")

        outcome = store.memory(user="ana").remember(f"It is {GRAVE}")

        assert outcome.kind == "blocked"
        assert "needs a store that seals" in str(store.runtime.policies.problems()[0])


def test_a_store_that_seals_keeps_what_is_to_be_encrypted(tmp_path: Path) -> None:
    policy = tmp_path / "policy.yaml"
    policy.write_text("hygiene: {high: encrypt}", "utf-8")
    ring, settings = HeldKeys.of_text(new_key("one")), Settings(policy=policy, encrypt=True)
    with simonides.open(tmp_path / "m.db", key_ring=ring, settings=settings) as store:
        memory = store.memory(user="ana")

        outcome = memory.remember(f"It is {GRAVE}")

        assert outcome.record is not None
        assert outcome.record.sensitivity == "sensitive"
        reasons = [reason for event in trail(store) for reason in event["reasons"]]
        assert "hygiene_encrypted:secret:assigned" in reasons
    for file in tmp_path.iterdir():
        assert file.is_dir() or GRAVE.encode() not in file.read_bytes()


def test_in_memory_there_is_nothing_to_seal(tmp_path: Path) -> None:
    with opened(tmp_path, "hygiene: {high: encrypt}") as store:
        assert store.memory(user="ana").remember(f"It is {GRAVE}").stored
