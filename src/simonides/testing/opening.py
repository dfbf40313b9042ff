"""An open store for tests of agents: in memory, without a network, a key or a sleep."""

from __future__ import annotations

from typing import TYPE_CHECKING

from simonides.testing.clocks import CountingIds, ManualClock

if TYPE_CHECKING:
    from simonides.api.sync import Store
    from simonides.ports import Clock, LanguageModel
    from simonides.settings import Settings


def open(
    clock: Clock | None = None,
    model: LanguageModel | None = None,
    settings: Settings | None = None,
) -> Store:
    """Open an empty store in memory that behaves the same in every run.

    ```python
    from simonides import testing

    clock = testing.ManualClock()
    with testing.open(clock=clock) as store:
        memory = store.memory(user="ana")
        memory.remember("Parked on level 3", key="parking", ttl_days=1)
        assert [each.key for each in memory.list()] == ["parking"]
        clock.advance(days=2)
        assert not memory.list()
    ```

    No timer runs: what is periodic waits for a call. Ids are counted, so they are the same in
    every run.

    Args:
        clock: Keep a :class:`ManualClock` and advance it; None makes one that stands still.
        model: A :class:`ScriptedModel` with the answers of the language model; None uses none, so
            the rules extract and judge.
        settings: None means the built-in ones; the environment is not read.
    """
    from simonides.api.open.assemble import assemble
    from simonides.api.sync import Store
    from simonides.settings import Settings

    made = assemble(
        ":memory:",
        mode="local",
        # Not by its constructor: a key in the environment would enable a model.
        settings=Settings.model_construct() if settings is None else settings,
        inline=True,
        model=model,
        clock=ManualClock() if clock is None else clock,
        ids=CountingIds(),
    )
    return Store(made)
