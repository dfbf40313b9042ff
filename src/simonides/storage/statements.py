"""Every SQL statement, one text for SQLite and PostgreSQL.

All statements name their owner by equality, except those in `ACROSS_OWNERS`.
"""

from __future__ import annotations

from functools import lru_cache

MEMORY = tuple(
    """
    owner id root version task kind category key content hash subject predicate object quote
    quote_start quote_end origin depends_on speaker role session position message_id source trust
    audience confidence importance sensitivity purpose tags metadata parents pinned timeless status
    created_at updated_at verified_at valid_from valid_to known_from known_to ended ended_by
    soft_expires_at hard_expires_at ttl terms marks fingerprint embedder vector scale token_ids salt
    said_at utc_offset
    """.split()
)
"""Columns of a memory, in the order in which its digest reads them. A migration adds columns at the
end, and old rows have NULL there."""

TABLES = {
    "memories": MEMORY,
    "tombstones": ("owner", "id", "digest", "at"),
    "consents": ("owner", "id", "kind", "value", "at", "data", "salt"),
    "pending": ("owner", "id", "kind", "at", "expires", "session", "data", "salt"),
    "tasks": ("owner", "id", "name", "status", "begun", "last", "data", "salt"),
    "grants": ("owner", "id", "grantee", "right_", "subject", "by_", "at"),
}
"""Tables whose rows have a digest in the audit chain, with their columns."""

# -- owners ----------------------------------------------------------------------------------------

# Takes the owner's turn (in PostgreSQL: its row's lock) and returns its state.
TAKE_TURN = """
INSERT INTO owners (owner, epoch, clock, events, head) VALUES (:owner, 0, 0, 0, :empty)
ON CONFLICT (owner) DO UPDATE SET epoch = owners.epoch
RETURNING epoch, clock, events, head,
  EXISTS (SELECT 1 FROM tombstones t WHERE t.owner = :owner)"""

END_TURN = """
UPDATE owners SET epoch = :epoch, clock = :clock, events = :events, head = :head
WHERE owner = :owner"""

STATE = "SELECT epoch, clock, events, head FROM owners WHERE owner = :owner"

OWNERS = "SELECT owner FROM owners ORDER BY owner"
META = "SELECT name, value FROM meta WHERE name = :name"
MIGRATIONS = "SELECT name, value FROM meta WHERE name LIKE 'migration %'"
SET_META = "INSERT INTO meta (name, value) VALUES (:name, :value) ON CONFLICT (name) DO NOTHING"

DUE = "SELECT owner, job FROM due WHERE at <= :now ORDER BY at LIMIT 64"

ACROSS_OWNERS = (OWNERS, META, MIGRATIONS, SET_META, DUE)
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
def page(table: str) -> str:
    """Return the statement for all columns of rows by id, after an id."""
    return (
        f"SELECT {', '.join(TABLES[table])} FROM {table} "
        "WHERE owner = :owner AND id > :after ORDER BY id LIMIT :limit"
    )


# -- memories --------------------------------------------------------------------------------------

_ROWS = f"SELECT {', '.join(MEMORY)} FROM memories WHERE owner = :owner"

CHANGE = """
UPDATE memories SET status = :status, updated_at = :updated_at, said_at = :said_at,
  utc_offset = :utc_offset,
  verified_at = :verified_at,
  soft_expires_at = :soft_expires_at, hard_expires_at = :hard_expires_at,
  embedder = :embedder, vector = :vector, scale = :scale, token_ids = :token_ids,
  known_to = :known_to, ended = :ended, ended_by = :ended_by
WHERE owner = :owner AND id = :id"""
"""The columns in which a row may change after its insertion."""

KEEP_TOKENS = """
INSERT INTO tokens (owner, memory, vectors) VALUES (:owner, :id, :tokens)
ON CONFLICT (owner, memory) DO UPDATE SET vectors = excluded.vectors"""
TOKENS_OF = "SELECT vectors FROM tokens WHERE owner = :owner AND memory = :id"
FORGET_TOKENS = "DELETE FROM tokens WHERE owner = :owner AND memory = :id"

