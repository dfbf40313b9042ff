-- Every statement of the SQLite store, named. Values are bound, never written in.
-- Rows of memories come in the order of StoredRow's fields.

-- name: meta
SELECT value FROM meta WHERE name = :name;

-- name: add_meta
INSERT INTO meta (name, value) VALUES (:name, :value);

-- name: migrations
SELECT number, name, checksum FROM migrations ORDER BY number;

-- name: add_migration
INSERT INTO migrations (number, name, checksum) VALUES (:number, :name, :checksum);

-- name: owner_names
-- For the operator: all owners. As bytes: what somebody wrote there by hand may be no text.
-- Who was erased is there again once written again.
SELECT owner, CAST(name AS BLOB) FROM owners WHERE erased_at IS NULL OR last_known_at > erased_at;

-- name: nameless
-- For the operator: whose rows have no owner.
SELECT owner FROM events UNION SELECT owner FROM memories EXCEPT SELECT owner FROM owners;

-- name: head
SELECT incarnation, epoch, revision, last_known_at, head_seq, head_mac FROM owners
WHERE owner = :owner;

-- name: heads
-- A user, its org and the root are three.
SELECT owner, incarnation, epoch, revision, last_known_at, head_seq FROM owners
WHERE owner IN (:owner, :owner_2, :owner_3);

-- name: chain_head
SELECT head_seq, head_mac FROM owners WHERE owner = :owner;

-- name: add_owner
INSERT INTO owners (owner, name, incarnation, epoch, revision, last_known_at, head_seq, head_mac,
    live)
VALUES (:owner, :name, :incarnation, :epoch, :revision, :known_at, :seq, :mac, :more);

-- name: move_owner
-- The name too: whoever was erased has none.
UPDATE owners
SET name = :name, epoch = :epoch, revision = :revision, last_known_at = :known_at, head_seq = :seq,
    head_mac = :mac, live = live + :more
WHERE owner = :owner;

-- name: live
-- How many memories of three statuses there are; NULL where codes cover the set of memories.
SELECT live FROM owners WHERE owner = :owner;

-- name: count_live
UPDATE owners SET live = (SELECT count(*) FROM memories AS m
    WHERE m.owner = :owner AND m.status IN (:live_1, :live_2, :live_3))
WHERE owner = :owner;

-- name: live_rows
-- All rows of these three statuses. Sorted by the caller: a sort in here would carry the blobs.
SELECT m.id, m.revision, m.body, m.state, ifnull(i.entry, x''), m.known_from, NULL
FROM memories AS m LEFT JOIN index_rows AS i ON i.owner = :owner AND i.id = m.id
WHERE m.owner = :owner AND m.status IN (:live_1, :live_2, :live_3);

-- name: changed_rows
-- The open states begun after a revision are the rows changed since.
SELECT m.id, m.revision, m.body, m.state, ifnull(i.entry, x''), m.known_from, NULL
FROM states AS s
CROSS JOIN memories AS m ON m.owner = :owner AND m.id = s.id
LEFT JOIN index_rows AS i ON i.owner = :owner AND i.id = s.id
WHERE s.owner = :owner AND s.revision > :revision AND s.known_to IS NULL
ORDER BY s.revision, s.id;

-- name: rows_as_of
SELECT m.id, s.revision, m.body, s.state, ifnull(i.entry, x''), s.known_from, s.known_to
FROM states AS s
CROSS JOIN memories AS m ON m.owner = :owner AND m.id = s.id
LEFT JOIN index_rows AS i ON i.owner = :owner AND i.id = s.id
WHERE s.owner = :owner AND s.known_from <= :known_at
  AND (s.known_to IS NULL OR s.known_to > :known_at)
  AND s.status IN (:live_1, :live_2, :live_3, :given_way);

-- name: rows_of_ids
-- Ids as one JSON array: a statement for each of many takes twice as long. In any order: a sort in
-- here would carry the blobs.
SELECT m.id, m.revision, m.body, m.state, ifnull(i.entry, x''), m.known_from, NULL
FROM json_each(:ids) AS j
CROSS JOIN memories AS m ON m.owner = :owner AND m.id = j.value
LEFT JOIN index_rows AS i ON i.owner = :owner AND i.id = m.id;

-- name: rows_page
SELECT m.id, m.revision, m.body, m.state, ifnull(i.entry, x''), m.known_from, NULL
FROM memories AS m LEFT JOIN index_rows AS i ON i.owner = :owner AND i.id = m.id
WHERE m.owner = :owner AND m.id > :after
ORDER BY m.id LIMIT :limit;

