-- +goose Up

-- Which runs saw a path change, by their calls or by others: where a line of a file, or a path of a commit, leads to them. path is seen
-- from the run's folder. The facts files.changed say what was changed, when and by whom. Of a look that found very many paths there are
-- none.
CREATE TABLE file_changes (
    no     INTEGER PRIMARY KEY,
    path   TEXT    NOT NULL,
    run_no INTEGER NOT NULL REFERENCES runs (no)
) STRICT;

CREATE UNIQUE INDEX file_changes_once ON file_changes (path, run_no);
CREATE INDEX file_changes_by_run ON file_changes (run_no);

-- One row for each fact commit.seen: the checkpoint that a commit is linked with, and the run whose work it holds. repo is the folder
-- of the objects, id, tree and patch are ids of git's in hex, turn is the one in which the fact was recorded: the link is final once
-- that turn is settled. author is a hash of who wrote it, when, and the first line of its message: what a rewrite leaves as it was.
CREATE TABLE commits (
    no         INTEGER PRIMARY KEY,
    repo       TEXT    NOT NULL,
    id         TEXT    NOT NULL,
    run_no     INTEGER NOT NULL REFERENCES runs (no),
    checkpoint TEXT    NOT NULL,
    seq        INTEGER NOT NULL,
    turn       INTEGER NOT NULL,
    tree       TEXT    NOT NULL,
    patch      TEXT    NOT NULL,
    author     BLOB    NOT NULL,
    CONSTRAINT commits_checkpoint CHECK (checkpoint LIKE 'k-_%')
) STRICT;

CREATE UNIQUE INDEX commits_once ON commits (run_no, repo, id, checkpoint);
CREATE INDEX commits_by_id ON commits (id);
CREATE INDEX commits_by_checkpoint ON commits (checkpoint);
CREATE INDEX commits_by_repo ON commits (repo);
CREATE INDEX commits_by_tree ON commits (tree);
CREATE INDEX commits_by_patch ON commits (patch) WHERE patch <> '';
CREATE INDEX commits_by_author ON commits (author);

-- How far the logs of a repository were read for commits that no call made. Who loses it reads once more.
CREATE TABLE repos (
    no    INTEGER PRIMARY KEY,
    repo  TEXT NOT NULL,
    marks TEXT NOT NULL
) STRICT;

CREATE UNIQUE INDEX repos_by_folder ON repos (repo);

-- +goose Down
DROP TABLE repos;
DROP TABLE commits;
DROP TABLE file_changes;
