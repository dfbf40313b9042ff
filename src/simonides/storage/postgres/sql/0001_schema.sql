-- Migration 1: every table of simonides, in a schema of its own, run by the role that owns them.
--
-- * `owner` is the digest of the owner's path under the store's salt, as 32 hexadecimal characters:
--   the policies below compare it with a text array, and text compares without leaking. It leads
--   every key, so that the tables can be partitioned or distributed by it.
-- * Names and ids sort by bytes, COLLATE "C", as they do in every other store.
-- * A `*_tag` is a 16-byte digest under the store's tag key, bound to owner and field. Whoever has
--   the rows but not the key cannot try words against it.
-- * Times are µs since 1970 UTC. `key_id` stays NULL until a key ring is set; until then the `mac`
--   of a memory is an unkeyed code of its content, and that of a state is NULL.
-- * A table that no code writes yet has the columns that its feature needs at least: what
--   describes one thing is a canonical JSON `body`, which can be sealed.

CREATE SCHEMA simonides;

-- Facts about the store itself: `salt` of the owner digests, `tag_key` of the tags.
CREATE TABLE simonides.meta (
    name text COLLATE "C" NOT NULL PRIMARY KEY,
    value bytea NOT NULL
);

-- Who may use the store: whoever knows the token, which every transaction names and which is
-- another once a move to this store began. `arriving` is NULL unless a move is under way; then it is
-- the digest of the owner on its way and the mark of the move, or empty for nobody.
CREATE TABLE simonides.opening (
    one boolean NOT NULL PRIMARY KEY DEFAULT true CHECK (one),
    token text COLLATE "C" NOT NULL,
    arriving bytea
);
INSERT INTO simonides.opening (token) VALUES (gen_random_uuid()::text);

-- Which files of this directory were run, and the SHA-256 of each as it was then.
CREATE TABLE simonides.migrations (
    number bigint NOT NULL PRIMARY KEY,
    name text COLLATE "C" NOT NULL,
    checksum bytea NOT NULL
);

-- Where each owner stands. Half of each page is left free: every commit writes its owner's row
-- anew, and beside the old one it needs no new index entry. `rows` and `bytes` are NULL until quotas
-- count them. `set_sum` is NULL without a key ring; with one it covers the set of the owner's memories.
CREATE TABLE simonides.owners (
    owner text COLLATE "C" NOT NULL PRIMARY KEY,
    incarnation bytea NOT NULL,
    epoch bigint NOT NULL,
    revision bigint NOT NULL,
    last_known_at bigint NOT NULL,
    head_seq bigint NOT NULL,
    head_mac bytea NOT NULL,
    set_sum bytea,
    "rows" bigint,
    bytes bigint,
    key_id text COLLATE "C",
    embedder text COLLATE "C",
    analyser text COLLATE "C",
    erased_at bigint,
    name text COLLATE "C" NOT NULL
) WITH (fillfactor = 50);

-- Content versions, each with the state in force repeated from `states`, so that an index is built
-- from one run of rows. Kind, validity and place in a session are inside body and state.
CREATE TABLE simonides.memories (
    owner text COLLATE "C" NOT NULL,
    id text COLLATE "C" NOT NULL,
    version bigint NOT NULL,
    revision bigint NOT NULL,
    status smallint NOT NULL,
    known_from bigint NOT NULL,
    due_at bigint,
    codec smallint NOT NULL,
    scope_tag bytea NOT NULL,
    chain_tag bytea NOT NULL,
    key_tag bytea,
    hash_tag bytea NOT NULL,
    slot_tag bytea,
    source_tag bytea,
    session_tag bytea,
    key_id text COLLATE "C",
    mac bytea,
    state bytea NOT NULL,
    body bytea NOT NULL,
    PRIMARY KEY (owner, id)
);

