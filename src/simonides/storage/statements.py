"""Every SQL statement, one text for SQLite and PostgreSQL; the longer ones lie in statements.sql.

All statements name their owner by equality, except those in `ACROSS_OWNERS`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from importlib import resources

from simonides.core.record import FIELDS, INTERNAL, SPLIT

_COLUMNS = {
    **{column.name or name: column for name, column in FIELDS.items()}, **SPLIT, **INTERNAL,
}  # fmt: skip

MEMORY = tuple(_COLUMNS)
"""Columns of a memory."""

TABLES = {
    "memories": MEMORY,
    "tombstones": ("owner", "id", "digest", "at"),
    "consents": ("owner", "id", "kind", "value", "at", "data", "salt"),
    "pending": ("owner", "id", "kind", "at", "expires", "session", "data", "salt"),
    "tasks": ("owner", "id", "name", "status", "begun", "last", "data", "salt"),
    "documents": ("owner", "id", "source", "place", "path", "hash", "passages", "at", "salt"),
    "grants": ("owner", "id", "grantee", "right_", "subject", "by_", "at"),
    "api_tokens": (
        "owner", "id", "prefix", "digest", "name", "org", "user_", "agent", "purpose", "rights",
        "by_", "at", "expires", "salt",
    ),
    "safety": (
        "owner", "id", "at", "expires", "kind", "level", "note", "user_code", "session_code", "salt"
    ),
    "feedback": (
        "owner", "id", "at", "expires", "label", "source", "note", "user_code", "session_code",
        "salt",
    ),
}  # fmt: skip
"""Tables whose rows have a digest in the audit chain, with their columns."""

SUMMED = {
    "sessions": (
        "owner", "id", "name", "part", "status", "step", "begun", "last", "ended", "turns",
        "purpose", "summary", "failed", "data", "salt",
    ),
    "derived": ("owner", "parent_owner", "parent", "child"),
    "endings": ("owner", "older", "newer", "start", "stop", "at"),
    "echoes": ("owner", "session", "fingerprint", "memory", "at"),
    "receipts": ("owner", "id", "at", "purpose", "data"),
    "idempotency": ("owner", "key", "hash", "kind", "memory", "at"),
}  # fmt: skip
"""Tables whose rows have a sum in the owner's row, with their columns."""

COLUMNS = {
    **TABLES, **SUMMED,
    "tokens": ("owner", "memory", "vectors"),
    "events": (
        "owner", "seq", "at", "type", "actor", "subject_table", "subject", "reason", "data",
        "digest", "code",
    ),
    "reads": ("owner", "memory", "day", "count", "last"),
    "counters": ("owner", "day", "name", "value"),
    "due": ("at", "owner", "job", "tries"),
    "owners": ("owner", "epoch", "clock", "events", "head", "salt", "rows_", "code"),
}  # fmt: skip
"""Columns of every table whose rows belong to an owner."""

_BY_ID: Mapping[str, str | bytes | int] = {"id": b""}
ORDER: Mapping[str, Mapping[str, str | bytes | int]] = {
    **dict.fromkeys(TABLES, _BY_ID),
    "sessions": _BY_ID,
    "derived": {"parent_owner": "", "parent": b"", "child": b""},
    "endings": {"older": b"", "newer": b"", "start": -1},
    "echoes": {"session": "", "fingerprint": b""},
    "receipts": _BY_ID,
    "idempotency": {"key": ""},
    "tokens": {"memory": b""},
    "events": {"seq": -1},
    "reads": {"memory": b"", "day": -1},
    "counters": {"day": -1, "name": ""},
    "due": {"job": ""},
    "owners": {"epoch": -1},
}
"""Columns that tell an owner's rows of a table apart, each with a value before all others."""

OWNED = tuple(COLUMNS)
"""Tables whose rows belong to an owner; its own row is the last."""

INDEXED = tuple(name for name, column in _COLUMNS.items() if column.indexed)
"""Columns of a memory that the index reads."""

_ROWS = f"SELECT {', '.join(MEMORY)} FROM memories WHERE owner = :owner"
_INDEXED = f"SELECT {', '.join(INDEXED)} FROM memories WHERE owner = :owner"
_PART = "id, name, part, status, step, begun, last, ended, turns, purpose, summary, failed, data"


