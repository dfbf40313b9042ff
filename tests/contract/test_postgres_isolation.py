"""What the database itself keeps apart, whatever the statements say."""

# ruff: noqa: E402 - without the driver there is nothing to import

import re

import pytest

from simonides.domain.errors import StoreCorrupt
from simonides.testing import ALICE, BOB
from simonides.testing.contracts.base import every_call
from simonides.testing.store_contract import MemoryStoreContract, drive

psycopg = pytest.importorskip("psycopg", reason="needs pip install 'psycopg[binary,pool]'")
pytest.importorskip("psycopg_pool", reason="needs pip install 'psycopg[binary,pool]'")

from simonides.storage.postgres.parts import TABLES as TABLES_THAT_MOVE
from simonides.storage.postgres.schema import OPERATOR_SUFFIX, SQL
from simonides.storage.postgres.store import PostgresStore
from simonides.storage.postgres.wire import pipeline as postgres_line

APP, OWNER, OPERATOR = "simonides_app", "simonides_owner", "simonides_app_operator"
OF_NO_OWNER = {"meta", "migrations", "opening"}
ABOUT_NO_OWNER = {
    *("above_policies", "add_meta", "add_migration", "begin", "begin_view", "bind"),
    *(
        "is_member",
        "bind_operator",
        "commit",
        "lock_schema",
        "may_use",
        "meta",
        "migrations",
        "operator",
    ),
    *("role", "rollback", "server", "unguarded"),
    # For the operator, or about several owners at a time.
    *(
        "bound_heads",
        "existing",
        "heads",
        "nameless",
        "outbox_of_all",
        "owner_names",
        "sessions_due",
    ),
    # Moving a store here.
    *("arriving", "inhabitants", "lock_opening", "opening", "others", "put_arriving", "put_meta"),
    *(
        "put_opening",
        "put_token",
        "skip_numbers",
        "take_role",
        "log_settings",
        "not_vacuumed_since",
    ),
}
OF_ONE_OWNER = sorted(set(SQL) - ABOUT_NO_OWNER)

contract = MemoryStoreContract()


@pytest.fixture
def store(postgres, database):
    store = PostgresStore.open(postgres.url(APP, database))
    yield store
    drive(store, store.close())


@pytest.fixture
def peopled(store):
    """A store with one of everything of two owners who use the same ids, keys and sessions."""
    for owner in (ALICE, BOB):
        parent = contract.everything_of(store, owner, id="same")
        child = contract.make.memory(scope=owner, id="child", parents=(parent.id,))
        contract.add({"role": store, "content": child}, owner=owner)
    return store


@pytest.fixture
def catalogue(postgres, database):
    """Run a question about the tables of a prepared database."""
    with postgres.connect("postgres", database) as connection:
        yield lambda question: connection.execute(question).fetchall()


@pytest.fixture
def as_app(postgres, database):
    """A bare connection of the application's role."""
    with postgres.connect(APP, database) as connection:
        yield connection


def bind(connection, readable, writable=()):
    connection.execute(
        "SELECT set_config('simonides.readable', %s::text[]::text, true),"
        " set_config('simonides.writable', %s::text[]::text, true)",
        (list(readable), list(writable)),
    )


def name_of(store, owner):
    return store._owners.of(owner).name


TABLES = "SELECT relname FROM pg_class WHERE relnamespace = 'simonides'::regnamespace"


