"""The evidence that the default ranking weighs, by name (RE-3).

Each piece is one column over the pool, before its weight. Topic comes from words and meaning,
place from the conversation around a turn, and what kind of answer is wanted from the question.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np

from simonides.language.questions import Form, Mark
from simonides.retrieval.cues import (
    dated,
    marked,
    own_reasons,
    own_words,
    recent,
    said_ago,
    said_by,
)
from simonides.retrieval.meaning import apart
from simonides.retrieval.naming import asked, named
from simonides.retrieval.pool import Floats, Pool
from simonides.retrieval.scoring import MIN_ROWS_FOR_Z, Signals, bm25, spread, z_scores
from simonides.retrieval.talk import answers, best_of_session, neighbours, whole_sessions

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

    They start from the coefficients of a softmax regression over the development conversations of
    six data sets, one for each form of query, and were rounded within a plateau:
    ``python benchmarks/ranking.py --data DIR fit`` prints them, ``ablate`` what each is worth.
    The defaults are those of questions.

    Attributes:
        bm25: Keywords, in deviations from the pool's mean.
        aliases: What the row calls otherwise than the query, likewise.
        named: Called by its key or a tag in the query, by how few are; no set has rows that are
            both named and turned to, so it is chosen.
        asked: Stands under a key that the question asks for, and the other way round under one that
            it asks for of somebody else; chosen, on ``python benchmarks/keyed.py --half tune``.
        linked: Called so by the best row that is itself named; chosen likewise.
        vector: Meaning apart from what the pool has in common, likewise.
        pairs: Several rare terms at once; not of a message, which has many.
        neighbours: What the turns around score.
        answers: What the turn before scores, where it asks something.
        session: The best keyword score in the session, in deviations.
        whole_session: The keyword score of the session as one text, where a message is asked with.
        speaker: Said by whom the question is about.
        own_words: A speaker telling of himself, where the question asks about others.
        reasons: A speaker's own reasons and aims, where a remark is asked with.
        time: Says when, where a time is asked for.
        number: Has a number, where one is asked for.
        date: Of the date that the question names, or as long ago as it says.
        recency: Said lately, where a message asks for it.
    """

    bm25: float = 0.35
    aliases: float = 0.35
    named: float = 2.0
    asked: float = 3.0
    linked: float = 2.0
    vector: float = 0.35
    pairs: float = 0.1
    neighbours: float = 0.42
    answers: float = 0.12
    session: float = 0.12
    whole_session: float = 0.0
    speaker: float = 1.6
    own_words: float = 1.8
    reasons: float = 0.0
    time: float = 2.6
    number: float = 1.2
    date: float = 3.6
    recency: float = 0.0


MESSAGE = Weights(
    bm25=0.1,
    aliases=0.1,
    vector=0.2,
    neighbours=0.35,
    answers=0.0,
    session=0.0,
    whole_session=0.8,
    speaker=1.5,
    recency=1.5,
)
"""Where turns are asked with a message: it takes up what a session was about."""
REMARK = Weights(bm25=0.1, aliases=0.1, vector=1.4, reasons=1.0)
"""Where turns are asked with a remark, which has its meaning in common with what it goes back to
and hardly a word. Nothing else takes part."""


def gather_evidence(pool: Pool, signals: Signals) -> dict[str, Floats]:
    """Return the evidence on every row, by the names of :class:`Weights`, before their weights.

    What the pool or the query gives no occasion for is left out.
    """
    form = form_of(pool, signals)
    mean, deviation = spread(signals.lexical, LEXICAL_PRIOR, sum(signals.matches.idf))
    lexical = (signals.lexical - mean) / deviation
    found = {"bm25": lexical}
    if signals.matches.by_other is not None:
        found["aliases"] = bm25(pool, signals.matches, others_only=True) / deviation
        found["bm25"] = lexical - found["aliases"]
    if signals.has_dense and signals.vector is not None:
        # Few rows have no mean to be seen from, and are told by the scale of the prior.
        few = len(pool) < MIN_ROWS_FOR_Z
        meaning = apart(pool, signals.dense if few else signals.cosines, signals.vector)
        found["vector"] = z_scores(meaning, DENSE_PRIOR, 1.0)
    by_key = asked(pool, signals.question.keys, signals.question.of_others)
    if by_key is not None:
        found["asked"] = by_key
    if form is Form.REMARK:
        return found | {"reasons": own_reasons(pool)}
    if form is Form.QUESTION and len(signals.terms) > 1:
        found["pairs"] = signals.pairs
    by_name = named(pool, signals.terms)
    if by_name is not None:
        found["named"] = by_name
    if pool.has_turns or signals.question.wants_kind:
        topic = _topic(signals, lexical)
        if pool.has_turns:
            found |= _of_turns(pool, signals, lexical, topic)
        found |= _of_kind(pool, signals, np.minimum(topic / FULL_TOPIC, 1.0))
    return found | _of_speakers(pool, signals)


def _topic(signals: Signals, lexical: Floats) -> Floats:
    """How much a row is about what is asked, in deviations, 0 and up."""
    if signals.has_dense:
        lexical = lexical + VECTOR_SHARE * z_scores(signals.dense, DENSE_PRIOR, 1.0)
    return np.maximum(lexical, 0.0)


def _of_turns(pool: Pool, signals: Signals, lexical: Floats, topic: Floats) -> dict[str, Floats]:
    """What the conversation around a turn tells."""
    found = {"neighbours": neighbours(pool, topic)}
    if form_of(pool, signals) is Form.MESSAGE:
        found["whole_session"] = whole_sessions(pool, signals.matches)
        if signals.question.wants_lately:
            found["recency"] = recent(pool)
    else:
        found["answers"] = answers(pool, topic)
        found["session"] = z_scores(best_of_session(pool, lexical), SESSION_PRIOR)
    return found


def form_of(pool: Pool, signals: Signals) -> Form:
    """Return how a query is read: where nothing was said turn by turn, as a question."""
    return signals.question.form if pool.has_turns else Form.QUESTION


def _of_speakers(pool: Pool, signals: Signals) -> dict[str, Floats]:
    """Who said it, where the question is about somebody."""
    found = {}
    speaker = said_by(pool, signals.question, signals.terms)
    if speaker is not None:
        found["speaker"] = speaker
    own = own_words(pool, signals.question)
    if own is not None:
        found["own_words"] = own
    return found


def _of_kind(pool: Pool, signals: Signals, topic: Floats) -> dict[str, Floats]:
    """Whether a row has the kind of answer that is asked for. It counts by the topic, 0 to 1: a
    date in a turn about something else answers nothing.
    """
    question = signals.question
    found = {}
    if question.wants_time:
        found["time"] = topic * marked(pool, Mark.TIME)
    if question.wants_number:
        found["number"] = topic * marked(pool, Mark.NUMBER)
    if question.dates:
        found["date"] = topic * dated(pool, question.dates)
    elif question.ago is not None:
        found["date"] = topic * said_ago(pool, question.ago, signals.now_us)
    return found


def weighed(found: dict[str, Floats], weights: Weights) -> dict[str, Floats]:
    """Return each piece of evidence times its weight."""
    return {name: values * getattr(weights, name) for name, values in found.items()}


NAMES = tuple(field.name for field in fields(Weights))
"""Names of the pieces of evidence, in order."""
