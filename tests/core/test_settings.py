import pytest

import simonides
from simonides import Settings


def test_arguments_come_before_the_environment(monkeypatch):
    monkeypatch.setenv("SIMONIDES_POOL_SIZE", "3")
    monkeypatch.setenv("SIMONIDES_RRF_K", "30")
    settings = Settings(pool_size=4)
    assert (settings.pool_size, settings.rrf_k) == (4, 30)


def test_an_empty_variable_counts_as_unset(monkeypatch):
    monkeypatch.setenv("SIMONIDES_POOL_SIZE", "")
    assert Settings().pool_size == 10


def test_an_unknown_variable_is_an_error_with_the_nearest_name(monkeypatch):
    monkeypatch.setenv("SIMONIDES_POLCY", "x.yaml")
    with pytest.raises(simonides.ConfigurationError, match="did you mean 'SIMONIDES_POLICY'"):
        Settings()


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ({"fusoin": "rrf"}, "did you mean 'fusion'"),
        ({"fusion": "rff"}, "did you mean 'rrf'"),
        ({"pool_size": 0}, "pool_size"),
        ({"hybrid_weight": float("nan")}, "hybrid_weight"),
        ({"busy_timeout_s": "soon"}, "busy_timeout_s"),
    ],
)
def test_a_wrong_setting_is_named(given, problem):
    with pytest.raises(simonides.ConfigurationError, match=problem):
        Settings(**given)


def test_keys_are_not_shown():
    assert "hunter2" not in repr(Settings(key="hunter2", audit_key="hunter2"))
    assert "hunter2" not in repr(Settings(store="postgresql://app:hunter2@localhost/memories"))
