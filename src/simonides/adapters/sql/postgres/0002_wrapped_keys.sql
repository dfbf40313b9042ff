-- Where a store is encrypted the key of its tags is kept wrapped under a master key (FX-13). It may be
-- wrapped anew at any time: that is another text of the same key. Whoever may do that could put
-- anything in its place, as it could remove the rows; neither tells it what they say.
DROP TRIGGER keep_keys ON simonides.meta;
CREATE TRIGGER keep_keys AFTER UPDATE ON simonides.meta
FOR EACH ROW WHEN (NEW.name <> OLD.name OR OLD.name <> 'tag_key'
    OR length(OLD.value) <= 32 OR length(NEW.value) <= 32)
EXECUTE FUNCTION simonides.keep_keys();