-- Every state of every memory. Keyed by the commit that opened it, which makes "what changed since
-- revision r" a range of this table; `previous` is the revision of the state before.
CREATE TABLE simonides.states (
    owner text COLLATE "C" NOT NULL,
    revision bigint NOT NULL,
    id text COLLATE "C" NOT NULL,
    previous bigint,
    status smallint NOT NULL,
    known_from bigint NOT NULL,
    known_to bigint,
    key_id text COLLATE "C",
    mac bytea,
    state bytea NOT NULL,
    PRIMARY KEY (owner, revision, id)
);

-- What may be looked up other than by id, in one narrow table: chains (place: version), keys
-- (place 0) and subjects of events (place: seq, id empty). What is looked up is inside the tag.
CREATE TABLE simonides.lookups (
    owner text COLLATE "C" NOT NULL,
    tag bytea NOT NULL,
    place bigint NOT NULL,
    id text COLLATE "C" NOT NULL,
    PRIMARY KEY (owner, tag, place, id)
);

-- Terms and vector of a memory as retrieval packed them; rebuilt without touching the memory. What
-- fits a page stays in it as it is, for all of an owner's are read at once; PLAIN storage would say
-- the same, and refuse the few that do not fit.
CREATE TABLE simonides.index_rows (
    owner text COLLATE "C" NOT NULL,
    id text COLLATE "C" NOT NULL,
    analyser text COLLATE "C" NOT NULL,
    embedder text COLLATE "C" NOT NULL,
    entry bytea STORAGE MAIN NOT NULL,
    PRIMARY KEY (owner, id)
) WITH (toast_tuple_target = 8160);

-- The audit chain. Rows are only ever appended.
CREATE TABLE simonides.events (
    owner text COLLATE "C" NOT NULL,
    seq bigint NOT NULL,
    key_id text COLLATE "C",
    commitment bytea NOT NULL,
    mac bytea NOT NULL,
    PRIMARY KEY (owner, seq)
);

-- What the chain commits to; erasable, and the chain still verifies.
CREATE TABLE simonides.event_payloads (
    owner text COLLATE "C" NOT NULL,
    seq bigint NOT NULL,
    salt bytea NOT NULL,
    payload bytea NOT NULL,
    PRIMARY KEY (owner, seq)
);

-- What was derived from a memory of this owner, possibly by another owner.
CREATE TABLE simonides.derivations (
    owner text COLLATE "C" NOT NULL,
    parent text COLLATE "C" NOT NULL,
    child_owner text COLLATE "C" NOT NULL,
    child text COLLATE "C" NOT NULL,
    PRIMARY KEY (owner, parent, child_owner, child)
);

-- The same edges from the child's side, for forgetting a child.
CREATE INDEX derivations_by_child ON simonides.derivations (owner, child_owner, child);

-- Work for other owners, committed with its cause.
CREATE TABLE simonides.outbox (
    owner text COLLATE "C" NOT NULL,
    id text COLLATE "C" NOT NULL,
    target text COLLATE "C" NOT NULL,
    body bytea NOT NULL,
    PRIMARY KEY (owner, id)
);

-- Fingerprints never to be learned again.
CREATE TABLE simonides.tombstones (
    owner text COLLATE "C" NOT NULL,
    tag bytea NOT NULL,
    PRIMARY KEY (owner, tag)
);

-- Writes done under a caller's key.
CREATE TABLE simonides.idempotency (
    owner text COLLATE "C" NOT NULL,
    tag bytea NOT NULL,
    revision bigint NOT NULL,
    request bytea NOT NULL,
    answer bytea NOT NULL,
    PRIMARY KEY (owner, tag)
);

-- Candidates kept back.
CREATE TABLE simonides.held (
    owner text COLLATE "C" NOT NULL,
    id text COLLATE "C" NOT NULL,
    session_tag bytea,
    reason text COLLATE "C" NOT NULL,
    held_at bigint NOT NULL,
    session text COLLATE "C",
    body bytea NOT NULL,
    PRIMARY KEY (owner, id)
);

