-- Statements by name, one text for SQLite and PostgreSQL. Braces stand for what statements.py fills
-- in: {{ROWS}} and {{INDEXED}} select memories of an owner, {{PART}} names columns, {{IDS}} lists ids.

-- name: BEGIN_WRITE
-- Takes the owner's write lock (in PostgreSQL: that of its row) and returns its state.
INSERT INTO owners (owner, epoch, clock, events, head, salt, rows_, code)
VALUES (:owner, :epoch, 0, 0, :empty, :salt, :empty, :empty)
ON CONFLICT (owner) DO UPDATE SET epoch = owners.epoch
RETURNING epoch, clock, events, head, salt, rows_, code

-- name: END_WRITE
UPDATE owners SET epoch = :epoch, clock = :clock, events = :events, head = :head, rows_ = :rows,
  code = :code
WHERE owner = :owner

-- name: LOCK_ROOT
INSERT INTO roots (part, leaves, owners, changes, code) VALUES (:part, :empty, 0, 0, :empty)
ON CONFLICT (part) DO UPDATE SET changes = roots.changes
RETURNING leaves, owners, changes, code

-- name: SET_ROOT
UPDATE roots SET leaves = :leaves, owners = :owners, changes = :changes, code = :code
WHERE part = :part

-- name: CHANGE
UPDATE memories SET status = :status, updated_at = :updated_at, said_at = :said_at,
  utc_offset = :utc_offset,
  verified_at = :verified_at,
  soft_expires_at = :soft_expires_at, hard_expires_at = :hard_expires_at,
  embedder = :embedder, vector = :vector, scale = :scale, token_ids = :token_ids,
  known_to = :known_to, ended = :ended, ended_by = :ended_by
WHERE owner = :owner AND id = :id

-- name: KEEP_TOKENS
INSERT INTO tokens (owner, memory, vectors) VALUES (:owner, :id, :tokens)
ON CONFLICT (owner, memory) DO UPDATE SET vectors = excluded.vectors

-- name: TURN_AT
SELECT id FROM memories
WHERE owner = :owner AND session = :session AND position = :position AND known_to IS NULL
  AND COALESCE(task, '') = :task AND COALESCE(audience, '') = :audience
  AND COALESCE(purpose, '') = :purpose

-- name: LAST_TURNS
-- The end of a conversation, newest first.
SELECT hash, message_id, role, position, valid_from, id,
  CASE WHEN version > 1 AND content LIKE :cut THEN 1 ELSE 0 END
FROM memories
WHERE owner = :owner AND session = :session AND position IS NOT NULL AND known_to IS NULL
  AND COALESCE(task, '') = :task AND COALESCE(purpose, '') = :purpose
ORDER BY position DESC LIMIT :limit

-- name: MESSAGE_IDS
-- Of every version: a message that was edited or cut is known, too.
SELECT DISTINCT session, message_id FROM memories
WHERE owner = :owner AND session IS NOT NULL AND message_id IS NOT NULL
  AND COALESCE(task, '') = :task AND COALESCE(purpose, '') = :purpose

-- name: KNOWN
{ROWS} AND position IS NULL AND known_to IS NULL AND COALESCE(purpose, '') = :purpose
  AND task IS NULL AND audience IS NULL AND sensitivity <> 'sensitive' AND kind <> 'episodic'
ORDER BY CASE WHEN key IS NULL THEN 1 ELSE 0 END, updated_at DESC, id LIMIT 40

-- name: LAST_FACTS
{ROWS} AND session = :session AND key IS NOT NULL AND known_to IS NULL
AND id >= (
  SELECT id FROM (
    SELECT id FROM memories WHERE owner = :owner AND session = :session AND position IS NOT NULL
    ORDER BY position DESC LIMIT :limit) AS last
  ORDER BY id LIMIT 1)
ORDER BY id DESC

-- name: LAST_SAID
SELECT root FROM memories
WHERE owner = :owner AND session = :session AND position IS NOT NULL AND role = 'user'
  AND source = 'user_stated' AND known_to IS NULL AND (marks & :gap) = 0