class TestCatalogue:
    def test_every_index_begins_with_the_owner(self, catalogue):
        indexes = catalogue(
            "SELECT t.relname, i.relname, a.attname FROM pg_index AS x"
            " JOIN pg_class AS t ON t.oid = x.indrelid JOIN pg_class AS i ON i.oid = x.indexrelid"
            " JOIN pg_attribute AS a ON a.attrelid = t.oid AND a.attnum = x.indkey[0]"
            " WHERE t.relnamespace = 'simonides'::regnamespace"
        )

        assert len(indexes) > 25
        assert {table for table, _, first in indexes if first != "owner"} == OF_NO_OWNER

    def test_every_table_has_a_primary_key(self, catalogue):
        keyed = catalogue(
            "SELECT t.relname FROM pg_index AS x JOIN pg_class AS t ON t.oid = x.indrelid"
            " WHERE x.indisprimary AND t.relnamespace = 'simonides'::regnamespace"
        )

        assert sorted(keyed) == sorted(catalogue(f"{TABLES} AND relkind = 'r'"))

    def test_row_level_security_is_forced_on_every_table_of_owners(self, catalogue):
        free = catalogue(
            f"{TABLES} AND relkind = 'r' AND NOT (relrowsecurity AND relforcerowsecurity)"
        )
        policies = catalogue(
            "SELECT tablename, array_agg(cmd ORDER BY cmd) FROM pg_policies"
            f" WHERE policyname NOT LIKE '%{OPERATOR_SUFFIX}' AND permissive = 'PERMISSIVE'"
            " GROUP BY tablename"
        )

        assert {name for (name,) in free} == OF_NO_OWNER
        assert {tuple(of) for _, of in policies} == {("DELETE", "INSERT", "SELECT", "UPDATE")}
        assert len(policies) == len(catalogue(f"{TABLES} AND relkind = 'r'")) - len(OF_NO_OWNER)

    def test_the_application_owns_nothing_and_may_only_use_rows(self, catalogue):
        rights = catalogue(
            "SELECT table_name, array_agg(privilege_type::text ORDER BY privilege_type::text)"
            " FROM information_schema.role_table_grants"
            f" WHERE grantee = '{APP}' AND table_schema = 'simonides' GROUP BY table_name"
        )
        owned = catalogue(f"{TABLES} AND pg_get_userbyid(relowner) <> '{OWNER}'")

        assert owned == []
        assert {name for name, of in rights if of == ["SELECT"]} == {"meta", "migrations"}
        assert {name for name, of in rights if of == ["SELECT", "UPDATE"]} == {"opening"}
        assert {tuple(of) for name, of in rights if name not in OF_NO_OWNER} == {
            ("DELETE", "INSERT", "SELECT", "UPDATE")
        }

    def test_the_operator_sees_names_and_what_is_due_and_writes_nothing(self, catalogue):
        rights = catalogue(
            "SELECT table_name, column_name, privilege_type FROM"
            f" information_schema.role_column_grants WHERE grantee = '{OPERATOR}'"
        )
        whole = {"outbox", "sessions", "opening"}
        seen = {(table, column) for table, column, _ in rights if table not in whole}

        # The keys: as long as there are no rows.
        assert {right for right in rights if right[2] != "SELECT"} == {("meta", "value", "UPDATE")}
        assert seen == {
            *((table, "owner") for table in TABLES_THAT_MOVE if table not in whole),
            *(("owners", column) for column in ("name", "erased_at", "last_known_at")),
            *(("turns", column) for column in ("session_tag", "turn_no")),
            *(("meta", column) for column in ("name", "value")),
        }

    def test_index_columns_stay_in_their_rows(self, catalogue):
        (kept,) = catalogue(
            "SELECT a.attstorage::text, t.reloptions FROM pg_attribute AS a"
            " JOIN pg_class AS t ON t.oid = a.attrelid"
            " WHERE t.oid = 'simonides.index_rows'::regclass AND a.attname = 'entry'"
        )

        assert kept == ("m", ["toast_tuple_target=8160"])

    def test_statements_run_with_the_rights_of_who_sends_them(self, catalogue):
        assert (
            catalogue(
                "SELECT proname FROM pg_proc WHERE prosecdef"
                " AND pronamespace = 'simonides'::regnamespace"
            )
            == []
        )