-- Rights given, kept with the org that they concern.
CREATE TABLE simonides.grants (
    owner text COLLATE "C" NOT NULL,
    tag bytea NOT NULL,
    body bytea NOT NULL,
    PRIMARY KEY (owner, tag)
);

-- What readers did; in no chain and no revision. `n` counts over all owners: no writer has to wait
-- for another to know its number.
CREATE TABLE simonides.read_journal (
    owner text COLLATE "C" NOT NULL,
    n bigint GENERATED ALWAYS AS IDENTITY,
    at bigint NOT NULL,
    kind text COLLATE "C" NOT NULL,
    body bytea NOT NULL,
    PRIMARY KEY (owner, n)
);

-- How far the end of a session was worked through.
CREATE TABLE simonides.session_ends (
    owner text COLLATE "C" NOT NULL,
    session_tag bytea NOT NULL,
    step text COLLATE "C" NOT NULL,
    at bigint NOT NULL,
    body bytea NOT NULL,
    PRIMARY KEY (owner, session_tag)
);

-- Conversations and their turns (L1).
CREATE TABLE simonides.sessions (
    owner text COLLATE "C" NOT NULL,
    session_tag bytea NOT NULL,
    started_at bigint NOT NULL,
    due_at bigint,
    body bytea NOT NULL,
    PRIMARY KEY (owner, session_tag)
);

CREATE TABLE simonides.turns (
    owner text COLLATE "C" NOT NULL,
    session_tag bytea NOT NULL,
    turn_no bigint NOT NULL,
    at bigint NOT NULL,
    body bytea NOT NULL,
    PRIMARY KEY (owner, session_tag, turn_no)
);

-- Conflicts and findings that wait for a person.
CREATE TABLE simonides.reviews (
    owner text COLLATE "C" NOT NULL,
    id text COLLATE "C" NOT NULL,
    status text COLLATE "C" NOT NULL,
    at bigint NOT NULL,
    body bytea NOT NULL,
    PRIMARY KEY (owner, id)
);

-- What a person refused or allowed to be remembered.
CREATE TABLE simonides.consents (
    owner text COLLATE "C" NOT NULL,
    tag bytea NOT NULL,
    at bigint NOT NULL,
    body bytea NOT NULL,
    PRIMARY KEY (owner, tag)
);

-- Scopes that live with an owner, its tasks for example.
CREATE TABLE simonides.scopes (
    owner text COLLATE "C" NOT NULL,
    scope_tag bytea NOT NULL,
    at bigint NOT NULL,
    body bytea NOT NULL,
    PRIMARY KEY (owner, scope_tag)
);

-- Policies that were in force.
CREATE TABLE simonides.policies (
    owner text COLLATE "C" NOT NULL,
    version bigint NOT NULL,
    hash bytea NOT NULL,
    at bigint NOT NULL,
    body bytea NOT NULL,
    PRIMARY KEY (owner, version)
);

-- What an owner used per day, counted in days since 1970 UTC.
CREATE TABLE simonides.usage (
    owner text COLLATE "C" NOT NULL,
    day bigint NOT NULL,
    body bytea NOT NULL,
    PRIMARY KEY (owner, day)
);

-- Who works on what in the background, and until when.
CREATE TABLE simonides.leases (
    owner text COLLATE "C" NOT NULL,
    name text COLLATE "C" NOT NULL,
    holder text COLLATE "C" NOT NULL,
    until bigint NOT NULL,
    PRIMARY KEY (owner, name)
);

-- An owner's keys, wrapped; destroying them is crypto-shredding.
CREATE TABLE simonides.owner_keys (
    owner text COLLATE "C" NOT NULL,
    key_id text COLLATE "C" NOT NULL,
    wrapped bytea,
    destroyed_at bigint,
    PRIMARY KEY (owner, key_id)
);

