-- name: AddFileChange :exec
INSERT INTO file_changes (path, run_no) VALUES (@path, @run_no) ON CONFLICT (path, run_no) DO NOTHING;

-- name: AddCommit :exec
INSERT INTO commits (repo, id, run_no, checkpoint, seq, turn, tree, patch, author)
VALUES (@repo, @id, @run_no, @checkpoint, @seq, @turn, @tree, @patch, @author)
ON CONFLICT (run_no, repo, id, checkpoint) DO NOTHING;

-- A link is final once the turn that it was recorded in is settled. Before the first turn there is
-- nothing to settle.
-- name: CommitsLike :many
SELECT c.repo, c.id, c.checkpoint, c.seq, c.turn, c.tree, c.patch, r.id AS run, r.folder AS folder,
    CAST(EXISTS (SELECT 1 FROM checkpoints k WHERE k.fact > (c.run_no << 24) AND k.fact < ((c.run_no + 1) << 24) AND k.turn >= c.turn) OR c.turn = 0 AS INTEGER) AS final
FROM commits c JOIN runs r ON r.no = c.run_no
WHERE c.id = @id OR c.checkpoint = @checkpoint OR c.tree = @tree OR (c.patch = @patch AND c.patch <> '') OR c.author = @author
ORDER BY c.no;

-- name: CommitsWithIDs :many
SELECT c.repo, c.id, c.checkpoint, c.seq, c.turn, c.tree, c.patch, r.id AS run, r.folder AS folder,
    CAST(EXISTS (SELECT 1 FROM checkpoints k WHERE k.fact > (c.run_no << 24) AND k.fact < ((c.run_no + 1) << 24) AND k.turn >= c.turn) OR c.turn = 0 AS INTEGER) AS final
FROM commits c JOIN runs r ON r.no = c.run_no
WHERE c.id IN (SELECT value FROM json_each(CAST(@ids AS TEXT)))
ORDER BY c.no;

-- name: CommitsOfRun :many
SELECT c.repo, c.id, c.checkpoint, c.seq, c.turn, c.tree, c.patch, r.id AS run, r.folder AS folder,
    CAST(EXISTS (SELECT 1 FROM checkpoints k WHERE k.fact > (c.run_no << 24) AND k.fact < ((c.run_no + 1) << 24) AND k.turn >= c.turn) OR c.turn = 0 AS INTEGER) AS final
FROM commits c JOIN runs r ON r.no = c.run_no
WHERE c.run_no = @run_no ORDER BY c.no;

-- name: CommitsIn :many
SELECT c.repo, c.id, c.checkpoint, c.seq, c.turn, c.tree, c.patch, r.id AS run, r.folder AS folder,
    CAST(EXISTS (SELECT 1 FROM checkpoints k WHERE k.fact > (c.run_no << 24) AND k.fact < ((c.run_no + 1) << 24) AND k.turn >= c.turn) OR c.turn = 0 AS INTEGER) AS final
FROM commits c JOIN runs r ON r.no = c.run_no
WHERE c.repo = @repo ORDER BY c.no DESC LIMIT @most;

-- name: CommitsBeginning :many
SELECT DISTINCT c.repo, c.id FROM commits c WHERE c.id >= @prefix AND c.id < @prefix || 'g' ORDER BY c.id LIMIT 10;

-- The paths are in hex: one that is not UTF-8 cannot stand in JSON.
-- name: RunsThatChanged :many
SELECT DISTINCT r.id AS run, r.folder AS folder, f.path FROM file_changes f JOIN runs r ON r.no = f.run_no
WHERE f.path IN (SELECT CAST(unhex(value) AS TEXT) FROM json_each(CAST(@paths AS TEXT))) AND (r.folder = @top OR (r.folder >= @top || '/' AND r.folder < @top || '0'))
ORDER BY r.no;

-- What the looks of some runs found, with the digest that each fact is chained to: of the newest
-- runs that saw any of the paths change. Of each path the newest runs alone are looked at, so that
-- it takes no longer where there are many. The kind is that of db/kinds.go.
-- name: LooksAt :many
SELECT r.id AS run, r.folder AS folder, sqlc.embed(j),
    CAST(COALESCE((SELECT p.digest FROM journal p WHERE p.id = j.id - 1), '') AS BLOB) AS chained
FROM runs r JOIN journal j ON j.id > (r.no << 24) AND j.id < ((r.no + 1) << 24) AND j.kind = 30
WHERE r.no IN (SELECT DISTINCT g.run_no FROM json_each(CAST(@paths AS TEXT)) l JOIN file_changes g ON g.no IN (
        SELECT f.no FROM file_changes f JOIN runs q ON q.no = f.run_no
        WHERE f.path = CAST(unhex(l.value) AS TEXT) AND (q.folder = @top OR (q.folder >= @top || '/' AND q.folder < @top || '0'))
        ORDER BY f.run_no DESC LIMIT CAST(@most AS INTEGER))
    ORDER BY g.run_no DESC LIMIT CAST(@most AS INTEGER))
ORDER BY j.id;

-- name: ChangedBelow :one
SELECT CAST(EXISTS (SELECT 1 FROM runs r WHERE (r.folder = @top OR (r.folder >= @top || '/' AND r.folder < @top || '0'))
    AND EXISTS (SELECT 1 FROM file_changes f WHERE f.run_no = r.no)) AS INTEGER) AS changed;

-- name: FoldersBelow :many
SELECT DISTINCT r.folder AS folder FROM runs r
WHERE r.root_no = 0 AND (r.folder = @top OR (r.folder >= @top || '/' AND r.folder < @top || '0')) ORDER BY r.folder;

-- name: GetMarks :one
SELECT CAST(COALESCE(MAX(marks), '') AS TEXT) AS marks FROM repos WHERE repo = @repo;

-- name: SetMarks :exec
INSERT INTO repos (repo, marks) VALUES (@repo, @marks) ON CONFLICT (repo) DO UPDATE SET marks = excluded.marks;
