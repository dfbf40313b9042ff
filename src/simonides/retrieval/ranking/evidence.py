"""The evidence that the default ranking weighs, by name.

Each piece is one unweighted column over the pool. Keywords and meaning give the topic, the
surrounding conversation gives the place, and the question gives the wanted kind of answer.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np

from simonides.retrieval.query.cues import (
    dated,
    marked,
    own_reasons,
    own_words,
    recent,
    said_ago,
    said_by,
)
from simonides.retrieval.query.naming import key_matches, named
from simonides.retrieval.query.pool import Floats, Pool
from simonides.retrieval.ranking.conversation import (
    answers,
    best_of_session,
    neighbours,
    whole_sessions,
)
from simonides.retrieval.ranking.signals import MIN_ROWS_FOR_Z, Signals, bm25, spread, z_scores
from simonides.retrieval.ranking.vector_scores import centred_cosines
from simonides.text.questions import Form, Mark

# Typical mean and deviation of each signal on development conversations, for pools too small to
# have their own.
LEXICAL_PRIOR = (0.6, 1.0)
DENSE_PRIOR = (0.12, 0.12)
SESSION_PRIOR = (0.0, 1.0)

VECTOR_SHARE = 0.5
"""Weight of the vector, relative to keywords, in the topic that a turn lends to its neighbours."""
FULL_TOPIC = 4.0
"""The topic, in deviations, from which evidence of the kind of answer counts in full."""


@dataclass(frozen=True, slots=True)
class Weights:
    """Log-odds that each piece of evidence adds.

    The starting point is a softmax regression over the development conversations of six data sets,
    one for each form of query. The weights were then rounded within a plateau. ``python
    benchmarks/ranking.py --data DIR fit`` prints the coefficients, ``ablate`` the value of each.
    The defaults are those of questions.

    Attributes:
        bm25: Keywords, in deviations from the pool's mean.
        aliases: Keywords found only under another name, in the same unit.
        named: The query contains the memory's key or a tag; counts by rarity of that name. Chosen:
            no data set has rows with both names and turns.
        asked: The row is under a key that the question asks for; negative if asked for of another
            person. Chosen, on ``python benchmarks/keyed.py --half tune``.
        linked: The best row is named in the query and names this row in its text. Chosen.
        vector: Cosine without the part that the whole pool shares, in deviations.
        pairs: Several rare terms in one row; not used for messages, which have many terms.
        neighbours: Scores of the surrounding turns.
        answers: Score of the previous turn, if that asks something.
        session: Best keyword score in the session, in deviations.
        whole_session: Keyword score of the session as one text, for messages.
        speaker: The speaker is a person the question is about.
        own_words: A speaker in the first person, where the question asks about others.
        reasons: A speaker's own reasons and aims, for remarks.
        time: The row holds a time, and the question asks for one.
        number: The row holds a number, and the question asks for one.
        date: The row's date fits the date or age that the question gives.
        recency: Newer rows, where a message asks for recent ones.
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
"""Weights for a message queried against turns: it continues the subject of a session."""
REMARK = Weights(bm25=0.1, aliases=0.1, vector=1.4, reasons=1.0)
"""Weights for a remark queried against turns. A remark shares its meaning with the turn it refers
to and hardly a word, so no other evidence is used."""


def gather_evidence(pool: Pool, signals: Signals) -> dict[str, Floats]:
    """Return the unweighted evidence on every row, by the names of :class:`Weights`.

    Pieces that do not apply to the pool or the query are absent.
    """
    form = form_of(pool, signals)
    mean, deviation = spread(signals.lexical, LEXICAL_PRIOR, sum(signals.matches.idf))
    lexical = (signals.lexical - mean) / deviation
    found = {"bm25": lexical}
    if signals.matches.by_alias is not None:
        found["aliases"] = bm25(pool, signals.matches, aliases_only=True) / deviation
        found["bm25"] = lexical - found["aliases"]
    if signals.has_dense and signals.vector is not None:
        # Small pools have no meaningful mean; the scale of the prior applies to their cosines.
        few = len(pool) < MIN_ROWS_FOR_Z
        meaning = centred_cosines(pool, signals.dense if few else signals.cosines, signals.vector)
        found["vector"] = z_scores(meaning, DENSE_PRIOR, 1.0)
    by_key = key_matches(pool, signals.question.keys, signals.question.of_others)
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
    """Return how much a row is about the subject of the query, in deviations, 0 and up."""
    if signals.has_dense:
        lexical = lexical + VECTOR_SHARE * z_scores(signals.dense, DENSE_PRIOR, 1.0)
    return np.maximum(lexical, 0.0)


def _of_turns(pool: Pool, signals: Signals, lexical: Floats, topic: Floats) -> dict[str, Floats]:
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
    """Return the form of a query; always a question if the pool has no turns."""
    return signals.question.form if pool.has_turns else Form.QUESTION


def _of_speakers(pool: Pool, signals: Signals) -> dict[str, Floats]:
    found = {}
    speaker = said_by(pool, signals.question, signals.terms)
    if speaker is not None:
        found["speaker"] = speaker
    own = own_words(pool, signals.question)
    if own is not None:
        found["own_words"] = own
    return found


def _of_kind(pool: Pool, signals: Signals, topic: Floats) -> dict[str, Floats]:
    """Return the evidence that a row has the wanted kind of answer.

    It is scaled by the topic, 0 to 1: a date in a turn about another subject answers nothing.
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
