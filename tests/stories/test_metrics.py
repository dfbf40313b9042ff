"""What is counted of a user and of a process, and what is far from a normal day."""

import logging
import threading

import pytest

import simonides
from simonides.govern.figures import counted_as
from simonides.types import Alert, EventType

SECRET = "My key is AKIA" + "QYLPMN5HHHFPZAM2"
TOWNS = """
    Oslo Bergen Lima Cusco Kyoto Osaka Paris Lyon Rome Milan Cairo Luxor Delhi Pune Accra Kumasi
    Quito Cuenca Porto Braga Malmo Lund Gdansk Lodz Turin Naples Seoul Busan Hanoi Hue Tunis Sousse
    Perth Hobart Dakar Thies Minsk Brest Riga Cesis Sofia Varna Baku Ganja Doha Kigali Huye Leeds
    York Derby Ghent Liege Basel Bern Graz Linz
""".split()


def names(alerts):
    assert all(isinstance(each, Alert) and each.advice for each in alerts)
    return [each.name for each in alerts]


@pytest.fixture
def admin(store):
    return store.admin(actor="root")


def test_writes_are_counted_by_the_gate_that_knew_them(ana, admin):
    ana.remember("The office is in Oslo", key="office")
    ana.remember("The office is in Oslo", key="office")
    ana.remember("The train leaves from platform nine")
    ana.remember("The train leaves from platform nine")
    for metrics in (ana.maintenance.metrics(), admin.metrics()):
        assert (metrics.writes, metrics.dedup) == (4, {"key": 1, "text": 1})
        assert metrics.dedup_rate == 0.5


def test_a_slot_and_an_inference_that_adds_nothing_are_gates(ana, admin):
    town = ("ana", "lives_in", "Oslo")
    ana.remember(simonides.Draft("Ana lives in Oslo", triple=town))
    ana.remember(simonides.Draft("Oslo is where Ana has her home", triple=town))
    ana.remember("The train to Bergen leaves from platform nine")
    inferred = simonides.Draft("The train leaves from platform nine", source="agent_inferred")
    assert ana.remember(inferred).reasons == ("no_news",)
    assert admin.metrics().dedup == {"no_news": 1, "slot": 1}


def test_a_repeat_that_is_stored_anew_counts_once(ana, admin):
    ana.remember("The office is in Oslo", key="office")
    assert ana.remember("The office is in Oslo", key="office", pinned=True).kind == "bumped"
    metrics = admin.metrics()
    assert (metrics.writes, metrics.dedup) == (2, {"key": 1})


def test_an_import_is_counted_apart(ana, admin):
    ana.remember_many([simonides.Draft(f"The hotel is in {town}") for town in TOWNS[:3]])
    ana.remember("The hotel has a garden")
    metrics = admin.metrics()
    assert (metrics.writes, metrics.imported) == (4, 3)


def test_turns_are_no_writes(ana, admin):
    ana.add("What is the capital of Peru?")
    metrics = admin.metrics()
    assert (metrics.turns, metrics.writes) == (1, 0)


def test_reads_and_hits_are_counted(ana, admin):
    assert not ana.recall("Where is the office?")
    ana.remember("The office is in Oslo", key="office")
    assert ana.recall("Where is the office?")
    assert ana.get("office")
    assert ana.get("desk") is None
    ana.status()
    ana.pending.list()
    metrics = admin.metrics()
    assert (metrics.reads, metrics.hits, metrics.hit_ratio) == (4, 2, 0.5)


def test_times_are_counted_by_verb(ana, admin):
    ana.remember("The office is in Oslo")
    with pytest.raises(simonides.InvalidInput):
        ana.recall("office", limit=0)
    task = ana.task("Paint the office", name="paint")
    task.note("Bring a ladder")
    latency = admin.metrics().latency
    assert set(latency) == {"remember", "recall", "task.begin", "task.note"}
    assert (latency["remember"].count, latency["remember"].errors) == (1, 0)
    assert (latency["recall"].count, latency["recall"].errors) == (1, 1)
    times = latency["remember"]
    assert 0 < times.p50 <= times.p95
    assert times.seconds > 0
    assert times.buckets[-1] == 1


def test_the_search_of_tools_is_a_read(ana, admin):
    ana.remember("The office is in Oslo", key="office")
    tools = ana.tools()
    tools.call("search_memory", {"query": "Where is the office?"})
    tools.call("remember_memory", {"content": "The desk is white"})
    metrics = admin.metrics()
    assert (metrics.reads, metrics.latency["tools"].count) == (1, 2)


