"""Bad input: an error that says what is wrong, where, and what to do; nothing is changed."""

import os
import subprocess
import sys
from datetime import datetime, timedelta, timezone

import pytest

import simonides
from simonides import Draft, Settings
from simonides.core.results import DigestItem

MEGABYTE = "x" * 1_000_000
LONE = "\ud800"
NAN = float("nan")
NO_IDS = DigestItem(ids=(), owner="/user/ana", part="core", chars=10)


def nested(levels, wrap):
    found = wrap("x")
    for _ in range(levels):
        found = wrap(found)
    return found


DEEP = nested(10_000, lambda inner: {"a": inner})
DEEP_LIST = {"a": nested(10_000, lambda inner: [inner])}
CYCLE = {}
CYCLE["a"] = CYCLE


def answer(response):
    return {"role": "user", "parts": [{"function_response": {"name": "f", "response": response}}]}


EARLY = datetime.min.replace(tzinfo=timezone(timedelta(hours=14)))

BAD = [
    # The line, and what its message says.
    ("memory.remember(MEGABYTE)", "content: String should have at most 65536"),
    ("memory.remember('x', key=MEGABYTE)", "key: String should have at most 256"),
    ("memory.remember('x', tags=[MEGABYTE])", "tags.0: String should have at most 256"),
    ("memory.remember('x', tags=[str(n) for n in range(300)])", "tags: Value should have at most"),
    ("memory.remember('x', metadata={'a': MEGABYTE})", "metadata: has 1,000,008 bytes"),
    ("memory.remember('x', metadata=DEEP)", "metadata: is nested deeper than 16 levels"),
    ("memory.remember('x', metadata=DEEP_LIST)", "metadata: is nested deeper than 16 levels"),
    ("memory.remember('x', metadata=CYCLE)", "metadata: is nested deeper than 16 levels"),
    ("memory.remember('x', metadata={1: 2})", "metadata.1: must be text"),
    ("memory.remember('x', metadata={'a': NAN})", "metadata: must be plain JSON: finite numbers"),
    ("memory.remember('x', metadata={'a': b'x'})", "metadata: must be plain JSON"),
    ("memory.remember('x', metadata={'a': chr(0)})", "metadata: holds a NUL character"),
    ("memory.remember('x', metadata={LONE: 1})", "metadata: must be plain JSON"),
    ("memory.remember(LONE)", "content: holds a lone surrogate"),
    ("memory.remember('a\\0b')", "content: holds a NUL character"),
    ("memory.remember(b'x')", "content: must be text"),
    ("memory.remember('x', key=LONE)", "key: holds a lone surrogate"),
    ("memory.remember('x', category=LONE)", "category: holds a lone surrogate"),
    ("memory.remember('x', ttl_days=NAN)", "ttl_days: must be a finite number"),
    ("memory.remember('x', ttl_days=0)", "ttl_days: must be greater than 0"),
    ("memory.remember('x', ttl_days=10**400)", "ttl_days: must be a valid number"),
    ("memory.remember('x', at='99999-01-01')", "at: '99999-01-01' is not an ISO 8601 time"),
    ("memory.remember('x', at=EARLY)", "at: is outside the years 1 to 9999"),
    ("memory.remember('x', idempotency_key='')", "idempotency_key: must not be empty"),
    ("memory.remember_many(None)", "drafts: must be a list of drafts, not NoneType"),
    ("memory.remember(Draft('x', parents=['none']))", "nothing is remembered under 'none'"),
    ("Draft('x', confidence=NAN)", "confidence: must be a finite number"),
    ("Draft('x', confidence='0.5')", "confidence: must be a valid number"),
    ("Draft('x', position=-1)", "position: must be greater than or equal to 0"),
    ("Draft('x', triple=('a', '', 'c'))", "triple.1: must not be empty"),
    ("Draft('x', triple=('a', 'b'))", "triple.2: is missing"),
    ("Draft('x', audience=[LONE])", "audience.0: character U+D800"),
    ("Draft('x', purpose=5)", "purpose: must be text"),
    ("Draft('x', scope='/user/\\ud800/')", "scope: holds a lone surrogate"),
    ("memory.privacy.refuse(about=MEGABYTE)", "about: has 1,000,000 characters; at most 2,000"),
    ("memory.pending.reject('x', reason=MEGABYTE)", "reason: has 1,000,000 characters"),
    ("memory.pending.reject('x', reason=['x'])", "reason: must be text, not list"),
    ("task.observe('search', DEEP)", "result: is a result that JSON cannot express"),
    ("task.observe('search', CYCLE)", "result: is a result that JSON cannot express"),
    ("task.observe('search', {(1, 2): 3})", "result: is a result that JSON cannot express"),
    ("task.observe('search', {}, verified=True, keep=5)", "keep: must be a list of texts"),
    ("task.before_tool('search', DEEP_LIST)", "input: is a result that JSON cannot express"),
    ("memory.task('x', plan=5)", "plan: must be a list of texts"),
    ("memory.add([{'role': 'tool', 'content': DEEP}])", "messages[0].content: must be a text or"),
    ("memory.add(answer({'a': 1, **CYCLE}))", "is a result that JSON cannot express"),
    ("memory.add(answer(DEEP))", "is a result that JSON cannot express"),
    ("memory.recall(MEGABYTE)", "query: has more than 65,536 characters"),
    ("memory.recall(LONE)", "query: holds a lone surrogate"),
    ("memory.recall('a\\0b')", "query: holds a NUL character"),
    ("memory.recall('x', limit=True)", "limit: must be a whole number"),
    ("memory.recall('x', min_relevance=NAN)", "min_relevance: must be a number from 0 to 1"),
    ("memory.recall('x', filter={'metadata.a': DEEP})", "metadata.a.$eq: is nested deeper than 16"),
    ("memory.recall('x', filter={'confidence': NAN})", "filter.confidence.$eq: must be plain JSON"),
    ("memory.recall('x', filter={'content': LONE})", "filter.content.$eq: holds a lone surrogate"),
    ("memory.recall('x', filter={'key': {'$exists': 1}})", "$exists: must be True or False"),
    ("memory.recall('x', kinds=[['semantic']])", "did you mean 'semantic'?"),
    ("memory.get(LONE)", "which: holds a lone surrogate"),
    ("memory.get('a\\0')", "which: holds a NUL character"),
    ("memory.forget('')", "nothing is remembered under ''; list() shows"),
    ("memory.forget(MEGABYTE)", "…'; list() shows"),
    ("memory.correct('city', MEGABYTE)", "content: String should have at most 65536"),
    ("memory.correct('city', LONE)", "content: holds a lone surrogate"),
    ("memory.promote('city', None)", "to: must be text, not NoneType"),
    ("memory.list(cursor=LONE)", "cursor: is not a next_cursor"),
    ("memory.audit.list(limit=1001)", "limit: must be a whole number from 1 to 1,000, not 1001"),
    ("store.memory('x' * 129)", "user: must have 1 to 128 characters, not 129"),
    ("store.memory('ana', session=LONE)", "session: character U+D800"),
    ("store.memory(b'ana')", "user: must be text, not bytes"),
    ("admin.grant('ana', 5, org='acme')", "right: must be text, not int"),
    ("admin.grant('ana', 'read_user:', org='acme')", "read_user names one user"),
    ("admin.revoke('ana', 5, org='acme')", "right: must be text, not int"),
    ("admin.grants(org='a/b')", "org: character U+002F"),
    ("admin.verify_audit(against=True)", "against: holds for each owner a length and a code"),
    ("admin.verify_audit(against={1: [1, '00']})", "against: holds for each owner"),
    ("admin.verify_audit(against={'/x': [10**30, '00']})", "against: holds for each owner"),
    (
        "memory.receipts.replay(memory.digest().receipt.model_copy(update={'hidden': {'x': 1}}))",
        "receipt: was changed",
    ),
    (
        "memory.receipts.replay(memory.digest().receipt.model_copy(update={'items': (NO_IDS,)}))",
        "receipt: was changed",
    ),
    ("admin.backup('a\\0b')", "path: holds a NUL character"),
    ("admin.backup(LONE)", "path: holds a lone surrogate"),
    ("admin.backup(folder)", "exists already; name a new file"),
    ("simonides.open('a\\0b')", "target: holds a NUL character"),
    ("simonides.open(LONE)", "target: holds a lone surrogate"),
    (
        "simonides.open('x' * 300)",
        "the store's path is longer than 500 bytes, or its name than 215",
    ),
    ("simonides.open('~/m.db')", "begins with ~"),
    ("simonides.open(folder / 'k.db', key=LONE)", "setting key: holds a lone surrogate"),
    ("simonides.open(folder / 'k.db', key='a\\0b')", "setting key: holds a NUL character"),
    ("simonides.open(folder / 'k.db', audit_key=LONE)", "setting audit_key: holds a lone"),
    ("simonides.open(folder / 'm.db' / 'x.db').memory('ana').remember('x')", "m.db"),
    ("simonides.open('/proc/x.db').memory('ana').remember('x')", "/proc/x.db: cannot be"),
    ("Settings(key=b'x')", "setting key: must be text, not bytes"),
    ("Settings(policy='a\\0b')", "setting policy: holds a NUL character"),
    ("Settings(busy_timeout_s=NAN)", "setting busy_timeout_s"),
]


