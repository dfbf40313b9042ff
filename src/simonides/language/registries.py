"""What published registries say of numbers that people have: telephone plans, national identifiers.

The extra ``pii`` brings the registries (``phonenumbers``, ``python-stdnum``). Without it the
functions here know nothing, and say so by None.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import Any


def is_possible_phone(number: str) -> bool | None:
    """Return whether a country's plan has numbers of this shape, or None where nobody knows.

    Args:
        number: With ``+`` and the country's code first.
    """
    if find_spec("phonenumbers") is None:
        return None
    phonenumbers: Any = import_module("phonenumbers")
    try:
        return bool(phonenumbers.is_possible_number(phonenumbers.parse(number, None)))
    except phonenumbers.NumberParseException:
        return False


def is_identifier(kind: str, number: str) -> bool | None:
    """Return whether a number is an identifier of a kind, or None where nobody knows.

    Args:
        kind: Module of ``python-stdnum``, for example ``gb.nino``.
        number: As it was written.
    """
    module = _module(kind)
    return None if module is None else bool(module.is_valid(number))


@cache
def _module(kind: str) -> Any:
    if find_spec("stdnum") is None:
        return None
    return import_module(f"stdnum.{kind}")
