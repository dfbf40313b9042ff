-- Migration 1: every table of simonides.
--
-- * `owner` is a 16-byte digest of the owner's path under the store's salt; it leads every key, so
--   that one owner's rows lie together and no statement can do without naming an owner.
-- * Tables have no row ids. Wide columns stand last: what filters is read without them.
-- * A `*_tag` is a 16-byte digest under the store's tag key, bound to owner and field. Whoever has
--   the file but not the key cannot try words against it.
-- * Times are µs since 1970 UTC. `key_id` stays NULL until a key ring is set; until then the `mac`
--   of a memory is an unkeyed code of its content, and that of a state is NULL.
-- * A table that no code writes yet has the columns that its feature needs at least: what
--   describes one thing is a canonical JSON `body`, which can be sealed.

-- Facts about the store itself: `salt` of the owner digests, `tag_key` of the tags.
CREATE TABLE meta (
    name TEXT NOT NULL PRIMARY KEY,
    value BLOB NOT NULL
) STRICT, WITHOUT ROWID;

-- Which files of this directory were run, and the SHA-256 of each as it was then.
CREATE TABLE migrations (
    number INTEGER NOT NULL PRIMARY KEY,
    name TEXT NOT NULL,
    checksum BLOB NOT NULL
) STRICT, WITHOUT ROWID;

-- Where each owner stands. `rows` and `bytes` are NULL until quotas count them. `set_sum` is NULL
-- without a key ring; with one it covers the set of the owner's memories. `live` counts the live
-- memories of an owner without one, and is NULL otherwise: a damaged key takes its row out of every
-- answer, and a count that differs shows that.
CREATE TABLE owners (
    owner BLOB NOT NULL PRIMARY KEY,
    incarnation BLOB NOT NULL,
    epoch INTEGER NOT NULL,
    revision INTEGER NOT NULL,
    last_known_at INTEGER NOT NULL,
    head_seq INTEGER NOT NULL,
    head_mac BLOB NOT NULL,
    set_sum BLOB,
    rows INTEGER,
    bytes INTEGER,
    key_id TEXT,
    embedder TEXT,
    analyser TEXT,
    erased_at INTEGER,
    name TEXT NOT NULL,
    live INTEGER
) STRICT, WITHOUT ROWID;

-- Content versions, each with the state in force repeated from `states`, so that an index is built
-- from one run of rows. Kind, validity and place in a session are inside body and state.
CREATE TABLE memories (
    owner BLOB NOT NULL,
    id TEXT NOT NULL,
    version INTEGER NOT NULL,
    revision INTEGER NOT NULL,
    status INTEGER NOT NULL,
    known_from INTEGER NOT NULL,
    due_at INTEGER,
    codec INTEGER NOT NULL,
    scope_tag BLOB NOT NULL,
    chain_tag BLOB NOT NULL,
    key_tag BLOB,
    hash_tag BLOB NOT NULL,
    slot_tag BLOB,
    source_tag BLOB,
    session_tag BLOB,
    key_id TEXT,
    mac BLOB,
    state BLOB NOT NULL,
    body BLOB NOT NULL,
    PRIMARY KEY (owner, id)
) STRICT, WITHOUT ROWID;

-- Every state of every memory. Keyed by the commit that opened it, which makes "what changed since
-- revision r" a range of this table; `previous` is the revision of the state before.
CREATE TABLE states (
    owner BLOB NOT NULL,
    revision INTEGER NOT NULL,
    id TEXT NOT NULL,
    previous INTEGER,
    status INTEGER NOT NULL,
    known_from INTEGER NOT NULL,
    known_to INTEGER,
    key_id TEXT,
    mac BLOB,
    state BLOB NOT NULL,
    PRIMARY KEY (owner, revision, id)
) STRICT, WITHOUT ROWID;

