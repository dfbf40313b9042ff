"""Fit the weights of ranking and of relevance on development questions.

    python -m benchmarks.fit collect DATA OUT SET …  # evidence of every question, into OUT/SET.pkl
    python -m benchmarks.fit rank OUT                 # recall/weights.toml
    python -m benchmarks.fit relevance OUT            # weights of recall/relevance.py, its curve

DATA holds SET/dev/corpus.jsonl and queries.jsonl as in `eval.py`, and everyday/PERSON/…. Evidence
is what `recall.rank.Ranking` gathers, through a store that was filled by the public API. A softmax
regression over the rows of each question maximises the probability of its evidence; every set has
the same share. Printed are figures cross-validated by conversation, and weights of all of them.
"""

from __future__ import annotations

import json
import math
import pickle
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.harness import SimonidesAdapter

import simonides
from simonides.models import Encoder
from simonides.recall.interaction import sessions, windows
from simonides.recall.question import Form
from simonides.recall.rank import CLOSER, PLAIN
from simonides.recall.recall import _ranking, _read, ask_of
from simonides.recall.relevance import measure
from simonides.testing import ManualClock

SETS = ("everyday", "locomo", "realtalk", "beam_100k", "realmem")
FOLDS, L2 = 4, 2e-5

STAGES = {
    "first": ("whole", "words", "speaker", "date", "time", "own", "length"),
    "plain": ("whole", "plain_window", "plain_session", "words", "speaker", "date", "time", "own",
              "length"),
    "closer": ("whole", "window", "session", "words", "speaker", "date", "time", "own", "length"),
}  # fmt: skip
MESSAGES = {
    "first": ("whole", "words", "opening", "recency", "session_whole"),
    "plain": ("whole", "plain_session", "words", "opening", "recency", "session_whole"),
    "closer": ("whole", "session", "words", "opening", "recency", "session_whole"),
}

Question = dict[str, Any]
Sets = Mapping[str, Sequence[Sequence[Question]]]


