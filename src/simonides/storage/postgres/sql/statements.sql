-- Every statement of the PostgreSQL store, named. Values are bound, never written in; lists come
-- as arrays, so that a change is as many statements however much it holds.
-- Rows of memories come in the order of StoredRow's fields. The owner is named in every statement
-- though the policies would do: they are the second lock, not the first.

-- name: lock_schema
SELECT pg_advisory_xact_lock(%(key)s);

-- name: server
SELECT current_setting('server_version_num')::int, current_setting('server_encoding'),
    session_user::text, to_regnamespace('simonides') IS NOT NULL,
    EXISTS (SELECT FROM pg_class AS c
        WHERE c.relnamespace = to_regnamespace('simonides') AND c.relname = 'migrations');

-- name: may_use
SELECT has_schema_privilege(session_user, 'simonides', 'USAGE');

-- name: above_policies
-- What of the connection's role, or of those that it could take, no policy holds.
SELECT r.rolname, CASE WHEN r.rolsuper THEN 'is a superuser'
    WHEN r.rolbypassrls THEN 'bypasses row-level security'
    ELSE 'owns the tables' END
FROM pg_roles AS r
WHERE pg_has_role(session_user, r.oid, 'MEMBER') AND (r.rolsuper OR r.rolbypassrls
    OR EXISTS (SELECT FROM pg_namespace AS n
        WHERE n.nspname = 'simonides' AND n.nspowner = r.oid)
    OR EXISTS (SELECT FROM pg_class AS c
        WHERE c.relnamespace = to_regnamespace('simonides') AND c.relowner = r.oid))
ORDER BY r.rolname <> session_user, r.rolname;

-- name: unguarded
-- Tables of owners without forced row-level security, and those that the role could empty past it.
SELECT c.relname FROM pg_class AS c JOIN pg_attribute AS a ON a.attrelid = c.oid
WHERE c.relnamespace = to_regnamespace('simonides') AND c.relkind IN ('r', 'p')
    AND a.attname = 'owner'
    AND NOT (c.relrowsecurity AND c.relforcerowsecurity
        AND NOT has_table_privilege(session_user, c.oid, 'TRUNCATE'));

-- name: operator
SELECT pg_has_role(session_user, r.oid, 'MEMBER') FROM pg_roles AS r WHERE r.rolname = %(role)s;

-- name: role
SELECT rolsuper OR rolbypassrls, rolname = session_user FROM pg_roles WHERE rolname = %(role)s;

-- name: is_member
SELECT pg_has_role(%(role)s::name, %(of)s::name, 'MEMBER');

-- name: meta
SELECT value FROM simonides.meta WHERE name = %(name)s;

-- name: add_meta
INSERT INTO simonides.meta (name, value) VALUES (%(name)s, %(value)s);

-- name: migrations
SELECT number, name, checksum FROM simonides.migrations ORDER BY number;

-- name: add_migration
INSERT INTO simonides.migrations (number, name, checksum)
VALUES (%(number)s, %(name)s, %(checksum)s);

-- name: bind
-- Whose rows the transaction is about, and how long it may take; all of it ends with it. Times in
-- milliseconds.
SELECT simonides.check_opening(%(opening)s::text),
    set_config('simonides.readable', %(readable)s::text, true),
    set_config('simonides.writable', %(writable)s::text, true),
    set_config('statement_timeout', %(statement)s::text, true),
    set_config('lock_timeout', %(lock)s::text, true),
    set_config('idle_in_transaction_session_timeout', %(idle)s::text, true);

-- name: bind_operator
SELECT simonides.check_opening(%(opening)s::text), set_config('role', %(role)s::text, true),
    set_config('statement_timeout', %(statement)s::text, true);

-- name: begin
BEGIN;

-- name: begin_view
-- All statements see one moment.
BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY;

-- name: commit
COMMIT;

-- name: rollback
ROLLBACK;

-- name: take_turn
SELECT incarnation, epoch, revision, known_at, seq, mac, banned, id, body, state, entry, known_from
FROM simonides.take_turn(%(owner)s::text, %(opening)s::text, %(key)s::bigint, %(marks)s::bytea[],
    %(known_incarnation)s::bytea, %(known_epoch)s::bigint, %(known_revision)s::bigint,
    %(live)s::smallint[],
    %(statement)s::text, %(lock)s::text, %(idle)s::text);

-- name: take_turn_as_foreseen
SELECT simonides.take_turn_as_foreseen(%(owner)s::text, %(opening)s::text, %(key)s::bigint,
    %(marks)s::bytea[], %(known_incarnation)s::bytea, %(known_epoch)s::bigint, %(known_revision)s::bigint,
    %(statement)s::text, %(lock)s::text, %(idle)s::text);

-- name: require_seal
-- Behind a turn that was foreseen, under a key ring: where the owner stands is what this writer left,
-- to the last code, and sealed by the same key.
SELECT simonides.require(EXISTS (
        SELECT FROM simonides.owners AS o WHERE o.owner = %(owner)s AND o.last_known_at = %(known_at)s
            AND o.head_seq = %(seq)s AND o.head_mac = %(mac)s AND o.key_id = %(key_id)s
            AND o.set_sum = %(set_sum)s),
    %(problem)s::text);

-- name: owner_names
-- For the operator: all owners. Who was erased is there again once written again.
SELECT owner, name FROM simonides.owners WHERE erased_at IS NULL OR last_known_at > erased_at;

-- name: nameless
-- For the operator: whose rows have no owner.
SELECT owner FROM simonides.events UNION SELECT owner FROM simonides.memories
EXCEPT SELECT owner FROM simonides.owners;

-- name: heads
-- Where owners stand, in a snapshot of them.
SELECT owner, incarnation, epoch, revision, last_known_at, head_seq
FROM simonides.owners WHERE owner = ANY (%(owners)s::text[]);