ORDER BY position DESC LIMIT :limit

-- name: KEYS
SELECT key, task, audience, purpose, hard_expires_at FROM memories
WHERE owner = :owner AND known_to IS NULL AND key IS NOT NULL LIMIT 10000

-- name: AS_OF
-- What was known at a moment, and what was said to be true at another, by versions.
{ROWS} AND known_from <= :known_at AND (known_to IS NULL OR known_to > known_from)
  AND (ended IS NULL OR known_to > :known_at OR ended = 'superseded')
ORDER BY root, version

-- name: LOAD_SINCE
{INDEXED} AND id IN (
  SELECT subject FROM events WHERE owner = :owner AND seq > :seen AND subject_table = 'memories'
) ORDER BY id

-- name: NOTE_ENDING
INSERT INTO endings (owner, older, newer, start, stop, at)
VALUES (:owner, :older, :newer, :start, :stop, :at) ON CONFLICT DO NOTHING

-- name: COUNT_READ
INSERT INTO reads (owner, memory, day, count, last)
SELECT owner, root, CAST(:day AS BIGINT), CAST(:count AS BIGINT), CAST(:last AS BIGINT)
FROM memories WHERE owner = :owner AND root = :memory LIMIT 1
ON CONFLICT (owner, memory, day) DO UPDATE SET count = reads.count + :count,
  last = CASE WHEN reads.last > :last THEN reads.last ELSE :last END

-- name: KEEP_RECEIPT
INSERT INTO receipts (owner, id, at, purpose, data) VALUES (:owner, :id, :at, :purpose, :data)
ON CONFLICT DO NOTHING

-- name: RECEIPTS
SELECT id, at, data FROM receipts
WHERE owner = :owner AND purpose = :purpose AND at >= :since
ORDER BY at DESC, id DESC LIMIT :limit

-- name: NOTE_ECHO
INSERT INTO echoes (owner, session, fingerprint, memory, at)
VALUES (:owner, :session, :fingerprint, :memory, :at) ON CONFLICT DO NOTHING

-- name: FORGET_ECHO
DELETE FROM echoes
WHERE owner = :owner AND session = :session AND fingerprint = :fingerprint

-- name: DERIVED
SELECT child FROM derived
WHERE owner = :owner AND parent_owner = :parent_owner AND parent = :parent

-- name: DERIVE
INSERT INTO derived (owner, parent_owner, parent, child)
VALUES (:owner, :parent_owner, :parent, :child) ON CONFLICT DO NOTHING

-- name: SET_COUNTER
INSERT INTO counters (owner, day, name, value) VALUES (:owner, 0, :name, :value)
ON CONFLICT (owner, day, name) DO UPDATE SET value = excluded.value

-- name: COUNT
INSERT INTO counters (owner, day, name, value) VALUES (:owner, :day, :name, :value)
ON CONFLICT (owner, day, name) DO UPDATE SET value = counters.value + excluded.value

-- name: OF_TASK
SELECT id, audience FROM memories
WHERE owner = :owner AND task = :task AND COALESCE(purpose, '') = :purpose

-- name: LAST_POSITION
SELECT MAX(position) FROM memories
WHERE owner = :owner AND session = :session AND position IS NOT NULL AND known_to IS NULL

-- name: CONVERSATIONS
-- All parts of a page of conversations, that with the latest turn first.
WITH page (owner, conversation, latest, top) AS (
  SELECT owner, name, last, id FROM sessions s
  WHERE s.owner = :owner AND s.purpose = :purpose AND (s.last, s.id) < (:last, :id)
    AND NOT EXISTS (
      SELECT 1 FROM sessions n
      WHERE n.owner = :owner AND n.name = s.name AND (n.last, n.id) > (s.last, s.id))
  ORDER BY s.last DESC, s.id DESC LIMIT :limit)
