"""Mistakes of newcomers: each raises an error that names the mistake, and the way out."""

import asyncio
import os

import pytest

import simonides
from simonides import Draft, Settings

MISTAKES = [
    # The line, the error, and what its message and hint say: the mistake first, then the way out.
    # Names of other libraries, and of nothing.
    ("memory.search('x')", AttributeError, "Memory has no 'search'", "'recall'"),
    ("memory.query('x')", AttributeError, "'query'", "'recall'"),
    ("memory.retrieve('x')", AttributeError, "'retrieve'", "'recall'"),
    ("memory.store('x')", AttributeError, "'store'", "'remember'"),
    ("memory.store('x')", AttributeError, "'store'", "'remember'"),
    ("memory.save('x')", AttributeError, "'save'", "'remember'"),
    ("memory.insert('x')", AttributeError, "'insert'", "'remember'"),
    ("memory.delete('city')", AttributeError, "'delete'", "'forget'"),
    ("memory.remove('city')", AttributeError, "'remove'", "'forget'"),
    ("memory.update('city', 'x')", AttributeError, "'update'", "'correct'"),
    ("memory.get_all()", AttributeError, "'get_all'", "'list'"),
    ("memory.all()", AttributeError, "'all'", "'list'"),
    ("memory.rember('x')", AttributeError, "'rember'", "'remember'"),
    ("memory.reset()", AttributeError, "'reset'", "did you mean 'receipts'"),
    ("memory.audits", AttributeError, "'audits'", "'audit'"),
    ("memory.audit.search('x')", AttributeError, "Audit has no 'search'", "list, record_"),
    ("store.remember('x')", AttributeError, "Store has no 'remember'", "memory(user=…).remember()"),
    ("store.search('x')", AttributeError, "'search'", "memory(user=…).recall()"),
    ("store.list()", AttributeError, "'list'", "memory(user=…).list()"),
    ("store.user('ana')", AttributeError, "'user'", "memory"),
    ("admin.recall('x')", AttributeError, "Admin has no 'recall'", "memory(user=…).recall()"),
    ("simonides.Client()", AttributeError, "'Client'", "simonides.open"),
    ("simonides.connect('x')", AttributeError, "'connect'", "simonides.open"),
    ("simonides.Memry", AttributeError, "'Memry'", "simonides.Memory"),
    ("simonides.Memory()", TypeError, "a store makes it", "simonides.open(path).memory(user=…)"),
    ("simonides.Memory(user='ana')", TypeError, "a store makes it", "simonides.open(path)"),
    ("simonides.Store('m.db')", TypeError, "Store", "simonides.open(path)"),
    # Names of arguments: Python's own error.
    ("simonides.open(user_id='x')", TypeError, "open()", "'user_id'"),
    ("store.memory(user_id='ana')", TypeError, "Store.memory()", "'user_id'"),
    ("memory.recall('x', top_k=3)", TypeError, "Memory.recall()", "'top_k'"),
    ("memory.remember('x', metadta={})", TypeError, "Memory.remember()", "'metadta'"),
    ("memory.recall()", TypeError, "Memory.recall()", "'query'"),
    ("admin.grant('ana', 'org_write')", TypeError, "Admin.grant()", "'org'"),
    # Opening.
    ("simonides.open('sqlite://rel.db')", "ConfigurationError", "sqlite:// is no",
     "sqlite:///path"),
    ("simonides.open('http://host')", "ConfigurationError", "http://", "needs a token"),
    ("simonides.open(embedder='minilm')", "ConfigurationError", "embedder",
     "encode(), or is 'none'"),
    ("simonides.open(reranker='x')", "ConfigurationError", "reranker", "rerank(query, texts)"),
    ("simonides.open(clock=5)", "ConfigurationError", "clock", "now_ms()"),
    ("simonides.open(mode='remote')", "ConfigurationError", "'remote'", "local, synced, incognito"),
    ("simonides.open(settings=Settings)", "ConfigurationError", "settings", "must be a Settings"),
    ("simonides.open(folder)", "StoreError", "is a folder", "name a file in it"),
    ("simonides.open(folder / 'no.db', create=False)", "StoreUnavailable", "no.db",
     "no store here"),
    ("simonides.open(folder / 'k.db', key='')", "KeyUnavailable", "key is empty", "provide"),
    ("Settings(fussion='rrf')", "ConfigurationError", "fussion", "'fusion'"),
    ("Settings(mode='guets')", "ConfigurationError", "'guets'", "'guest'"),
    # Whose memory.
    ("store.memory()", "OwnerRequired", "name a user", "user=…"),
    ("store.memory(org='acme')", "OwnerRequired", "name a user", "session=…"),
    ("store.memory('a/b')", "InvalidScope", "user", "U+002F is not allowed"),
    ("store.memory(user=5)", "InvalidScope", "user", "must be text, not int"),
    ("store.memory('')", "InvalidScope", "user", "1 to 128 characters"),
    ("admin.memory(org=5)", "InvalidScope", "org", "must be text, not int"),
    ("store.admin('')", "InvalidScope", "actor", "1 to 128 characters"),
    # Remembering.
    ("memory.remember(123)", "InvalidInput", "content", "must be text"),
    ("memory.remember(None)", "InvalidInput", "content", "must be text"),
    ("memory.remember({'content': 'x'})", "InvalidInput", "content", "must be text"),
    ("memory.remember('')", "InvalidInput", "content", "must not be empty"),
    ("memory.remember(' ')", "InvalidInput", "content", "must not be blank"),
    ("memory.remember('x', key='two words')", "InvalidInput", "key: 'two words'", "are allowed"),
    ("memory.remember('x', category='preferance')", "InvalidInput", "category", "'preference'"),
    ("memory.remember('x', importance='hi')", "InvalidInput", "importance: 'hi'", "'high'"),
    ("memory.remember('x', ttl_days=-1)", "InvalidInput", "ttl_days", "greater than 0"),
    ("memory.remember('x', tags='abc')", "InvalidInput", "tags", "must be a list"),
    ("memory.remember('x', metadata=[1])", "InvalidInput", "metadata", "dictionary"),
    ("memory.remember('x', at='yesterday')", "InvalidInput", "'yesterday'", "ISO 8601"),
    ("memory.remember('x', at=1700000000)", "InvalidInput", "at", "datetime or ISO text, not int"),
    ("memory.remember('x', pinned='yes')", "InvalidInput", "pinned", "boolean"),
    ("memory.remember(Draft('x'), key='k')", "InvalidInput", "key", "belongs into the Draft"),
    ("memory.remember(outcome)", "InvalidInput", "outcome", "pass outcome.record"),
    ("memory.remember_many('abc')", "InvalidInput", "drafts", "a list of drafts, not str"),
    ("memory.remember_many([{'a': 1}])", "InvalidInput", "drafts[0]", "must be a Draft, not dict"),
    ("memory.remember(Draft('x', scope='org'))", "ScopeDenied", "org_write denied", "grant("),
    ("admin.remember_many([Draft('x', scope='orgg')])", "InvalidInput", "'orgg'", "'org'"),
    ("Draft('x', sorce='tool')", "InvalidInput", "sorce", "'source'"),
    ("Draft()", "InvalidInput", "content", "is missing"),
    ("Draft('x', 'key')", "InvalidInput", "only the content", "key=…"),
    ("Draft('x', source='user')", "InvalidInput", "source: 'user'", "user_stated"),
    ("Draft('x', audience='bot')", "InvalidInput", "audience", "must be a list"),
    ("Draft('x', audience=['my bot'])", "InvalidInput", "audience.0", "U+0020 is not allowed"),
    ("Draft('x', purpose='a/b')", "InvalidInput", "purpose", "U+002F is not allowed"),
    # Recalling.
    ("memory.recall(None)", "InvalidInput", "query", "must be text, not NoneType"),
    ("memory.recall('x', limit=0)", "InvalidInput", "limit", "from 1 to 1,000, not 0"),
    ("memory.recall('x', limit='5')", "InvalidInput", "limit", "a whole number"),
    ("memory.recall('x', min_relevance=2)", "InvalidInput", "min_relevance", "from 0 to 1, not 2"),
    ("memory.recall('x', scopes='org')", "InvalidInput", "scopes", "a list of names or paths"),
    ("memory.recall('x', known_at='now')", "InvalidInput", "known_at: 'now'", "ISO 8601"),
    ("memory.recall('x', kinds=[])", "InvalidInput", "kinds", "None for all"),
    ("memory.recall('x', kinds='semantic')", "InvalidInput", "kinds", "['semantic']"),
    ("memory.recall('x', preference_bias='no')", "InvalidInput", "preference_bias",
     "True or False"),
    ("memory.list(cursor='x')", "InvalidInput", "cursor", "next_cursor of this list"),
    ("memory.list(filter={'eq': 1})", "InvalidInput", "no field 'eq'", "use key, tags, quote"),
    ("memory.list(filter={'or': []})", "InvalidInput", "no field 'or'", "'$or'"),
    ("memory.list(filter={'metadata': {}})", "InvalidInput", "'metadata'", "'metadata.…'"),
    ("memory.list(filter={'confidence': {'gte': 0}})", "InvalidInput", "confidence.gte", "'$gte'"),
    ("memory.list(filter={'confidence': {}})", "InvalidInput", "confidence", "must be a number"),
    ("memory.list(filter=[('kind', 'x')])", "InvalidInput", "filter", "mapping with at least one"),
    ("memory.audit.list(memory='city')", "InvalidInput", "memory", "a root id (record.root)"),
    ("memory.audit.list(type='create')", "InvalidInput", "'create'", "'created'"),
    # One memory.
    ("memory.get(outcome)", "InvalidInput", "outcome", "pass outcome.record"),
    ("memory.forget(outcome)", "InvalidInput", "outcome", "pass outcome.record"),
    ("memory.get(5)", "InvalidInput", "which", "a key, an id, a record or a hit, not int"),
    ("memory.forget('locatoin')", "NotFound", "'locatoin'", "'location'"),
    ("memory.correct('city')", "InvalidInput", "content", "pinned, importance or expires"),
    ("memory.correct('city', expires='nver')", "InvalidInput", "expires: 'nver'", "ISO 8601"),
    ("memory.promote('city', 'team')", "InvalidInput", "'team'", "is not a scope"),
    # The store.
    ("closed.memory('ana').recall('x')", "StoreUnavailable", "closed", "open a new store"),
    ("closed.memory('ana').remember('x')", "StoreUnavailable", "closed", "open a new store"),
    ("admin.backup(folder / 'no' / 'm.db')", "InvalidInput", "path", "its folder does not exist"),
    ("admin.grant('ana', 'write', org='a')", "InvalidInput", "right: 'write'", "'org_write'"),
]  # fmt: skip


