-- +goose Up

-- Whether the process that drives a run, or drove it last, is one of its own, which outlives the terminal that it was started from.
-- A run with a start key is there once: start_digest is that of the request that the key was first given with.
ALTER TABLE runs ADD COLUMN detached INTEGER NOT NULL DEFAULT 0 CONSTRAINT runs_detached CHECK (detached BETWEEN 0 AND 1);
ALTER TABLE runs ADD COLUMN start_key TEXT NOT NULL DEFAULT '';
ALTER TABLE runs ADD COLUMN start_digest TEXT NOT NULL DEFAULT '';

CREATE UNIQUE INDEX runs_by_start_key ON runs (start_key) WHERE start_key <> '';

-- The variables that the commands of a run get, once for all runs that have the same: a run's first fact names id. sealed is a nonce and
-- what AES-256-GCM makes of them, under a key that is worked out from the file key.
CREATE TABLE environments (
    id     TEXT NOT NULL PRIMARY KEY,
    sealed BLOB NOT NULL,
    CONSTRAINT environments_id CHECK (length(id) BETWEEN 10 AND 64),
    CONSTRAINT environments_sealed CHECK (length(sealed) > 28)
) STRICT;

-- +goose Down
DROP TABLE environments;
DROP INDEX runs_by_start_key;
ALTER TABLE runs DROP COLUMN start_digest;
ALTER TABLE runs DROP COLUMN start_key;
ALTER TABLE runs DROP COLUMN detached;