class TestPolicies:
    def test_without_owners_a_transaction_fails(self, peopled, as_app):
        for _ in range(2):
            with pytest.raises(psycopg.Error):
                as_app.execute("SELECT owner FROM simonides.memories")
            as_app.rollback()
            # What a transaction set leaves no owner behind, only an empty text.
            bind(as_app, [name_of(peopled, ALICE)])
            as_app.commit()

    def test_only_readable_owners_are_read(self, peopled, as_app):
        alice = name_of(peopled, ALICE)
        for table in ("owners", "memories", "states", "index_rows", "lookups", "events", "held"):
            bind(as_app, [alice])
            seen = as_app.execute(f"SELECT DISTINCT owner FROM simonides.{table}").fetchall()
            assert seen == [(alice,)], table
            as_app.rollback()

    def test_only_writable_owners_are_written(self, peopled, as_app):
        alice, bob = name_of(peopled, ALICE), name_of(peopled, BOB)
        bind(as_app, [alice, bob], [alice])

        changed = as_app.execute("UPDATE simonides.memories SET due_at = 1 RETURNING owner")
        removed = as_app.execute("DELETE FROM simonides.held RETURNING owner")

        assert {*changed.fetchall(), *removed.fetchall()} == {(alice,)}
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            as_app.execute("INSERT INTO simonides.tombstones VALUES (%s, '')", (bob,))

    def test_a_row_cannot_be_moved_to_another_owner(self, peopled, as_app):
        alice, bob = name_of(peopled, ALICE), name_of(peopled, BOB)
        bind(as_app, [alice, bob], [alice])
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            as_app.execute("UPDATE simonides.held SET owner = %s", (bob,))

    def test_the_owner_of_the_tables_is_held_to_the_policies_too(self, peopled, postgres, database):
        bob = name_of(peopled, BOB)
        with postgres.connect(OWNER, database) as connection:
            bind(connection, [bob])
            seen = connection.execute("SELECT DISTINCT owner FROM simonides.memories").fetchall()
        assert seen == [(bob,)]

    def test_the_operator_reads_no_memory(self, peopled, as_app):
        as_app.execute(f"SET LOCAL ROLE {OPERATOR}")
        assert len(as_app.execute("SELECT owner FROM simonides.memories").fetchall()) == 4
        for statement in (
            "SELECT body FROM simonides.memories",
            "SELECT payload FROM simonides.event_payloads",
            "DELETE FROM simonides.outbox",
            "SELECT value FROM simonides.meta",
            "SELECT row_to_json(t) FROM simonides.turns AS t",
            "UPDATE simonides.opening SET token = ''",
        ):
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                as_app.execute(statement)
            as_app.rollback()
            as_app.execute(f"SET LOCAL ROLE {OPERATOR}")

    def test_the_application_cannot_switch_the_policies_off(self, as_app):
        for statement in (
            "ALTER TABLE simonides.memories DISABLE ROW LEVEL SECURITY",
            "DROP POLICY readable ON simonides.memories",
            "TRUNCATE simonides.memories",
            f"SET ROLE {OWNER}",
            "CREATE TABLE simonides.mine ()",
            "UPDATE simonides.meta SET value = ''",
        ):
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                as_app.execute(statement)
            as_app.rollback()

    def test_policies_and_statements_use_the_key(self, peopled, as_app):
        alice = name_of(peopled, ALICE)
        bind(as_app, [alice])
        as_app.execute("SET LOCAL enable_seqscan = off")
        for question in ("SELECT * FROM simonides.memories", SQL["live_rows"].decode()):
            bound = {"owner": alice, "live_1": 1, "live_2": 2, "live_3": 3}
            plan = as_app.execute(f"EXPLAIN {question}", bound).fetchall()
            text = "\n".join(line for (line,) in plan)
            assert "Index Cond: (owner = " in text or "Index Cond: ((owner = " in text
            # Once a statement, not once a row.
            assert "InitPlan" in text


class TestStatements:
    @pytest.mark.parametrize("name", OF_ONE_OWNER)
    def test_a_statement_names_its_owner(self, name):
        assert "%(owner)s" in SQL[name].decode()

    @pytest.mark.parametrize("name", sorted(SQL))
    def test_every_table_of_a_statement_is_named_with_its_schema(self, name):
        tables = re.findall(
            r"(?<!DISTINCT )(?<!FOR )(?:FROM|JOIN|INTO|UPDATE|USING) ([a-z_.]+)",
            SQL[name].decode(),
        )
        local = {"unnest", "added", "restated", "linked", "story", "found", "expected", "oldest"}

        assert [
            t for t in tables if t.split(".")[0] not in {*local, "simonides"} and "pg_" not in t
        ] == []


# How an owner is named in a statement, and what is left of it once that is taken out.
CLAUSE = re.compile(r"(?<![a-z_])(?:[a-z]\.)?owner = %\(owner\)s")

FUNCTION_CLAUSE = re.compile(r"(?<![a-z_])(?:[a-z]\.)?owner = for_owner")


def functions(connection):
    """Return the functions of the schema, as statements that make them anew."""
    found = connection.execute(
        "SELECT pg_get_functiondef(oid) FROM pg_proc"
        " WHERE pronamespace = 'simonides'::regnamespace AND proname <> ALL (%s)",
        # Of no owner's rows: a check of values, the store's token, the trigger on its keys, and
        # what sets whose rows a turn is about.
        [["require", "check_opening", "keep_keys", "wait_for_turn"]],
    )
    return [written for (written,) in found.fetchall()]


