-- +goose Up

-- A run that another run has made is a child: parent_no is the number of the run above it, root_no that of the run at the top, which a
-- person started. Both are 0 for that one. root_thread is the thread of the run at the top: what is unknown in one run of a family
-- guards all of them, and later runs of that thread. role says what a child is there for, progress where a flow stands.
ALTER TABLE runs ADD COLUMN parent_no INTEGER NOT NULL DEFAULT 0;
ALTER TABLE runs ADD COLUMN root_no INTEGER NOT NULL DEFAULT 0 CONSTRAINT runs_family CHECK ((root_no = 0) = (parent_no = 0));
ALTER TABLE runs ADD COLUMN root_thread TEXT NOT NULL DEFAULT '';
ALTER TABLE runs ADD COLUMN role TEXT NOT NULL DEFAULT '';
ALTER TABLE runs ADD COLUMN progress TEXT NOT NULL DEFAULT '';

-- Lists are of roots: children must not slow them. How many of a root's children have ended is counted without their rows.
CREATE INDEX runs_by_parent ON runs (parent_no, ended_at) WHERE parent_no > 0;
CREATE INDEX runs_by_root ON runs (root_no) WHERE root_no > 0;
CREATE INDEX runs_by_root_thread ON runs (root_thread) WHERE root_thread <> '';
CREATE INDEX runs_roots ON runs (no) WHERE root_no = 0;
DROP INDEX runs_by_folder;
CREATE INDEX runs_by_folder ON runs (folder) WHERE root_no = 0;

-- A content that can be given back, byte for byte, once for all that name it: id is the beginning of a keyed hash of it (HMAC-SHA-256
-- under a key that is worked out from the file key), so that it says nothing to whoever cannot open it. data is a nonce and what
-- AES-256-GCM makes of the deflated content, with id as additional data. Where it is NULL that lies in the file keep/<first two
-- digits>/<id>, durable before the row. size is that of the content.
CREATE TABLE kept (
    no   INTEGER PRIMARY KEY,
    id   BLOB    NOT NULL,
    size INTEGER NOT NULL,
    data BLOB,
    CONSTRAINT kept_id CHECK (length(id) = 16),
    CONSTRAINT kept_size CHECK (size >= 0),
    CONSTRAINT kept_data CHECK (data IS NULL OR length(data) > 28)
) STRICT;

CREATE UNIQUE INDEX kept_by_id ON kept (id);

-- +goose Down
DROP TABLE kept;
DROP INDEX runs_by_folder;
CREATE INDEX runs_by_folder ON runs (folder);
DROP INDEX runs_roots;
DROP INDEX runs_by_root_thread;
DROP INDEX runs_by_root;
DROP INDEX runs_by_parent;
ALTER TABLE runs DROP COLUMN progress;
ALTER TABLE runs DROP COLUMN role;
ALTER TABLE runs DROP COLUMN root_thread;
ALTER TABLE runs DROP COLUMN root_no;
ALTER TABLE runs DROP COLUMN parent_no;