-- name: rows_by_tag
SELECT m.id, m.revision, m.body, m.state, ifnull(i.entry, x''), m.known_from, NULL
FROM lookups AS l
CROSS JOIN memories AS m ON m.owner = :owner AND m.id = l.id
LEFT JOIN index_rows AS i ON i.owner = :owner AND i.id = l.id
WHERE l.owner = :owner AND l.tag = :tag
ORDER BY l.place, l.id;

-- name: states_of
-- From the open state back through the chain of `previous`; oldest first.
WITH RECURSIVE story (revision, previous, state, known_from, known_to) AS (
    SELECT s.revision, s.previous, s.state, s.known_from, s.known_to
    FROM memories AS m CROSS JOIN states AS s
    ON s.owner = :owner AND s.revision = m.revision AND s.id = :id
    WHERE m.owner = :owner AND m.id = :id
    UNION ALL
    SELECT s.revision, s.previous, s.state, s.known_from, s.known_to
    FROM story CROSS JOIN states AS s
    ON s.owner = :owner AND s.revision = story.previous AND s.id = :id
)
SELECT revision, state, known_from, known_to FROM story ORDER BY revision;

-- name: top_version
SELECT max(place) FROM lookups WHERE owner = :owner AND tag = :tag;

-- name: add_memory
-- Changes nothing if the id exists; the caller counts.
INSERT INTO memories (
    owner, id, version, revision, status, known_from, due_at, codec, scope_tag, chain_tag,
    key_tag, hash_tag, slot_tag, session_tag, mac, state, body)
VALUES (
    :owner, :id, :version, :revision, :status, :known_from, :due_at, :codec, :scope_tag,
    :chain_tag, :key_tag, :hash_tag, :slot_tag, :session_tag, :mac, :state, :body)
ON CONFLICT DO NOTHING;

-- name: restate_memory
UPDATE memories
SET revision = :revision, status = :status, known_from = :known_from, due_at = :due_at,
    state = :state
WHERE owner = :owner AND id = :id;

-- name: add_state
INSERT INTO states (owner, revision, id, previous, status, known_from, state)
VALUES (:owner, :revision, :id, :previous, :status, :known_from, :state);

-- name: end_state
UPDATE states SET known_to = :known_to
WHERE owner = :owner AND revision = :revision AND id = :id;

-- name: add_index_row
INSERT INTO index_rows (owner, id, analyser, embedder, entry)
VALUES (:owner, :id, :analyser, :embedder, :entry);

-- name: put_index_row
REPLACE INTO index_rows (owner, id, analyser, embedder, entry)
VALUES (:owner, :id, :analyser, :embedder, :entry);

-- name: renew_index_row
-- Only where the memory and its entry stand as they did; the caller counts.
INSERT INTO index_rows (owner, id, analyser, embedder, entry)
SELECT m.owner, m.id, :analyser, :embedder, :entry
FROM memories AS m LEFT JOIN index_rows AS i ON i.owner = :owner AND i.id = :id
WHERE m.owner = :owner AND m.id = :id AND m.revision = :revision AND ifnull(i.entry, x'') = :before
ON CONFLICT (owner, id) DO UPDATE
SET analyser = excluded.analyser, embedder = excluded.embedder, entry = excluded.entry;

-- name: add_lookup
INSERT INTO lookups (owner, tag, place, id) VALUES (:owner, :tag, :place, :id)
ON CONFLICT DO NOTHING;

-- name: add_derivation
-- Only if the parent is this owner's.
INSERT INTO derivations (owner, parent, child_owner, child)
SELECT m.owner, m.id, :child_owner, :child FROM memories AS m
WHERE m.owner = :owner AND m.id = :parent
ON CONFLICT DO NOTHING;

-- name: derived
SELECT CAST(n.name AS BLOB), d.child FROM derivations AS d JOIN owners AS n ON n.owner = d.child_owner
WHERE d.owner = :owner AND d.parent = :parent;

-- name: contents
-- Every content with its code, whether the state in force is open and of this status, and both
-- copies of it: they are compared by who reads, for each may be encrypted by itself.
SELECT m.id, m.version, m.mac, m.body,
    s.known_to IS NULL AND s.status IS m.status AND s.known_from IS m.known_from,
    m.revision, m.known_from, m.state, s.state
