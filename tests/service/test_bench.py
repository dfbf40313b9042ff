"""Measuring recall on a user's own memories, through the command line and by hand."""

import itertools
import json
import math
import os
import subprocess
import sys

import pytest

import simonides
from simonides.domain.errors import InvalidInput
from simonides.settings import Settings
from simonides.testing.bench import (
    Question,
    grow,
    known_items,
    read_questions,
)
from simonides.testing.bench.latency import summary, timed
from simonides.testing.bench.measure import judge
from simonides.testing.contracts.base import drive

WORDS = "amber birch cedar delta ember fjord grove heron inlet jetty".split()
TEXTS = [f"{one} was {how} near lakes" for one in WORDS for how in ("blue", "tall", "lost")]


@pytest.fixture
def store(tmp_path):
    path = tmp_path / "m.db"
    with simonides.open(path) as opened:
        memory = opened.memory(user="ana")
        memory.remember_many([simonides.Draft(text) for text in TEXTS])
        memory.remember("Always deploy to us-east-1", key="deploy_region")
    return path


def run_cli(*words):
    return subprocess.run(
        [sys.executable, "-m", "simonides", *map(str, words)],
        check=False,
        capture_output=True,
        text=True,
        encoding="utf-8",
        env={k: v for k, v in os.environ.items() if not k.startswith(("OPENAI", "SIMONIDES"))},
    )


def of_ana(path):
    with simonides.open(path) as store:
        return store.memory(user="ana").list(limit=1000)


class Found(list):
    """Hits as far as a judge looks at them."""

    def __init__(self, *ids):
        super().__init__(_Hit(id) for id in ids)


class _Hit:
    def __init__(self, id):
        self.record = type("Named", (), {"id": id})


def test_quality_is_what_the_definitions_say():
    asked = [Question("a", frozenset("xy")), Question("b", frozenset("z"))]

    quality = judge("any", asked, [Found("x", "n", "y"), Found("n", "n", "n")])

    assert quality.recall_at_1 == pytest.approx((1 / 2 + 0) / 2)
    assert quality.recall_at_5 == pytest.approx((1 + 0) / 2)
    assert quality.mrr == pytest.approx((1 + 0) / 2)
    best = 1 + 1 / math.log2(3)
    assert quality.ndcg_at_10 == pytest.approx((1 + 1 / math.log2(4)) / best / 2)


def test_a_latency_is_read_off_the_timer():
    ticks = itertools.count(0, 0.002)

    latency = timed("nothing", [lambda: None] * 4, lambda: next(ticks))

    assert (latency.calls, latency.p50, latency.worst) == (4, pytest.approx(2), pytest.approx(2))
    assert summary("many", range(100)).p95 == 95


def test_made_questions_are_of_half_the_words_and_taken_evenly(store):
    memories = of_ana(store)

    made = known_items(memories, 10)

    assert len({question.evidence for question in made}) == 10
    by_id = {memory.id: memory for memory in memories}
    for question in made:
        (id,) = question.evidence
        assert question.text.split() == by_id[id].content.split()[::2]


def test_questions_name_memories_by_what_users_know(store):
    memories = of_ana(store)
    (keyed,) = [memory for memory in memories if memory.key]
    line = json.dumps({"question": "where?", "evidence": [{"key": "deploy_region"}]})
    by_id = json.dumps({"question": "where?", "evidence": [{"id": keyed.id}]})

    asked = read_questions([line, "", by_id], memories)

    assert asked == (Question("where?", frozenset({keyed.id})),) * 2


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("not json", "is not JSON"),
        ('{"question": 3}', "question"),
        ('{"question": "a", "evidence": []}', "at least one"),
        ('{"question": "a", "evidence": [{"colour": "red"}]}', "named by id"),
        ('{"question": "a", "evidence": [{"key": "none"}]}', "no memory here"),
        ('{"question": "a", "evidence": ["deploy_region"]}', "named by id"),
    ],
)
def test_a_wrong_question_is_named_by_its_line(store, line, says):
    good = json.dumps({"question": "where?", "evidence": [{"key": "deploy_region"}]})

    with pytest.raises(InvalidInput, match=says) as refused:
        read_questions([good, line], of_ana(store))

    assert refused.value.field == "line 2"