def _named() -> dict[str, str]:
    """Return the statements of statements.sql by name."""
    text = (resources.files("simonides.storage") / "statements.sql").read_text("utf-8")
    text = text.format(ROWS=_ROWS, INDEXED=_INDEXED, PART=_PART)
    _, *named = re.split(r"^-- name: (\w+)\n", text, flags=re.MULTILINE)
    bodies = (re.sub(r"^--.*\n", "", each, flags=re.MULTILINE).strip() for each in named[1::2])
    return dict(zip(named[::2], bodies, strict=True))


_SQL = _named()

# -- owners ----------------------------------------------------------------------------------------

BEGIN_WRITE = _SQL["BEGIN_WRITE"]
END_WRITE = _SQL["END_WRITE"]

STATE = """
SELECT epoch, clock, events, head, salt, rows_, code FROM owners WHERE owner = :owner"""

LOCK_ROOT, SET_ROOT = _SQL["LOCK_ROOT"], _SQL["SET_ROOT"]
ROOTS = "SELECT part, leaves, owners, changes, code FROM roots ORDER BY part"
STATES = "SELECT owner, epoch, clock, events, head, salt, rows_, code FROM owners"

OWNERS = "SELECT owner FROM owners ORDER BY owner"
META = "SELECT name, value FROM meta WHERE name = :name"
MIGRATIONS = "SELECT name, value FROM meta WHERE name LIKE 'migration %'"
SET_META = "INSERT INTO meta (name, value) VALUES (:name, :value) ON CONFLICT (name) DO NOTHING"

DUE = _SQL["DUE"]

DUE_AHEAD = "SELECT owner, job FROM due WHERE at > :from AND (job = 'gc' OR job LIKE 'gc %')"
"""Selects daily jobs that a clock far ahead has put off."""

DUE_COUNT = "SELECT COUNT(*) FROM due WHERE at <= :now"

DUE_FAILING = "SELECT owner, job, tries FROM due WHERE tries >= :tries ORDER BY tries DESC LIMIT 20"

ACROSS_OWNERS = (
    OWNERS, META, MIGRATIONS, SET_META, DUE, DUE_AHEAD, DUE_COUNT, LOCK_ROOT, SET_ROOT, ROOTS,
    STATES, DUE_FAILING,
)  # fmt: skip
"""Statements of the database as a whole; none reads content."""


@lru_cache
def heads(count: int) -> str:
    """Return the statement for the state of this many owners."""
    names = " OR ".join(f"owner = :owner{number}" for number in range(count))
    return f"SELECT owner, epoch, events FROM owners WHERE {names}"


# -- rows of every table in the chain --------------------------------------------------------------


@lru_cache
def insert(table: str) -> str:
    """Return the statement that inserts a row."""
    columns = TABLES[table]
    return f"INSERT INTO {table} ({', '.join(columns)}) VALUES (:{', :'.join(columns)})"


@lru_cache
def replace(table: str) -> str:
    """Return the statement that changes a row."""
    cells = ", ".join(f"{name} = :{name}" for name in TABLES[table][2:])
    return f"UPDATE {table} SET {cells} WHERE owner = :owner AND id = :id"


@lru_cache
def delete(table: str) -> str:
    """Return the statement that deletes a row."""
    return f"DELETE FROM {table} WHERE owner = :owner AND id = :id"


@lru_cache
def row(table: str) -> str:
    """Return the statement for all columns of one row."""
    return f"SELECT {', '.join(TABLES[table])} FROM {table} WHERE owner = :owner AND id = :id"


@lru_cache
def page(table: str) -> str:
    """Return the statement for all columns of rows in their `ORDER`, after a row."""
    names = ORDER[table]
    after = ", ".join(f":after_{name}" for name in names)
    return (
        f"SELECT {', '.join(COLUMNS[table])} FROM {table} WHERE owner = :owner "
        f"AND ({', '.join(names)}) > ({after}) ORDER BY {', '.join(names)} LIMIT :limit"
    )