FROM memories AS m
LEFT JOIN states AS s ON s.owner = :owner AND s.revision = m.revision AND s.id = m.id
WHERE m.owner = :owner;

-- name: bereft
-- Parts of memories that are not there themselves.
SELECT s.id FROM states AS s WHERE s.owner = :owner AND NOT EXISTS (
    SELECT 1 FROM memories AS m WHERE m.owner = :owner AND m.id = s.id)
UNION SELECT i.id FROM index_rows AS i WHERE i.owner = :owner AND NOT EXISTS (
    SELECT 1 FROM memories AS m WHERE m.owner = :owner AND m.id = i.id)
UNION SELECT l.id FROM lookups AS l WHERE l.owner = :owner AND l.id <> '' AND NOT EXISTS (
    SELECT 1 FROM memories AS m WHERE m.owner = :owner AND m.id = l.id);

-- name: traces
-- What has to be known of a memory to remove everything that points at it.
SELECT m.id, m.version, m.revision, m.chain_tag, m.key_tag, m.status
FROM json_each(:ids) AS j CROSS JOIN memories AS m ON m.owner = :owner AND m.id = j.value;

-- name: drop_states
-- The same walk as in states_of, for many memories at once: pairs of id and revision as JSON.
WITH RECURSIVE story (id, revision) AS (
    SELECT j.value ->> 0, j.value ->> 1 FROM json_each(:stood) AS j
    UNION ALL
    SELECT story.id, s.previous FROM story CROSS JOIN states AS s
    ON s.owner = :owner AND s.revision = story.revision AND s.id = story.id
    WHERE s.previous IS NOT NULL
)
DELETE FROM states WHERE owner = :owner AND (revision, id) IN (SELECT revision, id FROM story);

-- name: drop_memory
DELETE FROM memories WHERE owner = :owner AND id = :id;

-- name: drop_index_row
DELETE FROM index_rows WHERE owner = :owner AND id = :id;

-- name: drop_lookup
DELETE FROM lookups WHERE owner = :owner AND tag = :tag AND place = :place AND id = :id;

-- name: drop_derivations_of_parent
-- Those to other owners stay: the owner's erasure is to find what they have of it.
DELETE FROM derivations WHERE owner = :owner AND child_owner = :owner AND parent = :id;

-- name: drop_derivations_of_child
DELETE FROM derivations WHERE owner = :owner AND child_owner = :owner AND child = :id;

-- name: drop_payloads
-- Salt and payload of every event about some subjects, by their tags as hex in JSON; commitment and
-- code stay.
UPDATE events SET salt = NULL, payload = NULL
WHERE owner = :owner AND seq IN (SELECT l.place FROM json_each(:tags) AS j
    CROSS JOIN lookups AS l ON l.owner = :owner AND l.tag = unhex(j.value));

-- name: drop_lookups
DELETE FROM lookups
WHERE owner = :owner AND tag IN (SELECT unhex(j.value) FROM json_each(:tags) AS j);

-- name: add_event
INSERT INTO events (owner, seq, commitment, mac, salt, payload)
VALUES (:owner, :seq, :commitment, :mac, :salt, :payload);

-- name: links
SELECT seq, commitment, mac, salt, payload FROM events
WHERE owner = :owner AND seq > :after
ORDER BY seq LIMIT :limit;

-- name: tombstone
SELECT tag FROM tombstones WHERE owner = :owner AND tag = :tag;

-- name: add_tombstone
INSERT INTO tombstones (owner, tag) VALUES (:owner, :tag) ON CONFLICT DO NOTHING;

-- name: drop_tombstone
DELETE FROM tombstones WHERE owner = :owner AND tag = :tag;

-- name: idempotent
SELECT request, answer FROM idempotency WHERE owner = :owner AND tag = :tag;

-- name: add_idempotent
-- Changes nothing if the key was used; the caller counts.
INSERT INTO idempotency (owner, tag, revision, request, answer)
VALUES (:owner, :tag, :revision, :request, :answer)
ON CONFLICT DO NOTHING;

-- name: held
SELECT id, session, reason, body, held_at FROM held WHERE owner = :owner ORDER BY id;

-- name: held_of_session
SELECT id, session, reason, body, held_at FROM held
WHERE owner = :owner AND session_tag = :session_tag ORDER BY id;

-- name: put_held
INSERT OR REPLACE INTO held (owner, id, session_tag, reason, held_at, session, body)
VALUES (:owner, :id, :session_tag, :reason, :held_at, :session, :body);

