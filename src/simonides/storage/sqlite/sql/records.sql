-- Statements about safety records and feedback, in a file of their own beside the store's.

-- name: records_table
CREATE TABLE IF NOT EXISTS records (
    shelf TEXT NOT NULL,
    at INTEGER NOT NULL,
    id TEXT NOT NULL,
    subject BLOB NOT NULL,
    key_id TEXT,
    body BLOB NOT NULL,
    PRIMARY KEY (shelf, at, id)
) STRICT, WITHOUT ROWID;

-- name: records_add
INSERT OR IGNORE INTO records (shelf, at, id, subject, key_id, body)
VALUES (:shelf, :at, :id, :subject, :key_id, :body);

-- name: records_page
SELECT id, at, subject, key_id, body FROM records
WHERE shelf = :shelf AND at >= :since AND (:subject IS NULL OR subject = :subject)
    AND (:after_at IS NULL OR (at, id) < (:after_at, :after_id))
ORDER BY at DESC, id DESC LIMIT :limit;

-- name: records_purge
DELETE FROM records WHERE shelf = :shelf AND (:before IS NULL OR at < :before);

-- name: records_sealed_otherwise
SELECT shelf, id, at, subject, key_id, body FROM records WHERE key_id <> :current;

-- name: records_seal
UPDATE records SET key_id = :key_id, body = :body WHERE shelf = :shelf AND at = :at AND id = :id;

-- name: records_of_subject
SELECT body FROM records WHERE subject = :subject;

-- name: records_forget
DELETE FROM records WHERE subject = :subject;