@lru_cache
def count(table: str) -> str:
    """Return the statement that counts an owner's rows."""
    return f"SELECT COUNT(*) FROM {table} WHERE owner = :owner"


@lru_cache
def delete_all(table: str) -> str:
    """Return the statement that deletes all rows of an owner."""
    return f"DELETE FROM {table} WHERE owner = :owner"


@lru_cache
def of_user(table: str) -> str:
    """Return the statement for the ids of records of a user's code."""
    return f"SELECT id FROM {table} WHERE owner = :owner AND user_code = :code"


@lru_cache
def insert_row(table: str) -> str:
    """Return the statement that inserts a whole row, as it was."""
    names = COLUMNS[table]
    return f"INSERT INTO {table} ({', '.join(names)}) VALUES (:{', :'.join(names)})"


# -- memories --------------------------------------------------------------------------------------

CHANGE = _SQL["CHANGE"]
"""The columns in which a row may change after its insertion."""

KEEP_TOKENS = _SQL["KEEP_TOKENS"]
TOKENS_OF = "SELECT vectors FROM tokens WHERE owner = :owner AND memory = :id"
FORGET_TOKENS = "DELETE FROM tokens WHERE owner = :owner AND memory = :id"

NOT_EMBEDDED = _SQL["NOT_EMBEDDED"]

BY_ID = f"{_ROWS} AND id = :id"
HISTORY = f"{_ROWS} AND root = :root ORDER BY version"
LAST_VERSIONS = f"{_ROWS} AND root = :root ORDER BY version DESC LIMIT :limit"
BY_KEY = f"{_ROWS} AND key = :key AND known_to IS NULL"

# An id ends in random digits, so its last four bytes name a memory in practice.
BY_SHORT_ID = f"{_ROWS} AND substr(id, 13) = :tail ORDER BY version DESC LIMIT 2"

# The version in force; else the last one. A weaker value that never was in force may be later.
CURRENT_OF_ROOT = _SQL["CURRENT_OF_ROOT"]

TURN_AT = _SQL["TURN_AT"]
LAST_TURNS = _SQL["LAST_TURNS"]
MESSAGE_IDS = _SQL["MESSAGE_IDS"]

# What ended by a statement that was said later than a moment.
ENDED_LATER = f"""{_ROWS} AND category = :category AND ended = 'superseded' AND ended_by IN (
  SELECT id FROM memories WHERE owner = :owner AND said_at > :at)"""
ENDED_BY = f"{_ROWS} AND ended_by = :id AND ended = 'superseded'"

KNOWN = _SQL["KNOWN"]

EVERY_ROOT = "SELECT DISTINCT root FROM memories WHERE owner = :owner"
SESSION_ROOTS = "SELECT DISTINCT root FROM memories WHERE owner = :owner AND session = :session"

LAST_FACTS = _SQL["LAST_FACTS"]
LAST_SAID = _SQL["LAST_SAID"]


LAST_POSITION = _SQL["LAST_POSITION"]

SLOT = _SQL["SLOT"]

LAST_VERSION = "SELECT MAX(version) FROM memories WHERE owner = :owner AND root = :root"

KEYS = _SQL["KEYS"]

LIST = f"{_ROWS} AND known_to IS NULL AND id < :after ORDER BY id DESC LIMIT :limit"

AS_OF = _SQL["AS_OF"]

SHOWN = tuple(name for name in MEMORY if name not in INTERNAL)
"""The columns that a record is made of."""


def _of_ids(sql: str) -> Callable[[int], str]:
    """Return the statement for a number of ids, which stand where the text has ``{IDS}``."""

    @lru_cache
    def of(count: int) -> str:
        return sql.format(IDS=f"({', '.join(f':id{number}' for number in range(count))})")

    return of


# What is shown of memories.
by_ids = _of_ids(f"SELECT {', '.join(SHOWN)} FROM memories WHERE owner = :owner AND id IN {{IDS}}")

# The token vectors of memories.
tokens_of = _of_ids("SELECT memory, vectors FROM tokens WHERE owner = :owner AND memory IN {IDS}")

# When memories were last read.
last_reads = _of_ids(_SQL["LAST_READS"])