-- Each transaction names the owners that it may read and the owners that it may write, for its own
-- length; a transaction that names nobody fails. Forced: the role that owns the tables is bound
-- too. The setting is read in a sub-select, once for a statement and not once for a row.
DO $$
DECLARE
    table_name text;
    readable CONSTANT text :=
        'owner = ANY ((SELECT current_setting(''simonides.readable'')::text[])::text[])';
    writable CONSTANT text :=
        'owner = ANY ((SELECT current_setting(''simonides.writable'')::text[])::text[])';
BEGIN
    FOR table_name IN
        SELECT c.relname FROM pg_class AS c JOIN pg_attribute AS a ON a.attrelid = c.oid
        WHERE c.relnamespace = 'simonides'::regnamespace AND c.relkind = 'r' AND a.attname = 'owner'
    LOOP
        EXECUTE format('ALTER TABLE simonides.%I ENABLE ROW LEVEL SECURITY', table_name);
        EXECUTE format('ALTER TABLE simonides.%I FORCE ROW LEVEL SECURITY', table_name);
        EXECUTE format('CREATE POLICY readable ON simonides.%I FOR SELECT USING (%s)',
            table_name, readable);
        EXECUTE format('CREATE POLICY addable ON simonides.%I FOR INSERT WITH CHECK (%s)',
            table_name, writable);
        EXECUTE format('CREATE POLICY changeable ON simonides.%I FOR UPDATE USING (%s)',
            table_name, writable);
        EXECUTE format('CREATE POLICY removable ON simonides.%I FOR DELETE USING (%s)',
            table_name, writable);
    END LOOP;
END
$$;

-- Ends the transaction unless something holds, so that a check and what depends on it travel
-- together in one round trip.
CREATE FUNCTION simonides.require(holds boolean, problem text) RETURNS boolean
LANGUAGE plpgsql AS $$
BEGIN
    IF holds IS NOT TRUE THEN
        RAISE EXCEPTION USING ERRCODE = 'SI001', MESSAGE = problem;
    END IF;
    RETURN true;
END
$$;

-- Ends a transaction of a program that opened the store before another one was moved here: it may
-- make its digests with keys that are the store's no more. The lock that reading takes stays until
-- the transaction ends, so that a move begins when all that are under way are over.
CREATE FUNCTION simonides.check_opening(known text) RETURNS boolean
LANGUAGE plpgsql AS $$
BEGIN
    IF (SELECT token FROM simonides.opening) IS DISTINCT FROM known THEN
        RAISE EXCEPTION USING ERRCODE = 'SI002',
            MESSAGE = 'a move to this store has begun since it was opened; open it again';
    END IF;
    RETURN true;
END
$$;

-- The keys of the digests may change as long as nothing is digested with them. Run with the rights of
-- who asks: an operator sees whose rows there are, others see none that they do not name and fail.
-- In an encrypted store the key of the tags is kept wrapped under a master key, and may be wrapped
-- anew at any time. That is another text of the same key.
CREATE FUNCTION simonides.keep_keys() RETURNS trigger
LANGUAGE plpgsql SET search_path = '' AS $$
DECLARE
    table_name text;
    is_used boolean;
BEGIN
    FOR table_name IN
        SELECT c.relname FROM pg_catalog.pg_class AS c
        JOIN pg_catalog.pg_attribute AS a ON a.attrelid = c.oid
        WHERE c.relnamespace = 'simonides'::regnamespace AND c.relkind IN ('r', 'p')
            AND a.attname = 'owner' AND c.relname <> 'leases'
    LOOP
        EXECUTE pg_catalog.format('SELECT EXISTS (SELECT owner FROM simonides.%I)', table_name)
        INTO is_used;
        IF is_used THEN
            RAISE EXCEPTION USING ERRCODE = 'SI001',
                MESSAGE = 'the keys of a store that has rows stay as they are';
        END IF;
    END LOOP;
    RETURN NULL;
