-- name: GetCustody :one
SELECT * FROM custody WHERE thread = @thread;

-- name: SetCustody :exec
INSERT INTO custody (thread, word, store, rekeyed, at) VALUES (@thread, @word, @store, @rekeyed, @at)
ON CONFLICT (thread) DO UPDATE SET word = excluded.word, store = excluded.store, rekeyed = excluded.rekeyed, at = excluded.at;

-- name: DropCustody :exec
DELETE FROM custody WHERE thread = @thread;

-- name: GetThreadKey :one
SELECT sealed FROM thread_keys WHERE thread = @thread;

-- name: AddThreadKey :exec
INSERT INTO thread_keys (thread, sealed) VALUES (@thread, @sealed) ON CONFLICT (thread) DO NOTHING;

-- name: GetPack :one
SELECT * FROM packs WHERE id = @id;

-- name: AddPack :exec
INSERT INTO packs (id, thread, taken_at) VALUES (@id, @thread, @taken_at);

-- name: RunsOfFamilies :many
SELECT * FROM runs WHERE thread = @thread OR root_thread = @thread ORDER BY no;

-- name: ThreadsOfKey :many
SELECT * FROM threads WHERE key_of = @key_of;

-- name: DropTombstone :exec
DELETE FROM tombstones WHERE run = @run;

-- name: LeftForRun :many
SELECT kind, body, sender, created_at FROM inbox WHERE run_no = @run_no AND consumed_seq IS NULL ORDER BY id;

-- name: UntakenAnswer :one
SELECT id FROM pending_requests WHERE run_no = @run_no AND status <> 'open' AND consumed_seq IS NULL;

-- name: KeptName :one
SELECT id FROM kept_names WHERE name = @name;

-- name: LastKeptName :one
SELECT CAST(COALESCE(MAX(kept_names.no), 0) AS INTEGER) AS newest FROM kept_names;

-- name: AllKeptNames :many
SELECT name, id FROM kept_names;

-- name: AddKeptName :exec
INSERT INTO kept_names (name, id) VALUES (@name, @id) ON CONFLICT (name) DO NOTHING;