class TestFunctions:
    @pytest.fixture
    def written(self, postgres, database):
        with postgres.connect(OWNER, database) as connection:
            return {re.search(r"simonides\.(\w+)", text)[1]: text for text in functions(connection)}

    def test_a_function_names_its_owner_at_every_table(self, written):
        names = ["add_memories", "heads", "move_owner", "take_turn", "take_turn_as_foreseen"]
        assert sorted(written) == names
        for name, text in written.items():
            read = re.findall(r"(?:FROM|JOIN|UPDATE) simonides\.", text)
            added = re.findall(r"INSERT INTO simonides\.\w+(?: AS \w+)?\s*\(\s*owner,", text)
            into = re.findall(r"VALUES \(for_owner,", text)
            named = FUNCTION_CLAUSE.findall(text)
            if name == "heads":
                named = re.findall(r"o\.owner = ANY \(names\)", text)
            assert len(read) == len(named), name
            assert len(added) == len(into) == text.count("INSERT INTO"), name
            assert "DELETE" not in text, name

    def test_a_function_names_the_schema_of_every_table(self, written):
        for text in written.values():
            tables = re.findall(r"(?<!DISTINCT )(?:FROM|JOIN|INTO|UPDATE) ([a-z_.]+)", text)
            local = {"unnest", "incarnation", "set"}
            assert {t for t in tables if not t.startswith("simonides.")} <= local


class TestMutations:
    """With the owner taken out of a statement, the policies still keep every foreign row back."""

    @pytest.fixture
    def careless(self, monkeypatch, postgres, database):
        with postgres.connect(OWNER, database) as connection:
            for written in functions(connection):
                connection.execute(FUNCTION_CLAUSE.sub("TRUE", written).encode())
        mutated = {name: CLAUSE.sub("TRUE", text.decode()).encode() for name, text in SQL.items()}
        changed = [name for name in SQL if mutated[name] != SQL[name]]
        assert len(changed) > 30
        monkeypatch.setattr(postgres_line, "SQL", mutated)

    def test_every_read_is_still_the_owners_own(self, peopled, careless):
        before = {}
        for owner in (ALICE, BOB):
            shown = contract.shown(peopled, owner)
            before[owner] = shown
            assert {memory.scope for states in shown.states for memory in states} == {owner}
            assert [row.id for row in shown.rows] == ["child", "same"]
            assert len(shown.links) == 2
            assert [work.source for work in shown.outbox] == [owner]
            assert len(shown.held) == 2
            for name, call in every_call(peopled, owner).items():
                assert drive(peopled, call()) is not NotImplemented, name
        assert before[ALICE].chain_head != before[BOB].chain_head

    def test_every_write_is_still_the_owners_own(self, peopled, careless):
        before = contract.shown(peopled, ALICE)
        held = contract.shown(peopled, BOB).held

        contract.write(
            peopled,
            contract.make.change(
                forgotten=("same",),
                released=tuple(each.id for each in (*held, *before.held)),
                revoked=before.grants,
                revived=(b"t" * 32,),
            ),
            BOB,
        )
        drive(peopled, peopled.settle(BOB, [work.item.id for work in before.outbox]))

        assert contract.shown(peopled, ALICE) == before
        assert contract.seen_under_turn(peopled, tombstones=(b"t" * 32,)).tombstoned
        assert [row.id for row in contract.shown(peopled, BOB).rows] == ["child"]

    def test_without_the_policies_the_same_statements_would_leak(
        self, postgres, database, peopled, careless
    ):
        with postgres.connect("postgres", database) as connection:
            connection.execute("ALTER TABLE simonides.memories DISABLE ROW LEVEL SECURITY")

        owners = {row.body for row in drive(peopled, peopled.rows(ALICE))}

        assert len(owners) == 4


def test_a_question_about_nobodys_rows_fails(store):
    """A call that forgot to name whose rows it reads is an error and no empty answer."""

    async def nameless():
        return await store._pool.ask((), ("held", {"owner": name_of(store, ALICE)}))

    assert drive(store, nameless()) == [[]]

    async def unbound():
        async with store._pool.line() as line:
            return await line.run(("held", {"owner": name_of(store, ALICE)}), timeout_s=1)

    with pytest.raises(StoreCorrupt):
        drive(store, unbound())