NOT_EMBEDDED = f"""
{_ROWS} AND known_to IS NULL AND COALESCE(embedder, '') <> :embedder ORDER BY id LIMIT :limit"""

BY_ID = f"{_ROWS} AND id = :id"
HISTORY = f"{_ROWS} AND root = :root ORDER BY version"
BY_KEY = f"{_ROWS} AND key = :key AND known_to IS NULL"

# An id ends in random digits, so its last four bytes name a memory in practice.
BY_SHORT_ID = f"{_ROWS} AND substr(id, 13) = :tail ORDER BY version DESC LIMIT 2"

# The version in force; else the last one. A weaker value that never was in force may be later.
CURRENT_OF_ROOT = f"""{_ROWS} AND root = :root
ORDER BY CASE WHEN known_to IS NULL THEN 0 ELSE 1 END, version DESC LIMIT 1"""

TURN_AT = """
SELECT id FROM memories
WHERE owner = :owner AND session = :session AND position = :position AND known_to IS NULL
  AND COALESCE(task, '') = :task AND COALESCE(audience, '') = :audience
  AND COALESCE(purpose, '') = :purpose"""

# The end of a conversation, newest first.
LAST_TURNS = """
SELECT hash, message_id, role, position, valid_from, id,
  CASE WHEN version > 1 AND content LIKE :cut THEN 1 ELSE 0 END
FROM memories
WHERE owner = :owner AND session = :session AND position IS NOT NULL AND known_to IS NULL
  AND COALESCE(task, '') = :task AND COALESCE(purpose, '') = :purpose
ORDER BY position DESC LIMIT :limit"""

ENDED_BY = f"{_ROWS} AND ended_by = :id AND ended = 'superseded'"

KNOWN = f"""
{_ROWS} AND position IS NULL AND known_to IS NULL AND COALESCE(purpose, '') = :purpose
  AND task IS NULL AND audience IS NULL AND sensitivity <> 'sensitive' AND kind <> 'episodic'
ORDER BY CASE WHEN key IS NULL THEN 1 ELSE 0 END, updated_at DESC, id LIMIT 40"""

SESSION_ROOTS = "SELECT DISTINCT root FROM memories WHERE owner = :owner AND session = :session"

LAST_FACTS = f"""{_ROWS} AND session = :session AND key IS NOT NULL AND known_to IS NULL
AND id >= (
  SELECT id FROM (
    SELECT id FROM memories WHERE owner = :owner AND session = :session AND position IS NOT NULL
    ORDER BY position DESC LIMIT :limit) AS last
  ORDER BY id LIMIT 1)
ORDER BY id DESC"""

LAST_SAID = """
SELECT root FROM memories
WHERE owner = :owner AND session = :session AND position IS NOT NULL AND role = 'user'
  AND source = 'user_stated' AND known_to IS NULL AND (marks & :gap) = 0
ORDER BY position DESC LIMIT :limit"""


LAST_POSITION = "SELECT MAX(position) FROM memories WHERE owner = :owner AND session = :session"

SLOT = f"""{_ROWS} AND subject = :subject AND predicate = :predicate AND known_to IS NULL
ORDER BY id"""

LAST_VERSION = "SELECT MAX(version) FROM memories WHERE owner = :owner AND root = :root"

KEYS = """
SELECT key, task, audience, purpose, hard_expires_at FROM memories
WHERE owner = :owner AND known_to IS NULL AND key IS NOT NULL LIMIT 10000"""

LIST = f"{_ROWS} AND known_to IS NULL AND id < :before ORDER BY id DESC LIMIT :limit"

# What was known at a moment, and what was said to be true at another, by versions.
AS_OF = f"""{_ROWS} AND known_from <= :known_at AND (known_to IS NULL OR known_to > known_from)
  AND (ended IS NULL OR known_to > :known_at OR ended = 'superseded')
ORDER BY root, version"""