-- name: bound_heads
-- Where owners stand, and nothing before or behind it: a transaction in one statement.
SELECT owner, incarnation, epoch, revision, known_at, seq
FROM simonides.heads(%(owners)s::text[], %(opening)s::text, %(lock)s::text);

-- name: chain_head
SELECT head_seq, head_mac FROM simonides.owners WHERE owner = %(owner)s;

-- name: live_rows
-- All rows of these three statuses but for their entries, which come by themselves: a join would
-- carry the blobs of one through a table of hashes, and the first row would wait for the last.
-- Sorted by the caller: a sort in here would carry them too.
SELECT m.id, m.revision, m.body, m.state, NULL::bytea, m.known_from, NULL::bigint
FROM simonides.memories AS m WHERE m.owner = %(owner)s
    AND m.status IN (%(live_1)s::smallint, %(live_2)s::smallint, %(live_3)s::smallint);

-- name: live_entries
-- The entries of all rows but those of other statuses. A full join, which no nested loop can do: of
-- an owner that statistics do not know the planner expects one row, and would look through all
-- others again for each entry. Said as `IS NULL` the condition would make it another join.
SELECT i.id, i.entry
FROM (SELECT id, entry FROM simonides.index_rows WHERE owner = %(owner)s) AS i
FULL JOIN (SELECT id, true AS is_past FROM simonides.memories WHERE owner = %(owner)s
    AND status NOT IN (%(live_1)s::smallint, %(live_2)s::smallint, %(live_3)s::smallint)) AS m
ON m.id = i.id
WHERE NOT coalesce(m.is_past, false);

-- name: changed_rows
-- The open states begun after a revision are the rows changed since. What is looked up for each row
-- is fenced off by OFFSET 0, here and below: else, where statistics do not know the owner, the
-- planner would look through all of its rows for each.
SELECT m.id, m.revision, m.body, m.state, coalesce(i.entry, ''), m.known_from, NULL::bigint
FROM simonides.states AS s
JOIN LATERAL (SELECT * FROM simonides.memories WHERE owner = %(owner)s AND id = s.id OFFSET 0)
    AS m ON true
LEFT JOIN LATERAL (
    SELECT entry FROM simonides.index_rows WHERE owner = %(owner)s AND id = s.id OFFSET 0
) AS i ON true
WHERE s.owner = %(owner)s AND s.revision > %(revision)s AND s.known_to IS NULL
ORDER BY s.revision, s.id;

-- name: rows_as_of
SELECT m.id, s.revision, m.body, s.state, coalesce(i.entry, ''), s.known_from, s.known_to
FROM simonides.states AS s
JOIN LATERAL (SELECT * FROM simonides.memories WHERE owner = %(owner)s AND id = s.id OFFSET 0)
    AS m ON true
LEFT JOIN LATERAL (
    SELECT entry FROM simonides.index_rows WHERE owner = %(owner)s AND id = s.id OFFSET 0
) AS i ON true
WHERE s.owner = %(owner)s AND s.known_from <= %(known_at)s
    AND (s.known_to IS NULL OR s.known_to > %(known_at)s)
    AND s.status IN (%(live_1)s, %(live_2)s, %(live_3)s, %(given_way)s);

-- name: rows_of_ids
SELECT m.id, m.revision, m.body, m.state, coalesce(i.entry, ''), m.known_from, NULL::bigint
FROM simonides.memories AS m
LEFT JOIN LATERAL (
    SELECT entry FROM simonides.index_rows WHERE owner = %(owner)s AND id = m.id OFFSET 0
) AS i ON true
WHERE m.owner = %(owner)s AND m.id = ANY (%(ids)s::text[]);

-- name: rows_page
SELECT m.id, m.revision, m.body, m.state, coalesce(i.entry, ''), m.known_from, NULL::bigint
FROM simonides.memories AS m
LEFT JOIN LATERAL (
    SELECT entry FROM simonides.index_rows WHERE owner = %(owner)s AND id = m.id OFFSET 0
) AS i ON true
WHERE m.owner = %(owner)s AND m.id > %(after)s
ORDER BY m.id LIMIT %(limit)s;

-- name: rows_by_tag
SELECT m.id, m.revision, m.body, m.state, coalesce(i.entry, ''), m.known_from, NULL::bigint
FROM simonides.lookups AS l
JOIN LATERAL (SELECT * FROM simonides.memories WHERE owner = %(owner)s AND id = l.id OFFSET 0)
    AS m ON true
LEFT JOIN LATERAL (
    SELECT entry FROM simonides.index_rows WHERE owner = %(owner)s AND id = l.id OFFSET 0
) AS i ON true
WHERE l.owner = %(owner)s AND l.tag = %(tag)s
ORDER BY l.place, l.id;

-- name: states_of
-- From the open state back through the chain of `previous`; oldest first.
WITH RECURSIVE story (revision, previous, state, known_from, known_to) AS (
    SELECT s.revision, s.previous, s.state, s.known_from, s.known_to
    FROM simonides.memories AS m JOIN simonides.states AS s
    ON s.owner = %(owner)s AND s.revision = m.revision AND s.id = %(id)s
    WHERE m.owner = %(owner)s AND m.id = %(id)s
    UNION ALL
    SELECT s.revision, s.previous, s.state, s.known_from, s.known_to
    FROM story JOIN simonides.states AS s
    ON s.owner = %(owner)s AND s.revision = story.previous AND s.id = %(id)s
)
SELECT revision, state, known_from, known_to FROM story ORDER BY revision;

-- name: require_memories
SELECT simonides.require(EXISTS (
        SELECT FROM simonides.memories AS m WHERE m.owner = %(owner)s AND m.id = i.id),
    format('memory %%s does not exist and cannot be %%s', i.id, %(done)s::text))
FROM unnest(%(ids)s::text[]) AS i (id);

