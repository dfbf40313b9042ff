"""One user's memories never show in anything another user gets."""

import psycopg
import pytest

from simonides import Draft, InvalidScope, NotFound, ScopeDenied, SimonidesError, StoreError
from simonides.api.admin import Admin
from simonides.core.scope import Principal, Scope
from simonides.storage.postgres import init
from simonides.testing import ManualClock

SECRET = "I like dark mode"


def answers(memory, record):
    """Return everything that the verbs say about a memory, errors included."""
    which = (record, record.id, record.root, record.id[-8:], record.key, "display_moed")
    calls = [
        *((memory.recall, (query,)) for query in (SECRET, "dark mode", "", "display_mode")),
        *((memory.get, (each,)) for each in which),
        *((memory.history, (each,)) for each in which),
        *((memory.explain, (each, SECRET)) for each in which),
        *((memory.correct, (each, "light")) for each in which),
        *((memory.confirm, (each,)) for each in which),
        *((memory.forget, (each,)) for each in which),
        *((memory.remember, (Draft("child", parents=(each,)),)) for each in which[1:]),
        (memory.list, ()),
        (memory.status, ()),
        (memory.audit.list, ()),
        (memory.audit.verify, ()),
    ]
    for verb, arguments in calls:
        try:
            yield verb(*arguments)
        except SimonidesError as error:
            yield error.__class__, getattr(error, "nearest", None), error.hint


@pytest.mark.parametrize(
    "reader",
    [{"user": "ben", "org": "acme"}, {"user": "ana"}, {"user": "ana1", "org": "acme"},
     {"user": "Ana", "org": "acme"}, {"session": "ana", "org": "acme"},
     {"user": "an", "org": "acme"}],
)  # fmt: skip
def test_nothing_of_a_user_shows_at_another(store, ana, reader):
    record = ana.remember(SECRET, key="display_mode", tags=("screen",)).record
    other = store.memory(**reader)
    said = " ".join(map(repr, answers(other, record)))
    for part in ("dark", "display_mode", record.id, record.root, "screen", "'ana'", "user/ana/"):
        assert part not in said.replace(repr(other), "").replace(other.status()["scope"], "")
    status = other.status()
    assert (status["memories"], status["events"], status["kinds"]) == (0, 0, {})
    assert ana.get(record) == record
    assert ana.audit.verify()


def hostile():
    """Return 500 names that are no memory of anybody."""
    seeds = [
        "' OR '1'='1", "x'; DROP TABLE memories; --",
        '" OR ""="', "1 UNION SELECT content FROM memories",
        "%", "_", "*", "?", "[a-z]*", "display%", "display\\_mode", "../../etc/passwd", "..",
        ".", "/",
        "//", "/global/", "/global/org/acme/user/ana/", "/org/acme/user/ana", "~",
        "file:///etc/passwd",
        "display_mode\u200b", "\u202edisplay_mode", "d\u0456splay_mode", "ｄisplay_mode",
        "DISPLAY_MODE",
        "display_mode ", " display_mode", "display_mode\n", "\ufeffdisplay_mode", "e\u0301",
        "\ud800",
        "a\x00b", "\x00", "", " ", "\t", "None", "null", "true", "0", "-1", "1e309", "NaN", "{}",
        "[]",
        "${jndi:ldap://x}", "{{7*7}}", "%s%n", "$(id)", "`id`", "<script>", "\\", "\\x00",
        "a" * 100_000,
        "00000000-0000-7000-8000-000000000000", "ffffffff-ffff-7fff-bfff-ffffffffffff", "ffffffff",
        "00000000", ":owner", "$1", "%(owner)s", "?1", "\U0001f600", "ﷺ", "İ", "ß",
        "\u0000display_mode",
    ]  # fmt: skip
    wrong = [
        None,
        0,
        1.5,
        True,
        b"display_mode",
        b"\xff",
        [],
        {},
        (),
        object(),
        {"id": 1},
        set(),
        float("nan"),
    ]
    affixes = ["", "x", "'", '"', "%", "/", "\u202e", ";--"]
    names = [*wrong, *(affix + seed for affix in affixes for seed in seeds)]
    return (names + [f"{seed}{n}" for n in range(9) for seed in seeds])[:500]


@pytest.mark.parametrize(
    "verb", ["get", "history", "explain", "correct", "confirm", "forget", "parents", "audit"]
)
def test_hostile_names_reach_nothing(store, ana, ben, verb):
    record = ana.remember(SECRET, key="display_mode").record
    ben.remember("Ben likes light mode", key="light")
    calls = {
        "explain": lambda which: ben.explain(which, "mode"),
        "correct": lambda which: ben.correct(which, "x"),
        "parents": lambda which: ben.remember(Draft("child", parents=(which,))),
        "audit": lambda which: ben.audit.list(memory=which),
    }
    call = calls.get(verb) or getattr(ben, verb)
    names = hostile()
    assert len(names) == 500
    for name in names:
        try:
            answer = call(name)
        except SimonidesError as error:
            answer = None
            said = str(error)
        else:
            said = ""
        assert "dark" not in said
        assert record.id not in said
        assert not answer or (verb == "audit" and name is None), name
    assert [each.content for each in ben.list()] == ["Ben likes light mode"]
    assert ana.get("display_mode") == record