UNSHOWN = "quote_start quote_end ttl terms marks fingerprint vector scale token_ids salt".split()
SHOWN = tuple(name for name in MEMORY if name not in UNSHOWN)
"""The columns that a record is made of."""


def _ids(count: int) -> str:
    return f"({', '.join(f':id{number}' for number in range(count))})"


@lru_cache
def by_ids(count: int) -> str:
    """Return the statement for what is shown of this many memories by id."""
    return f"SELECT {', '.join(SHOWN)} FROM memories WHERE owner = :owner AND id IN {_ids(count)}"


@lru_cache
def tokens_of(count: int) -> str:
    """Return the statement for the token vectors of this many memories by id."""
    return f"SELECT memory, vectors FROM tokens WHERE owner = :owner AND memory IN {_ids(count)}"


@lru_cache
def last_reads(count: int) -> str:
    """Return the statement for when so many memories, by id, were last read."""
    return f"""
SELECT m.id, MAX(r.last) FROM memories m
JOIN reads r ON r.owner = m.owner AND r.memory = m.root
WHERE m.owner = :owner AND m.id IN {_ids(count)} GROUP BY m.id"""


# -- what the index keeps --------------------------------------------------------------------------

INDEXED = tuple(
    """
    id kind category source key fingerprint task audience purpose terms marks vector scale token_ids
    embedder speaker role session position importance confidence status pinned created_at updated_at
    valid_from valid_to soft_expires_at hard_expires_at known_to utc_offset
    """.split()
)
_INDEXED = f"SELECT {', '.join(INDEXED)} FROM memories WHERE owner = :owner"

# The first load wants what is in force, in the order of its making; a later one what changed.
LOAD = f"{_INDEXED} AND known_to IS NULL ORDER BY id"
LOAD_SINCE = f"""{_INDEXED} AND id IN (
  SELECT subject FROM events WHERE owner = :owner AND seq > :seen AND subject_table = 'memories'
) ORDER BY id"""

# -- the audit chain -------------------------------------------------------------------------------

EVENT = "seq at type actor subject_table subject reason data digest code".split()
_EVENT = ", ".join(EVENT)

APPEND = f"INSERT INTO events (owner, {_EVENT}) VALUES (:owner, :{', :'.join(EVENT)})"
_EVENTS = f"SELECT {_EVENT} FROM events WHERE owner = :owner"
EVENTS = f"{_EVENTS} AND seq > :after ORDER BY seq LIMIT :limit"
EVENTS_BACKWARDS = f"{_EVENTS} AND seq < :before ORDER BY seq DESC LIMIT :limit"

# -- endings ---------------------------------------------------------------------------------------

NOTE_ENDING = """
INSERT INTO endings (owner, older, newer, start, stop, at)
VALUES (:owner, :older, :newer, :start, :stop, :at) ON CONFLICT DO NOTHING"""
FORGET_ENDED = "DELETE FROM endings WHERE owner = :owner AND older = :id"
FORGET_ENDINGS = "DELETE FROM endings WHERE owner = :owner AND newer = :root"


@lru_cache
def ended_of(count: int) -> str:
    """Return the statement for what has ended by a moment of this many memories by id.

    Also of what ended them, and so on. Each row has the version in force of the newer memory.
    """
    return f"""
WITH RECURSIVE chain (owner, older, newer, start, stop) AS (
  SELECT owner, older, newer, start, stop FROM endings
  WHERE owner = :owner AND older IN {_ids(count)} AND at <= :known_at
  UNION
  SELECT e.owner, e.older, e.newer, e.start, e.stop FROM endings e
  JOIN memories m ON m.owner = e.owner AND m.id = e.older AND m.known_to IS NULL
  JOIN chain c ON c.newer = m.root
  WHERE e.owner = :owner AND e.at <= :known_at)
SELECT c.older, c.start, c.stop,
  (SELECT id FROM memories WHERE owner = :owner AND root = c.newer AND known_to IS NULL)
FROM chain c WHERE c.owner = :owner"""


