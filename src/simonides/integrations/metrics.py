"""Metrics for the Prometheus client and for OpenTelemetry: the extra ``metrics``."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

from simonides.api.store import Store
from simonides.life.exposition import Family, families

if TYPE_CHECKING:
    from opentelemetry.metrics import CallbackOptions, Meter, Observation
    from prometheus_client import Metric

ACTOR = "metrics"
"""Name of the administrator that reads the metrics."""


def _families(store: Store) -> list[Family]:
    return families(store.admin(actor=ACTOR).metrics())


class PrometheusCollector:
    """A collector for ``prometheus_client.REGISTRY.register``."""

    def __init__(self, store: Store) -> None:
        """Collect the metrics of a store at each scrape."""
        self._store = store

    def describe(self) -> list[Metric]:
        """Return nothing: the registry then does not read the store when it registers this."""
        return []

    def collect(self) -> Iterator[Metric]:
        """Yield the families of metrics as they are now."""
        from prometheus_client import Metric

        for family in _families(self._store):
            metric = Metric(family.name, family.help, family.kind)
            for name, labels, value in family.samples:
                metric.add_sample(name, labels, value)
            yield metric


def observe(store: Store, meter: Meter) -> None:
    """Let a meter of OpenTelemetry observe the metrics of a store.

    Names are those of Prometheus without ``_total``, with a dot after ``simonides``. OpenTelemetry
    observes no histograms: of the times of calls it gets ``simonides.verb_seconds`` (their sum) and
    ``simonides.verb_calls``.
    """
    for family in _families(store):
        name = family.name.replace("_", ".", 1)
        if family.kind == "gauge":
            read = _reader(store, family.name, "")
            meter.create_observable_gauge(name, callbacks=[read], description=family.help)
            continue
        parts = {"": "_total"}
        if family.kind == "histogram":
            parts = {"": "_sum", "simonides.verb_calls": "_count"}
        for other, suffix in parts.items():
            read = _reader(store, family.name, suffix)
            meter.create_observable_counter(
                other or name, callbacks=[read], description=family.help
            )


def _reader(
    store: Store, name: str, suffix: str
) -> Callable[[CallbackOptions], Iterable[Observation]]:
    """Return what reads the samples of a family that have a suffix."""

    def read(_: CallbackOptions) -> Iterator[Observation]:
        from opentelemetry.metrics import Observation

        [family] = [each for each in _families(store) if each.name == name]
        for sample, labels, value in family.samples:
            if sample == f"{name}{suffix}":
                yield Observation(value, labels)

    return read