@pytest.fixture(scope="module")
def names(tmp_path_factory):
    """Return what the lines of a newcomer use."""
    with (
        pytest.MonkeyPatch.context() as patch,
        simonides.open(":memory:", embedder="none") as store,
    ):
        for name in [name for name in os.environ if name.startswith("SIMONIDES_")]:
            patch.delenv(name)
        memory, closed = store.memory(user="ana"), simonides.open(":memory:", embedder="none")
        closed.close()
        yield {
            "simonides": simonides, "Draft": Draft, "Settings": Settings, "closed": closed,
            "store": store, "memory": memory, "admin": store.admin("root"),
            "outcome": memory.remember("Ana lives in Rome", key="city"),
            "folder": tmp_path_factory.mktemp("folder"),
        }  # fmt: skip


@pytest.mark.parametrize(
    ("line", "kind", "mistake", "way_out"), MISTAKES, ids=[line for line, *_ in MISTAKES]
)
def test_a_mistake_is_named_with_the_way_out(names, line, kind, mistake, way_out):
    kind = getattr(simonides, kind) if isinstance(kind, str) else kind
    with pytest.raises(kind) as caught:
        eval(line, names)
    said = f"{caught.value} {getattr(caught.value, 'hint', '')}"
    assert mistake in said
    assert way_out in said