-- name: add_memories
SELECT simonides.add_memories(
    %(owner)s::text, %(revision)s::bigint, %(known_from)s::bigint, %(codec)s::smallint,
    %(id)s::text[], %(version)s::bigint[], %(status)s::smallint[], %(due_at)s::bigint[],
    %(scope_tag)s::bytea[], %(chain_tag)s::bytea[], %(key_tag)s::bytea[], %(hash_tag)s::bytea[],
    %(slot_tag)s::bytea[], %(session_tag)s::bytea[], %(mac)s::bytea[], %(state)s::bytea[],
    %(body)s::bytea[], %(analyser)s::text[], %(embedder)s::text[], %(entry)s::bytea[],
    %(chain_roots)s::text[], %(chain_tags)s::bytea[], %(chain_tops)s::bigint[]);

-- name: reindex
INSERT INTO simonides.index_rows (owner, id, analyser, embedder, entry)
SELECT %(owner)s, i.* FROM unnest(%(ids)s::text[], %(analysers)s::text[], %(embedders)s::text[],
    %(entries)s::bytea[]) AS i (id, analyser, embedder, entry)
ON CONFLICT (owner, id) DO UPDATE SET analyser = excluded.analyser,
    embedder = excluded.embedder, entry = excluded.entry;

-- name: renew
-- Only where a memory and its entry stand as they did. Nobody changes either meanwhile: the turn is
-- held.
INSERT INTO simonides.index_rows (owner, id, analyser, embedder, entry)
SELECT m.owner, m.id, r.analyser, r.embedder, r.entry
FROM unnest(%(ids)s::text[], %(revisions)s::bigint[], %(befores)s::bytea[],
    %(analysers)s::text[], %(embedders)s::text[], %(entries)s::bytea[])
    AS r (id, revision, before, analyser, embedder, entry)
JOIN simonides.memories AS m ON m.owner = %(owner)s AND m.id = r.id AND m.revision = r.revision
    AND m.id = ANY (%(ids)s::text[])
LEFT JOIN simonides.index_rows AS i ON i.owner = %(owner)s AND i.id = r.id
    AND i.id = ANY (%(ids)s::text[])
WHERE coalesce(i.entry, '') = r.before
ON CONFLICT (owner, id) DO UPDATE SET analyser = excluded.analyser,
    embedder = excluded.embedder, entry = excluded.entry
RETURNING id;

-- name: restate
-- The open states end, new ones follow them, and memories repeat those. All parts of a statement
-- see what stood before it. That ids are among those given is said for each table, as a table that
-- is changed cannot be fenced off: where statistics do not know the owner, the planner would look
-- through all of its rows for each.
WITH restated AS MATERIALIZED (
    SELECT r.*, m.revision AS previous FROM unnest(
        %(id)s::text[], %(revision)s::bigint[], %(status)s::smallint[], %(known_from)s::bigint[],
        %(due_at)s::bigint[], %(state)s::bytea[])
    AS r (id, revision, status, known_from, due_at, state)
    JOIN LATERAL (
        SELECT revision FROM simonides.memories WHERE owner = %(owner)s AND id = r.id OFFSET 0
    ) AS m ON true
), ended AS (
    UPDATE simonides.states AS s SET known_to = r.known_from FROM restated AS r
    WHERE s.owner = %(owner)s AND s.revision = r.previous AND s.id = r.id
        AND s.id = ANY (%(id)s::text[])
), begun AS (
    INSERT INTO simonides.states (owner, revision, id, previous, status, known_from, state)
    SELECT %(owner)s, revision, id, previous, status, known_from, state FROM restated
)
UPDATE simonides.memories AS m
SET revision = r.revision, status = r.status, known_from = r.known_from, due_at = r.due_at,
    state = r.state
FROM restated AS r
LEFT JOIN LATERAL (
    SELECT entry FROM simonides.index_rows WHERE owner = %(owner)s AND id = r.id OFFSET 0
) AS i ON true
WHERE m.owner = %(owner)s AND m.id = r.id AND m.id = ANY (%(id)s::text[])
RETURNING m.id, m.revision, m.body, m.state, coalesce(i.entry, ''), m.known_from, NULL::bigint;

-- name: add_derivations
-- Only if the parent is this owner's.
INSERT INTO simonides.derivations (owner, parent, child_owner, child)
SELECT m.owner, m.id, d.child_owner, d.child
FROM unnest(%(parents)s::text[], %(child_owners)s::text[], %(children)s::text[])
    AS d (parent, child_owner, child)
JOIN simonides.memories AS m ON m.owner = %(owner)s AND m.id = d.parent
ON CONFLICT DO NOTHING;

-- name: derived
SELECT child_owner, child FROM simonides.derivations
WHERE owner = %(owner)s AND parent = %(parent)s;

-- name: existing
-- Which of some owners there are, and their names.
SELECT owner, name FROM simonides.owners WHERE owner = ANY (%(owners)s::text[]);

-- name: contents
-- Every content with its code, whether the state in force is open and of this status, and both
-- copies of it: they are compared by who reads, for each may be encrypted by itself.
SELECT m.id, m.version, m.mac, m.body, s.id IS NOT NULL AND s.known_to IS NULL
    AND s.status IS NOT DISTINCT FROM m.status AND s.known_from IS NOT DISTINCT FROM m.known_from,
    m.revision, m.known_from, m.state, s.state
FROM simonides.memories AS m
LEFT JOIN simonides.states AS s
ON s.owner = %(owner)s AND s.revision = m.revision AND s.id = m.id
WHERE m.owner = %(owner)s;

-- name: bereft
-- Parts of memories that are not there themselves.
SELECT s.id FROM simonides.states AS s WHERE s.owner = %(owner)s AND NOT EXISTS (
    SELECT FROM simonides.memories AS m WHERE m.owner = %(owner)s AND m.id = s.id)
UNION SELECT i.id FROM simonides.index_rows AS i WHERE i.owner = %(owner)s AND NOT EXISTS (
    SELECT FROM simonides.memories AS m WHERE m.owner = %(owner)s AND m.id = i.id)