# -- what the index keeps --------------------------------------------------------------------------

# The first load wants what is in force, in the order of its making; a later one what changed.
LOAD = f"{_INDEXED} AND known_to IS NULL ORDER BY id"
LOAD_SINCE = _SQL["LOAD_SINCE"]

# -- the audit chain -------------------------------------------------------------------------------

EVENT = "seq at type actor subject_table subject reason data digest code".split()
_EVENT = ", ".join(EVENT)

APPEND = f"INSERT INTO events (owner, {_EVENT}) VALUES (:owner, :{', :'.join(EVENT)})"
_EVENTS = f"SELECT {_EVENT} FROM events WHERE owner = :owner"
EVENTS = f"{_EVENTS} AND seq > :after ORDER BY seq LIMIT :limit"
EVENTS_BACKWARDS = f"{_EVENTS} AND seq < :after ORDER BY seq DESC LIMIT :limit"

# What events left of the rows of a table, within bounds of their ids.
DIGESTS = """SELECT seq, subject, digest FROM events WHERE owner = :owner AND seq > :after
AND subject_table = :table AND subject > :low AND subject <= :high ORDER BY seq LIMIT :limit"""

RECENT_EVENTS = _SQL["RECENT_EVENTS"]

# -- endings ---------------------------------------------------------------------------------------

NOTE_ENDING = _SQL["NOTE_ENDING"]
FORGET_ENDED = "DELETE FROM endings WHERE owner = :owner AND older = :id"
FORGET_ENDING = f"{FORGET_ENDED} AND newer = :root"
FORGET_ENDINGS = "DELETE FROM endings WHERE owner = :owner AND newer = :root"

# What has ended by a moment of memories, of what ended them, and so on. Each row has the version
# in force of the newer memory.
ended_of = _of_ids(_SQL["ENDED_OF"])

# -- what goes with memories -----------------------------------------------------------------------

COUNT_READ = _SQL["COUNT_READ"]
KEEP_RECEIPT = _SQL["KEEP_RECEIPT"]
RECEIPTS = _SQL["RECEIPTS"]
# A receipt names ids in full, which nothing else in it can look like.
FORGET_RECEIPTS = "DELETE FROM receipts WHERE owner = :owner AND data LIKE :shows"
# Ids begin with their time.
FORGET_OLD_RECEIPTS = "DELETE FROM receipts WHERE owner = :owner AND id < :before"

# Deletes a receipt if not all of its memories are there.
forget_receipt = _of_ids(_SQL["FORGET_RECEIPT"])

NOTE_ECHO, FORGET_ECHO = _SQL["NOTE_ECHO"], _SQL["FORGET_ECHO"]
# Whether a prompt showed memories: by its receipt, or by what is not to be learned from it.
SHOWN_SINCE = """SELECT 1 FROM receipts WHERE owner = :owner AND at >= :since
UNION ALL SELECT 1 FROM echoes WHERE owner = :owner AND at >= :since LIMIT 1"""

ECHOES = "SELECT fingerprint FROM echoes WHERE owner = :owner AND session = :session"
FORGET_ECHOES = "DELETE FROM echoes WHERE owner = :owner AND memory = :memory"
FORGET_LATE_ECHOES = f"""{FORGET_ECHOES}
AND NOT EXISTS (SELECT 1 FROM memories WHERE owner = :owner AND root = :memory)"""

FORGET_READS = "DELETE FROM reads WHERE owner = :owner AND memory = :memory"

# How often memories were read, and when last.
reads_of = _of_ids(_SQL["READS_OF"])

# -- what is collected -----------------------------------------------------------------------------

HARD_EXPIRED = _SQL["HARD_EXPIRED"]
SOFT_EXPIRED = _SQL["SOFT_EXPIRED"]
OUT_OF_FORCE = _SQL["OUT_OF_FORCE"]
DOUBTFUL = _SQL["DOUBTFUL"]

