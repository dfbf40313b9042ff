-- Rights of an application's role and of its operator's; run after every migration.
-- {app} and {operator} are names of roles, written in as identifiers.

GRANT USAGE ON SCHEMA memstrata TO {app}, {operator};
GRANT SELECT ON memstrata.meta, memstrata.migrations TO {app};
GRANT SELECT, INSERT, UPDATE, DELETE ON
    memstrata.owners, memstrata.memories, memstrata.states, memstrata.lookups,
    memstrata.index_rows, memstrata.events, memstrata.event_payloads, memstrata.derivations,
    memstrata.outbox, memstrata.tombstones, memstrata.idempotency, memstrata.held,
    memstrata.grants, memstrata.read_journal, memstrata.session_ends, memstrata.sessions,
    memstrata.turns, memstrata.reviews, memstrata.consents, memstrata.scopes, memstrata.policies,
    memstrata.usage, memstrata.leases, memstrata.owner_keys
TO {app};

-- The operator sees who there is, what is on its way between owners, and which sessions are due; of
-- nobody's memories and entries anything but whose they are. The application takes this role for one transaction at a time.
GRANT SELECT (owner, name, erased_at) ON memstrata.owners TO {operator};
GRANT SELECT (owner) ON memstrata.events, memstrata.memories TO {operator};
GRANT SELECT ON memstrata.outbox, memstrata.sessions TO {operator};
GRANT SELECT (owner, session_tag, turn_no) ON memstrata.turns TO {operator};
DROP POLICY IF EXISTS {operator} ON memstrata.owners;
DROP POLICY IF EXISTS {operator} ON memstrata.events;
DROP POLICY IF EXISTS {operator} ON memstrata.memories;
DROP POLICY IF EXISTS {operator} ON memstrata.outbox;
DROP POLICY IF EXISTS {operator} ON memstrata.sessions;
DROP POLICY IF EXISTS {operator} ON memstrata.turns;
CREATE POLICY {operator} ON memstrata.owners FOR SELECT TO {operator} USING (true);
CREATE POLICY {operator} ON memstrata.events FOR SELECT TO {operator} USING (true);
CREATE POLICY {operator} ON memstrata.memories FOR SELECT TO {operator} USING (true);
CREATE POLICY {operator} ON memstrata.outbox FOR SELECT TO {operator} USING (true);
CREATE POLICY {operator} ON memstrata.sessions FOR SELECT TO {operator} USING (true);
CREATE POLICY {operator} ON memstrata.turns FOR SELECT TO {operator} USING (true);