UNION SELECT l.id FROM simonides.lookups AS l
WHERE l.owner = %(owner)s AND l.id <> '' AND NOT EXISTS (
    SELECT FROM simonides.memories AS m WHERE m.owner = %(owner)s AND m.id = l.id);

-- name: drop_states
-- The same walk as in states_of.
WITH RECURSIVE story (id, previous, place) AS (
    SELECT m.id, s.previous, s.place
    FROM simonides.memories AS m JOIN LATERAL (
        SELECT previous, ctid AS place FROM simonides.states
        WHERE owner = %(owner)s AND revision = m.revision AND id = m.id OFFSET 0
    ) AS s ON true
    WHERE m.owner = %(owner)s AND m.id = ANY (%(ids)s::text[])
    UNION ALL
    SELECT story.id, s.previous, s.place
    FROM story JOIN LATERAL (
        SELECT previous, ctid AS place FROM simonides.states
        WHERE owner = %(owner)s AND revision = story.previous AND id = story.id OFFSET 0
    ) AS s ON true
)
DELETE FROM simonides.states
WHERE owner = %(owner)s AND ctid = ANY (ARRAY(SELECT place FROM story));

-- name: drop_lookups
-- By chain and by key.
DELETE FROM simonides.lookups
WHERE owner = %(owner)s AND ctid = ANY (ARRAY(
    SELECT l.place FROM simonides.memories AS m
    CROSS JOIN LATERAL (VALUES (m.chain_tag, m.version), (m.key_tag, 0)) AS named (tag, place)
    JOIN LATERAL (
        SELECT ctid AS place FROM simonides.lookups
        WHERE owner = %(owner)s AND tag = named.tag AND place = named.place AND id = m.id OFFSET 0
    ) AS l ON true
    WHERE m.owner = %(owner)s AND m.id = ANY (%(ids)s::text[])));

-- name: drop_payloads
-- Salt and payload of every event about some subjects; commitment and code stay.
DELETE FROM simonides.event_payloads
WHERE owner = %(owner)s AND seq = ANY (ARRAY(
    SELECT place FROM simonides.lookups
    WHERE owner = %(owner)s AND tag = ANY (%(tags)s::bytea[])));

-- name: drop_subjects
DELETE FROM simonides.lookups WHERE owner = %(owner)s AND tag = ANY (%(tags)s::bytea[]);

-- name: drop_derivations
-- Those within this owner: its erasure is to find what others have of it.
DELETE FROM simonides.derivations
WHERE owner = %(owner)s AND child_owner = %(owner)s
    AND (parent = ANY (%(ids)s::text[]) OR child = ANY (%(ids)s::text[]));

-- name: drop_index_rows
DELETE FROM simonides.index_rows WHERE owner = %(owner)s AND id = ANY (%(ids)s::text[]);

-- name: drop_memories
DELETE FROM simonides.memories WHERE owner = %(owner)s AND id = ANY (%(ids)s::text[]);

-- name: move_owner
SELECT simonides.move_owner(
    %(owner)s::text, %(name)s::text, %(incarnation)s::bytea, %(epoch)s::bigint,
    %(revision)s::bigint, %(known_at)s::bigint, %(head_seq)s::bigint, %(head_mac)s::bytea,
    %(seq)s::bigint[], %(commitment)s::bytea[], %(link_mac)s::bytea[], %(salt)s::bytea[],
    %(payload)s::bytea[], %(subject_tags)s::bytea[], %(subject_seqs)s::bigint[]);

-- name: add_and_move
-- Both: all there is of most changes.
SELECT simonides.add_memories(
    %(owner)s::text, %(revision)s::bigint, %(known_from)s::bigint, %(codec)s::smallint,
    %(id)s::text[], %(version)s::bigint[], %(status)s::smallint[], %(due_at)s::bigint[],
    %(scope_tag)s::bytea[], %(chain_tag)s::bytea[], %(key_tag)s::bytea[], %(hash_tag)s::bytea[],
    %(slot_tag)s::bytea[], %(session_tag)s::bytea[], %(mac)s::bytea[], %(state)s::bytea[],
    %(body)s::bytea[], %(analyser)s::text[], %(embedder)s::text[], %(entry)s::bytea[],
    %(chain_roots)s::text[], %(chain_tags)s::bytea[], %(chain_tops)s::bigint[]),
simonides.move_owner(
    %(owner)s::text, %(name)s::text, %(incarnation)s::bytea, %(epoch)s::bigint,
    %(revision)s::bigint, %(known_at)s::bigint, %(head_seq)s::bigint, %(head_mac)s::bytea,
    %(seq)s::bigint[], %(commitment)s::bytea[], %(link_mac)s::bytea[], %(salt)s::bytea[],
    %(payload)s::bytea[], %(subject_tags)s::bytea[], %(subject_seqs)s::bigint[]);

-- name: links
SELECT e.seq, e.commitment, e.mac, p.salt, p.payload
FROM simonides.events AS e
LEFT JOIN simonides.event_payloads AS p ON p.owner = %(owner)s AND p.seq = e.seq
WHERE e.owner = %(owner)s AND e.seq > %(after)s
ORDER BY e.seq LIMIT %(limit)s;

-- name: tombstones_among
SELECT t.tag FROM simonides.tombstones AS t
WHERE t.owner = %(owner)s AND t.tag = ANY (%(tags)s::bytea[]);

-- name: add_tombstones
INSERT INTO simonides.tombstones (owner, tag)
SELECT %(owner)s, t.tag FROM unnest(%(tags)s::bytea[]) AS t (tag) ON CONFLICT DO NOTHING;

-- name: drop_tombstones
DELETE FROM simonides.tombstones WHERE owner = %(owner)s AND tag = ANY (%(tags)s::bytea[]);

-- name: idempotent
SELECT tag, request, answer FROM simonides.idempotency
WHERE owner = %(owner)s AND tag = ANY (%(tags)s::bytea[]);