@pytest.fixture(scope="module")
def names(tmp_path_factory):
    """Return what the lines use."""
    folder = tmp_path_factory.mktemp("folder")
    with simonides.open(folder / "m.db", embedder="none") as store:
        memory = store.memory(user="ana")
        memory.remember("Ana lives in Rome", key="city")
        yield {
            **globals(), "folder": folder, "store": store, "memory": memory,
            "admin": store.admin("root"), "task": memory.task("tea"),
        }  # fmt: skip


@pytest.mark.parametrize(("line", "said"), BAD, ids=[line for line, _ in BAD])
def test_bad_input_is_named_and_changes_nothing(names, line, said):
    def state():
        memory = names["memory"]
        return memory.audit.verify().events, memory.list()[:], sorted(names["folder"].iterdir())

    before = state()
    with pytest.raises(simonides.SimonidesError) as caught:
        eval(line, names)
    assert said in str(caught.value)
    assert caught.value.hint
    assert state() == before


COMMANDS = [
    # The variables, the arguments, the exit code, and what the error says.
    ({}, ["remember", ""], 2, "content: must not be empty"),
    ({}, ["remember", b"a\xff"], 2, "content: holds a lone surrogate"),
    ({}, ["remember", "x" * 100_000], 2, "content: String should have at most 65536"),
    (
        {},
        ["remember", "x", "--metadata", '{"a":' * 9_999 + "1" + "}" * 9_999],
        2,
        "is not valid JSON",
    ),
    ({}, ["remember", "x", "--metadata", '{"a": NaN}'], 2, "metadata: must be plain JSON"),
    ({}, ["remember", "x", "--metadata", '{"a": "\\ud800"}'], 2, "metadata: must be plain JSON"),
    ({}, ["remember", "x", "--metadata", "[1]"], 2, "metadata: must be a valid dictionary"),
    ({}, ["remember", "x", "--ttl-days", "-1"], 2, "--ttl-days: must be greater than 0"),
    ({}, ["remember", "x", "--ttl-days", "nan"], 2, "--ttl-days: must be a finite number"),
    ({}, ["remember", "x", "--ttl-days", "soon"], 2, "'--ttl-days'"),
    ({}, ["remember", "x", "--at", "yesterday"], 2, "at: 'yesterday' is not an ISO 8601 time"),
    ({}, ["recall", "x", "--min-relevance", "nan"], 2, "--min-relevance: must be a number"),
    ({}, ["recall", "x", "--filter", "[1]"], 2, "filter: must be a mapping"),
    ({}, ["get", b"\xff"], 2, "which: holds a lone surrogate"),
    ({}, ["audit", "list", "--memory", "city"], 2, "memory: must be a root id"),
    ({}, ["admin", "backup", "no/copy.db"], 2, "path: its folder does not exist"),
    ({}, ["policy", "check", "."], 2, ".:0: cannot be read: Is a directory"),
    ({}, ["list", "--user", b"\xff"], 2, "user: character U+DCFF"),
    ({}, ["list", "--store", ""], 2, "path is empty"),
    ({}, ["list", "--store", "sqlite://m.db"], 2, "use sqlite:///path"),
    ({}, ["list", "--store", "mysql://me:word@host/db"], 2, "mysql:// is not a store"),
    ({}, ["list", "--store", "~/m.db"], 2, "begins with ~, which shells expand"),
    ({}, ["list", "--store", "x" * 300], 2, "longer than 500 bytes"),
    ({}, ["list", "--store", b"\xff.db"], 2, "holds a lone surrogate"),
    ({}, ["remember", "x", "--store", "m.db/x.db"], 3, "m.db/x.db: cannot be read or written"),
    ({}, ["remember", "x", "--store", "/proc/x.db"], 3, "/proc/x.db: cannot be read or written"),
    ({"SIMONIDES_KEY": "wrong"}, ["list"], 2, "m.db: the encryption key is wrong"),
    ({"SIMONIDES_KEY": b"\xff"}, ["list"], 2, "setting key: holds a lone surrogate"),
    ({"SIMONIDES_AUDIT_KEY": b"\xff"}, ["list"], 2, "setting audit_key: holds a lone surrogate"),
    ({"SIMONIDES_POLICY": "none.yaml"}, ["list"], 2, "none.yaml:0: cannot be read"),
    ({"SIMONIDES_POOL_SIZE": "0"}, ["list"], 2, "setting pool_size"),
    ({"SIMONIDES_JSON": "maybe"}, ["list"], 2, "SIMONIDES_JSON"),
    ({"SIMONIDES_STOER": "x"}, ["demo"], 2, "did you mean 'SIMONIDES_STORE'?"),
]


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """Return a folder with a store."""
    folder = tmp_path_factory.mktemp("home")
    with simonides.open(folder / "m.db", embedder="none") as store:
        store.memory(user="ana").remember("Ana lives in Rome", key="city")
    return folder