-- What may be looked up other than by id, in one narrow table: chains (place: version), keys
-- (place 0) and subjects of events (place: seq, id empty). What is looked up is inside the tag.
CREATE TABLE lookups (
    owner BLOB NOT NULL,
    tag BLOB NOT NULL,
    place INTEGER NOT NULL,
    id TEXT NOT NULL,
    PRIMARY KEY (owner, tag, place, id)
) STRICT, WITHOUT ROWID;

-- Terms and vector of a memory as retrieval packed them; rebuilt without touching the memory.
CREATE TABLE index_rows (
    owner BLOB NOT NULL,
    id TEXT NOT NULL,
    analyser TEXT NOT NULL,
    embedder TEXT NOT NULL,
    entry BLOB NOT NULL,
    PRIMARY KEY (owner, id)
) STRICT, WITHOUT ROWID;

-- The audit chain. Rows are only ever appended. The chain covers the commitment to salt and payload;
-- these are NULL once erased, and the chain still verifies. They lie in the event's own row because
-- a write logs every page that it touches whole: a second table is a second page for each event.
CREATE TABLE events (
    owner BLOB NOT NULL,
    seq INTEGER NOT NULL,
    key_id TEXT,
    commitment BLOB NOT NULL,
    mac BLOB NOT NULL,
    salt BLOB,
    payload BLOB CHECK ((payload IS NULL) = (salt IS NULL)),
    PRIMARY KEY (owner, seq)
) STRICT, WITHOUT ROWID;

-- Payloads as a part of an owner of their own, as a move to another store reads and writes them.
CREATE VIEW event_payloads AS
SELECT owner, seq, salt, payload FROM events WHERE payload IS NOT NULL;

CREATE TRIGGER event_payloads_arrive INSTEAD OF INSERT ON event_payloads
BEGIN
    SELECT RAISE(ABORT, 'no event waits for this payload')
    WHERE NOT EXISTS (
        SELECT 1 FROM events
        WHERE owner = NEW.owner AND seq = NEW.seq AND payload IS NULL
    );
    UPDATE events SET salt = NEW.salt, payload = NEW.payload
    WHERE owner = NEW.owner AND seq = NEW.seq;
END;

-- What was derived from a memory of this owner, possibly by another owner.
CREATE TABLE derivations (
    owner BLOB NOT NULL,
    parent TEXT NOT NULL,
    child_owner BLOB NOT NULL,
    child TEXT NOT NULL,
    PRIMARY KEY (owner, parent, child_owner, child)
) STRICT, WITHOUT ROWID;

-- The same edges from the child's side, for forgetting a child.
CREATE INDEX derivations_by_child ON derivations (owner, child_owner, child);

-- Work for other owners, committed with its cause.
CREATE TABLE outbox (
    owner BLOB NOT NULL,
    id TEXT NOT NULL,
    target TEXT NOT NULL,
    body BLOB NOT NULL,
    PRIMARY KEY (owner, id)
) STRICT, WITHOUT ROWID;

-- Fingerprints never to be learned again.
CREATE TABLE tombstones (
    owner BLOB NOT NULL,
    tag BLOB NOT NULL,
    PRIMARY KEY (owner, tag)
) STRICT, WITHOUT ROWID;

-- Writes done under a caller's key.
CREATE TABLE idempotency (
    owner BLOB NOT NULL,
    tag BLOB NOT NULL,
    revision INTEGER NOT NULL,
    request BLOB NOT NULL,
    answer BLOB NOT NULL,
    PRIMARY KEY (owner, tag)
) STRICT, WITHOUT ROWID;

-- Candidates kept back.
CREATE TABLE held (
    owner BLOB NOT NULL,
    id TEXT NOT NULL,
    session_tag BLOB,
    reason TEXT NOT NULL,
    held_at INTEGER NOT NULL,
    session TEXT,
    body BLOB NOT NULL,
    PRIMARY KEY (owner, id)
) STRICT, WITHOUT ROWID;