-- name: add_idempotent
INSERT INTO simonides.idempotency (owner, tag, revision, request, answer)
SELECT %(owner)s, w.tag, %(revision)s, w.request, w.answer
FROM unnest(%(tags)s::bytea[], %(requests)s::bytea[], %(answers)s::bytea[])
    AS w (tag, request, answer);

-- name: held
SELECT id, session, reason, body, held_at FROM simonides.held WHERE owner = %(owner)s ORDER BY id;

-- name: held_of_session
SELECT id, session, reason, body, held_at FROM simonides.held
WHERE owner = %(owner)s AND session_tag = %(session_tag)s ORDER BY id;

-- name: put_held
INSERT INTO simonides.held (owner, id, session_tag, reason, held_at, session, body)
SELECT %(owner)s, h.* FROM unnest(
    %(ids)s::text[], %(session_tags)s::bytea[], %(reasons)s::text[], %(times)s::bigint[],
    %(sessions)s::text[], %(bodies)s::bytea[])
    AS h (id, session_tag, reason, held_at, session, body)
ON CONFLICT (owner, id) DO UPDATE SET session_tag = excluded.session_tag,
    reason = excluded.reason, held_at = excluded.held_at, session = excluded.session,
    body = excluded.body;

-- name: drop_held
DELETE FROM simonides.held WHERE owner = %(owner)s AND id = ANY (%(ids)s::text[]);

-- name: grants
SELECT body FROM simonides.grants WHERE owner = %(owner)s;

-- name: put_grants
INSERT INTO simonides.grants (owner, tag, body)
SELECT %(owner)s, g.tag, g.body
FROM unnest(%(tags)s::bytea[], %(bodies)s::bytea[]) AS g (tag, body)
ON CONFLICT (owner, tag) DO UPDATE SET body = excluded.body;

-- name: drop_grants
DELETE FROM simonides.grants WHERE owner = %(owner)s AND tag = ANY (%(tags)s::bytea[]);

-- name: last_policy
SELECT hash, at, body FROM simonides.policies
WHERE owner = %(owner)s ORDER BY version DESC LIMIT 1;

-- name: add_policy
-- Behind those before it.
INSERT INTO simonides.policies (owner, version, hash, at, body)
SELECT %(owner)s, coalesce(max(p.version), 0) + 1, %(hash)s, %(at)s, %(body)s
FROM simonides.policies AS p WHERE p.owner = %(owner)s;

-- name: add_outbox
INSERT INTO simonides.outbox (owner, id, target, body)
SELECT %(owner)s, w.id, w.target, w.body
FROM unnest(%(ids)s::text[], %(targets)s::text[], %(bodies)s::bytea[]) AS w (id, target, body);

-- name: outbox
SELECT n.name, o.id, o.target, o.body
FROM simonides.outbox AS o JOIN simonides.owners AS n ON n.owner = o.owner
WHERE o.owner = %(owner)s ORDER BY o.id LIMIT %(limit)s;

-- name: outbox_of_all
-- For the operator: unsettled work of every owner.
SELECT n.name, o.id, o.target, o.body
FROM simonides.outbox AS o JOIN simonides.owners AS n ON n.owner = o.owner
ORDER BY o.id, n.name LIMIT %(limit)s;

-- name: drop_outbox
DELETE FROM simonides.outbox WHERE owner = %(owner)s AND id = ANY (%(ids)s::text[]);

-- name: add_journal
-- Numbered in the order given; not what was before the owner was erased.
INSERT INTO simonides.read_journal (owner, at, kind, body)
SELECT %(owner)s, j.at, j.kind, j.body
FROM unnest(%(times)s::bigint[], %(kinds)s::text[], %(bodies)s::bytea[])
    WITH ORDINALITY AS j (at, kind, body, place)
WHERE NOT EXISTS (SELECT FROM simonides.owners AS o
    WHERE o.owner = %(owner)s AND o.erased_at >= j.at)
ORDER BY j.place;

-- name: journal
-- The newest first; the caller turns them round.
SELECT at, kind, body FROM simonides.read_journal
WHERE owner = %(owner)s AND (%(kind)s::text IS NULL OR kind = %(kind)s::text)
ORDER BY n DESC LIMIT %(limit)s;

-- name: open_session
-- Also takes the session's row, so that of several who append one at a time does.
INSERT INTO simonides.sessions (owner, session_tag, started_at, due_at, body)
VALUES (%(owner)s, %(tag)s, %(now)s, %(due_at)s, %(body)s)
ON CONFLICT (owner, session_tag) DO UPDATE SET due_at = excluded.due_at;

-- name: count_entries
SELECT coalesce(max(turn_no) + 1, 0) FROM simonides.turns
WHERE owner = %(owner)s AND session_tag = %(tag)s;

-- name: append_entries
-- Numbered in the order given, from where the session ends.
INSERT INTO simonides.turns (owner, session_tag, turn_no, at, body)
SELECT %(owner)s, %(tag)s, last.number + said.place, said.at, said.body
FROM unnest(%(times)s::bigint[], %(bodies)s::bytea[]) WITH ORDINALITY AS said (at, body, place),
    (SELECT coalesce(max(turn_no), -1) AS number FROM simonides.turns
     WHERE owner = %(owner)s AND session_tag = %(tag)s) AS last;

-- name: entries
SELECT turn_no, at, body FROM simonides.turns
WHERE owner = %(owner)s AND session_tag = %(tag)s AND turn_no > %(after)s
ORDER BY turn_no LIMIT %(limit)s;

-- name: sessions
SELECT s.body, s.started_at, s.due_at,
    (SELECT coalesce(max(t.turn_no) + 1, 0) FROM simonides.turns AS t
     WHERE t.owner = %(owner)s AND t.session_tag = s.session_tag)
FROM simonides.sessions AS s WHERE s.owner = %(owner)s;

