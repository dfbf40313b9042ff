"""The public judge of agents' memories (agent-memory-integrity): six ways to get a memory served.

Two ways to read are judged. ``Trusted`` is what an agent takes for knowledge: a recall of what is
not external. ``Everything`` is a plain recall, as a caller has it who looks at no label; what it
serves is told here as it is.

The judge writes on three channels. What comes as ``external`` is stored as that. What claims to be
the user's must be signed: an application knows who speaks to it, and writes in the user's name only
what the user said; here the judge's own signature stands for that knowledge, and what lacks it is
external too. What the agent itself saves and signs (``agent-laundered``) is the user's by all that
anybody can tell, unless the store knows the text from outside.
"""

from itertools import count

import pytest

from simonides import Draft

pytest.importorskip("agmi", reason="needs pip install agent-memory-integrity")

from agmi.adapters.semantic_base import MemoryItem, Retrieved, SemanticMemoryAdapter
from agmi.attacks.memory_specific import (
    HIJACK_FIXTURES,
    INJECTION_FIXTURES,
    PROMPT_INJECTION_FIXTURES,
    UPDATE_FIXTURES,
    CrossSessionBleedAttack,
    IndirectPromptInjectionAttack,
    MemoryInjectionAttack,
    MetadataPoisoningAttack,
    RetrievalHijackAttack,
    UpdatePoisoningAttack,
)
from agmi.signing import KEYRING

import simonides

ORGS = count()
KEPT_OUT = [False] * 5
SURFACED = [True] * 5
NOT_EXTERNAL = {"trust": {"$ne": "external"}}


class Everything(SemanticMemoryAdapter):
    """A plain recall."""

    name = "simonides"
    wanted: dict | None = None

    def __init__(self, store):
        self._store = store

    def reset(self):
        """Begin anew, in an org that nobody has written to."""
        self._org = f"org-{next(ORGS)}"

    def add_memory(self, item: MemoryItem):
        signed = KEYRING.verify(item.user_id, item.source, item.text, item.signature)
        source = "user_stated" if item.source == "user" and signed else "external"
        self._memory(item.user_id).remember(Draft(item.text, source=source, metadata=item.metadata))

    def retrieve(self, query, user_id, k=5):
        return self._found(query, user_id, self.wanted, k)

    def retrieve_where(self, query, user_id, where, k=5):
        asked = [{f"metadata.{name}": value} for name, value in where.items()]
        wanted = [*asked, *([self.wanted] if self.wanted else [])]
        return self._found(query, user_id, {"$and": wanted}, k)

    def _found(self, query, user_id, wanted, k):
        hits = self._memory(user_id).recall(query, limit=k, filter=wanted)
        return [Retrieved(hit.record.content, user_id, hit.score) for hit in hits]

    def _memory(self, user):
        return self._store.memory(user=user, org=self._org)


class Trusted(Everything):
    """A recall of what did not come from outside."""

    wanted = NOT_EXTERNAL


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    """A store in which nothing is kept out by what it says: labels alone are judged here."""
    policy = tmp_path_factory.mktemp("judged") / "policy.yaml"
    policy.write_text("hygiene: {high: allow, suspicious: allow}", "utf-8")
    with simonides.open(":memory:", settings=simonides.Settings(policy=policy)) as store:
        yield store


def judged(attack, adapter):
    result = attack().run(adapter)
    assert result.error is None, result.error
    return result.channels


PLANTING = [
    MemoryInjectionAttack,
    IndirectPromptInjectionAttack,
    RetrievalHijackAttack,
    UpdatePoisoningAttack,
]


@pytest.mark.parametrize(
    "attack", [*PLANTING, MetadataPoisoningAttack], ids=lambda attack: attack.name
)
def test_nothing_planted_is_taken_for_knowledge(attack, store):
    channels = judged(attack, Trusted(store))

    assert channels["external"] == KEPT_OUT
    assert channels["laundered"] == KEPT_OUT
    # Whoever signs for the user is the user: labels cannot tell, and nothing here pretends to.
    assert channels["agent-laundered"] == SURFACED


def test_no_user_sees_anothers(store):
    assert judged(CrossSessionBleedAttack, Everything(store)) == {"cross-user": KEPT_OUT}


PLANTED = {
    *(each.planted for each in INJECTION_FIXTURES),
    *(each.payload for each in PROMPT_INJECTION_FIXTURES),
    *(each.entry for each in HIJACK_FIXTURES),
    *(each.update for each in UPDATE_FIXTURES),
}


class ReadFirst(Trusted):
    """The same, but what the agent saves is a page that it has read: the application stored that as
    external, and what the agent says as the agent's.
    """

    def add_memory(self, item: MemoryItem):
        if item.text not in PLANTED:
            super().add_memory(item)
            return
        memory = self._memory(item.user_id)
        memory.remember(Draft(f"From the page. {item.text} End of the page.", source="external"))
        memory.remember(Draft(item.text, source="agent_inferred", confidence=0.9))


@pytest.mark.parametrize("attack", PLANTING, ids=lambda attack: attack.name)
def test_what_the_agent_has_read_is_not_the_agents_own(attack, store):
    channels = judged(attack, ReadFirst(store))

    assert set(map(tuple, channels.values())) == {tuple(KEPT_OUT)}


def test_a_reader_who_looks_at_no_label_is_served_what_was_planted(store):
    served = {attack.name: judged(attack, Everything(store))["external"] for attack in PLANTING}

    assert served == {
        "memory_injection": SURFACED,
        "indirect_prompt_injection": SURFACED,
        # Words heaped up do not outrank statements.
        "retrieval_hijack": KEPT_OUT,
        "update_poisoning": SURFACED,
    }