# What has expired and is not collected yet is neither asked about nor drawn on.
_PAGE = """known_to IS NULL AND (hard_expires_at IS NULL OR hard_expires_at > :now)
AND id > :after ORDER BY id LIMIT :limit"""
IN_FORCE = f"{_ROWS} AND {_PAGE}"
# Facts of which a contradiction may be new: what came since a moment, and what fills a slot.
COMPARABLE = f"""{_ROWS} AND position IS NULL
AND (known_from >= :since OR (predicate IS NOT NULL AND key IS NULL)) AND {_PAGE}"""
INSIGHTS = f"{_ROWS} AND category = 'insight' AND {_PAGE}"
# What may tell something: statements, and turns of the user about the user.
TELLING = f"""{_ROWS} AND category NOT IN ('insight', 'session_summary')
AND sensitivity <> 'sensitive'
AND (position IS NULL OR (role = 'user' AND (marks & 2) <> 0)) AND {_PAGE}"""
SESSION_FACTS = f"{_ROWS} AND session = :session AND position IS NULL AND known_to IS NULL"

# What the age of a memory depends on, and when it was last read.
AGES = """id root content category source status confidence trust pinned timeless created_at
updated_at verified_at soft_expires_at hard_expires_at""".split()
_AGES = f"""SELECT {", ".join(AGES)}, (
  SELECT MAX(r.last) FROM reads r WHERE r.owner = :owner AND r.memory = m.root)
FROM memories m WHERE owner = :owner"""
AGES_OF_FACTS = f"{_AGES} AND position IS NULL AND {_PAGE}"
AGES_OF_STALE = f"{_AGES} AND status = 'stale' AND {_PAGE}"
# Turns of a user about the user that end soon; 2 is the mark of the first person.
AGES_OF_ENDING_TURNS = f"""{_AGES} AND position IS NOT NULL AND role = 'user' AND status = 'active'
AND (marks & 2) <> 0 AND hard_expires_at <= :soon AND {_PAGE}"""
# Whether anything of these three tables is old.
HAS_OLD = _SQL["HAS_OLD"]
FORGET_OLD_ECHOES = "DELETE FROM echoes WHERE owner = :owner AND at < :echoes"
FORGET_OLD_KEYS = "DELETE FROM idempotency WHERE owner = :owner AND at < :keys"
FORGET_OLD_READS = _SQL["FORGET_OLD_READS"]

PARENTS = """
SELECT DISTINCT parent FROM derived WHERE owner = :owner AND parent_owner = :parent_owner"""
DERIVED = _SQL["DERIVED"]
DERIVE = _SQL["DERIVE"]
FORGET_DERIVED = "DELETE FROM derived WHERE owner = :owner AND (parent = :id OR child = :id)"

# Counters without a day are of the digests' floor.
COUNTERS = "SELECT name, value FROM counters WHERE owner = :owner AND day = 0"
SET_COUNTER = _SQL["SET_COUNTER"]

COUNTED = "SELECT value FROM counters WHERE owner = :owner AND day = :day AND name = :name"
COUNT = _SQL["COUNT"]
FORGET_COUNTS = "DELETE FROM counters WHERE owner = :owner AND name = :name AND day < :before"
SIZE = "SELECT SUM(octet_length(content)) FROM memories WHERE owner = :owner"

HAS_TOMBSTONES = "SELECT 1 FROM tombstones WHERE owner = :owner LIMIT 1"
TOMBSTONES = "SELECT id, digest FROM tombstones WHERE owner = :owner AND digest = :digest"
TOMBSTONE = "SELECT id FROM tombstones WHERE owner = :owner AND id = :id"
TOMBSTONE_COSTS = """
SELECT DISTINCT substr(digest, 1, 3) FROM tombstones
WHERE owner = :owner AND digest BETWEEN :first AND :last AND octet_length(digest) = 35"""
REFUSALS = "SELECT id, kind, value, at, data FROM consents WHERE owner = :owner ORDER BY at, id"
PAUSED = "SELECT id FROM consents WHERE owner = :owner AND kind = 'recall'"
PENDING = """
SELECT id, kind, at, expires, session, data FROM pending WHERE owner = :owner ORDER BY at, id"""
PENDING_ABOUT = """
SELECT id, kind, at, expires, session, data FROM pending
WHERE owner = :owner AND data LIKE :names ORDER BY at, id"""