-- name: sessions_due
-- For the operator.
SELECT s.body, s.started_at, s.due_at,
    (SELECT coalesce(max(t.turn_no) + 1, 0) FROM simonides.turns AS t
     WHERE t.owner = s.owner AND t.session_tag = s.session_tag), s.owner
FROM simonides.sessions AS s WHERE s.due_at <= %(now)s
ORDER BY s.due_at, s.owner, s.session_tag LIMIT %(limit)s;

-- name: drop_session
DELETE FROM simonides.sessions WHERE owner = %(owner)s AND session_tag = %(tag)s;

-- name: drop_entries
DELETE FROM simonides.turns WHERE owner = %(owner)s AND session_tag = %(tag)s;

-- name: opening
SELECT token, arriving FROM simonides.opening;

-- name: lock_opening
-- Waits for every transaction that has begun, and lets none begin until this one ends.
LOCK TABLE simonides.opening IN ACCESS EXCLUSIVE MODE;

-- name: arriving
-- Who is on the way, until the end of the transaction.
SELECT arriving FROM simonides.opening FOR UPDATE;

-- name: put_opening
UPDATE simonides.opening SET token = %(token)s, arriving = coalesce(arriving, '');

-- name: put_arriving
UPDATE simonides.opening SET arriving = %(arriving)s;

-- name: take_role
SELECT set_config('role', %(role)s, true);

-- name: put_meta
UPDATE simonides.meta SET value = %(value)s WHERE name = %(name)s;

-- name: others
-- Sessions of other programs that may write here: those of every role that could use the tables.
SELECT a.usename, count(*) FROM pg_stat_activity AS a JOIN pg_roles AS r ON r.oid = a.usesysid
WHERE a.datname = current_database() AND a.backend_type = 'client backend'
    AND a.pid <> pg_backend_pid() AND NOT r.rolsuper
    AND has_table_privilege(a.usesysid, 'simonides.owners', 'INSERT')
    AND NOT EXISTS (SELECT FROM pg_class AS c
        WHERE c.oid = 'simonides.owners'::regclass AND c.relowner = r.oid)
GROUP BY a.usename ORDER BY a.usename;

-- name: facts
-- The row of an owner as it moves to another store, in the order of OwnerFacts' fields.
SELECT incarnation, epoch, revision, last_known_at, head_seq, head_mac, set_sum, "rows", bytes,
    key_id, embedder, analyser, erased_at, name
FROM simonides.owners WHERE owner = %(owner)s;

-- name: add_facts
INSERT INTO simonides.owners (owner, incarnation, epoch, revision, last_known_at, head_seq, head_mac,
    set_sum, "rows", bytes, key_id, embedder, analyser, erased_at, name)
VALUES (%(owner)s, %(incarnation)s, %(epoch)s, %(revision)s, %(last_known_at)s, %(head_seq)s,
    %(head_mac)s, %(set_sum)s, %(rows)s, %(stored_bytes)s, %(key_id)s, %(embedder)s, %(analyser)s,
    %(erased_at)s, %(name)s);

-- name: skip_numbers
-- Entries of a journal that arrived have numbers; the next one comes after them.
SELECT setval('simonides.read_journal_n_seq', %(top)s)
WHERE %(top)s > (SELECT last_value FROM simonides.read_journal_n_seq);

-- name: journal_from_start
SELECT at, kind, body FROM simonides.read_journal
WHERE owner = %(owner)s AND (%(kind)s::text IS NULL OR kind = %(kind)s::text)
ORDER BY n LIMIT %(limit)s;

-- name: condense
-- Removes the oldest entries of a kind if they are these. Of two who do so at once the second waits
-- for the first and then removes fewer; the caller counts.
WITH expected AS MATERIALIZED (
    SELECT e.* FROM unnest(%(times)s::bigint[], %(bodies)s::bytea[])
        WITH ORDINALITY AS e (at, body, place)
), oldest AS MATERIALIZED (
    SELECT o.n, o.at, o.body, row_number() OVER (ORDER BY o.n) AS place FROM (
        SELECT n, at, body FROM simonides.read_journal
        WHERE owner = %(owner)s AND kind = %(kind)s::text
        ORDER BY n LIMIT (SELECT count(*) FROM expected)
    ) AS o
)
DELETE FROM simonides.read_journal AS j USING oldest AS o, expected AS e
WHERE j.owner = %(owner)s AND j.n = o.n AND o.place = e.place AND o.at = e.at AND o.body = e.body
RETURNING j.n;

-- name: take_lease
INSERT INTO simonides.leases (owner, name, holder, until)
VALUES (%(owner)s, %(name)s, %(holder)s, %(until)s)
ON CONFLICT (owner, name) DO UPDATE SET holder = excluded.holder, until = excluded.until
WHERE leases.holder = excluded.holder OR leases.until <= %(now)s
RETURNING holder;

-- name: drop_lease
DELETE FROM simonides.leases
WHERE owner = %(owner)s AND name = %(name)s AND holder = %(holder)s;

-- name: lock_usage
-- Until the transaction ends: of a day that has no row yet there is nothing else to lock.
SELECT pg_advisory_xact_lock(hashtextextended('usage ' || %(owner)s, 0));

-- name: spent
SELECT day, body FROM simonides.usage
WHERE owner = %(owner)s AND day >= %(since)s ORDER BY day;

-- name: spent_on
SELECT body FROM simonides.usage WHERE owner = %(owner)s AND day = %(day)s;

-- name: put_usage
INSERT INTO simonides.usage (owner, day, body) VALUES (%(owner)s, %(day)s, %(body)s)
ON CONFLICT (owner, day) DO UPDATE SET body = excluded.body;

-- name: derived_of_all
SELECT DISTINCT child_owner, child FROM simonides.derivations WHERE owner = %(owner)s;

-- name: blank_events
-- Salt and payload of the events at some places of the chain.
DELETE FROM simonides.event_payloads WHERE owner = %(owner)s AND seq = ANY (%(seqs)s::bigint[]);