SELECT {PART} FROM page g CROSS JOIN sessions p
WHERE g.owner = :owner AND p.owner = :owner AND p.name = g.conversation
ORDER BY g.latest DESC, g.top DESC, p.last DESC, p.id DESC

-- name: UNREAD
-- The parts that the model could not read, the latest first.
SELECT {PART} FROM sessions
WHERE owner = :owner AND failed IS NOT NULL AND purpose = :purpose ORDER BY last DESC, id DESC

-- name: LAST_SUMMARIES
-- The summaries in force that a reader of a purpose may see, of the latest parts first.
SELECT s.summary FROM sessions s CROSS JOIN memories m
WHERE s.owner = :owner AND s.summary IS NOT NULL AND m.owner = :owner AND m.root = s.summary
  AND m.known_to IS NULL AND m.task IS NULL AND COALESCE(m.purpose, :purpose) = :purpose
ORDER BY s.last DESC, s.id DESC LIMIT :limit

-- name: KEEP_PART
UPDATE sessions SET summary = :summary, failed = :failed, data = :data
WHERE owner = :owner AND id = :id

-- name: BEGIN_PART
INSERT INTO sessions (owner, id, name, part, status, step, begun, last, turns, purpose, data, salt)
VALUES (:owner, :id, :name, :part, 'open', '', :begun, :last, :turns, :purpose, :data, :salt)

-- name: GO_ON
UPDATE sessions SET last = CASE WHEN last > :last THEN last ELSE :last END, turns = turns + :turns
WHERE owner = :owner AND id = :id

-- name: ENDING
SELECT {PART} FROM sessions WHERE owner = :owner AND name = :name AND status = 'ending'
ORDER BY part

-- name: BEGIN_END
UPDATE sessions SET status = 'ending', data = :data
WHERE owner = :owner AND id = :id AND status = 'open'

-- name: TAKE_STEP
UPDATE sessions SET step = :step, status = :status, ended = :ended
WHERE owner = :owner AND id = :id AND step = :before AND status = 'ending' RETURNING id

-- name: TURNS_BETWEEN
{ROWS} AND session = :session AND position BETWEEN :first AND :last
  AND known_to IS NULL AND COALESCE(task, '') = :task AND COALESCE(purpose, '') = :purpose
ORDER BY position LIMIT :limit

-- name: SET_DUE
INSERT INTO due (at, owner, job, tries) VALUES (:at, :owner, :job, 0)
ON CONFLICT (owner, job) DO UPDATE SET at = excluded.at, tries = 0

-- name: DUE
SELECT at, owner, job, tries FROM due
WHERE at <= :now AND (at, owner, job) > (:at, :owner, :job)
ORDER BY at, owner, job LIMIT 64

-- name: RECENT_EVENTS
-- Times never fall along a chain, so the search for the last earlier event reads only later ones.
SELECT type, reason, COUNT(*), SUM(CASE WHEN at >= :minute THEN 1 ELSE 0 END) FROM events
WHERE owner = :owner AND seq > COALESCE((
  SELECT seq FROM events WHERE owner = :owner AND at < :since ORDER BY seq DESC LIMIT 1), 0)
GROUP BY type, reason

-- name: MOVE_DUE
-- Of several workers that read a row, the first one moves it.
UPDATE due SET at = :to, tries = :begun
WHERE owner = :owner AND job = :job AND at = :at AND tries = :tries RETURNING job

-- name: GRANTS
SELECT id, grantee, right_, subject, by_, at FROM grants WHERE owner = :owner
ORDER BY grantee, right_, subject

-- name: KEEP_IDEMPOTENT
INSERT INTO idempotency (owner, key, hash, kind, memory, at)
VALUES (:owner, :key, :hash, :kind, :memory, :at)

-- name: ENDED_OF
WITH RECURSIVE chain (owner, older, newer, start, stop) AS (
  SELECT owner, older, newer, start, stop FROM endings
  WHERE owner = :owner AND older IN {{IDS}} AND at <= :known_at
  UNION
  SELECT e.owner, e.older, e.newer, e.start, e.stop
  FROM chain c CROSS JOIN memories m CROSS JOIN endings e
  WHERE c.owner = :owner AND m.owner = :owner AND m.root = c.newer AND m.known_to IS NULL
    AND e.owner = :owner AND e.older = m.id AND e.at <= :known_at)
