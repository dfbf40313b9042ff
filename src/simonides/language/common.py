"""English words that a request may hold whatever it is about.

In a store of many texts frequency tells that "should" says less than "aisle"; where there are few,
nothing does but a list. They are no stop words, because in a text they may be names or facts (see
:mod:`simonides.language.analyser`): they are found like any other, and only count as ones that many
texts would hold. What somebody likes, uses, wants or needs is not among them.
"""

from __future__ import annotations

from functools import cache

from simonides.language.analyser import analyse, term_id

_WORDS = """
    can could will would shall should may might must ought
    ask be bring come find get give go going gonna got have help keep know let look make made
    mean please put recommend remember remind say see should show suggest take tell think try
    about after again always any anything because before been being best better both either else
    ever every everything first get good great here im ive just last least less lot lots many more
    most much never new next now ok okay once one only other own really right same so some someone
    something soon still than thanks thing things time today too two usually very way well yes yet
    kind sort type
"""


@cache
def common_terms() -> frozenset[int]:
    """Return the numbers of the terms of these words."""
    return frozenset(map(term_id, analyse(_WORDS)))
