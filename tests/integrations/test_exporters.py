"""The metrics as Prometheus and OpenTelemetry read them, with the real libraries."""

import urllib.request

import pytest
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from prometheus_client import CollectorRegistry, start_http_server
from prometheus_client.parser import text_string_to_metric_families

import simonides
from simonides.integrations.metrics import PrometheusCollector, observe


@pytest.fixture
def store():
    with simonides.testing.open() as store:
        ana = store.memory(user="ana")
        ana.remember("The office is in Oslo", key="office")
        ana.remember("The office is in Oslo", key="office")
        assert ana.recall("Where is the office?")
        assert ana.get("desk") is None
        yield store


def samples(text):
    return {
        (each.name, *sorted(each.labels.items())): each.value
        for family in text_string_to_metric_families(text)
        for each in family.samples
    }


def without_times(found):
    """Leave out the verb that reads the metrics, and times, which differ between two readings."""
    return {
        key: value
        for key, value in found.items()
        if ("verb", "admin.metrics") not in key and not key[0].endswith("_sum")
    }


def test_prometheus_parses_the_text(store):
    found = samples(store.admin(actor="root").metrics().prometheus())
    assert found["simonides_writes_total",] == 2
    assert found["simonides_reads_total",] == 2
    assert found["simonides_read_hits_total",] == 1
    assert found["simonides_dedup_total", ("gate", "key")] == 1
    assert found["simonides_dedup_total", ("gate", "meaning")] == 0
    assert found["simonides_blocked_total", ("kind", "secret")] == 0
    assert found["simonides_events_total", ("type", "created")] == 1
    assert found["simonides_verb_seconds_count", ("verb", "remember")] == 2
    last = found["simonides_verb_seconds_bucket", ("le", "+Inf"), ("verb", "remember")]
    assert last == 2
    assert found["simonides_queue", ("kind", "due")] == 0
    assert found["simonides_scopes", ("kind", "loaded")] == 1


def test_the_collector_serves_the_same_samples(store):
    registry = CollectorRegistry()
    registry.register(PrometheusCollector(store))
    server, thread = start_http_server(0, addr="127.0.0.1", registry=registry)
    try:
        address = f"http://127.0.0.1:{server.server_port}/metrics"
        with urllib.request.urlopen(address, timeout=10) as answer:
            served = samples(answer.read().decode())
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
    own = samples(store.admin(actor="root").metrics().prometheus())
    assert without_times(served) == without_times(own)
    assert len(served) > 50


def test_opentelemetry_observes_counters_and_gauges(store):
    reader = InMemoryMetricReader()
    provider = MeterProvider([reader])
    observe(store, provider.get_meter("test"))
    [resource] = reader.get_metrics_data().resource_metrics
    found = {
        (metric.name, *point.attributes.values()): point.value
        for metric in resource.scope_metrics[0].metrics
        for point in metric.data.data_points
    }
    provider.shutdown()
    assert found["simonides.writes",] == 2
    assert found["simonides.dedup", "key"] == 1
    assert found["simonides.verb_calls", "remember"] == 2
    assert found["simonides.verb_seconds", "remember"] > 0
    assert found["simonides.scopes", "loaded"] == 1
