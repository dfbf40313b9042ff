-- Safety records and feedback (OB-2) in a schema of their own: no statement of the store names it, so
-- that nothing recalls them. Subjects are keyed digests, bodies sealed where the store is; the owner
-- policies of the store do not apply, since who administers it reads the records of all.
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
