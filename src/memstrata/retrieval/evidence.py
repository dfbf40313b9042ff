"""The evidence that the default ranking weighs, by name (RE-3).

Each piece is one column over the pool, before its weight. Topic comes from words and meaning,
place from the conversation around a turn, and what kind of answer is wanted from the question.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np

from memstrata.language.questions import Mark
from memstrata.retrieval.cues import dated, marked, own_words, recent, said_by
from memstrata.retrieval.pool import Floats, Pool
from memstrata.retrieval.scoring import Signals, z_scores
from memstrata.retrieval.talk import answers, best_of_session, neighbours

# Typical mean and deviation of each signal on development conversations, for pools too small to
# have their own.
LEXICAL_PRIOR = (0.6, 1.0)
DENSE_PRIOR = (0.12, 0.12)
SESSION_PRIOR = (0.0, 1.0)

VECTOR_SHARE = 0.5
"""What the vector counts, beside keywords, in the topic that a turn lends to its neighbours."""
FULL_TOPIC = 4.0
"""The topic, in deviations, from which a row gets all that the kind of answer is worth."""


@dataclass(frozen=True, slots=True)
class Weights:
    """What each piece of evidence adds to the log-odds of being what is asked for.

    They are the coefficients of a softmax regression over the development conversations of six
    data sets, fitted all at once and rounded:
    ``python benchmarks/ranking.py --data DIR fit`` prints them, ``ablate`` what each is worth.

    Attributes:
        bm25: Keywords, in deviations from the pool's mean.
        vector: Meaning, likewise.
        pairs: Several rare terms at once.
        neighbours: What the turns around score.
        answers: What the turn before scores, where it asks something.
        session: The best keyword score in the session, in deviations.
        speaker: Said by whom the question is about.
        own_words: A speaker telling of himself, where the question asks about others.
        time: Says when, where a time is asked for.
        number: Has a number, where one is asked for.
        date: Of the date that the question names.
        recency: Said lately, where the question is a message of a conversation that goes on.
    """

    bm25: float = 0.33
    vector: float = 0.15
    pairs: float = 0.12
    neighbours: float = 0.42
    answers: float = 0.1
    session: float = 0.12
    speaker: float = 1.5
    own_words: float = 1.4
    time: float = 2.5
    number: float = 1.2
    date: float = 3.5
    recency: float = 1.0


def gather_evidence(pool: Pool, signals: Signals) -> dict[str, Floats]:
    """Return the evidence on every row, by the names of :class:`Weights`, before their weights.

    What the pool or the question gives no occasion for is left out.
    """
    lexical = z_scores(signals.lexical, LEXICAL_PRIOR, sum(signals.matches.idf))
    found = {"bm25": lexical}
    topic = lexical
    if signals.has_dense:
        found["vector"] = z_scores(signals.dense, DENSE_PRIOR, 1.0)
        topic = lexical + VECTOR_SHARE * found["vector"]
    if len(signals.terms) > 1:
        found["pairs"] = signals.pairs
    topic = np.maximum(topic, 0.0)
    if pool.has_turns:
        found["neighbours"] = neighbours(pool, topic)
        found["answers"] = answers(pool, topic)
        found["session"] = z_scores(best_of_session(pool, lexical), SESSION_PRIOR)
    return found | _wanted(pool, signals, np.minimum(topic / FULL_TOPIC, 1.0))


def _wanted(pool: Pool, signals: Signals, topic: Floats) -> dict[str, Floats]:
    """What the question asks for beside its words; kinds of answer count by the topic, 0 to 1:
    a date in a turn about something else answers nothing.
    """
    question = signals.question
    found = {}
    speaker = said_by(pool, question, signals.terms)
    if speaker is not None:
        found["speaker"] = speaker
    own = own_words(pool, question)
    if own is not None:
        found["own_words"] = own
    if question.wants_time:
        found["time"] = topic * marked(pool, Mark.TIME)
    if question.wants_number:
        found["number"] = topic * marked(pool, Mark.NUMBER)
    if question.dates:
        found["date"] = topic * dated(pool, question.dates)
    if question.goes_on:
        found["recency"] = recent(pool)
    return found


def weighed(found: dict[str, Floats], weights: Weights) -> dict[str, Floats]:
    """Return each piece of evidence times its weight."""
    return {name: values * getattr(weights, name) for name, values in found.items()}


NAMES = tuple(field.name for field in fields(Weights))
"""Of the pieces of evidence, in order."""
