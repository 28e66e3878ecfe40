-- +goose Up

-- What tells this store from a copy of it (package identity): the inode of the database's file, when that was made, and a hash of the
-- machine's id; 0 and '' where the system does not say it, or nothing was noted yet. archive is why its runs are only read: a copy whose
-- original went on. Runs up to the number guarded, and what comes into their threads, may have gone further elsewhere: each call that acts
-- asks. rekeyed is 1 where the key is another one than that with which older calls were recorded. backed_up is when the last backup was
-- made.
ALTER TABLE store ADD COLUMN inode INTEGER NOT NULL DEFAULT 0;
ALTER TABLE store ADD COLUMN born INTEGER NOT NULL DEFAULT 0;
ALTER TABLE store ADD COLUMN machine TEXT NOT NULL DEFAULT '';
ALTER TABLE store ADD COLUMN archive TEXT NOT NULL DEFAULT '';
ALTER TABLE store ADD COLUMN guarded INTEGER NOT NULL DEFAULT 0;
ALTER TABLE store ADD COLUMN rekeyed INTEGER NOT NULL DEFAULT 0;
ALTER TABLE store ADD COLUMN backed_up INTEGER NOT NULL DEFAULT 0;

-- What a person calls a run; '' for those that have no name. Several may have the same: the newest is meant then.
ALTER TABLE runs ADD COLUMN name TEXT NOT NULL DEFAULT '';
CREATE INDEX runs_by_name ON runs (name) WHERE name <> '';

-- A run that was pruned. A start key that it had stays taken, and its id is not given again.
CREATE TABLE tombstones (
    run          TEXT    NOT NULL PRIMARY KEY,
    start_key    TEXT    NOT NULL DEFAULT '',
    start_digest TEXT    NOT NULL DEFAULT '',
    pruned_at    INTEGER NOT NULL
) STRICT;

CREATE UNIQUE INDEX tombstones_by_start_key ON tombstones (start_key) WHERE start_key <> '';

-- When a content was last stored before any fact named it, so that whoever removes contents that no fact names waits for the fact; 0
-- for those that came with their fact.
ALTER TABLE kept ADD COLUMN used_at INTEGER NOT NULL DEFAULT 0;

-- The words of a run that has ended: its prompt, the messages that a person added and its last answer, as they are stored, without
-- secrets. rowid is the number of the run. The texts themselves are not in it. Beginnings of words are: the last word of a search may go on.
CREATE VIRTUAL TABLE search USING fts5(prompt, answer, content='', contentless_delete=1, prefix='1 2 3');

-- +goose Down
DROP TABLE search;
ALTER TABLE kept DROP COLUMN used_at;
DROP TABLE tombstones;
DROP INDEX runs_by_name;
ALTER TABLE runs DROP COLUMN name;
ALTER TABLE store DROP COLUMN backed_up;
ALTER TABLE store DROP COLUMN rekeyed;
ALTER TABLE store DROP COLUMN guarded;
ALTER TABLE store DROP COLUMN archive;
ALTER TABLE store DROP COLUMN machine;
ALTER TABLE store DROP COLUMN born;
ALTER TABLE store DROP COLUMN inode;
