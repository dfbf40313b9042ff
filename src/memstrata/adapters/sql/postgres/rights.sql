-- Rights of an application's role and of its operator's; run after every migration.
-- {app} and {operator} are names of roles, written in as identifiers.

GRANT USAGE ON SCHEMA memstrata TO {app}, {operator};
GRANT SELECT ON memstrata.meta, memstrata.migrations TO {app};
-- A move to this store shuts others out, and numbers of journals arrive as they were.
GRANT SELECT, UPDATE ON memstrata.opening TO {app};
GRANT SELECT, UPDATE ON SEQUENCE memstrata.read_journal_n_seq TO {app};
GRANT SELECT, INSERT, UPDATE, DELETE ON
    memstrata.owners, memstrata.memories, memstrata.states, memstrata.lookups,
    memstrata.index_rows, memstrata.events, memstrata.event_payloads, memstrata.derivations,
    memstrata.outbox, memstrata.tombstones, memstrata.idempotency, memstrata.held,
    memstrata.grants, memstrata.read_journal, memstrata.session_ends, memstrata.sessions,
    memstrata.turns, memstrata.reviews, memstrata.consents, memstrata.scopes, memstrata.policies,
    memstrata.usage, memstrata.leases, memstrata.owner_keys
TO {app};

-- Safety records and feedback, which are of no owner that policies know; see 0003_records.sql.
GRANT USAGE ON SCHEMA memstrata_records TO {app};
GRANT SELECT, INSERT, DELETE, UPDATE (key_id, body) ON memstrata_records.records TO {app};

-- The operator sees who there is, what is on its way between owners, which sessions are due, and of
-- everything else whose it is. The application takes this role for one transaction at a time. That it
-- sees whose rows there are makes it the one that may write the keys, which a trigger allows as
-- long as there are none. The column `owner` of every table comes with its policy.
GRANT SELECT (name, erased_at, last_known_at) ON memstrata.owners TO {operator};
GRANT SELECT ON memstrata.outbox, memstrata.sessions TO {operator};
GRANT SELECT (session_tag, turn_no) ON memstrata.turns TO {operator};
GRANT SELECT ON memstrata.opening TO {operator};
GRANT SELECT (name), UPDATE (value) ON memstrata.meta TO {operator};

-- From version 17 on the application may vacuum what it has erased; before that the tables' owner does.
DO $$
BEGIN
    IF current_setting('server_version_num')::int >= 170000 THEN
        GRANT MAINTAIN ON
            memstrata.owners, memstrata.memories, memstrata.states, memstrata.lookups,
            memstrata.index_rows, memstrata.events, memstrata.event_payloads,
            memstrata.derivations, memstrata.outbox, memstrata.idempotency, memstrata.held,
            memstrata.grants, memstrata.read_journal, memstrata.session_ends,
            memstrata.sessions, memstrata.turns, memstrata.reviews, memstrata.consents,
            memstrata.scopes, memstrata.policies, memstrata.usage, memstrata.owner_keys,
            memstrata_records.records
        TO {app};
    END IF;
END
$$;