-- name: drop_held
DELETE FROM held WHERE owner = :owner AND id = :id;

-- name: grants
SELECT body FROM grants WHERE owner = :owner;

-- name: put_grant
INSERT OR REPLACE INTO grants (owner, tag, body) VALUES (:owner, :tag, :body);

-- name: drop_grant
DELETE FROM grants WHERE owner = :owner AND tag = :tag;

-- name: last_policy
SELECT hash, at, body FROM policies WHERE owner = :owner ORDER BY version DESC LIMIT 1;

-- name: add_policy
INSERT INTO policies (owner, version, hash, at, body)
SELECT :owner, coalesce(max(version), 0) + 1, :hash, :at, :body
FROM policies WHERE owner = :owner;

-- name: add_outbox
-- Changes nothing if the id exists; the caller counts.
INSERT INTO outbox (owner, id, target, body) VALUES (:owner, :id, :target, :body)
ON CONFLICT DO NOTHING;

-- name: outbox
SELECT CAST(n.name AS BLOB), o.id, o.target, o.body
FROM outbox AS o JOIN owners AS n ON n.owner = o.owner
WHERE o.owner = :owner ORDER BY o.id LIMIT :limit;

-- name: outbox_of_all
-- For the operator: unsettled work of every owner.
SELECT CAST(n.name AS BLOB), o.id, o.target, o.body
FROM outbox AS o JOIN owners AS n ON n.owner = o.owner
ORDER BY o.id, n.name LIMIT :limit;

-- name: drop_outbox
DELETE FROM outbox WHERE owner = :owner AND id = :id;

-- name: last_journal
SELECT ifnull(max(n), 0) FROM read_journal WHERE owner = :owner;

-- name: add_journal
-- Unless the owner was erased since.
INSERT INTO read_journal (owner, n, at, kind, body) SELECT :owner, :n, :at, :kind, :body
WHERE NOT EXISTS (SELECT 1 FROM owners WHERE owner = :owner AND erased_at >= :at);

-- name: journal
-- The newest first; the caller turns them round.
SELECT at, kind, body FROM read_journal
WHERE owner = :owner AND (:kind IS NULL OR kind = :kind) ORDER BY n DESC LIMIT :limit;

-- name: put_meta
INSERT OR REPLACE INTO meta (name, value) VALUES (:name, :value);

-- name: drop_meta
DELETE FROM meta WHERE name = :name;

-- name: facts
-- The row of an owner as it moves to another store, in the order of OwnerFacts' fields. The name
-- as bytes: what somebody wrote there by hand may be no text.
SELECT incarnation, epoch, revision, last_known_at, head_seq, head_mac, set_sum, rows, bytes,
    key_id, embedder, analyser, erased_at, CAST(name AS BLOB)
FROM owners WHERE owner = :owner;

-- name: add_facts
INSERT INTO owners (owner, incarnation, epoch, revision, last_known_at, head_seq, head_mac,
    set_sum, rows, bytes, key_id, embedder, analyser, erased_at, name)
VALUES (:owner, :incarnation, :epoch, :revision, :last_known_at, :head_seq, :head_mac,
    :set_sum, :rows, :stored_bytes, :key_id, :embedder, :analyser, :erased_at, :name);

-- name: open_session
INSERT INTO sessions (owner, session_tag, started_at, due_at, body)
VALUES (:owner, :tag, :now, :due_at, :body)
ON CONFLICT (owner, session_tag) DO UPDATE SET due_at = excluded.due_at;

-- name: count_entries
SELECT coalesce(max(turn_no) + 1, 0) FROM turns WHERE owner = :owner AND session_tag = :tag;

-- name: append_entry
INSERT INTO turns (owner, session_tag, turn_no, at, body)
VALUES (:owner, :tag, :number, :at, :body);

-- name: entries
SELECT turn_no, at, body FROM turns
WHERE owner = :owner AND session_tag = :tag AND turn_no > :after ORDER BY turn_no LIMIT :limit;

-- name: sessions
SELECT s.body, s.started_at, s.due_at,
    (SELECT coalesce(max(t.turn_no) + 1, 0) FROM turns AS t
     WHERE t.owner = :owner AND t.session_tag = s.session_tag)
FROM sessions AS s WHERE s.owner = :owner;