-- Rights given, kept with the org that they concern.
CREATE TABLE grants (
    owner BLOB NOT NULL,
    tag BLOB NOT NULL,
    body BLOB NOT NULL,
    PRIMARY KEY (owner, tag)
) STRICT, WITHOUT ROWID;

-- What readers did; in no chain and no revision. `n` counts per owner.
CREATE TABLE read_journal (
    owner BLOB NOT NULL,
    n INTEGER NOT NULL,
    at INTEGER NOT NULL,
    kind TEXT NOT NULL,
    body BLOB NOT NULL,
    PRIMARY KEY (owner, n)
) STRICT, WITHOUT ROWID;

-- How far the end of a session was worked through.
CREATE TABLE session_ends (
    owner BLOB NOT NULL,
    session_tag BLOB NOT NULL,
    step TEXT NOT NULL,
    at INTEGER NOT NULL,
    body BLOB NOT NULL,
    PRIMARY KEY (owner, session_tag)
) STRICT, WITHOUT ROWID;

-- Conversations and their turns (L1).
CREATE TABLE sessions (
    owner BLOB NOT NULL,
    session_tag BLOB NOT NULL,
    started_at INTEGER NOT NULL,
    due_at INTEGER,
    body BLOB NOT NULL,
    PRIMARY KEY (owner, session_tag)
) STRICT, WITHOUT ROWID;

CREATE TABLE turns (
    owner BLOB NOT NULL,
    session_tag BLOB NOT NULL,
    turn_no INTEGER NOT NULL,
    at INTEGER NOT NULL,
    body BLOB NOT NULL,
    PRIMARY KEY (owner, session_tag, turn_no)
) STRICT, WITHOUT ROWID;

-- Conflicts and findings that wait for a person.
CREATE TABLE reviews (
    owner BLOB NOT NULL,
    id TEXT NOT NULL,
    status TEXT NOT NULL,
    at INTEGER NOT NULL,
    body BLOB NOT NULL,
    PRIMARY KEY (owner, id)
) STRICT, WITHOUT ROWID;

-- What a person refused or allowed to be remembered.
CREATE TABLE consents (
    owner BLOB NOT NULL,
    tag BLOB NOT NULL,
    at INTEGER NOT NULL,
    body BLOB NOT NULL,
    PRIMARY KEY (owner, tag)
) STRICT, WITHOUT ROWID;

-- Scopes that live with an owner, its tasks for example.
CREATE TABLE scopes (
    owner BLOB NOT NULL,
    scope_tag BLOB NOT NULL,
    at INTEGER NOT NULL,
    body BLOB NOT NULL,
    PRIMARY KEY (owner, scope_tag)
) STRICT, WITHOUT ROWID;

-- Policies that were in force.
CREATE TABLE policies (
    owner BLOB NOT NULL,
    version INTEGER NOT NULL,
    hash BLOB NOT NULL,
    at INTEGER NOT NULL,
    body BLOB NOT NULL,
    PRIMARY KEY (owner, version)
) STRICT, WITHOUT ROWID;

-- What an owner used per day, counted in days since 1970 UTC.
CREATE TABLE usage (
    owner BLOB NOT NULL,
    day INTEGER NOT NULL,
    body BLOB NOT NULL,
    PRIMARY KEY (owner, day)
) STRICT, WITHOUT ROWID;

-- Who works on what in the background, and until when.
CREATE TABLE leases (
    owner BLOB NOT NULL,
    name TEXT NOT NULL,
    holder TEXT NOT NULL,
    until INTEGER NOT NULL,
    PRIMARY KEY (owner, name)
) STRICT, WITHOUT ROWID;

-- An owner's keys, wrapped; destroying them is crypto-shredding.
CREATE TABLE owner_keys (
    owner BLOB NOT NULL,
    key_id TEXT NOT NULL,
    wrapped BLOB,
    destroyed_at INTEGER,
    PRIMARY KEY (owner, key_id)
) STRICT, WITHOUT ROWID;