END
$$;
CREATE TRIGGER keep_keys AFTER UPDATE ON simonides.meta
FOR EACH ROW WHEN (NEW.name <> OLD.name OR OLD.name <> 'tag_key'
    OR length(OLD.value) <= 32 OR length(NEW.value) <= 32)
EXECUTE FUNCTION simonides.keep_keys();

-- What every recall and every write asks for, as functions: a session keeps their plans, where a
-- statement that is sent is read and planned anew each time, and none of it is a prepared statement
-- that a pooler would have to know of. They run with the rights of who calls them, policies
-- included, and they set what ends with the transaction, like any statement of ours. Where lists
-- come in, a plan for this one's length would seem worth making each time, and is not; rows are
-- inserted one by one, for that is a third of what unnesting a list for each column costs for one
-- row, and writes of one are what people wait for.

-- Where some owners stand; names them as readable. A setting of `statement_timeout` would not bind
-- the statement that makes it, so this has none; what it may wait for is locks.
CREATE FUNCTION simonides.heads(names text[], opening text, lock_ms text)
RETURNS TABLE (owner text, incarnation bytea, epoch bigint, revision bigint, known_at bigint,
    seq bigint)
LANGUAGE plpgsql ROWS 2 AS $$
#variable_conflict use_column
BEGIN
    PERFORM simonides.check_opening(opening),
        set_config('simonides.readable', names::text, true),
        set_config('simonides.writable', '{}', true), set_config('lock_timeout', lock_ms, true);
    RETURN QUERY SELECT o.owner, o.incarnation, o.epoch, o.revision, o.last_known_at, o.head_seq
        FROM simonides.owners AS o WHERE o.owner = ANY (names);
END
$$;

-- Binds the transaction to one owner and waits for the owner's turn. The row lock lets whoever
-- happens to ask next barge in; the advisory lock before it is served in order, over all processes
-- and machines.
CREATE FUNCTION simonides.wait_for_turn(
    for_owner text, opening text, key bigint, statement_ms text, lock_ms text, idle_ms text)
RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    alone CONSTANT text := '{' || for_owner || '}';
BEGIN
    PERFORM simonides.check_opening(opening),
        set_config('simonides.readable', alone, true),
        set_config('simonides.writable', alone, true),
        set_config('statement_timeout', statement_ms, true),
        set_config('lock_timeout', lock_ms, true),
        set_config('idle_in_transaction_session_timeout', idle_ms, true),
        pg_advisory_xact_lock(key);
END
$$;

-- Takes a turn for a change that was decided before, and ends the transaction unless the owner
-- stands where the writer left it and none of some fingerprints is a tombstone: what was decided
-- on is then what stands.
CREATE FUNCTION simonides.take_turn_as_foreseen(
    for_owner text, opening text, key bigint, marks bytea[], known_incarnation bytea,
    known_epoch bigint, known_revision bigint, statement_ms text, lock_ms text, idle_ms text)
RETURNS void
LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan AS $$
BEGIN
    PERFORM simonides.wait_for_turn(for_owner, opening, key, statement_ms, lock_ms, idle_ms);
    PERFORM FROM simonides.owners AS o WHERE o.owner = for_owner
        AND o.incarnation = known_incarnation AND o.epoch = known_epoch
        AND o.revision = known_revision FOR UPDATE;
    IF NOT FOUND OR cardinality(marks) > 0 AND EXISTS (
            SELECT FROM simonides.tombstones AS t
            WHERE t.owner = for_owner AND t.tag = ANY (marks)) THEN
        RAISE EXCEPTION USING ERRCODE = 'SI003', MESSAGE = 'the owner is not as was foreseen';
    END IF;
END
$$;

-- Takes a turn and returns what stands: first where the owner stands (nothing at all for one never
-- written), with those of some tombstones that there are; then the rows changed since a head, or all
-- live rows if they cannot be told from it, or none if the caller knows of no status that is live.
CREATE FUNCTION simonides.take_turn(
    for_owner text, opening text, key bigint, marks bytea[], since_incarnation bytea,
    since_epoch bigint,
    since_revision bigint, live smallint[], statement_ms text, lock_ms text, idle_ms text)