@pytest.mark.parametrize("open_store", ["memory", "postgres"], indirect=True)
def test_hostile_identities_are_refused_or_their_own(store, ana):
    ana.remember(SECRET, key="display_mode")
    for name in hostile():
        for field in ("user", "org", "session", "task", "agent", "purpose"):
            identity = {"user": "zoe", "org": "acme"} | {field: name}
            try:
                memory = store.memory(**identity)
            except SimonidesError:
                continue
            assert memory._who.owner != ana._who.owner
            if field in ("user", "org") and len(str(name)) < 5:
                assert list(memory.recall(SECRET)) == []


def test_undo_does_not_say_how_many_events_another_user_has(ana, ben):
    ana.remember(SECRET, key="display_mode")
    for place in ("/org/acme/user/ana", "/global/org/acme/user/ana/", "/org/acme", "/", "/x",
                  "/org/acme/user/nobody", "/org/acme/user/ben/x"):  # fmt: skip
        said = set()
        for number in (1, 2, 4000):
            with pytest.raises((InvalidScope, ScopeDenied)) as caught:
                ben.undo(f"{place} {number}")
            said.add(str(caught.value))
        assert len(said) == 1


@pytest.mark.parametrize("open_store", ["memory", "postgres"], indirect=True)
def test_an_administrator_reads_no_grants_of_another_organisation(store):
    store.admin("ops").grant("ana", "org_write", org="acme")
    who = Principal(Scope("other"), actor="ops", is_admin=True)
    with pytest.raises(ScopeDenied):
        Admin(store._engine, who).grants(org="acme")
    assert Admin(store._engine, who).grants(org="other") == []


def test_the_k_best_of_a_user_are_found_though_another_owns_nearer_ones(store, ana, ben):
    ana.remember_many(
        [Draft(f"I like dark mode in program {n}", key=f"mode_{n}") for n in range(500)]
    )
    alone = store.memory(user="alone", org="other")
    for memory in (ben, alone):
        memory.remember_many(
            [Draft(f"a note on {word}") for word in "tea boats hills dark mode cats trains".split()]
        )
    mine, control = (each.recall(SECRET, limit=5) for each in (ben, alone))
    assert len(mine) == 5
    assert [hit.content for hit in mine] == [hit.content for hit in control]
    assert [hit.score for hit in mine] == pytest.approx([hit.score for hit in control])


@pytest.fixture
def database(postgres_place):
    store = postgres_place(clock=ManualClock())
    for user in ("ana", "ben"):
        store.memory(user=user).remember(f"the secret of {user}", key="secret")
    return store._engine.db


A, B = "/org/default/user/ana", "/org/default/user/ben"


def test_row_security_hides_other_owners(database):
    with database.read(A) as connection:
        for table in ("memories", "events", "owners"):
            assert {row[0] for row in connection.rows(f"SELECT owner FROM {table}", {})} == {A}
        sql = "SELECT content FROM memories WHERE owner = :other OR true"
        assert connection.rows(sql, {"other": B}) == [("the secret of ana",)]


def test_row_security_shows_nothing_without_an_owner(database):
    for owners in ((), ("",)):
        with database.read(*owners) as connection:
            assert connection.rows("SELECT * FROM memories", {}) == []
    with database._pool.connection() as raw:
        assert raw.execute("SELECT COUNT(*) FROM simonides.memories").fetchone() == (0,)
        assert raw.execute("SELECT COUNT(*) FROM simonides.events").fetchone() == (0,)


def test_a_table_that_comes_later_is_secured_too(postgres_place, server):
    url = postgres_place.target.replace("app_role", "owner_role")
    name = url.partition("/db")[2].partition("?")[0]
    server.execute(f"ALTER DATABASE db{name} OWNER TO owner_role")
    with psycopg.connect(url) as connection:
        connection.execute("CREATE TABLE simonides.later (owner TEXT)")
        connection.commit()
        init(url, "app_role")
        secured = "SELECT rowsecurity FROM pg_tables WHERE tablename = 'later'"
        assert connection.execute(secured).fetchone() == (True,)
        connection.execute("DROP TABLE simonides.later")


@pytest.mark.parametrize(
    "sql",
    [
        "UPDATE memories SET owner = :other",
        "INSERT INTO owners VALUES (:other || 'x', 1, 1, 1, '')",
        "INSERT INTO tombstones VALUES (:other, '', '', 5)",
        "ALTER TABLE memories DISABLE ROW LEVEL SECURITY",
        "UPDATE meta SET value = 'x'",
        "DROP TABLE memories",
    ],
)
def test_row_security_refuses_writes_to_other_owners(database, sql):
    with pytest.raises(StoreError), database.write(A) as connection:
        connection.run(sql, {"other": B})


def test_a_change_of_everything_changes_one_owner(database, postgres_place):
    with database.write(A) as connection:
        connection.run(
            "UPDATE memories SET content = 'x' WHERE true OR owner = :other", {"other": B}
        )
        connection.run("DELETE FROM events", {})
    ben = postgres_place.opened[0].memory(user="ben")
    assert ben.get("secret").content == "the secret of ben"
    assert ben.audit.verify()
    with pytest.raises(NotFound):
        ben.history("secrets of ana")
