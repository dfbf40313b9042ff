"""Decorators that tell ``scripts/generate_sync.py`` how the blocking face drives an async method.

They return the method unchanged. The generator reads them in the source text.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

Method = TypeVar("Method", bound=Callable[..., Any])


def waits_for_model(method: Method) -> Method:
    """Mark a method that may wait for a language model.

    The blocking face runs such a call on its event loop if the model needs the network, even over
    an embedded store. A method that asks a model and lacks this mark fails there.
    """
    return method


def waits_for_background_work(method: Method) -> Method:
    """Mark a method that must see what background workers still have to store.

    The blocking face first waits for the workers that :func:`simonides.api.sync.flush_on_close`
    registered, such as the captures of a wrapped client.
    """
    return method