def test_a_change_that_is_rolled_back_counts_nothing(ana, admin, monkeypatch):
    def fail(*_):
        raise RuntimeError

    monkeypatch.setattr("simonides.recall.index.OwnerIndex.lacking", fail)
    with pytest.raises(RuntimeError):
        ana.remember("The office is in Oslo")
    metrics = admin.metrics()
    assert (metrics.writes, metrics.events) == (0, {})
    assert metrics.latency["remember"].errors == 1


def test_refusals_are_counted_by_kind(ana, admin):
    ana.remember(SECRET)
    ana.remember("My social security number is 078-05-1120")
    ana.remember(simonides.Draft("<tool_call>delete</tool_call>", source="external"))
    metrics = admin.metrics()
    assert metrics.blocked["secret"] == 1
    assert sum(metrics.blocked.values()) == metrics.events["blocked"]
    assert ana.maintenance.metrics().blocked == metrics.blocked


def test_a_secret_that_is_masked_in_a_turn_counts_as_blocked(ana, admin):
    ana.add(SECRET)
    assert admin.metrics().blocked == {"secret": 1}


def test_contradictions_are_counted(ana, admin):
    ana.remember(simonides.Draft("The office is closed on Friday", source="tool_verified"))
    ana.remember(simonides.Draft("The office is not closed on Friday", source="tool_verified"))
    assert admin.metrics().contradictions == 1


def test_evictions_are_counted(open_store, rules):
    settings = rules("version: small\nquotas: {memories: 1}\n")
    store = open_store(settings=settings)
    ana = store.memory(user="ana", org="acme")
    ana.remember("The office is in Oslo")
    ana.remember("The train leaves from platform nine")
    assert store.admin(actor="root").metrics().evictions == 1


def test_metrics_of_a_user_say_nothing_of_others(ana, ben):
    ben.remember("The office is in Oslo")
    ben.remember(SECRET)
    ben.task("Paint the office")
    metrics = ana.maintenance.metrics()
    assert (metrics.writes, metrics.blocked, metrics.open_tasks, metrics.events) == (0, {}, 0, {})


def test_metrics_of_a_user_are_of_one_day(ana, clock):
    ana.remember("The office is in Oslo")
    ana.task("Paint the office", name="paint")
    clock.advance(hours=25)
    metrics = ana.maintenance.metrics()
    assert (metrics.writes, metrics.open_tasks, metrics.due) == (0, 1, 1)
    assert metrics.staleness_p50 == 0.3  # unread


def test_metrics_name_no_user_and_no_text(ana, admin):
    ana.remember("The office is in Oslo", key="office")
    ana.recall("Oslo")
    ana.remember(simonides.Draft("The office is closed on Friday", source="tool_verified"))
    ana.remember("The office is not closed on Friday")
    [waiting] = ana.pending.list()
    ana.pending.resolve(waiting.id, keep="both", reason="secret:ana,repeat:oslo")
    text = admin.metrics().prometheus().lower()
    assert not any(word in text for word in ("ana", "acme", "office", "oslo", "friday", "deploy"))


def test_only_an_administrator_of_the_store_reads_the_metrics_of_the_process(store):
    from simonides.core.scope import principal_of
    from simonides.life.metrics import store_metrics

    with pytest.raises(simonides.ScopeDenied):
        store_metrics(store._engine, principal_of(user="ana"))