SELECT c.older, c.start, c.stop,
  (SELECT id FROM memories WHERE owner = :owner AND root = c.newer AND known_to IS NULL)
FROM chain c WHERE c.owner = :owner

-- name: LAST_READS
SELECT m.id, MAX(r.last) FROM memories m
JOIN reads r ON r.owner = m.owner AND r.memory = m.root
WHERE m.owner = :owner AND m.id IN {{IDS}} GROUP BY m.id

-- name: READS_OF
SELECT memory, CAST(SUM(count) AS BIGINT), MAX(last) FROM reads
WHERE owner = :owner AND memory IN {{IDS}} GROUP BY memory

-- name: FORGET_RECEIPT
DELETE FROM receipts WHERE owner = :owner AND id = :id
AND (SELECT COUNT(*) FROM memories WHERE owner = :owner AND id IN {{IDS}}) < :shown

-- name: NOT_EMBEDDED
{ROWS} AND known_to IS NULL AND COALESCE(embedder, '') <> :embedder ORDER BY id LIMIT :limit

-- name: CURRENT_OF_ROOT
{ROWS} AND root = :root
ORDER BY CASE WHEN known_to IS NULL THEN 0 ELSE 1 END, version DESC LIMIT 1

-- name: SLOT
{ROWS} AND subject = :subject AND predicate = :predicate AND known_to IS NULL
ORDER BY id

-- name: HARD_EXPIRED
SELECT id FROM memories
WHERE owner = :owner AND id > :after AND known_to IS NULL AND hard_expires_at <= :now
ORDER BY id LIMIT :limit

-- name: SOFT_EXPIRED
-- What nobody has read or said since a moment.
SELECT id, source, category, pinned FROM memories m
WHERE m.owner = :owner AND m.id > :after AND m.known_to IS NULL AND m.soft_expires_at <= :now
  AND m.updated_at <= :since
  AND NOT EXISTS (
    SELECT 1 FROM reads r WHERE r.owner = :owner AND r.memory = m.root AND r.last > :since)
ORDER BY m.id LIMIT :limit

-- name: OUT_OF_FORCE
-- Old versions, but those that go with a memory that has expired.
SELECT id FROM memories m
WHERE m.owner = :owner AND m.id > :after AND m.known_to <= :before
  AND NOT EXISTS (
    SELECT 1 FROM memories n WHERE n.owner = :owner AND n.root = m.root
    AND n.known_to IS NULL AND n.hard_expires_at <= :now)
ORDER BY m.id LIMIT :limit

-- name: FORGET_OLD_READS
-- The last day on which a memory was read stays: a year later it decides whether the memory stays.
DELETE FROM reads WHERE owner = :owner AND day < :day
  AND EXISTS (
    SELECT 1 FROM reads r
    WHERE r.owner = :owner AND r.memory = reads.memory AND r.day > reads.day)

-- name: DOUBTFUL
-- Inferences that have lost so much confidence by now.
SELECT id FROM memories
WHERE owner = :owner AND id > :after AND known_to IS NULL AND status = 'active'
  AND trust = 'agent' AND verified_at IS NULL AND created_at <= :before
  AND confidence - (:now - created_at) * :decay < :least
ORDER BY id LIMIT :limit

-- name: HAS_OLD
SELECT 1 FROM echoes WHERE owner = :owner AND at < :echoes
UNION ALL SELECT 1 FROM idempotency WHERE owner = :owner AND at < :keys
UNION ALL SELECT 1 FROM reads o WHERE o.owner = :owner AND o.day < :day
  AND EXISTS (
    SELECT 1 FROM reads r WHERE r.owner = :owner AND r.memory = o.memory AND r.day > o.day)
LIMIT 1