-- name: drop_journal
-- Entries of some kinds that have one of some ids as a text of their JSON.
DELETE FROM simonides.read_journal AS j
WHERE j.owner = %(owner)s AND j.kind = ANY (%(kinds)s::text[]) AND EXISTS (
    SELECT FROM unnest(%(ids)s::text[]) AS i (id)
    WHERE position(convert_to('"' || i.id || '"', 'UTF8') IN j.body) > 0);

-- name: put_owner_key
-- With which key an owner's life after an erasure began; those before it are to be destroyed in the
-- vault, where the keys themselves are.
INSERT INTO simonides.owner_keys (owner, key_id, destroyed_at)
VALUES (%(owner)s, %(key_id)s::text, %(at)s::bigint);

-- name: first_owner_keys
SELECT key_id FROM simonides.owner_keys WHERE owner = %(owner)s;

-- name: erase_owner
UPDATE simonides.owners
SET incarnation = %(incarnation)s, erased_at = %(at)s, set_sum = NULL, "rows" = NULL,
    bytes = NULL, key_id = NULL, embedder = NULL, analyser = NULL
WHERE owner = %(owner)s;

-- name: unname_owner
-- Once nothing waits for other owners; until then they are told in its name.
UPDATE simonides.owners AS o SET name = ''
WHERE o.owner = %(owner)s AND o.erased_at >= o.last_known_at
    AND NOT EXISTS (SELECT FROM simonides.outbox AS w WHERE w.owner = %(owner)s);

-- name: log_settings
-- What says how long the write-ahead log is kept, and how many slots may keep it longer.
SELECT current_setting('archive_mode'), current_setting('wal_keep_size'),
    current_setting('max_wal_size'), (SELECT count(*) FROM pg_replication_slots);

-- name: not_vacuumed_since
-- Tables that nobody has vacuumed since a time, µs: by hand or by the server itself.
SELECT relname FROM pg_stat_all_tables
WHERE schemaname = 'simonides' AND relname = ANY (%(tables)s)
    AND coalesce(greatest(last_vacuum, last_autovacuum), '-infinity')
        < to_timestamp(%(since)s / 1000000.0);

-- name: session_steps
SELECT session_tag, step, at, body FROM simonides.session_ends WHERE owner = %(owner)s;

-- name: session_step
SELECT session_tag, step, at, body FROM simonides.session_ends
WHERE owner = %(owner)s AND session_tag = %(session_tag)s;

-- name: put_session_steps
INSERT INTO simonides.session_ends (owner, session_tag, step, at, body)
SELECT %(owner)s, s.* FROM unnest(
    %(tags)s::bytea[], %(steps)s::text[], %(times)s::bigint[], %(bodies)s::bytea[])
    AS s (session_tag, step, at, body)
ON CONFLICT (owner, session_tag) DO UPDATE SET step = excluded.step, at = excluded.at,
    body = excluded.body;

-- name: reviews
SELECT id, status, at, body FROM simonides.reviews
WHERE owner = %(owner)s AND (%(status)s::text IS NULL OR status = %(status)s) ORDER BY id;

-- name: put_reviews
INSERT INTO simonides.reviews (owner, id, status, at, body)
SELECT %(owner)s, r.* FROM unnest(
    %(ids)s::text[], %(statuses)s::text[], %(times)s::bigint[], %(bodies)s::bytea[])
    AS r (id, status, at, body)
ON CONFLICT (owner, id) DO UPDATE SET status = excluded.status, at = excluded.at,
    body = excluded.body;

-- name: consents
SELECT at, body FROM simonides.consents WHERE owner = %(owner)s;

-- name: put_consents
INSERT INTO simonides.consents (owner, tag, at, body)
SELECT %(owner)s, c.tag, c.at, c.body
FROM unnest(%(tags)s::bytea[], %(times)s::bigint[], %(bodies)s::bytea[]) AS c (tag, at, body)
ON CONFLICT (owner, tag) DO UPDATE SET at = excluded.at, body = excluded.body;

-- name: size
SELECT count(*),
    coalesce(sum(length(m.body) + length(m.state) + coalesce(length(i.entry), 0)), 0)::bigint
FROM (SELECT * FROM simonides.memories WHERE owner = %(owner)s) AS m
FULL JOIN (SELECT * FROM simonides.index_rows WHERE owner = %(owner)s) AS i ON i.id = m.id
WHERE coalesce(m.id, '') <> '';

-- name: count_memories
SELECT count(*) FROM simonides.memories WHERE owner = %(owner)s;

-- name: coded_head
-- Where an owner stands, and what that is sealed with under a key ring.
SELECT incarnation, epoch, revision, last_known_at, head_seq, head_mac, key_id, set_sum
FROM simonides.owners WHERE owner = %(owner)s;

-- name: is_inhabited
-- Whether anything of an owner is there that comes with its row in `owners`.
SELECT EXISTS (SELECT FROM simonides.memories WHERE owner = %(owner)s)
    OR EXISTS (SELECT FROM simonides.events WHERE owner = %(owner)s);

-- name: codes
-- The codes of an owner's memories but those of three statuses, with what the state's binds.
SELECT id, revision, status, known_from, due_at, state, mac FROM simonides.memories
WHERE owner = %(owner)s
    AND status NOT IN (%(live_1)s::smallint, %(live_2)s::smallint, %(live_3)s::smallint);

-- name: coded_story
-- The walk of states_of, with the codes.
WITH RECURSIVE story (revision, previous, status, known_from, known_to, state, mac) AS (
    SELECT s.revision, s.previous, s.status, s.known_from, s.known_to, s.state, s.mac
    FROM simonides.memories AS m JOIN simonides.states AS s
    ON s.owner = %(owner)s AND s.revision = m.revision AND s.id = %(id)s
    WHERE m.owner = %(owner)s AND m.id = %(id)s
    UNION ALL
    SELECT s.revision, s.previous, s.status, s.known_from, s.known_to, s.state, s.mac
    FROM story JOIN simonides.states AS s
    ON s.owner = %(owner)s AND s.revision = story.previous AND s.id = %(id)s
)
SELECT revision, previous, status, known_from, known_to, state, mac FROM story ORDER BY revision;

