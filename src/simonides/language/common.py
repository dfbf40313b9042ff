"""English words that occur in requests on any subject.

In a store of many texts their frequency shows that "should" says less than "aisle". A small store
needs this list. The words are not stop words, because in a text they may be names or facts (see
:mod:`simonides.language.analyser`). They are indexed and found like any other, but weighed as if
many texts held them. Words for likes, uses, wishes and needs are not in the list.
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
    """Return the term ids of these words."""
    return frozenset(map(term_id, analyse(_WORDS)))
