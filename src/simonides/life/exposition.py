"""Metrics as families of samples, and as the text that Prometheus reads."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Literal, NamedTuple

from simonides.core.outcome import EventType
from simonides.govern.figures import BUCKETS, GATES, KINDS
from simonides.life.results import Latency, StoreMetrics

Labels = dict[str, str]


class Family(NamedTuple):
    """The samples of one name.

    Attributes:
        name: Its name; of a counter without ``_total``.
        kind: ``counter``, ``gauge`` or ``histogram``.
        help: What it counts.
        samples: Name, labels and value of each.
    """

    name: str
    kind: Literal["counter", "gauge", "histogram"]
    help: str
    samples: list[tuple[str, Labels, float]]


def families(metrics: StoreMetrics) -> list[Family]:
    """Return the metrics of a process as families, each in the same order at any time."""
    errors = {verb: each.errors for verb, each in metrics.latency.items()}
    ages = {"0.5": metrics.staleness_p50, "0.95": metrics.staleness_p95}
    known = {share: age for share, age in ages.items() if age is not None}
    # A counter must be 0 before it is 1: a rule sees no increase of what was not there.
    dedup, blocked = (dict.fromkeys(names, 0) for names in (GATES, KINDS))
    events = {type.value: 0 for type in EventType}
    return [
        _counter("writes", "Statements that were accepted.", metrics.writes),
        _counter("imported", "Statements that came several in one call.", metrics.imported),
        _counter("turns", "Turns of conversations that were stored.", metrics.turns),
        _counter("reads", "Calls that look for memories.", metrics.reads),
        _counter("read_hits", "Of these, calls that returned a memory.", metrics.hits),
        _labelled(
            "dedup", "gate", "Statements that were known already.", dedup | {**metrics.dedup}
        ),
        _counter("contradictions", "Statements that denied another one.", metrics.contradictions),
        _labelled("blocked", "kind", "Writes that were refused.", blocked | {**metrics.blocked}),
        _counter("evictions", "Memories that gave way.", metrics.evictions),
        _labelled("events", "type", "Audit events.", events | {**metrics.events}),
        _labelled("verb_errors", "verb", "Calls that failed.", errors),
        Family(
            "simonides_verb_seconds",
            "histogram",
            "Times of calls.",
            [each for verb, times in metrics.latency.items() for each in _histogram(verb, times)],
        ),
        _gauge("staleness", "quantile", "Staleness at the last daily looks.", known),
        _gauge("scopes", "kind", "Owners by state.", {"loaded": metrics.loaded}),
        _gauge("queue", "kind", "Jobs that wait.", metrics.queue),
        Family(
            "simonides_start_time_seconds",
            "gauge",
            "When counting began, in seconds since 1970.",
            [("simonides_start_time_seconds", {}, metrics.since.timestamp())],
        ),
    ]


def text(metrics: StoreMetrics) -> str:
    """Return metrics in the text format of Prometheus, version 0.0.4."""
    return "".join(f"{line}\n" for family in families(metrics) for line in _lines(family))


def _lines(family: Family) -> Iterator[str]:
    name = f"{family.name}_total" if family.kind == "counter" else family.name
    yield f"# HELP {name} {family.help}"
    yield f"# TYPE {name} {family.kind}"
    for sample, labels, value in family.samples:
        # Names and values of labels are words of ours: there is nothing to escape.
        named = ",".join(f'{label}="{each}"' for label, each in labels.items())
        yield f"{sample}{{{named}}} {value!r}" if named else f"{sample} {value!r}"


def _counter(name: str, help: str, value: int) -> Family:
    full = f"simonides_{name}"
    return Family(full, "counter", help, [(f"{full}_total", {}, value)])


def _labelled(name: str, label: str, help: str, values: Mapping[str, int]) -> Family:
    full = f"simonides_{name}"
    samples = [(f"{full}_total", {label: each}, float(value)) for each, value in values.items()]
    return Family(full, "counter", help, samples)


def _gauge(name: str, label: str, help: str, values: Mapping[str, float]) -> Family:
    full = f"simonides_{name}"
    samples = [(full, {label: each}, float(value)) for each, value in values.items()]
    return Family(full, "gauge", help, samples)


def _histogram(verb: str, times: Latency) -> Iterator[tuple[str, Labels, float]]:
    name = "simonides_verb_seconds"
    for bound, count in zip((*map(repr, BUCKETS), "+Inf"), times.buckets, strict=True):
        yield f"{name}_bucket", {"verb": verb, "le": bound}, float(count)
    yield f"{name}_count", {"verb": verb}, float(times.count)
    yield f"{name}_sum", {"verb": verb}, times.seconds