@pytest.mark.parametrize(("variables", "arguments", "code", "said"), COMMANDS)
def test_a_bad_command_is_one_line_and_a_hint(
    home, monkeypatch, capsys, variables, arguments, code, said
):
    from simonides.cli import main

    for name in [name for name in os.environ if name.startswith("SIMONIDES_")]:
        monkeypatch.delenv(name)
    monkeypatch.chdir(home)
    for name, value in {"SIMONIDES_STORE": "m.db", "SIMONIDES_USER": "ana", **variables}.items():
        monkeypatch.setenv(name, os.fsdecode(value))
    assert main([os.fsdecode(each) for each in arguments]) == code
    out, err = capsys.readouterr()
    error, hint = err.splitlines()
    assert out == ""
    assert error.startswith("error: ")
    assert said in error
    assert hint.startswith("hint: ")
    assert "word" not in err
    assert {path.name for path in home.iterdir()} <= {"m.db", "m.db-lock", "m.db-wal", "m.db-shm"}


def test_a_bad_command_of_a_real_process_prints_no_traceback(home):
    command = [sys.executable, "-m", "simonides", "remember", os.fsdecode(b"\xff"), "--user", "ana"]
    done = subprocess.run(
        [*command, "--store", str(home / "m.db")], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.splitlines()[0] == "error: content: holds a lone surrogate"


def test_a_key_may_come_from_other_settings():
    assert Settings(key=Settings(key="word").key).key.get_secret_value() == "word"


def test_audience_and_purpose_take_ids_of_agents_and_purposes():
    draft = Draft("x", audience=["bot", "ann"], purpose="billing")
    assert (draft.audience, draft.purpose) == (("ann", "bot"), "billing")