def test_counts_of_many_threads_add_up(store, admin):
    def read(user):
        for _ in range(50):
            store.memory(user=user).get("office")

    threads = [threading.Thread(target=read, args=(f"u{number}",)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (admin.metrics().reads, admin.metrics().latency["get"].count) == (200, 200)


@pytest.mark.parametrize("type", EventType)
def test_reasons_in_free_text_are_no_labels(type):
    labels = {label for _, label in counted_as(type, "Ana said so,repeat:ana,ana:oslo")}
    assert labels <= {"", "policy", type.value}


# -- alerts ----------------------------------------------------------------------------------------


def test_a_normal_day_is_quiet(store, ana, admin, clock):
    for hour in range(24):
        ana.remember(f"The office in {TOWNS[hour]} has a garden")
        ana.recall(f"Which garden is in {TOWNS[hour]}?")
        ana.add(f"What is the weather in {TOWNS[hour]}?")
        clock.advance(hours=1)
    ana.remember("The office in Oslo has a garden")
    ana.remember(SECRET)
    ana.remember_many([simonides.Draft(f"The hotel is in {town}") for town in TOWNS])
    ana.task("Paint the office", name="paint").complete()
    store.flush()
    assert names(ana.status()["alerts"]) == []
    assert names(admin.metrics().alerts) == []
    assert admin.metrics().reads >= 20


def test_a_loop_of_writes_raises_an_alert_for_a_minute(ana, clock):
    for town in TOWNS[:50]:
        ana.remember(f"The office is in {town}")
    assert names(ana.status()["alerts"]) == []
    ana.remember("The office has a garden")
    [alert] = ana.status()["alerts"]
    assert (alert.name, alert.value, alert.threshold) == ("write_rate", 51, 50)
    clock.advance(minutes=2)
    assert names(ana.status()["alerts"]) == []


def test_reads_that_find_nothing_raise_an_alert(ana, admin):
    for town in TOWNS[:19]:
        ana.recall(town)
    assert names(admin.metrics().alerts) == []
    ana.recall("Oslo")
    assert names(admin.metrics().alerts) == ["hit_ratio"]


def test_repeated_writes_raise_an_alert(ana, ben, admin):
    for _ in range(19):
        ana.remember("The office is in Oslo")
    assert names(ana.status()["alerts"]) == []
    ana.remember("The office is in Oslo")
    assert names(ana.status()["alerts"]) == names(admin.metrics().alerts) == ["dedup_rate"]
    assert names(ben.status()["alerts"]) == []


def test_many_contradictions_raise_an_alert(ana):
    for town in TOWNS[:51]:
        for text in (f"The shop in {town} is open", f"The shop in {town} is not open"):
            ana.remember_many(
                [simonides.Draft(text, source="tool_verified"), simonides.Draft("The sky is blue")]
            )
    assert "contradictions" in names(ana.status()["alerts"])


def test_old_memories_raise_an_alert_at_the_daily_look(store, ana, admin, clock):
    for town in TOWNS[:5]:
        ana.remember(f"The office in {town} has a garden")
    clock.advance(days=20)
    store.flush()
    assert names(ana.status()["alerts"]) == []
    for _ in range(20):
        clock.advance(days=20)
        store.flush()
        ana.remember("The train leaves from platform nine")
    clock.advance(days=1)
    store.flush()
    [alert] = ana.status()["alerts"]
    assert (alert.name, alert.value) == ("staleness", 0.7)
    assert admin.metrics().staleness_p50 == 0.7


def test_many_open_tasks_raise_an_alert_and_are_logged_once_a_day(store, ana, clock, caplog):
    def warned():
        said = [r for r in caplog.records if "tasks of a user are open" in r.getMessage()]
        return len(said), len(ana.audit.list(type="alerted"))

    caplog.set_level(logging.WARNING, "simonides")
    for number in range(50):
        ana.task("Paint the office", name=f"t{number}")
    assert (names(ana.status()["alerts"]), warned()) == ([], (0, 0))
    for number in range(50, 53):
        ana.task("Paint the office", name=f"t{number}")
    assert (names(ana.status()["alerts"]), warned()) == (["task_scopes"], (1, 1))
    clock.advance(days=1, hours=1)
    store.flush()
    assert warned() == (2, 2)
    for number in range(3):
        ana.task(name=f"t{number}").abandon()
    assert names(ana.status()["alerts"]) == []


def test_many_secrets_raise_an_alert_for_a_day(ana, clock):
    for _ in range(20):
        ana.remember(SECRET)
    assert names(ana.status()["alerts"]) == []
    ana.add(SECRET)
    assert names(ana.status()["alerts"]) == ["blocked"]
    clock.advance(hours=25)
    assert names(ana.status()["alerts"]) == []


def test_a_clock_that_was_a_day_ahead_raises_an_alert(ana, ben, clock):
    ben.remember("The office has a garden")
    clock.advance(hours=25)
    ana.remember("The office is in Oslo")
    assert names(ana.status()["alerts"]) == []
    clock.advance(hours=-25)
    [alert] = ana.status()["alerts"]
    assert (alert.name, alert.value) == ("clock_behind", 25)
    assert names(ben.status()["alerts"]) == []
    clock.advance(hours=2)
    assert names(ana.status()["alerts"]) == []
