-- Rights of an application's role and of its operator's; run after every migration.
-- {app} and {operator} are names of roles, written in as identifiers.

GRANT USAGE ON SCHEMA simonides TO {app}, {operator};
GRANT SELECT ON simonides.meta, simonides.migrations TO {app};
-- A move to this store shuts others out, and numbers of journals arrive as they were.
GRANT SELECT, UPDATE ON simonides.opening TO {app};
GRANT SELECT, UPDATE ON SEQUENCE simonides.read_journal_n_seq TO {app};
GRANT SELECT, INSERT, UPDATE, DELETE ON
    simonides.owners, simonides.memories, simonides.states, simonides.lookups,
    simonides.index_rows, simonides.events, simonides.event_payloads, simonides.derivations,
    simonides.outbox, simonides.tombstones, simonides.idempotency, simonides.held,
    simonides.grants, simonides.read_journal, simonides.session_ends, simonides.sessions,
    simonides.turns, simonides.reviews, simonides.consents, simonides.scopes, simonides.policies,
    simonides.usage, simonides.leases, simonides.owner_keys
TO {app};

-- Safety records and feedback, which belong to no owner that policies know.
GRANT USAGE ON SCHEMA simonides_records TO {app};
GRANT SELECT, INSERT, DELETE, UPDATE (key_id, body) ON simonides_records.records TO {app};

-- The operator sees who there is, what is on its way between owners, which sessions are due, and of
-- everything else whose it is. The application takes this role for one transaction at a time. That it
-- sees whose rows there are makes it the one that may write the keys, which a trigger allows as
-- long as there are none. The column `owner` of every table comes with its policy.
GRANT SELECT (name, erased_at, last_known_at) ON simonides.owners TO {operator};
GRANT SELECT ON simonides.outbox, simonides.sessions TO {operator};
GRANT SELECT (session_tag, turn_no) ON simonides.turns TO {operator};
GRANT SELECT ON simonides.opening TO {operator};
GRANT SELECT (name), UPDATE (value) ON simonides.meta TO {operator};

-- On PostgreSQL 17 and newer the application may vacuum what it erased. On 16 the tables' owner does.
DO $$
BEGIN
    IF current_setting('server_version_num')::int >= 170000 THEN
        GRANT MAINTAIN ON
            simonides.owners, simonides.memories, simonides.states, simonides.lookups,
            simonides.index_rows, simonides.events, simonides.event_payloads,
            simonides.derivations, simonides.outbox, simonides.idempotency, simonides.held,
            simonides.grants, simonides.read_journal, simonides.session_ends,
            simonides.sessions, simonides.turns, simonides.reviews, simonides.consents,
            simonides.scopes, simonides.policies, simonides.usage, simonides.owner_keys,
            simonides_records.records
        TO {app};
    END IF;
END
$$;
