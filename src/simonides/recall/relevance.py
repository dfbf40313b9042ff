"""How likely a row bears on a question: a calibrated probability.

A logistic regression over the first rows of a ranking. It was fitted on development questions,
cross-validated by conversation, and counts what was said before a change as bearing, too. It cannot
tell a question whose answer was never said from one whose answer was, if the subject was spoken of:
only the reader of the lines can.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from simonides.recall.index import Floats

CONSTANT = -1.91
WEIGHTS = np.array((3.17, 1.91, 0.29, -0.61, 0.19, 0.06, -0.30, -0.25), np.float32)
"""Of what `measure` returns, in its order."""

LEAD_AT = 10
"""Rank whose score the first row's lead is measured from."""


def measure(
    evidence: Mapping[str, Floats], score: Floats, least: Floats, content: int, size: int
) -> Floats:
    """Return what decides on the relevance of rows, shape (rows, 8).

    These are: what the row's window covers, its cosine, its share of the words, its score behind
    the best, the best row's lead before the tenth, the least that it covers of a content word, and
    the logarithms of the numbers of rows and of content words.

    Args:
        evidence: Of the rows, by name.
        score: Their scores.
        least: The least that they cover of a content word.
        content: How many tokens of the query are content words: words that say something.
        size: How many rows the store has.
    """
    ranked = np.sort(score)[::-1]
    lead = ranked[0] - ranked[min(LEAD_AT, len(score)) - 1]
    every = np.ones(len(score), np.float32)
    of_row = (*(evidence[name] for name in ("window", "whole", "words")), ranked[0] - score)
    of_query = (math.log(size) * every, math.log(max(content, 1)) * every)
    return np.stack((*of_row, lead * every, least, *of_query), axis=1).astype(np.float32)


def bearing(measured: Floats) -> Floats:
    """Return the probability that each row bears on the question."""
    return logistic(measured @ WEIGHTS + CONSTANT)


def logistic(odds: Floats) -> Floats:
    """Return the probability of log-odds."""
    return 1.0 / (1.0 + np.exp(-np.clip(odds, -80.0, 80.0)))


def odds(probability: float) -> float:
    """Return the log-odds of a probability; finite for 0 and 1, too."""
    sure = min(max(probability, 1e-6), 1.0 - 1e-6)
    return math.log(sure / (1.0 - sure))