# -- what goes with memories -----------------------------------------------------------------------

COUNT_READ = """
INSERT INTO reads (owner, memory, day, count, last)
SELECT owner, root, CAST(:day AS BIGINT), CAST(:count AS BIGINT), CAST(:last AS BIGINT)
FROM memories WHERE owner = :owner AND root = :memory LIMIT 1
ON CONFLICT (owner, memory, day) DO UPDATE SET count = reads.count + :count,
  last = CASE WHEN reads.last > :last THEN reads.last ELSE :last END"""

KEEP_RECEIPT = """
INSERT INTO receipts (owner, id, at, purpose, data) VALUES (:owner, :id, :at, :purpose, :data)
ON CONFLICT DO NOTHING"""
RECEIPTS = """
SELECT id, at, data FROM receipts
WHERE owner = :owner AND purpose = :purpose AND at >= :since
ORDER BY at DESC, id DESC LIMIT :limit"""
# A receipt names ids in full, which nothing else in it can look like.
FORGET_RECEIPTS = "DELETE FROM receipts WHERE owner = :owner AND data LIKE :shows"
# Ids begin with their time.
FORGET_OLD_RECEIPTS = "DELETE FROM receipts WHERE owner = :owner AND id < :before"


@lru_cache
def forget_receipt(count: int) -> str:
    """Return the statement that deletes a receipt if not all of its memories are there."""
    return f"""
DELETE FROM receipts WHERE owner = :owner AND id = :id
AND (SELECT COUNT(*) FROM memories WHERE owner = :owner AND id IN {_ids(count)}) < :shown"""


NOTE_ECHO = """
INSERT INTO echoes (owner, session, fingerprint, memory, at)
VALUES (:owner, :session, :fingerprint, :memory, :at)
ON CONFLICT (owner, session, fingerprint) DO UPDATE SET at = excluded.at"""
ECHOES = "SELECT fingerprint FROM echoes WHERE owner = :owner AND session = :session"
FORGET_ECHOES = "DELETE FROM echoes WHERE owner = :owner AND memory = :memory"
FORGET_LATE_ECHOES = f"""{FORGET_ECHOES}
AND NOT EXISTS (SELECT 1 FROM memories WHERE owner = :owner AND root = :memory)"""

FORGET_READS = "DELETE FROM reads WHERE owner = :owner AND memory = :memory"


@lru_cache
def reads_of(count: int) -> str:
    """Return the statement for count and last read of this many memories."""
    return f"""
SELECT memory, CAST(SUM(count) AS BIGINT), MAX(last) FROM reads
WHERE owner = :owner AND memory IN {_ids(count)} GROUP BY memory"""


DERIVED = """
SELECT child FROM derived
WHERE owner = :owner AND parent_owner = :parent_owner AND parent = :parent"""


DERIVE = """
INSERT INTO derived (owner, parent_owner, parent, child)
VALUES (:owner, :parent_owner, :parent, :child) ON CONFLICT DO NOTHING"""
FORGET_DERIVED = "DELETE FROM derived WHERE owner = :owner AND (parent = :id OR child = :id)"

# Counters without a day are of the digests' floor.
COUNTERS = "SELECT name, value FROM counters WHERE owner = :owner AND day = 0"
SET_COUNTER = """
INSERT INTO counters (owner, day, name, value) VALUES (:owner, 0, :name, :value)
ON CONFLICT (owner, day, name) DO UPDATE SET value = excluded.value"""

COUNTED = "SELECT value FROM counters WHERE owner = :owner AND day = :day AND name = :name"
COUNT = """
INSERT INTO counters (owner, day, name, value) VALUES (:owner, :day, :name, :value)
ON CONFLICT (owner, day, name) DO UPDATE SET value = counters.value + excluded.value"""