class CachedEncoder(Encoder):
    """The encoder, which runs each text once."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self._path = path
        self._known = pickle.loads(path.read_bytes()) if path.exists() else {}

    def encode_tokens(self, texts: Sequence[str], most: int = 30) -> list[Any]:
        for text in texts:
            if (text, most) not in self._known:
                [self._known[text, most]] = super().encode_tokens([text], most)
        return [self._known[text, most] for text in texts]

    def close(self) -> None:
        self._path.write_bytes(pickle.dumps(self._known))


# -- evidence --------------------------------------------------------------------------------------


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.open(encoding="utf-8")]


def collect(data: Path, out: Path, name: str, encoder: CachedEncoder) -> None:
    gather = {"everyday": everyday, "small": small}.get(name, conversations)
    found = [[each for each in talk if each] for talk in gather(data / name, encoder)]
    (out / f"{name}.pkl").write_bytes(pickle.dumps(found, protocol=5))
    print(name, len(found), "conversations,", sum(map(len, found)), "questions")


@contextmanager
def person_store(
    name: str, corpus: Sequence[Mapping[str, Any]], encoder: CachedEncoder
) -> Iterator[tuple[simonides.Store, simonides.Memory]]:
    """Open a store in which a person has said everything; the clock stands at the last message."""
    clock = ManualClock()
    with simonides.open(":memory:", clock=clock, embedder=encoder) as store:
        memory = store.memory(user=name)
        for row in corpus:
            at = datetime.fromisoformat(row["timestamp"]).replace(tzinfo=UTC)
            clock.set(at)
            session = memory.session(row["session_id"].replace("/", "_"))
            session.add({"role": row["speaker"], "content": row["text"]}, at=at)
        store.flush()
        yield store, memory


def everyday(folder: Path, encoder: CachedEncoder) -> Iterator[list[Question]]:
    for person in sorted(each for each in folder.iterdir() if each.is_dir()):
        corpus, queries = lines(person / "corpus.jsonl"), lines(person / "queries.jsonl")
        with person_store(person.name, corpus, encoder) as (store, memory):
            clock = store._engine.clock
            text = {row["item_id"]: row["text"] for row in corpus}
            known = contents(memory)
            when = max(datetime.fromisoformat(each["question_date"]) for each in queries)
            clock.set(when.replace(tzinfo=UTC))
            yield [
                evidence(
                    store, memory, each, known,
                    {text[id] for id in each["evidence_item_ids"]},
                    {text[id] for id in each.get("old_item_ids") or ()},
                )
                for each in queries
            ]  # fmt: skip


def small(folder: Path, encoder: CachedEncoder) -> Iterator[list[Question]]:
    """Ask of stores with 1, 4 and 12 messages of one person, the evidence among them; and each
    question of such a store of another person, where nothing bears on it.
    """
    rng = np.random.default_rng(7)
    people = sorted(each for each in folder.with_name("everyday").iterdir() if each.is_dir())
    said = {
        p.name: [r for r in lines(p / "corpus.jsonl") if r["speaker"] == "user"] for p in people
    }
    for number, person in enumerate(people):
        other = said[people[number - 1].name]
        found = []
        for count, each in enumerate(lines(person / "queries.jsonl")):
            if each["abstain"]:
                continue
            own = said[person.name]
            gold = [row for row in own if row["item_id"] in each["evidence_item_ids"]]
            rest = [row for row in own if row["item_id"] not in each["evidence_item_ids"]]
            size = (1, 4, 12)[count % 3]
            chosen = [
                rest[n] for n in rng.choice(len(rest), max(size - len(gold), 0), replace=False)
            ]
            foreign = [other[n] for n in rng.choice(len(other), size, replace=False)]
            none = {**each, "abstain": True, "evidence_item_ids": [], "old_item_ids": []}
            for rows, asked in (([*gold, *chosen], each), (foreign, none)):
                found.append(told(rows, asked, encoder))
        yield found


def told(rows: Sequence[Any], asked: Mapping[str, Any], encoder: CachedEncoder) -> Question:
    clock = ManualClock()
    with simonides.open(":memory:", clock=clock, embedder=encoder) as store:
        memory = store.memory(user="small")
        for row in sorted(rows, key=lambda row: row["timestamp"]):
            at = datetime.fromisoformat(row["timestamp"]).replace(tzinfo=UTC)
            clock.set(at)
            memory.session(row["session_id"].replace("/", "_")).add(row["text"], at=at)
        text = {row["item_id"]: row["text"] for row in rows}
        known = contents(memory)
        gold, old = (
            {text[id] for id in asked.get(name) or () if id in text}
            for name in ("evidence_item_ids", "old_item_ids")
        )
        return evidence(store, memory, asked, known, gold, old)


def conversations(folder: Path, encoder: CachedEncoder) -> Iterator[list[Question]]:
    corpus, queries = lines(folder / "dev/corpus.jsonl"), lines(folder / "dev/queries.jsonl")
    for name in sorted({row["conv_id"] for row in corpus}):
        adapter = SimonidesAdapter()
        adapter._store = simonides.open(":memory:", clock=adapter._clock, embedder=encoder)
        items = [row for row in corpus if row["conv_id"] == name]
        asked = [each for each in queries if each["conv_id"] == name]
        asked.sort(key=lambda each: each.get("as_of_seq", len(items)))
        done, found, known, memory = 0, [], dict[bytes, str](), adapter.memory(name)
        for each in asked:
            until = min(each.get("as_of_seq", len(items)), len(items))
            if until > done:
                adapter.add(name, items[done:until])
                adapter.flush(name)
                for record in everything(memory):  # the newest first
                    if id_of(record) in known:
                        break
                    known[id_of(record)] = record.metadata["item_id"]
                done = until
            adapter.set_time(each.get("question_date") or items[done - 1]["timestamp"])
            gold = set(each["evidence_item_ids"])
            found.append(evidence(adapter._store, memory, each, known, gold, set()))
        adapter.close()
        yield found


def everything(memory: simonides.Memory) -> Iterator[Any]:
    cursor = None
    while True:
        page = memory.list(limit=1000, cursor=cursor)
        yield from page
        cursor = page.next_cursor
        if cursor is None:
            return


def contents(memory: simonides.Memory) -> dict[bytes, str]:
    """Return the text of each memory; of a fact, that of the turn that taught it."""
    records = list(everything(memory))
    text = {each.id: each.content for each in records}
    return {
        id_of(each): next((text[id] for id in each.parents if id in text), each.content)
        for each in records
    }


def id_of(record: Any) -> bytes:
    return bytes.fromhex(record.id.replace("-", ""))


def evidence(
    store: simonides.Store,
    memory: simonides.Memory,
    asked: Mapping[str, Any],
    known: Mapping[bytes, str],
    gold: set[str],
    old: set[str],
) -> Question:
    """Return the evidence of a question on the rows that the second stage looks at."""
    engine, who, now = store._engine, memory._who, store._engine.clock.now_ms()
    ask = ask_of(engine, who, asked["question"])
    query, _ = _read(engine, asked["question"], now)

    def take(ranking: Any) -> Question:
        rows, part = np.flatnonzero(ranking._place[:-1] >= 0), ranking.view.parts[0]
        names = [known.get(part.ids[row]) for row in rows.tolist()]
        columns = {n: ranking.view.column(n)[rows] for n in ("before", "after", "session")}
        near = (ranking._place[columns[n]] for n in ("before", "after"))
        words = ranking._closer["words"][:, None]
        plain = {
            "plain_window": windows(words, *near)[:, 0],
            "plain_session": sessions(words, columns["session"])[:, 0],
        }
        return {
            "conv": asked["conv_id"], "category": asked.get("category"),
            "abstain": bool(asked.get("abstain")), "gold_count": max(len(gold), 1),
            "gold": np.array([name in gold for name in names], np.bool_),
            "old": np.array([name in old for name in names], np.bool_),
            "turn": part.column("turn")[rows], "size": len(ranking.view),
            "form": query.question.form.value, "evidence": {**ranking._closer, **plain},
            "least": ranking._least, "content": ranking._content,
            "has_tokens": bool(query.tokens), "asked": query.vector,
            "vectors": ranking.view.vectors(rows.tolist()).astype(np.float16),
        }  # fmt: skip

    with engine.db.read(who.owner) as connection:
        return _ranking(engine, who, ask, query, connection, now, take)


# -- weights of ranking ----------------------------------------------------------------------------


def matrix(asked: Question, names: Sequence[str]) -> np.ndarray:
    rows = len(asked["gold"])
    none = np.zeros(rows, np.float32)
    return np.stack([asked["evidence"].get(name, none) for name in names], axis=1)


def packs(sets: Sets, names: Sequence[str], forms: Sequence[str], without: int | None) -> list[Any]:
    """Return for each set its questions' rows as padded arrays, and the share of these questions in
    the set: evidence, mask, gold, share.
    """
    found = []
    for talks in sets.values():
        cells, every = [], 0
        for number, talk in enumerate(talks):
            if without is not None and number % FOLDS == without:
                continue
            for asked in talk:
                if not asked["gold"].any():
                    continue  # LoCoMo's adversarial questions have evidence, and count
                every += 1
                if asked["form"] not in forms:
                    continue
                cells.append((matrix(asked, names), asked["gold"]))
        if cells:
            longest = max(len(gold) for _, gold in cells)
            x = np.zeros((len(cells), longest, len(names)))
            mask, y = np.full((len(cells), longest), -1e9), np.zeros((len(cells), longest))
            for number, (values, gold) in enumerate(cells):
                x[number, : len(gold)], mask[number, : len(gold)] = values, 0.0
                y[number, : len(gold)] = gold
            found.append((x, mask, y, len(cells) / every))
    return found


def fitted(given: list[Any], width: int) -> np.ndarray:
    """Return the weights that make the evidence most probable, each set counting alike."""
    from scipy.optimize import minimize

    def loss(w: np.ndarray) -> tuple[float, np.ndarray]:
        total, slope = 0.0, np.zeros(width)
        for x, mask, y, share in given:
            odds = x @ w + mask
            odds -= odds.max(axis=1, keepdims=True)
            p = np.exp(odds)
            p /= p.sum(axis=1, keepdims=True)
            right = (p * y).sum(axis=1)
            total -= share * np.log(right + 1e-12).mean()
            gap = p - p * y / (right[:, None] + 1e-12)
            slope += share * np.einsum("qr,qrn->n", gap, x) / len(x)
        return total + L2 * float(w @ w), slope + 2 * L2 * w

    return minimize(loss, np.full(width, 1.0), jac=True, method="L-BFGS-B",
                    options={"maxiter": 200}).x  # fmt: skip


def figures(talks: Sequence[Sequence[Question]], score: Callable[[Question], Any]) -> list[float]:
    """Return R@1 (any), R@5, R@10 and the R@10 of abstaining questions with evidence."""
    found, adversarial = [], []
    for asked in (each for talk in talks for each in talk):
        if not asked["gold"].any() and (asked["abstain"] or asked["gold_count"] == 0):
            continue
        hit = asked["gold"][np.argsort(-score(asked), kind="stable")[:10]]
        row = [float(hit[:1].any()), hit[:5].sum() / asked["gold_count"],
               hit.sum() / asked["gold_count"]]  # fmt: skip
        (adversarial if asked["abstain"] else found).append(row)
    return [*np.mean(found, axis=0), np.mean(adversarial, axis=0)[2] if adversarial else math.nan]


def rank(sets: Sets) -> None:
    kinds = {"question": ("question", "remark"), "message": ("message",)}
    for stage in STAGES:
        names = {"question": STAGES[stage], "message": MESSAGES[stage]}
        for fold in [*range(FOLDS), None]:
            w = {
                kind: fitted(packs(sets, names[kind], forms, fold), len(names[kind]))
                for kind, forms in kinds.items()
            }
            for talks in sets.values():
                for number, talk in enumerate(talks):
                    if fold is not None and number % FOLDS != fold:
                        continue
                    for asked in talk:
                        kind = "message" if asked["form"] == "message" else "question"
                        name = "whole" if fold is None else "held"
                        asked[name] = matrix(asked, names[kind]) @ w[kind]
        print(f"\n{stage}, by conversation, and fitted on all (R@1 R@5 R@10, adversarial R@10)")
        for name, talks in sets.items():
            for column in ("held", "whole"):
                row = figures(talks, lambda asked, column=column: asked[column])
                print(f"  {name:10} {column:6}", " ".join(f"{value:.3f}" for value in row))
        for kind in kinds:
            print(" ", kind, dict(zip(names[kind], np.round(w[kind], 2).tolist(), strict=True)))


# -- relevance ------------------------------------------------------------------------------------


SHOWN = 12
"""First rows of a ranking that are fitted: as many as a digest asks for."""


def relevance(sets: Sets) -> None:
    """Fit with the weights that `recall/weights.toml` has now."""
    rows: list[tuple[str, int, Question, np.ndarray, np.ndarray]] = []
    for name, talks in sets.items():
        for number, talk in enumerate(talks):
            for asked in talk:
                if name == "locomo" and asked["abstain"]:
                    continue  # their evidence is that of another speaker
                found = asked["evidence"]
                weights = (CLOSER if asked.get("has_tokens", True) else PLAIN)[Form(asked["form"])]
                score = np.sum([w * found[n] for n, w in weights.items() if n in found], axis=0)
                first = np.argsort(-score, kind="stable")[:SHOWN]
                measured = measure(found, score, asked["least"], asked["content"], asked["size"])
                bears = asked["gold"] | asked["old"]
                rows.append((name, number % FOLDS, asked, measured[first], bears[first]))
    x, y = np.concatenate([row[3] for row in rows]), np.concatenate([row[4] for row in rows])
    lengths = [len(row[4]) for row in rows]
    of_set = np.repeat([row[0] for row in rows], lengths)
    fold = np.repeat([row[1] for row in rows], lengths)
    share = np.ones(len(y))
    for name in sets:
        share[of_set == name] = 1.0 / max(np.count_nonzero(of_set == name), 1)
    held = np.zeros(len(y))
    for each in range(FOLDS):
        train = fold != each
        w, constant = logistic_fit(x[train], y[train], share[train])
        held[fold == each] = 1 / (1 + np.exp(-(x[fold == each] @ w + constant)))
    for name in sets:
        mine = of_set == name
        bins = np.digitize(held[mine], [0.02, 0.05, 0.08, 0.12, 0.2, 0.3, 0.4, 0.6, 0.8])
        said = [(held[mine][bins == b].mean(), y[mine][bins == b].mean()) for b in set(bins)]
        print(f"  {name:10} said>was", " ".join(f"{a:.2f}>{b:.2f}" for a, b in said))
    starts = np.cumsum([0, *lengths])
    for least, possible in ((0.0, 0.03), (0.08, 0.03), (0.08, 0.04), (0.1, 0.04), (0.12, 0.05)):
        print(f"  none below {least}, lines from {possible}:")
        for name in sets:
            print(f"    {name:10}", curve(name, rows, starts, held, least, possible))
    w, constant = logistic_fit(x, y, share)
    print("CONSTANT", round(constant, 2), "WEIGHTS", np.round(w, 2).tolist())


def curve(
    name: str, rows: Sequence[Any], starts: Any, held: Any, least: float, possible: float
) -> str:
    """Return the evidence shown, that among the first five, the lines, and lines for nothing."""
    shown, first, lines_shown, in_vain = [], [], [], []
    for number, (of_set, _, asked, _, bears) in enumerate(rows):
        if of_set != name:
            continue
        sure = held[starts[number] : starts[number + 1]]
        order = np.argsort(-sure, kind="stable")[:5]
        order = order[sure[order] >= possible] if sure.max(initial=0.0) >= least else order[:0]
        if asked["abstain"]:
            in_vain.append(len(order))
        elif asked["gold"].any():
            shown.append(bears[order].sum() / asked["gold_count"])
            first.append(bears[:5].sum() / asked["gold_count"])
            lines_shown.append(len(order))
    return (f"shown {np.mean(shown):.3f} of the first five's {np.mean(first):.3f}, lines "
            f"{np.mean(lines_shown):.2f}, for nothing {np.mean(in_vain or [0]):.2f}")  # fmt: skip


def logistic_fit(x: np.ndarray, y: np.ndarray, weight: Any = None) -> tuple[np.ndarray, float]:
    """Return weights and constant of a logistic regression on standardised columns."""
    from scipy.optimize import minimize

    mean, scale = x.mean(axis=0), x.std(axis=0) + 1e-9
    z = np.column_stack([(x - mean) / scale, np.ones(len(x))]).astype(np.float64)
    weight = np.ones(len(y)) if weight is None else weight
    share = weight / weight.sum()

    def loss(w: np.ndarray) -> tuple[float, np.ndarray]:
        odds = z @ w
        value = float(share @ (np.logaddexp(0, odds) - y * odds)) + 1e-4 * float(w[:-1] @ w[:-1])
        slope = z.T @ (share * (1 / (1 + np.exp(-odds)) - y))
        slope[:-1] += 2e-4 * w[:-1]
        return value, slope

    w = minimize(loss, np.zeros(z.shape[1]), jac=True, method="L-BFGS-B").x
    return w[:-1] / scale, float(w[-1] - (w[:-1] * mean / scale).sum())


# -- the command -----------------------------------------------------------------------------------


def read_sets(out: Path, names: Sequence[str] = SETS) -> dict[str, list[list[Question]]]:
    paths = [out / f"{name}.pkl" for name in names]
    return {path.stem: pickle.loads(path.read_bytes()) for path in paths if path.exists()}


def turns_of(asked: Question) -> Question:
    """Return a question without the rows of facts, which recall puts behind their turns."""
    chosen = asked["turn"]
    kept = {name: asked[name][chosen] for name in ("gold", "old", "turn", "least", "vectors")}
    return {**asked, **kept, "evidence": {n: v[chosen] for n, v in asked["evidence"].items()}}


def main() -> None:
    work, *given = sys.argv[1:]
    if work == "collect":
        data, out, *names = given
        encoder = CachedEncoder(Path(out) / "encoded.pkl")
        for name in names or SETS:
            collect(Path(data), Path(out), name, encoder)
            encoder.close()
    elif work == "relevance":
        relevance(
            read_sets(Path(given[0]), ("everyday", "small", "locomo", "realtalk", "beam_100k"))
        )
    else:
        sets = read_sets(Path(given[0]))
        rank({n: [[turns_of(a) for a in talk] for talk in talks] for n, talks in sets.items()})


if __name__ == "__main__":
    main()