RETURNS TABLE (incarnation bytea, epoch bigint, revision bigint, known_at bigint, seq bigint,
    mac bytea, banned bytea[], id text, body bytea, state bytea, entry bytea, known_from bigint)
LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan AS $$
#variable_conflict use_column
BEGIN
    PERFORM simonides.wait_for_turn(for_owner, opening, key, statement_ms, lock_ms, idle_ms);
    SELECT o.incarnation, o.epoch, o.revision, o.last_known_at, o.head_seq, o.head_mac
    INTO incarnation, epoch, revision, known_at, seq, mac
    FROM simonides.owners AS o WHERE o.owner = for_owner FOR UPDATE;
    IF NOT FOUND THEN
        RETURN;
    END IF;
    IF cardinality(marks) > 0 THEN
        banned := ARRAY(SELECT t.tag FROM simonides.tombstones AS t
            WHERE t.owner = for_owner AND t.tag = ANY (marks));
    END IF;
    RETURN NEXT;
    IF cardinality(live) = 0 THEN
        RETURN;
    ELSIF (incarnation, epoch) IS DISTINCT FROM (since_incarnation, since_epoch) THEN
        RETURN QUERY SELECT NULL::bytea, NULL::bigint, m.revision, NULL::bigint, NULL::bigint,
            NULL::bytea, NULL::bytea[], m.id, m.body, m.state, coalesce(i.entry, ''), m.known_from
        FROM simonides.memories AS m
        LEFT JOIN simonides.index_rows AS i ON i.owner = for_owner AND i.id = m.id
        WHERE m.owner = for_owner AND m.status = ANY (live);
    ELSIF revision > since_revision THEN
        RETURN QUERY SELECT NULL::bytea, NULL::bigint, m.revision, NULL::bigint, NULL::bigint,
            NULL::bytea, NULL::bytea[], m.id, m.body, m.state, coalesce(i.entry, ''), m.known_from
        FROM simonides.states AS s
        JOIN simonides.memories AS m ON m.owner = for_owner AND m.id = s.id
        LEFT JOIN simonides.index_rows AS i ON i.owner = for_owner AND i.id = s.id
        WHERE s.owner = for_owner AND s.revision > since_revision AND s.known_to IS NULL
        ORDER BY s.revision, s.id;
    END IF;
END
$$;

-- New versions with their first states, what they are looked up by, and their index rows; if each
-- chain's highest version is the one that they go on from.
CREATE FUNCTION simonides.add_memories(
    for_owner text, revision bigint, known_from bigint, codec smallint, ids text[],
    versions bigint[], statuses smallint[], due_ats bigint[], scope_tags bytea[],
    chain_tags bytea[], key_tags bytea[], hash_tags bytea[], slot_tags bytea[],
    session_tags bytea[], macs bytea[], states bytea[], bodies bytea[], analysers text[],
    embedders text[], entries bytea[], roots text[], root_tags bytea[], tops bigint[])
