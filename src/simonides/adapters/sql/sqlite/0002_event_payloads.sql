-- Migration 2: what the chain commits to lies with its link.
--
-- A write logs whole every page that it touches, and two tables were two pages for each event.
-- Salt and payload are NULL once erased; the chain covers the commitment and still verifies.
ALTER TABLE events ADD COLUMN salt BLOB;
ALTER TABLE events ADD COLUMN payload BLOB CHECK ((payload IS NULL) = (salt IS NULL));

UPDATE events SET (salt, payload) = (
    SELECT p.salt, p.payload FROM event_payloads AS p
    WHERE p.owner = events.owner AND p.seq = events.seq
);

DROP TABLE event_payloads;

-- Payloads as the part of an owner that they are when it moves to another store.
CREATE VIEW event_payloads AS
SELECT owner, seq, salt, payload FROM events WHERE payload IS NOT NULL;

CREATE TRIGGER event_payloads_arrive INSTEAD OF INSERT ON event_payloads
BEGIN
    SELECT RAISE(ABORT, 'no event waits for this payload')
    WHERE NOT EXISTS (
        SELECT 1 FROM events
        WHERE owner = NEW.owner AND seq = NEW.seq AND payload IS NULL
    );
    UPDATE events SET salt = NEW.salt, payload = NEW.payload
    WHERE owner = NEW.owner AND seq = NEW.seq;
END;