OPEN_TASK = "SELECT id, data FROM tasks WHERE owner = :owner AND name = :name AND status = :status"
LAST_TASK = "SELECT id, data FROM tasks WHERE owner = :owner AND name = :name ORDER BY id DESC"
TASKS = f"SELECT {', '.join(TABLES['tasks'])} FROM tasks WHERE owner = :owner"
TASK = f"{TASKS} AND id = :id"
TASK_COUNTS = "SELECT status, COUNT(*) FROM tasks WHERE owner = :owner GROUP BY status"
OF_TASK = _SQL["OF_TASK"]

# -- conversations ---------------------------------------------------------------------------------
# A conversation has parts; each ends once. These rows hold times and places, never content.

LAST_PART = f"""
SELECT {_PART} FROM sessions WHERE owner = :owner AND name = :name ORDER BY part DESC LIMIT 1"""
CONVERSATIONS = _SQL["CONVERSATIONS"]
UNREAD = _SQL["UNREAD"]
LAST_SUMMARIES = _SQL["LAST_SUMMARIES"]
PART = f"SELECT {_PART} FROM sessions WHERE owner = :owner AND id = :id"
BEGIN_PART = _SQL["BEGIN_PART"]
GO_ON = _SQL["GO_ON"]
KEEP_PART = _SQL["KEEP_PART"]
ENDING = _SQL["ENDING"]
BEGIN_END = _SQL["BEGIN_END"]
TAKE_STEP = _SQL["TAKE_STEP"]
TURNS_BETWEEN = _SQL["TURNS_BETWEEN"]

# What is in force of what was learned from turns.
learned_from = _of_ids(f"""
SELECT {", ".join(f"m.{name}" for name in MEMORY)} FROM memories m
JOIN derived d ON d.owner = m.owner AND d.child = m.root
WHERE d.owner = :owner AND d.parent_owner = :owner AND d.parent IN {{IDS}}
AND m.known_to IS NULL ORDER BY m.id""")

SET_DUE = _SQL["SET_DUE"]
DUE_AT = "SELECT at, tries FROM due WHERE owner = :owner AND job = :job"
DUE_JOBS = "SELECT at, job FROM due WHERE owner = :owner ORDER BY at, job"
NOT_DUE = "DELETE FROM due WHERE owner = :owner AND job = :job"
DONE_DUE = f"{NOT_DUE} AND at = :at AND tries = :tries"
MOVE_DUE = _SQL["MOVE_DUE"]

GRANTS = _SQL["GRANTS"]

API_TOKENS = f"SELECT {', '.join(TABLES['api_tokens'])} FROM api_tokens WHERE owner = :owner"
API_TOKEN = f"{API_TOKENS} AND prefix = :prefix"

DOCUMENTS = f"""
SELECT {", ".join(TABLES["documents"])} FROM documents WHERE owner = :owner ORDER BY source, path"""
DOCUMENT = f"""
SELECT {", ".join(TABLES["documents"])} FROM documents
WHERE owner = :owner AND source = :source AND path = :path"""
PASSAGES = """
SELECT id FROM memories WHERE owner = :owner AND session = :session
AND position IS NOT NULL AND known_to IS NULL LIMIT :limit"""

# -- records of safety and feedback ----------------------------------------------------------------


@lru_cache
def unexpired(table: str) -> str:
    """Return the statement for all columns of records that have not expired, newest first."""
    return (
        f"SELECT {', '.join(TABLES[table])} FROM {table} WHERE owner = :owner AND at >= :since "
        "AND expires > :now ORDER BY at DESC, id DESC LIMIT :limit"
    )


@lru_cache
def expired(table: str) -> str:
    """Return the statement for the ids of records that have expired, the earliest first."""
    return (
        f"SELECT id FROM {table} WHERE owner = :owner AND expires <= :now "
        "ORDER BY expires, id LIMIT :limit"
    )


# -- idempotency -----------------------------------------------------------------------------------

IDEMPOTENT = "SELECT hash, kind, memory FROM idempotency WHERE owner = :owner AND key = :key"
KEEP_IDEMPOTENT = _SQL["KEEP_IDEMPOTENT"]