-- name: sessions_due
-- For the operator.
SELECT s.body, s.started_at, s.due_at,
    (SELECT coalesce(max(t.turn_no) + 1, 0) FROM turns AS t
     WHERE t.owner = s.owner AND t.session_tag = s.session_tag)
FROM sessions AS s WHERE s.due_at <= :now ORDER BY s.due_at, s.owner, s.session_tag LIMIT :limit;

-- name: drop_session
DELETE FROM sessions WHERE owner = :owner AND session_tag = :tag;

-- name: drop_entries
DELETE FROM turns WHERE owner = :owner AND session_tag = :tag;

-- name: journal_from_start
SELECT n, at, kind, body FROM read_journal
WHERE owner = :owner AND (:kind IS NULL OR kind = :kind) ORDER BY n LIMIT :limit;

-- name: blank_event
UPDATE events SET salt = NULL, payload = NULL WHERE owner = :owner AND seq = :seq;

-- name: blank_events
UPDATE events SET salt = NULL, payload = NULL WHERE owner = :owner AND payload IS NOT NULL;

-- name: journal_bodies
SELECT n, kind, body FROM read_journal WHERE owner = :owner;

-- name: drop_journal
DELETE FROM read_journal WHERE owner = :owner AND n = :n;

-- name: take_lease
-- Changes nothing if somebody else holds it; the caller counts.
INSERT INTO leases (owner, name, holder, until) VALUES (:owner, :name, :holder, :until)
ON CONFLICT (owner, name) DO UPDATE SET holder = excluded.holder, until = excluded.until
WHERE leases.holder = excluded.holder OR leases.until <= :now;

-- name: drop_lease
DELETE FROM leases WHERE owner = :owner AND name = :name AND holder = :holder;

-- name: spent
SELECT day, body FROM usage WHERE owner = :owner AND day >= :since ORDER BY day;

-- name: spent_on
SELECT body FROM usage WHERE owner = :owner AND day = :day;

-- name: put_usage
INSERT OR REPLACE INTO usage (owner, day, body) VALUES (:owner, :day, :body);

-- name: put_owner_key
-- With which key an owner's life after an erasure began; those before it are to be destroyed in the
-- vault, where the keys themselves are.
INSERT OR REPLACE INTO owner_keys (owner, key_id, destroyed_at) VALUES (:owner, :key_id, :at);

-- name: first_owner_keys
SELECT key_id FROM owner_keys WHERE owner = :owner;

-- name: erase_owner
UPDATE owners
SET incarnation = :incarnation, erased_at = :at, set_sum = NULL, rows = NULL, bytes = NULL,
    key_id = NULL, embedder = NULL, analyser = NULL
WHERE owner = :owner;

-- name: unname_owner
-- Once nothing waits for other owners; until then they are told in its name.
UPDATE owners SET name = ''
WHERE owner = :owner AND erased_at >= last_known_at
  AND NOT EXISTS (SELECT 1 FROM outbox WHERE owner = :owner);

-- name: derived_of_all
SELECT DISTINCT CAST(n.name AS BLOB), d.child
FROM derivations AS d JOIN owners AS n ON n.owner = d.child_owner
WHERE d.owner = :owner;

-- name: session_steps
SELECT session_tag, step, at, body FROM session_ends WHERE owner = :owner;

-- name: session_step
SELECT session_tag, step, at, body FROM session_ends
WHERE owner = :owner AND session_tag = :session_tag;

-- name: put_session_step
INSERT OR REPLACE INTO session_ends (owner, session_tag, step, at, body)
VALUES (:owner, :session_tag, :step, :at, :body);

-- name: reviews
SELECT id, status, at, body FROM reviews
WHERE owner = :owner AND (:status IS NULL OR status = :status) ORDER BY id;

-- name: put_review
INSERT OR REPLACE INTO reviews (owner, id, status, at, body)
VALUES (:owner, :id, :status, :at, :body);

-- name: consents
SELECT at, body FROM consents WHERE owner = :owner;

-- name: put_consent
INSERT OR REPLACE INTO consents (owner, tag, at, body) VALUES (:owner, :tag, :at, :body);

-- name: size
SELECT count(*), ifnull(sum(length(m.body) + length(m.state) + ifnull(length(i.entry), 0)), 0)
FROM memories AS m LEFT JOIN index_rows AS i ON i.owner = :owner AND i.id = m.id
WHERE m.owner = :owner;

-- name: count_memories
SELECT count(*) FROM memories WHERE owner = :owner;

-- name: rebirth
UPDATE owners SET incarnation = :incarnation WHERE owner = :owner;