TOMBSTONES = "SELECT id, digest FROM tombstones WHERE owner = :owner AND digest = :digest"
REFUSALS = "SELECT id, kind, value, at, data FROM consents WHERE owner = :owner ORDER BY at, id"
PENDING = """
SELECT id, kind, at, expires, session, data FROM pending WHERE owner = :owner ORDER BY at, id"""

OPEN_TASK = "SELECT id, data FROM tasks WHERE owner = :owner AND name = :name AND status = :status"
TASKS = f"SELECT {', '.join(TABLES['tasks'])} FROM tasks WHERE owner = :owner"
TASK = f"{TASKS} AND id = :id"
OF_TASK = """
SELECT id FROM memories
WHERE owner = :owner AND task = :task AND COALESCE(purpose, '') = :purpose"""

# -- conversations ---------------------------------------------------------------------------------
# A conversation has parts; each ends once. These rows hold times and places, never content.

_PART = "id, name, part, status, step, begun, last, ended, turns, data"
LAST_PART = f"""
SELECT {_PART} FROM sessions WHERE owner = :owner AND name = :name ORDER BY part DESC LIMIT 1"""
PARTS = f"SELECT {_PART} FROM sessions WHERE owner = :owner ORDER BY last DESC, id DESC"
PART = f"SELECT {_PART} FROM sessions WHERE owner = :owner AND id = :id"
BEGIN_PART = """
INSERT INTO sessions (owner, id, name, part, status, step, begun, last, turns, data, salt)
VALUES (:owner, :id, :name, :part, 'open', '', :begun, :last, :turns, :data, :salt)"""
GO_ON = """
UPDATE sessions SET last = CASE WHEN last > :last THEN last ELSE :last END, turns = turns + :turns
WHERE owner = :owner AND id = :id"""
KEEP_DATA = "UPDATE sessions SET data = :data WHERE owner = :owner AND id = :id"
ENDING = f"""
SELECT {_PART} FROM sessions WHERE owner = :owner AND name = :name AND status = 'ending'
ORDER BY part"""
BEGIN_END = """
UPDATE sessions SET status = 'ending', data = :data
WHERE owner = :owner AND id = :id AND status = 'open'"""
TAKE_STEP = """
UPDATE sessions SET step = :step, status = :status, ended = :ended
WHERE owner = :owner AND id = :id AND step = :before AND status = 'ending' RETURNING id"""

TURNS_BETWEEN = f"""
{_ROWS} AND session = :session AND position BETWEEN :first AND :last
  AND known_to IS NULL AND COALESCE(task, '') = :task AND COALESCE(purpose, '') = :purpose
ORDER BY position LIMIT :limit"""


@lru_cache
def learned_from(count: int) -> str:
    """Return the statement for what is in force of what was learned from this many turns."""
    return f"""
SELECT {", ".join(f"m.{name}" for name in MEMORY)} FROM memories m
JOIN derived d ON d.owner = m.owner AND d.child = m.root
WHERE d.owner = :owner AND d.parent_owner = :owner AND d.parent IN {_ids(count)}
AND m.known_to IS NULL ORDER BY m.id"""


SET_DUE = """
INSERT INTO due (at, owner, job) VALUES (:at, :owner, :job)
ON CONFLICT (owner, job) DO UPDATE SET at = excluded.at"""
DUE_AT = "SELECT at FROM due WHERE owner = :owner AND job = :job"
NOT_DUE = "DELETE FROM due WHERE owner = :owner AND job = :job"
NOT_DUE_AT = f"{NOT_DUE} AND at = :at"

GRANTS = """
SELECT id, grantee, right_, subject, by_, at FROM grants WHERE owner = :owner
ORDER BY grantee, right_, subject"""

IDEMPOTENT = "SELECT hash, kind, memory FROM idempotency WHERE owner = :owner AND key = :key"
KEEP_IDEMPOTENT = """
INSERT INTO idempotency (owner, key, hash, kind, memory, at)
VALUES (:owner, :key, :hash, :kind, :memory, :at)"""
