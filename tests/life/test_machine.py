"""A life of random writes, collections, looks and undos agrees with a plain model of it."""

import os
from datetime import timedelta
from itertools import count

import pytest
import sayings
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)
from sayings import (
    DAY,
    MONTH,
    YEAR,
    counts,
    derived,
    is_back,
    is_spared,
    lasting,
    shape,
    turns_within,
)

import simonides
from simonides import Draft

STEPS = int(os.environ.get("LIFE_STEPS", "240"))
"""Steps on the four stores together; 50,000 make a long run. A run that names a number has lives
of its own."""

STEPS_OF_A_LIFE = 40

USERS = count()

things = st.integers(0, 99)


class Life(RuleBasedStateMachine):
    """One user's memories.

    Attributes:
        known: Each memory that is shown, by its root, as it was told last.
        gone: Roots of what was forgotten or has expired, with an id.
        read: When a memory was last recalled, by root.
        asked: When the question about an aged memory ends, by root.
        disputed: Roots of two sides that a person is asked about.
        settled: What a person has decided about.
        forgotten: Texts that were forgotten, which nothing but the user can tell again.
        last: The last outcome, what was known before and after it, and whether nothing came after.
    """

    place: object

    def __init__(self):
        super().__init__()
        self.clock, self.store = self.place.clock, self.place()
        self.clock.set(sayings.BEGIN)
        self.memory = self.store.memory(user=f"user{next(USERS)}", org="acme")
        self.known, self.gone, self.read, self.asked = {}, {}, {}, {}
        self.disputed, self.settled, self.forgotten = set(), set(), set()
        self.drawn, self.last, self.steps, self.talks = [], None, 0, 0
        self.touched = self.clock.now

    def teardown(self):
        if self.place.backend != "memory":  # a server has a hundred connections
            self.store.close()

    # -- the model ---------------------------------------------------------------------------------

    def shown(self):
        return {record.root: record for record in self.memory.list(limit=1000)}

    def state(self):
        """Return what a dry run must not change."""
        rows = {(each.id, each.status, each.hard_expires_at) for each in self.memory.list()}
        entries, status = self.memory.audit.verify().heads, self.memory.status()
        return rows, entries, status["memories"], status["turns"], status["events"]

    def took(self, *outcomes, undoes=None):
        """Note what writes have stored."""
        before = dict(self.known)
        for outcome in outcomes:
            assert outcome.kind not in ("review", "held"), outcome
            if outcome and outcome.record is not None:
                self.known[outcome.record.root] = outcome.record
                if outcome.record.status == "active":
                    self.asked.pop(outcome.record.root, None)
        self.touched, self.last = self.clock.now, (undoes, before, dict(self.known), True)

    def disturb(self):
        """Note that something came after the last outcome."""
        self.touched = self.clock.now
        if self.last is not None:
            self.last = (*self.last[:3], False)

    def one(self, number):
        return sorted(self.known.values(), key=lambda each: each.id)[number % len(self.known)]

    def age(self, record):
        """Return how stale a memory is, by the formula of the documentation."""
        now, seen = self.clock.now, self.read.get(record.root)
        span = record.hard_expires_at - record.created_at if record.hard_expires_at else YEAR
        age = min((now - record.updated_at) / span, 1.0)
        unread, disputed = seen is None or now - seen > MONTH, record.root in self.disputed
        return round(0.4 * age + 0.3 * unread + 0.3 * disputed, 2)

    def is_doubtful(self, record):
        ms = (self.clock.now - record.created_at) / timedelta(milliseconds=1)
        fades = record.trust == "agent" and record.verified_at is None
        return fades and record.source.default_confidence - ms * (0.05 / 30 / 86_400_000) < 0.3

    def marked(self, record, status):
        self.known[record.root] = record.model_copy(update={"status": status})

    # -- what is said ------------------------------------------------------------------------------

    @initialize(sources=st.lists(st.sampled_from(sayings.SOURCES), max_size=len(sayings.UNKEYED)))
    def begin(self, sources):
        for content, source in zip(sayings.UNKEYED, sources, strict=False):
            self.remember((None, content), source, "fact", None, pinned=False)

    @rule(
        said=st.one_of(
            st.sampled_from([(key, each) for key in sayings.KEYED for each in sayings.KEYED[key]]),
            st.sampled_from([(None, each) for each in sayings.UNKEYED]),
        ),
        source=st.sampled_from(sayings.SOURCES),
        category=st.sampled_from(sayings.CATEGORIES),
        days=st.sampled_from([None, None, 2, 20]),
        pinned=st.sampled_from([False, False, False, True]),
    )
    def remember(self, said, source, category, days, pinned):
        key, content = said
        content = content if key is None else f"The {key} of choice is {content}"
        fields = {"source": source, "category": category, "ttl_days": days, "pinned": pinned}
        outcome = self.memory.remember(Draft(content, key=key, **fields))
        assert outcome or source != "user_stated", outcome
        self.took(outcome, undoes=outcome)

    @rule(said=st.sampled_from(sayings.TURNS))
    def add(self, said):
        report = self.memory.add(said)
        self.took(*report.outcomes, undoes=report)

    @rule(pair=st.sampled_from(sayings.DISPUTED))
    def contradict(self, pair):
        """Let two sources say what cannot both be true; a person is asked, and neither is lost."""
        before = self.shown()
        for content, source in pair:
            draft = Draft(content, source=source, category="entity_fact")
            outcome, shown = self.memory.remember(draft), self.shown()
            is_shown = outcome.record is not None and outcome.record.root in shown
            assert is_shown or content in self.settled | self.forgotten, outcome
            assert before.keys() <= shown.keys()
        self.resync()
        self.disturb()

    @precondition(lambda self: self.disputed)
    @rule(number=things, keep=st.sampled_from(["old", "new", "both"]))
    def resolve(self, number, keep):
        waiting = [each for each in self.memory.pending.list() if each.kind == "contradiction"]
        self.resync()  # what nobody has decided in time has ended by now
        if not waiting:
            return
        chosen, before = waiting[number % len(waiting)], self.shown()
        self.memory.pending.resolve(chosen.id, keep=keep)
        shown, sides = self.shown(), {side.root for side in chosen.sides}
        lost = before.keys() - shown.keys()
        assert len(lost) == (keep != "both" and len(sides) == 2)
        assert lost <= sides
        self.settled |= {side.content for side in chosen.sides}
        assert chosen.id not in [each.id for each in self.memory.pending.list()]
        self.resync()
        self.disturb()

    @rule(
        said=st.lists(st.sampled_from(sayings.TURNS), max_size=3),
        noted=st.sampled_from(sayings.NOTES),
    )
    def talk(self, said, noted):
        """End a conversation with a note that is worth keeping."""
        self.talks += 1
        session, (note, category) = self.memory.session(f"talk{self.talks}"), noted
        for each in said:
            self.took(*session.add(each).outcomes)
        if not (noted := session.note(note, category=category)):
            assert note in self.forgotten, noted
            note = None
        self.took(noted)
        report = session.end()
        assert (report.entries, report.dropped, report.removed) == (len(said) + bool(note), 0, 0), (
            report
        )
        self.took(*report.promoted, *filter(None, [report.summary]), *report.extracted)
        assert note is None or any(note in each.content for each in self.known.values()), report
        assert note is None or report.promoted
        self.disturb()

    @precondition(lambda self: self.known)
    @rule(number=things, pinned=st.sampled_from([None, True, False]))
    def correct(self, number, pinned):
        record = self.one(number)
        if record.category == "turn":
            return
        content = f"{record.content} indeed" if pinned is None else None
        outcome = self.memory.correct(record, content, pinned=pinned)
        self.took(outcome, undoes=outcome)
        if record.root in self.disputed:
            self.resync()  # the other side is not asked about any more

    @precondition(lambda self: self.known)
    @rule(number=things)
    def confirm(self, number):
        outcome = self.memory.confirm(self.one(number))
        self.took(outcome, undoes=outcome)

    @precondition(lambda self: self.known)
    @rule(number=things)
    def forget(self, number):
        record, before = self.one(number), self.known
        # Turns that say it go, too, and what was derived; perhaps what an older version said.
        least = derived(
            self.known, {record.root} | turns_within(self.known, record.content, is_whole=True)
        )
        most = derived(self.known, least | turns_within(self.known, record.content))
        self.memory.forget(record)
        self.resync()
        lost = before.keys() - self.known.keys()
        assert least <= lost <= most, (least, lost, most)
        self.gone |= {root: before[root].id for root in lost}
        for root in lost:  # with what its older versions said
            text = before[root].content
            self.forgotten |= {text, text.replace(" indeed", "")}
        self.disturb()

    # -- what is read and decided ------------------------------------------------------------------

    @precondition(lambda self: self.known)
    @rule(number=things)
    def recall(self, number):
        hits = self.memory.recall(self.one(number).content, limit=3)
        assert {hit.record.root for hit in hits} <= self.known.keys()
        self.read |= {hit.record.root: self.clock.now for hit in hits}

    @precondition(lambda self: self.gone)
    @rule(number=things)
    def look_for_what_is_gone(self, number):
        root, id = sorted(self.gone.items())[number % len(self.gone)]
        assert self.memory.get(id) is None
        assert self.memory.get(root) is None
        with pytest.raises(simonides.NotFound):
            self.memory.history(id)
        with pytest.raises(simonides.NotFound):
            self.memory.confirm(id)

    @precondition(lambda self: self.asked)
    @rule(number=things, is_true=st.booleans())
    def answer(self, number, is_true):
        waiting = [each for each in self.memory.pending.list() if each.kind == "aged"]
        self.expire_questions()
        assert sorted(each.sides[0].root for each in waiting) == sorted(
            self.asked.keys() & self.known.keys()
        )
        if self.disputed:
            self.resync()  # what nobody has decided in time has ended by now
        if not waiting:
            return
        chosen = waiting[number % len(waiting)]
        if is_true:
            self.took(self.memory.pending.approve(chosen.id))
        else:
            root = chosen.sides[0].root
            outcome = self.memory.pending.reject(chosen.id)
            self.took()
            del self.known[root], self.asked[root]
            assert outcome.kind == "superseded"
        self.disturb()

    def expire_questions(self):
        late = [root for root, ends in self.asked.items() if ends <= self.clock.now]
        for root in late:
            del self.asked[root]
        return len(late)

    @precondition(lambda self: self.last and self.last[0] is not None)
    @rule()
    def undo(self):
        undoes, before, after, is_last = self.last
        self.last, self.touched = None, self.clock.now
        try:
            self.memory.undo(undoes)
        except (simonides.InvalidInput, simonides.NotFound):
            return
        self.forget_expired(before)
        shown = self.shown()
        changed = {root for root in before | after if before.get(root) != after.get(root)}
        for root in changed if not is_last else shown | before:
            if root not in self.gone:
                assert (root in shown) == (root in before), (root, undoes)
                assert root not in shown or is_back(shown[root], before[root])
        self.resync()

    def forget_expired(self, records):
        for root, record in list(records.items()):
            if record.hard_expires_at is not None and record.hard_expires_at <= self.clock.now:
                del records[root]

    def resync(self):
        """Take over what is shown and what waits; what nobody has decided in time ends by that."""
        asked = {"aged": {}, "contradiction": {}}
        for each in self.memory.pending.list():
            asked[each.kind] |= {side.root: each.expires for side in each.sides}
        self.asked, self.disputed = asked["aged"], {*asked["contradiction"]}
        self.known = self.shown()
        for root in self.known.keys() & self.gone.keys():
            del self.gone[root]

    # -- what time does ----------------------------------------------------------------------------

    @rule(step=st.sampled_from(sayings.JUMPS))
    def jump(self, step):
        self.wait(step)

    @rule(weeks=st.sampled_from([4, 7, 14, 27, 36, 52]), is_tended=st.booleans())
    def live(self, weeks, is_tended):
        """Let weeks pass, with something said every third, so that nobody doubts the clock."""
        for _ in range(0, weeks, 3):
            self.wait(21 * DAY)
            self.took(self.memory.remember("The lamp of choice is brass", key="lamp"))
            if is_tended:
                self.gc(accept_clock=False)
                self.hygiene()

    @rule(said=st.sampled_from(sayings.TURNS))
    def say_daily(self, said):
        for _ in range(3):
            self.add(said)
            self.wait(DAY)

    def wait(self, step):
        self.clock.advance(days=step / DAY)
        for root, record in list(self.known.items()):
            if record.hard_expires_at is not None and record.hard_expires_at <= self.clock.now:
                self.gone[root] = self.known.pop(root).id

    @rule(hours=st.sampled_from([1, 20, 70]))
    def go_back(self, hours):
        """Set the clock back; what had expired a moment ago may be shown again."""
        before = self.known
        self.clock.advance(hours=-hours)
        shown = self.shown()
        assert before.keys() <= shown.keys()
        self.resync()
        self.disturb()

    @rule()
    def mistake_the_year(self):
        """A clock that is a year ahead for an hour takes and marks nothing for good."""
        self.took(self.memory.remember("The lamp of choice is brass", key="lamp"))
        now, before, entries = self.clock.now, self.shown(), self.memory.status()["events"]
        self.clock.advance(days=400)
        self.memory.maintenance.gc()
        self.memory.maintenance.hygiene()
        self.store.flush()
        self.clock.set(now)
        assert lasting(self.shown()) == lasting(before)
        assert self.memory.status()["events"] == entries
        self.tend(0)

    @rule(days=st.sampled_from([0, 1, 3]))
    def tend(self, days):
        """Let the worker do what is due; it ends only what may end by itself."""
        self.wait(days * DAY)
        before = self.shown()
        self.store.flush()
        shown = self.shown()
        for root in before.keys() - shown.keys():
            lost = before[root]
            soft = lost.soft_expires_at is not None and lost.soft_expires_at <= self.clock.now
            if lost.category == "insight" and {*lost.parents} - {r.id for r in shown.values()}:
                continue  # what it rests on has ended
            assert not is_spared(lost), lost
            assert soft or lost.status == "stale", lost
        assert {shown[root].category for root in shown.keys() - before.keys()} <= {"insight"}
        for root in shown.keys() & before.keys():
            assert shown[root].content == before[root].content
        self.resync()
        self.last, self.touched = None, self.clock.now
        self.drawn.clear()

    def dry(self, verb, **options):
        """Run a verb dry, twice; it changes nothing."""
        before = self.state()
        planned = verb(dry_run=True, **options)
        assert verb(dry_run=True, **options) == planned
        assert self.state() == before
        return planned

    def is_quiet(self):
        """Return whether the clock may be wrong after so long a quiet; None if that is not sure."""
        if self.clock.now - self.touched > MONTH:
            return True
        last = self.memory.audit.list(limit=1)
        return False if last and self.clock.now - last[0].at <= MONTH else None

    def agrees_to_wait(self, waits):
        sure = self.is_quiet()
        assert sure is None or waits == (sure and bool(self.memory.audit.list(limit=1)))

    @rule(accept_clock=st.booleans())
    def gc(self, accept_clock):
        verb = self.memory.maintenance.gc
        planned = self.dry(verb, accept_clock=accept_clock)
        report = verb(accept_clock=accept_clock)
        assert counts(planned) == counts(report)
        waits = report.waits_until is not None
        if waits or not accept_clock:
            self.agrees_to_wait(waits)
        if waits:
            assert (counts(report), accept_clock) == ({}, False)
            return
        old = self.clock.now - MONTH
        soft = [
            record
            for root, record in self.known.items()
            if not is_spared(record) and record.soft_expires_at is not None
            and record.soft_expires_at <= self.clock.now and record.updated_at <= old
            and self.read.get(root, old) <= old
        ]  # fmt: skip
        assert report.soft_expired == len(soft)
        for record in soft:
            del self.known[record.root]
        if self.disputed & {record.root for record in soft}:
            assert self.shown().keys() == self.known.keys()
            self.resync()  # the other side of a contradiction stands
        self.asked = {root: ends for root, ends in self.asked.items() if root in self.known}
        faded = [
            record
            for record in self.known.values()
            if self.is_doubtful(record) and record.status == "active"
            and record.created_at <= self.clock.now - 60 * DAY
        ]  # fmt: skip
        assert report.stale_marked == len(faded)
        for record in faded:
            self.marked(record, "stale")
        self.disturb()

    @rule()
    def hygiene(self):
        verb = self.memory.maintenance.hygiene
        planned, report = self.dry(verb), verb()
        assert (planned.waits, counts(planned)) == (report.waits, counts(report)), (planned, report)
        self.agrees_to_wait(report.waits)
        if report.waits:
            assert counts(report) == {}
            return
        expected = {"reviews_expired": self.expire_questions(), "unfounded": self.fall()}
        for record in sorted(self.known.values(), key=lambda each: each.id):
            if name := self.aged_turn(record) if record.position is not None else self.aged(record):
                expected[name] = expected.get(name, 0) + 1
        found = counts(report)
        if self.disputed or "contradictions_found" in found:
            self.resync()  # what is asked about again is not told in advance
            self.disturb()
            return
        assert found == {name: n for name, n in expected.items() if n}
        waiting = [each for each in self.memory.pending.list() if each.kind == "aged"]
        roots = [side.root for each in waiting for side in each.sides]
        assert sorted(roots) == sorted(self.asked)
        self.asked = dict(zip(roots, [each.expires for each in waiting], strict=True))
        self.disturb()

    def fall(self):
        """Let insights end of which a part is not in force; return how many."""
        ids = {record.id for record in self.known.values()}
        fallen = [r for r, each in self.known.items() if {*each.parents} - ids]
        for root in fallen:
            del self.known[root]
        return len(fallen)

    def aged(self, record):
        """Do what a look does with a fact; return what it counts."""
        stale, status = self.age(record) >= 0.7, record.status
        soft = record.soft_expires_at is not None and record.soft_expires_at <= self.clock.now
        if is_spared(record):
            return self.question(record) if status == "active" and (soft or stale) else None
        if stale and status != "stale":
            self.marked(record, "stale")
            return "stale_marked"
        if status == "stale" and not stale and not self.is_doubtful(record):
            self.marked(record, "active")
            return "restored"
        return None

    def aged_turn(self, record):
        ends, is_own = record.hard_expires_at, record.content.startswith("I ")
        if not is_own or record.status != "active" or ends > self.clock.now + MONTH:
            return None
        shown = self.read.get(record.root)
        if shown is None or shown <= ends - YEAR - MONTH:
            return self.question(record)
        longer = {"hard_expires_at": ends + YEAR}
        self.known[record.root] = record.model_copy(update=longer)
        return "lengthened"

    def question(self, record):
        assert record.root not in self.asked
        self.asked[record.root] = None
        self.marked(record, "review")
        return "asked"

    # -- what is drawn together --------------------------------------------------------------------

    @rule()
    def consolidate(self):
        verb = self.memory.maintenance.consolidate
        planned, done = self.dry(verb), verb()
        assert (planned.insights, planned.merged) == (done.insights, done.merged)
        assert done.merged == ()
        ids = {record.id for record in self.known.values()}
        assert all({*each.evidence} <= ids for each in done.insights)
        if done.id is not None:
            before = dict(self.known)
            self.took(*done.outcomes)
            self.drawn.append((done.id, before, dict(self.known)))
            if all(done.outcomes):  # an insight that was forgotten is proposed again, and refused
                assert verb().insights == ()
        self.disturb()

    @precondition(lambda self: self.drawn)
    @rule()
    def undo_consolidation(self):
        id, before, after = self.drawn.pop()
        try:
            self.memory.maintenance.undo_consolidation(id)
        except simonides.InvalidInput:
            return
        for root in after.keys() - before.keys():
            self.known.pop(root, None)
            self.asked.pop(root, None)
        self.disturb()

    # -- what always holds -------------------------------------------------------------------------

    @invariant()
    def agrees(self):
        page = self.memory.list(limit=1000)
        roots, keys = [each.root for each in page], [each.key for each in page if each.key]
        assert sorted(roots) == sorted(self.known)
        assert len(set(keys)) == len(keys)
        for record in page:
            model = self.known[record.root]
            assert (record.id, shape(record)) == (model.id, shape(model))
            assert record.hard_expires_at == model.hard_expires_at
        status = self.memory.status()
        assert status["memories"] + status["turns"] == len(page)

    @invariant()
    def is_proved(self):
        self.steps += 1
        if self.steps % 5 == 0:
            report = self.memory.audit.verify()
            assert report, report.problems


@pytest.mark.timeout(max(180, STEPS))  # seconds
@pytest.mark.every_store
def test_a_life_agrees_with_its_model(open_store):
    class Here(Life):
        place = open_store

    lives, is_long = max(STEPS // 4 // STEPS_OF_A_LIFE, 1), "LIFE_STEPS" in os.environ
    run_state_machine_as_test(
        Here,
        settings=settings(
            max_examples=lives, stateful_step_count=STEPS_OF_A_LIFE, derandomize=not is_long
        ),
    )