def test_a_mistake_changes_nothing(names):
    assert [each.content for each in names["memory"].list()] == ["Ana lives in Rome"]
    assert names["memory"].audit.verify().events == 1


def test_a_closed_store_is_not_worth_another_try(names):
    with pytest.raises(simonides.StoreUnavailable) as caught:
        names["closed"].memory("ana").recall("x")
    assert not caught.value.retryable


@pytest.mark.parametrize(
    ("variable", "value", "said"),
    [
        ("SIMONIDES_STOER", "m.db", "did you mean 'SIMONIDES_STORE'?"),
        ("simonides_polcy", "x", "did you mean 'SIMONIDES_POLICY'?"),
        ("SIMONIDES_FUSION", "rff", "did you mean 'rrf'?"),
        ("SIMONIDES_POOL_SIZE", "many", "setting pool_size"),
        ("SIMONIDES_MODE", "remote", "not one of local, synced, incognito, guest"),
        ("SIMONIDES_STORE", "mysql://host/db", "use sqlite:///path or postgresql://…"),
    ],
)
def test_a_wrong_variable_is_named_with_the_way_out(monkeypatch, variable, value, said):
    monkeypatch.setenv(variable, value)
    with pytest.raises(simonides.ConfigurationError) as caught:
        simonides.open(embedder="none")
    assert said in str(caught.value)


def _with(opening):
    with opening:
        pass


@pytest.mark.parametrize(
    ("call", "error", "said"),
    [
        (lambda opening, _: opening.memory("ana"), AttributeError, "async with aopen(…) as store"),
        (lambda opening, _: opening.close(), AttributeError, "not open yet"),
        (lambda opening, _: _with(opening), TypeError, "async with"),
        (lambda _, store: _with(store), TypeError, "async with"),
        (lambda _, store: store.search("x"), AttributeError, "memory(user=…).recall()"),
        (lambda _, store: store.memory("ana").search("x"), AttributeError, "'recall'"),
        (lambda _, store: store.memory("ana").audit.all(), AttributeError, "'list'"),
        (lambda _, store: store.memory(user_id="ana"), TypeError, "'user_id'"),
        (lambda _, store: store.memory(), simonides.OwnerRequired, "user=…"),
    ],
)
def test_a_mistake_with_the_async_face_names_the_way_out(call, error, said):
    async def story():
        async with simonides.aopen(":memory:", embedder="none") as store:
            with pytest.raises(error) as caught:
                call(simonides.aopen(":memory:"), store)
            assert said in str(caught.value)

    asyncio.run(story())
