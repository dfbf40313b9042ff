-- Statements about safety records and feedback.

-- name: records_add
-- Not again, where the answer to the first attempt was lost.
INSERT INTO simonides_records.records (shelf, at, id, subject, key_id, body)
VALUES (%(shelf)s, %(at)s, %(id)s, %(subject)s, %(key_id)s, %(body)s)
ON CONFLICT DO NOTHING;

-- name: records_page
SELECT id, at, subject, key_id, body FROM simonides_records.records
WHERE shelf = %(shelf)s AND at >= %(since)s
    AND (%(subject)s::bytea IS NULL OR subject = %(subject)s)
    AND (%(after_at)s::bigint IS NULL OR (at, id) < (%(after_at)s, %(after_id)s COLLATE "C"))
ORDER BY at DESC, id DESC LIMIT %(limit)s;

-- name: records_purge
DELETE FROM simonides_records.records
WHERE shelf = %(shelf)s AND (%(before)s::bigint IS NULL OR at < %(before)s);

-- name: records_sealed_otherwise
SELECT shelf, id, at, subject, key_id, body FROM simonides_records.records
WHERE key_id <> %(current)s FOR UPDATE;

-- name: records_seal
UPDATE simonides_records.records SET key_id = %(key_id)s, body = %(body)s
WHERE shelf = %(shelf)s AND at = %(at)s AND id = %(id)s;

-- name: records_forget
DELETE FROM simonides_records.records WHERE subject = %(subject)s;