-- name: coded_head
-- Where an owner stands, and what that is sealed with under a key ring.
SELECT incarnation, epoch, revision, last_known_at, head_seq, head_mac, key_id, set_sum
FROM owners WHERE owner = :owner;

-- name: is_inhabited
-- Whether anything of an owner is there that comes with its row in `owners`.
SELECT EXISTS (SELECT 1 FROM memories WHERE owner = :owner)
    OR EXISTS (SELECT 1 FROM events WHERE owner = :owner);

-- name: codes
-- The codes of an owner's memories but those of three statuses, with what the state's binds.
SELECT id, revision, status, known_from, due_at, state, mac FROM memories
WHERE owner = :owner AND status NOT IN (:live_1, :live_2, :live_3);

-- name: code_of_state
SELECT previous, status, mac FROM states
WHERE owner = :owner AND revision = :revision AND id = :id;

-- name: coded_states
-- For checking all of an owner's.
SELECT id, revision, previous, status, known_from, known_to, state, mac FROM states
WHERE owner = :owner ORDER BY revision, id;

-- name: unlisted
-- Memories that are not among their own chain's versions, or not under their key.
SELECT m.id FROM memories AS m WHERE m.owner = :owner AND (
    NOT EXISTS (SELECT 1 FROM lookups AS l WHERE l.owner = :owner AND l.tag = m.chain_tag
        AND l.place = m.version AND l.id = m.id)
    OR m.key_tag IS NOT NULL AND NOT EXISTS (SELECT 1 FROM lookups AS l
        WHERE l.owner = :owner AND l.tag = m.key_tag AND l.place = 0 AND l.id = m.id));

-- name: code_memory
-- With what statements ask of the state beside it.
UPDATE memories SET mac = :mac, status = :status, due_at = :due_at
WHERE owner = :owner AND id = :id;

-- name: code_state
UPDATE states SET mac = :mac, status = :status
WHERE owner = :owner AND revision = :revision AND id = :id;

-- name: code_entry
UPDATE index_rows SET entry = :entry WHERE owner = :owner AND id = :id;

-- name: code_owner
UPDATE owners SET key_id = :key_id, set_sum = :set_sum WHERE owner = :owner;

-- name: add_coded_state
INSERT INTO states (owner, revision, id, previous, status, known_from, mac, state)
VALUES (:owner, :revision, :id, :previous, :status, :known_from, :mac, :state);

-- name: restate_coded_memory
UPDATE memories
SET revision = :revision, status = :status, known_from = :known_from, due_at = :due_at,
    mac = :mac, state = :state
WHERE owner = :owner AND id = :id;

-- name: add_coded_owner
INSERT INTO owners (owner, name, incarnation, epoch, revision, last_known_at, head_seq, head_mac,
    set_sum, key_id)
VALUES (:owner, :name, :incarnation, :epoch, :revision, :known_at, :seq, :mac, :set_sum, :key_id);

-- name: move_coded_owner
-- The name too: whoever was erased has none. The set of memories is sealed; nobody counts them.
UPDATE owners
SET name = :name, epoch = :epoch, revision = :revision, last_known_at = :known_at, head_seq = :seq,
    head_mac = :mac, set_sum = :set_sum, key_id = :key_id, live = NULL
WHERE owner = :owner;

-- name: tagged_grants
SELECT tag, body FROM grants WHERE owner = :owner;

-- name: code_held
UPDATE held SET body = :body WHERE owner = :owner AND id = :id;

-- name: code_work
UPDATE outbox SET body = :body WHERE owner = :owner AND id = :id;

-- name: code_grant
UPDATE grants SET body = :body WHERE owner = :owner AND tag = :tag;

-- name: work
SELECT id, target, body FROM outbox WHERE owner = :owner ORDER BY id;

-- name: erase_coded_owner
-- But for its seal, which is that of an owner without memories.
UPDATE owners
SET incarnation = :incarnation, erased_at = :at, rows = NULL, bytes = NULL, embedder = NULL,
    analyser = NULL, live = NULL
WHERE owner = :owner;

-- name: empty_owner
-- As after an erasure; when that was is not known here.
UPDATE owners
SET name = '', incarnation = :incarnation, epoch = :epoch, erased_at = last_known_at,
    key_id = :key_id, set_sum = :set_sum, rows = NULL, bytes = NULL, embedder = NULL,
    analyser = NULL
WHERE owner = :owner;