def test_growth_is_timed_at_every_size_in_a_store_of_its_own(tmp_path):
    grown = list(grow(TEXTS, ["amber lake"], 300, settings=Settings()))

    assert [one.memories for one in grown] == [100, 300]
    names = [[latency.name for latency in one.latency] for one in grown]
    assert names == [["first recall", "recall", "remember"]] * 2
    assert list(tmp_path.iterdir()) == []


def test_too_small_a_growth_is_refused_at_once():
    with pytest.raises(InvalidInput, match="at least 100"):
        grow(TEXTS, ["amber"], 99, settings=Settings())


def test_the_verb_measures_and_leaves_the_store_as_it_is(store):
    before = of_ana(store)

    done = run_cli("--store", store, "--user", "ana", "--json", "admin", "bench", "--queries", "8")

    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert (report["memories"], report["questions"], report["judged"]) == (31, 8, False)
    rankings = [one["ranking"] for one in report["quality"]]
    assert rankings == ["as set", "keywords only", "vectors only"]
    keywords = report["quality"][1]
    assert keywords["recall_at_10"] == 1.0
    assert [one["name"] for one in report["latency"]][1:] == ["recall", "digest"]
    assert of_ana(store) == before


def test_the_verb_draws_growth_of_a_transcript(tmp_path):
    turns, plot, questions = (tmp_path / name for name in ("t.jsonl", "g.png", "q.jsonl"))
    said = [{"session_id": "s", "speaker": "Ana", "role": "user", "text": t} for t in TEXTS]
    turns.write_text("\n".join(map(json.dumps, said)))
    asked = {"question": "amber lost?", "evidence": [{"session": "s", "turn": 2}]}
    questions.write_text(json.dumps(asked))

    done = run_cli(
        *("--user", "ana", "admin", "bench", "--transcript", turns, "--questions", questions),
        *("--growth", "100", "--plot", plot),
    )

    assert done.returncode == 0, done.stderr
    assert "recall@10" in done.stdout
    assert "first recall p50 / p95" in done.stdout
    assert plot.read_bytes().startswith(b"\x89PNG")
    assert not (tmp_path / "m.db").exists()


def test_a_store_without_words_is_told_what_to_do(tmp_path):
    done = run_cli("--store", tmp_path / "empty.db", "--user", "ana", "admin", "bench")

    assert done.returncode == 2
    assert "--transcript" in done.stderr


def test_a_plot_without_sizes_is_bad_usage(store, tmp_path):
    done = run_cli(
        "--store", store, "--user", "ana", "admin", "bench", "--plot", tmp_path / "g.png"
    )

    assert done.returncode == 2
    assert "--growth" in done.stderr


def test_measuring_is_no_reading(store):
    def reads():
        with simonides.open(store) as opened:
            owner, kept = simonides.types.Scope.of_user("default", "ana"), opened.runtime.store
            return drive(kept, kept.journaled(owner))

    before = reads()
    assert (
        run_cli("--store", store, "--user", "ana", "admin", "bench", "--queries", "3").returncode
        == 0
    )

    assert reads() == before == ()


def test_a_plot_that_cannot_be_written_is_refused_before_anything_is_timed(store, tmp_path):
    plot = tmp_path / "none" / "g.png"

    done = run_cli(
        *("--store", store, "--user", "ana", "admin", "bench"), *("--growth", "100", "--plot", plot)
    )

    assert done.returncode == 2
    assert "no such directory" in done.stderr
    assert "timed at" not in done.stderr
    assert done.stdout == ""