RETURNS void
LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan AS $$
#variable_conflict use_variable
BEGIN
    FOR i IN 1 .. cardinality(roots) LOOP
        IF tops[i] <> coalesce((SELECT max(l.place) FROM simonides.lookups AS l
                WHERE l.owner = for_owner AND l.tag = root_tags[i]), 0) THEN
            PERFORM simonides.require(false,
                format('chain %s: version %s does not come next', roots[i], tops[i] + 1));
        END IF;
    END LOOP;
    FOR i IN 1 .. cardinality(ids) LOOP
        INSERT INTO simonides.memories (
            owner, id, version, revision, status, known_from, due_at, codec, scope_tag, chain_tag,
            key_tag, hash_tag, slot_tag, session_tag, mac, state, body)
        VALUES (for_owner, ids[i], versions[i], revision, statuses[i], known_from, due_ats[i],
            codec, scope_tags[i], chain_tags[i], key_tags[i], hash_tags[i], slot_tags[i],
            session_tags[i], macs[i], states[i], bodies[i]);
        INSERT INTO simonides.states (owner, revision, id, status, known_from, state)
        VALUES (for_owner, revision, ids[i], statuses[i], known_from, states[i]);
        INSERT INTO simonides.lookups (owner, tag, place, id)
        VALUES (for_owner, chain_tags[i], versions[i], ids[i]) ON CONFLICT DO NOTHING;
        IF key_tags[i] IS NOT NULL THEN
            INSERT INTO simonides.lookups (owner, tag, place, id)
            VALUES (for_owner, key_tags[i], 0, ids[i]) ON CONFLICT DO NOTHING;
        END IF;
        IF length(entries[i]) > 0 THEN
            INSERT INTO simonides.index_rows (owner, id, analyser, embedder, entry)
            VALUES (for_owner, ids[i], analysers[i], embedders[i], entries[i]);
        END IF;
    END LOOP;
END
$$;

-- Where the owner stands now, with the links of the chain that lead there, what they commit to, and
-- whom they are about. Nobody else can have moved it: this is the turn.
CREATE FUNCTION simonides.move_owner(
    for_owner text, path text, incarnation bytea, epoch bigint, revision bigint, known_at bigint,
    head_seq bigint, head_mac bytea, seqs bigint[], commitments bytea[], macs bytea[],
    salts bytea[], payloads bytea[], subject_tags bytea[], subject_seqs bigint[])
RETURNS void
LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan AS $$
#variable_conflict use_variable
BEGIN
    -- The name too: whoever was erased has none.
    UPDATE simonides.owners AS o SET name = path, epoch = move_owner.epoch,
        revision = move_owner.revision, last_known_at = known_at, head_seq = move_owner.head_seq, head_mac = move_owner.head_mac
    WHERE o.owner = for_owner AND o.revision = move_owner.revision - 1;
    IF NOT FOUND THEN
        -- A new owner, or one that is not where the caller believes.
        INSERT INTO simonides.owners
            (owner, name, incarnation, epoch, revision, last_known_at, head_seq, head_mac)
        VALUES (for_owner, path, incarnation, epoch, revision, known_at, head_seq, head_mac)
        ON CONFLICT DO NOTHING;
        PERFORM simonides.require(FOUND, 'the owner moved on');
    END IF;
    FOR i IN 1 .. cardinality(seqs) LOOP
        INSERT INTO simonides.events (owner, seq, commitment, mac)
        VALUES (for_owner, seqs[i], commitments[i], macs[i]);
        INSERT INTO simonides.event_payloads (owner, seq, salt, payload)
        VALUES (for_owner, seqs[i], salts[i], payloads[i]);
    END LOOP;
    FOR i IN 1 .. cardinality(subject_tags) LOOP
        INSERT INTO simonides.lookups (owner, tag, place, id)
        VALUES (for_owner, subject_tags[i], subject_seqs[i], '') ON CONFLICT DO NOTHING;
    END LOOP;
END
$$;

-- Safety records and feedback, in a schema of their own. No statement of the store names it, so no
-- recall reads it. Subjects are keyed digests; bodies are sealed where the store is. The policies of
-- owners do not apply: an administrator of the store reads the records of all.
CREATE SCHEMA simonides_records;
REVOKE ALL ON SCHEMA simonides_records FROM PUBLIC;

CREATE TABLE simonides_records.records (
    shelf text COLLATE "C" NOT NULL,
    at bigint NOT NULL,
    id text COLLATE "C" NOT NULL,
    subject bytea NOT NULL,
    key_id text COLLATE "C",
    body bytea NOT NULL,
    PRIMARY KEY (shelf, at, id)
);
CREATE INDEX records_of_subjects ON simonides_records.records (subject);
