"""The finer points of what a second statement comes to."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import pytest

from conftest import World
from principals import history_of
from simonides import Draft, Memory, Outcome, Record
from simonides.domain.codecs.candidate import decode_candidate, encode_candidate
from simonides.domain.codecs.memory import encode_body, encode_state
from simonides.domain.memory import Kind, Origin, Triple
from simonides.domain.moment import Moment
from simonides.domain.policy.gates import LongTermRules, SlotRules
from simonides.domain.scope import Principal
from simonides.domain.trust import (
    Label,
    Sensitivity,
    Source,
    Trust,
)
from simonides.domain.value import to_us
from simonides.domain.writing.change import Head, Snapshot, StoredRow
from simonides.domain.writing.decision import (
    Approved,
    Candidate,
    Commit,
    OutcomeKind,
    Proposer,
)
from simonides.engine.write.rules.derivation import inherited
from simonides.engine.write.rules.pending import Pending
from simonides.engine.write.rules.resolution import Resolution, resolve
from simonides.policy.guards import approve
from simonides.policy.policy import DEFAULT_POLICY
from simonides.ports import OwnerView
from simonides.retrieval.index.indexer import Indexer
from simonides.retrieval.index.owner_index import OwnerIndex
from simonides.testing import ALICE, CountingIds, ManualClock
from simonides.testing.clocks import START

KEY = "deploy_region"
TEA = "I like tea"
LIVES = frozenset({"lives_in"})
INDEXER = Indexer(None)


@pytest.fixture
def ana(world: World) -> Iterator[Memory]:
    """A user; whatever the test did, the chains of all owners hold at its end."""
    yield world.store.memory(user="ana")
    assert world.store.admin(actor="root").check_audit().ok


def stored(outcome: Outcome) -> Record:
    assert outcome.record is not None, outcome.reasons
    return outcome.record


def candidate(content: str, **fields: Any) -> Candidate:
    source = fields.pop("source", Source.USER_STATED)
    known: dict[str, Any] = {
        "scope": ALICE,
        "source": source,
        "proposer": Proposer.CALLER,
        "label": Label(source.trust),
        "confidence": source.default_confidence,
    }
    return Candidate(content=content, **(known | fields))


def lives(where: str, **fields: Any) -> Candidate:
    return candidate(f"Ana lives in {where}", triple=Triple("ana", "lives_in", where), **fields)


class Owner:
    """The index of one owner, written to by what candidates come to."""

    def __init__(self) -> None:
        self.index = OwnerIndex(recipe=INDEXER.recipe, dimensions=0, remake=INDEXER.readable)
        self.rows: dict[str, StoredRow] = {}
        self._clock, self._ids, self._revision = ManualClock(), CountingIds(), 0

    @property
    def view(self) -> OwnerView:
        return self.index.at(self._moment().now)

    def _moment(self) -> Moment:
        return Moment(self._clock.now_us(), self._ids)

    def write(
        self, *candidates: Candidate, functional: frozenset[str] = frozenset()
    ) -> list[Resolution]:
        """Resolve a batch in one turn and have the index follow."""
        self._clock.advance(us=1)
        moment = self._moment()
        pending, found = Pending(self.view), []
        for each in candidates:
            verdict = approve(Commit(each), policy=DEFAULT_POLICY, principal=Principal(ALICE))
            assert isinstance(verdict, Approved)
            slots = SlotRules(functional=functional)
            found.append(resolve(verdict, pending, moment, LongTermRules(slots=slots)))
            pending.take(found[-1])
        self._follow((*pending.added, *pending.restated))
        return found

    def _follow(self, memories: Sequence[Record]) -> None:
        self._revision += 1
        rows = [self._row(memory) for memory in memories]
        self.rows |= {row.id: row for row in rows}
        self.index.apply(self._head(), rows)

    def _head(self) -> Head:
        return Head(b"i" * 16, 0, self._revision, 1, 1)

    def _row(self, memory: Record) -> StoredRow:
        body, state = encode_body(memory), encode_state(memory)
        since, entry = to_us(memory.known_from), INDEXER.readable([memory])[0]
        return StoredRow(memory.id, self._revision, body, state, entry, since, None)

    def load_anew(self) -> None:
        """Build the index from its rows, as a cold process does."""
        self.index = OwnerIndex(recipe=INDEXER.recipe, dimensions=0, remake=INDEXER.readable)
        live = tuple(row for row in self.rows.values() if row.state[0] == 0)
        self.index.refresh(Snapshot(head=self._head(), complete=True, rows=live))

    def standing(self) -> list[str]:
        found = (self.view.by_id(id) for id in self.rows)
        return sorted(memory.content for memory in found if memory is not None)


@pytest.fixture
def owner() -> Owner:
    return Owner()


# -- a correction follows its chain -------------------------------------------------------------


def correction(content: str, of: Record) -> Candidate:
    source = Source.USER_CORRECTION
    return candidate(content, source=source, replaces=of.id, replaces_root=of.root)


@pytest.mark.parametrize("how", ["two turns", "one batch", "a cold index"])
def test_two_corrections_of_one_memory_leave_one_standing(owner: Owner, how: str) -> None:
    (first,) = owner.write(candidate("Deploys go to us-east-1"))
    one, two = (correction(f"Deploys go to {place}", first.record) for place in ("eu", "ap"))

    if how == "one batch":
        *_, last = owner.write(one, two)
    else:
        owner.write(one)
        if how == "a cold index":
            owner.load_anew()
        (last,) = owner.write(two)

    assert (last.kind, last.reasons) == (OutcomeKind.SUPERSEDED, ("correction",))
    assert (last.record.version, last.record.root) == (3, first.record.id)
    assert owner.standing() == ["Deploys go to ap"]


def test_a_third_correction_still_finds_the_chain(owner: Owner) -> None:
    (first,) = owner.write(candidate("one"))
    for number, text in enumerate(("two", "three", "four"), 2):
        (last,) = owner.write(correction(text, first.record))
        assert last.record.version == number
    assert owner.standing() == ["four"]


def test_a_correction_by_id_takes_no_key_that_another_chain_holds(owner: Owner) -> None:
    (free,) = owner.write(candidate("one"))
    owner.write(candidate("two", key=KEY))

    for text in ("one", "three"):
        (last,) = owner.write(replace(correction(text, free.record), key=KEY))
        assert last.record.key is None


def test_a_waiting_correction_keeps_the_chain_it_names() -> None:
    kept = candidate("x", replaces="a", replaces_root="b")

    assert decode_candidate(encode_candidate(kept)) == kept
    assert decode_candidate(encode_candidate(candidate("x"))) == candidate("x")


def test_a_correction_to_the_same_words_verifies_and_adds_no_version(ana: Memory) -> None:
    ana.remember("us-east-1", key=KEY)

    outcome = ana.correct(KEY, "us-east-1")

    assert (outcome.kind, outcome.reasons[-2:]) == ("refreshed", ("same_text", "said_again"))
    assert stored(outcome).verified_at == stored(outcome).updated_at
    assert len(history_of(ana, KEY)) == 1


def test_a_correction_of_the_spelling_alone_is_one(ana: Memory) -> None:
    ana.remember("Mcdonald", key="surname")

    assert ana.correct("surname", "McDonald").kind == "superseded"
    assert [memory.content for memory in ana.list()] == ["McDonald"]


def test_a_user_correction_vouches_for_what_others_said(ana: Memory) -> None:
    ana.remember(Draft("us-east-1", key=KEY, source="external", confidence=1.0))

    again = stored(ana.correct(KEY, "us-east-1"))

    assert (again.version, again.trust, again.source) == (2, "user", "user_correction")
    assert (again.content, again.confidence, again.key) == ("us-east-1", 1.0, KEY)


# -- what a repetition adds ---------------------------------------------------------------------


@pytest.mark.parametrize("key", [None, KEY])
@pytest.mark.parametrize("source", ["user_stated", "external"])
def test_a_stricter_label_is_never_lost(ana: Memory, key: str | None, source: str) -> None:
    first = stored(ana.remember("On medication", key=key, tags=["health"]))

    outcome = ana.remember(Draft("on  MEDICATION", key=key, sensitivity="sensitive", source=source))

    assert outcome.kind == "superseded"
    assert outcome.reasons[-1] == "stricter_label"
    (memory,) = ana.list()
    assert (memory.version, memory.supersedes) == (2, first.id)
    assert (memory.sensitivity, memory.trust, memory.source) == (
        "sensitive",
        "user",
        "user_stated",
    )
    assert (memory.content, memory.tags) == ("On medication", ("health",))
    assert [m.version for m in history_of(ana, memory.id)] == [1, 2]


def test_a_milder_label_changes_nothing(ana: Memory) -> None:
    ana.remember(Draft("On medication", sensitivity="sensitive"))

    outcome = ana.remember(Draft("On medication", sensitivity="public"))

    assert outcome.kind == "refreshed"
    assert stored(outcome).sensitivity == "sensitive"


def test_evidence_that_was_missing_makes_a_version(ana: Memory) -> None:
    ana.remember(TEA, metadata={"ticket": 1})

    metadata = {"ticket": 2, "page": 3}
    draft = Draft(TEA, quote="I do like tea", metadata=metadata, session="s", turn=4)
    (outcome,) = ana.remember_many([draft])

    memory = stored(outcome)
    assert (outcome.kind, outcome.reasons[-2:]) == ("superseded", ("same_text", "new_evidence"))
    assert (memory.quote, memory.origin.session) == ("I do like tea", "s")
    assert memory.metadata == {"ticket": 1, "page": 3}
    assert ana.remember(Draft(TEA, quote="another", metadata={"page": 9})).kind == "refreshed"
    assert ana.list() == (ana.get(memory.id),)


def test_evidence_of_the_less_trusted_is_left_out(ana: Memory) -> None:
    ana.remember(TEA)

    outcome = ana.remember(Draft(TEA, source="external", quote="likes tea", metadata={"page": 3}))

    assert outcome.kind == "refreshed"
    assert (stored(outcome).quote, stored(outcome).metadata) == (None, {})


def test_gathered_metadata_keeps_to_its_limit(ana: Memory) -> None:
    ana.remember(TEA, metadata={"a": "x" * 9_000})

    assert ana.remember(TEA, metadata={"b": "x" * 9_000}).kind == "refreshed"


def test_captured_talk_that_is_repeated_makes_no_versions(world: World, ana: Memory) -> None:
    ana.add("Use email as the primary channel for updates.")
    world.clock.advance(days=1)

    again = ana.add("As I said. Use email as the primary channel for updates.")

    assert [outcome.kind for outcome in again.outcomes.done] == ["refreshed"]


def test_where_a_captured_quote_stands_is_not_told_of_another_quote(ana: Memory) -> None:
    ana.remember(Draft("email", key="update_channel", quote="by mail"))

    outcomes = ana.add("Use email as the primary channel for updates.").outcomes.done

    assert [outcome.kind for outcome in outcomes] == ["refreshed"]
    assert [(memory.quote, memory.metadata) for memory in ana.list()] == [("by mail", {})]


@pytest.mark.parametrize("source", ["user_correction", "in_session_correction"])
def test_who_repeats_himself_is_no_second_witness(ana: Memory, source: str) -> None:
    ana.remember("English", key="language")

    outcome = ana.remember(Draft("English", key="language", source=source))

    assert outcome.kind == "refreshed"
    assert stored(outcome).verified_at is None


def test_another_speaker_is_a_second_witness(ana: Memory) -> None:
    speakers = ("Ana", "Bob", "Ana")

    outcomes = [
        ana.remember_many([Draft("English", key="language", speaker=who)])[0] for who in speakers
    ]

    assert [outcome.kind for outcome in outcomes] == ["created", "bumped", "refreshed"]


def test_a_touching_newcomer_superseded_nothing(ana: Memory) -> None:
    first = stored(ana.remember("us-east-1", key=KEY))

    ana.remember(Draft("eu-west-1", key=KEY, source="agent_inferred"))

    newcomer = next(memory for memory in history_of(ana, KEY) if memory.version == 2)
    assert (newcomer.supersedes, newcomer.superseded_by) == (None, first.id)


# -- a key for free text ------------------------------------------------------------------------


def test_free_text_that_is_said_with_a_key_gets_it(ana: Memory) -> None:
    free = stored(ana.remember(TEA, tags=["taste"]))

    outcome = ana.remember(TEA, key="drink", category="preference")

    (memory,) = ana.list()
    assert (outcome.kind, outcome.reasons[-2:]) == ("superseded", ("same_text", "now_keyed"))
    assert (memory.key, memory.category, memory.tags) == ("drink", "preference", ("taste",))
    assert (memory.version, memory.root) == (2, free.id)
    assert ana.remember("I like coffee", key="drink").kind == "superseded"
    assert [memory.version for memory in history_of(ana, "drink")] == [2, 3]


def test_free_text_of_another_kind_or_of_the_more_trusted_gets_no_key(ana: Memory) -> None:
    ana.remember(TEA)

    assert ana.remember(Draft(TEA, key="drink", kind="procedural")).kind == "created"
    assert ana.remember(Draft(TEA, key="taste", source="external")).kind == "created"
    assert len(ana.list()) == 3


# -- functional slots ---------------------------------------------------------------------------


@pytest.mark.parametrize("batch", [False, True])
def test_a_functional_slot_has_one_value(owner: Owner, *, batch: bool) -> None:
    said = [lives("Rome"), lives("Oslo")]

    if batch:
        last = owner.write(*said, functional=LIVES)[-1]
    else:
        (last,) = [owner.write(each, functional=LIVES)[0] for each in said][-1:]

    assert (last.kind, last.record.version) == (OutcomeKind.SUPERSEDED, 2)
    assert last.reasons == ("newer_and_as_confident",)
    assert owner.standing() == ["Ana lives in Oslo"]


def test_a_slot_is_found_in_normal_form_and_after_a_cold_load(owner: Owner) -> None:
    owner.write(lives("Rome"), functional=LIVES)
    owner.load_anew()
    other = candidate("She lives in Oslo", triple=Triple(" ANA", "Lives_In", "Oslo"))

    (last,) = owner.write(other, functional=LIVES)

    assert last.kind is OutcomeKind.SUPERSEDED


def test_a_weaker_value_of_a_slot_touches(owner: Owner) -> None:
    owner.write(lives("Rome"), functional=LIVES)

    (guess,) = owner.write(lives("Oslo", source=Source.AGENT_INFERRED), functional=LIVES)

    assert (guess.kind, guess.reasons) == (OutcomeKind.TOUCHED, ("less_confident",))
    assert owner.standing() == ["Ana lives in Rome"]


@pytest.mark.parametrize(
    "other",
    [
        lives("Oslo"),
        candidate("Bob lives in Oslo", triple=Triple("bob", "lives_in", "Oslo")),
        candidate("Ana works in Oslo", triple=Triple("ana", "works_in", "Oslo")),
        lives("Oslo", kind=Kind.EPISODIC),
    ],
    ids=["multi-valued", "subject", "predicate", "kind"],
)
def test_what_is_not_of_one_functional_slot_coexists(owner: Owner, other: Candidate) -> None:
    functional = LIVES if other != lives("Oslo") else frozenset[str]()
    owner.write(lives("Rome"), functional=functional)

    (last,) = owner.write(other, functional=functional)

    beside = other == lives("Oslo")
    assert last.kind is (OutcomeKind.COEXISTS if beside else OutcomeKind.CREATED)
    assert len(owner.standing()) == 2


def test_values_from_before_a_slot_was_functional_give_way_together(owner: Owner) -> None:
    owner.write(lives("Rome"), lives("Oslo"))

    (last,) = owner.write(lives("Lima"), functional=LIVES)

    assert owner.standing() == ["Ana lives in Lima"]
    assert [memory.superseded_by for memory in last.restated] == [last.record.id] * 2


def test_a_key_whose_value_gave_way_in_its_slot_is_free_within_the_batch(owner: Owner) -> None:
    strong, weak = lives("Rome", key="home"), lives("Lima", key="base", confidence=0.9)

    *_, last = owner.write(strong, weak, lives("Oslo"), lives("Bern", key="base"), functional=LIVES)

    assert last.kind is OutcomeKind.CREATED
    assert owner.standing() == ["Ana lives in Bern", "Ana lives in Oslo"]


def test_the_same_value_of_a_slot_is_a_repetition(owner: Owner) -> None:
    owner.write(lives("Rome"), functional=LIVES)

    (last,) = owner.write(lives("Rome"), functional=LIVES)

    assert last.kind is OutcomeKind.REFRESHED


# -- labels travel ------------------------------------------------------------------------------


def test_what_is_derived_is_no_more_than_its_parents(owner: Owner) -> None:
    said = candidate("Said by Ana", label=Label(Trust.USER, Sensitivity.SENSITIVE, None))
    read = candidate("Read by two agents", source=Source.TOOL_VERIFIED)
    read = replace(read, label=Label(Trust.TOOL, audience=frozenset({"a", "b"})))
    parents = tuple(each.record.id for each in owner.write(said, read))

    derived = inherited(candidate("Both", parents=parents), owner.view, START)

    assert derived.label == Label(Trust.TOOL, Sensitivity.SENSITIVE, frozenset({"a", "b"}))
    assert derived.confidence == 0.9
    assert derived.content == "Both"


def test_a_derivation_is_never_raised_by_its_parents(owner: Owner) -> None:
    (parent,) = owner.write(candidate("Said by Ana"))
    weak = candidate("A guess", source=Source.AGENT_INFERRED, parents=(parent.record.id,))

    assert inherited(weak, owner.view, START) == weak


def test_a_parent_that_is_not_seen_is_an_unknown_origin(owner: Owner) -> None:
    (parent,) = owner.write(candidate("Said by Ana"))
    mixed = candidate("Derived", parents=(parent.record.id, "unknown"))

    assert inherited(mixed, owner.view, START).label.trust is Trust.EXTERNAL


def test_a_promoted_copy_and_what_has_no_parents_keep_their_label(owner: Owner) -> None:
    copy = candidate("Copied", parents=("elsewhere",), origin=Origin(memory="elsewhere"))

    assert inherited(copy, owner.view, START) is copy
    plain = candidate("Plain")
    assert inherited(plain, owner.view, START) is plain