-- name: coded_states
-- For checking all of an owner's.
SELECT id, revision, previous, status, known_from, known_to, state, mac FROM simonides.states
WHERE owner = %(owner)s ORDER BY revision, id;

-- name: unlisted
-- Memories that are not among their own chain's versions, or not under their key.
SELECT m.id FROM simonides.memories AS m WHERE m.owner = %(owner)s AND (
    NOT EXISTS (SELECT FROM simonides.lookups AS l WHERE l.owner = %(owner)s
        AND l.tag = m.chain_tag AND l.place = m.version AND l.id = m.id)
    OR m.key_tag IS NOT NULL AND NOT EXISTS (SELECT FROM simonides.lookups AS l
        WHERE l.owner = %(owner)s AND l.tag = m.key_tag AND l.place = 0 AND l.id = m.id));

-- name: code_memories
UPDATE simonides.memories AS m SET mac = c.mac
FROM unnest(%(ids)s::text[], %(macs)s::bytea[]) AS c (id, mac)
WHERE m.owner = %(owner)s AND m.id = c.id;

-- name: code_states
UPDATE simonides.states AS s SET mac = c.mac
FROM unnest(%(revisions)s::bigint[], %(ids)s::text[], %(macs)s::bytea[]) AS c (revision, id, mac)
WHERE s.owner = %(owner)s AND s.revision = c.revision AND s.id = c.id;

-- name: code_entries
UPDATE simonides.index_rows AS i SET entry = c.entry
FROM unnest(%(ids)s::text[], %(entries)s::bytea[]) AS c (id, entry)
WHERE i.owner = %(owner)s AND i.id = c.id;

-- name: code_owner
UPDATE simonides.owners SET key_id = %(key_id)s::text, set_sum = %(set_sum)s::bytea
WHERE owner = %(owner)s;

-- name: recode_memories
-- With what statements ask of the state beside it.
UPDATE simonides.memories AS m SET mac = c.mac, status = c.status, due_at = c.due_at
FROM unnest(%(ids)s::text[], %(macs)s::bytea[], %(statuses)s::smallint[], %(due_ats)s::bigint[])
    AS c (id, mac, status, due_at)
WHERE m.owner = %(owner)s AND m.id = c.id;

-- name: recode_states
UPDATE simonides.states AS s SET mac = c.mac, status = c.status
FROM unnest(%(revisions)s::bigint[], %(ids)s::text[], %(statuses)s::smallint[], %(macs)s::bytea[])
    AS c (revision, id, status, mac)
WHERE s.owner = %(owner)s AND s.revision = c.revision AND s.id = c.id;

-- name: tagged_grants
SELECT tag, body FROM simonides.grants WHERE owner = %(owner)s;

-- name: work
SELECT id, target, body FROM simonides.outbox WHERE owner = %(owner)s ORDER BY id;

-- name: code_held
UPDATE simonides.held AS h SET body = c.body
FROM unnest(%(ids)s::text[], %(bodies)s::bytea[]) AS c (id, body)
WHERE h.owner = %(owner)s AND h.id = c.id;

-- name: code_work
UPDATE simonides.outbox AS o SET body = c.body
FROM unnest(%(ids)s::text[], %(bodies)s::bytea[]) AS c (id, body)
WHERE o.owner = %(owner)s AND o.id = c.id;

-- name: code_grants
UPDATE simonides.grants AS g SET body = c.body
FROM unnest(%(tags)s::bytea[], %(bodies)s::bytea[]) AS c (tag, body)
WHERE g.owner = %(owner)s AND g.tag = c.tag;

-- name: kept_entries
-- Index entries as they lie, for `renew` where they are encrypted.
SELECT id, entry FROM simonides.index_rows
WHERE owner = %(owner)s AND id = ANY (%(ids)s::text[]);

-- name: kept_journal
-- The bodies that `condense` is about, as they lie.
SELECT body FROM simonides.read_journal
WHERE owner = %(owner)s AND kind = %(kind)s::text
ORDER BY n LIMIT %(count)s::bigint;

-- name: journal_of_kinds
-- As they lie, for `drop_journal` where they are encrypted.
SELECT n, kind, body FROM simonides.read_journal
WHERE owner = %(owner)s AND kind = ANY (%(kinds)s::text[]);

-- name: drop_journal_at
DELETE FROM simonides.read_journal WHERE owner = %(owner)s AND n = ANY (%(ns)s::bigint[]);

-- name: put_token
UPDATE simonides.opening SET token = %(token)s;

-- name: empty_owner
-- As after an erasure; when that was is not known here.
UPDATE simonides.owners
SET name = '', incarnation = %(incarnation)s, epoch = %(epoch)s, erased_at = last_known_at,
    key_id = %(key_id)s::text, set_sum = %(set_sum)s::bytea, "rows" = NULL, bytes = NULL,
    embedder = NULL, analyser = NULL
WHERE owner = %(owner)s;

-- name: sweep_journal
-- What was encrypted by some keys; their ids are behind the byte that names the format.
DELETE FROM simonides.read_journal
WHERE owner = %(owner)s AND substring(body FROM 2 FOR 8) = ANY (%(ids)s::bytea[]);

-- name: sweep_sessions
DELETE FROM simonides.sessions
WHERE owner = %(owner)s AND substring(body FROM 2 FOR 8) = ANY (%(ids)s::bytea[]);

-- name: sweep_turns
DELETE FROM simonides.turns
WHERE owner = %(owner)s AND substring(body FROM 2 FOR 8) = ANY (%(ids)s::bytea[]);
