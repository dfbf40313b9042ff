-- Migration 3: how many memories of an owner stand.
--
-- A key of a row that turned over on a disk takes the row out of every answer. What is counted when
-- it is written and counted again when it is read says so. NULL until the owner is counted.
ALTER TABLE owners ADD COLUMN live INTEGER;
