-- name: CreateThread :exec
INSERT INTO threads (id, key_of, folder, created_at) VALUES (@id, @key_of, @folder, @created_at);

-- name: GetThread :one
SELECT * FROM threads WHERE id = @id;

-- name: CreateRun :one
INSERT INTO runs (id, thread, previous, folder, words, model, mode, max_turns, status, version, tools, start_key, start_digest, name,
    parent_no, root_no, root_thread, role, created_at, updated_at)
VALUES (@id, @thread, @previous, @folder, @words, @model, @mode, @max_turns, 'queued', @version, @tools, @start_key, @start_digest, @name,
    @parent_no, @root_no, @root_thread, @role, @created_at, @created_at)
RETURNING no;

-- The fence of every write: it names what the caller last saw, and no row means that the race was
-- lost. The calls of an answer are the next rows of tool_executions.
-- name: AdvanceRun :execrows
UPDATE runs SET last_seq = @seq, epoch = @epoch, updated_at = @now, turns = turns + @turns, calls = calls + @calls,
    first_call = CASE WHEN first_call > 0 OR @calls = 0 THEN first_call ELSE 1 + (SELECT COALESCE(MAX(t.no), 0) FROM tool_executions t) END,
    last_call = CASE WHEN @calls = 0 THEN last_call ELSE @calls + (SELECT COALESCE(MAX(t.no), 0) FROM tool_executions t) END,
    unknown = unknown + @unknown, claims = claims * CAST(@keep_claims AS INTEGER) + @claims
WHERE runs.no = @no AND last_seq = @old_seq AND epoch = @old_epoch AND status = @old_status;

-- name: SetRunStatus :exec
UPDATE runs SET status = @status, ended_at = sqlc.narg(ended_at) WHERE no = @no;

-- name: SetRunInterrupted :exec
UPDATE runs SET cause = @cause, detail = @detail WHERE no = @no;

-- name: SetRunFolder :exec
UPDATE runs SET folder = @folder WHERE no = @no;

-- name: SetRunStopReason :exec
UPDATE runs SET stop_reason = @stop_reason WHERE no = @no;

-- name: SetRunClaimed :exec
UPDATE runs SET pid = @pid, boot = @boot, host = @host, detached = @detached, cause = '', detail = '',
    version = CASE WHEN CAST(@version AS TEXT) = '' THEN version ELSE CAST(@version AS TEXT) END,
    tools = CASE WHEN CAST(@tools AS TEXT) = '' THEN tools ELSE CAST(@tools AS TEXT) END,
    mode = CASE WHEN CAST(@mode AS TEXT) = '' THEN mode ELSE CAST(@mode AS TEXT) END,
    model = CASE WHEN CAST(@model AS TEXT) = '' THEN model ELSE CAST(@model AS TEXT) END,
    folder = CASE WHEN CAST(@folder AS TEXT) = '' THEN folder ELSE CAST(@folder AS TEXT) END
WHERE no = @no;

-- name: SetRunMaxTurns :exec
UPDATE runs SET max_turns = @max_turns WHERE no = @no;

-- name: SetRunMode :exec
UPDATE runs SET mode = @mode WHERE no = @no;

-- name: AddRunUnknown :exec
UPDATE runs SET unknown = unknown + @unknown WHERE no = @no;

-- name: GetRun :one
SELECT * FROM runs WHERE id = @id AND root_no >= 0;

-- name: GetRunByNo :one
SELECT * FROM runs WHERE no = @no;

-- name: RunByStartKey :one
SELECT * FROM runs WHERE start_key = @start_key AND start_key <> '';

-- name: NewestNamed :many
SELECT * FROM runs INDEXED BY runs_by_name WHERE name = @name AND name <> '' ORDER BY no DESC LIMIT 1;

-- name: GetHead :one
SELECT r.no, r.id, r.thread, r.epoch, r.last_seq, r.status, r.turns, j.digest
FROM runs r LEFT JOIN journal j ON j.id = ((r.no << 24) | r.last_seq)
WHERE r.id = @id AND r.root_no >= 0;

-- name: UnfinishedOfThread :one
SELECT * FROM runs WHERE thread = @thread AND ended_at IS NULL LIMIT 1;

-- Roots, as are the lists by status and by folder: children are found from them.
-- name: NewestRuns :many
SELECT * FROM runs INDEXED BY runs_roots WHERE root_no = 0 ORDER BY no DESC LIMIT @max_rows;

-- name: AllRuns :many
SELECT * FROM runs WHERE root_no >= 0 ORDER BY no DESC;

-- name: CountRoots :one
SELECT COUNT(*) FROM runs INDEXED BY runs_roots WHERE root_no = 0;

-- name: RunsWithStatus :many
SELECT * FROM runs INDEXED BY runs_unfinished
WHERE status = @status AND ended_at IS NULL AND root_no = 0 ORDER BY no DESC LIMIT @max_rows;

-- name: RunsOfFolder :many
SELECT * FROM runs INDEXED BY runs_by_folder WHERE folder = @folder AND root_no = 0 ORDER BY no DESC LIMIT @max_rows;

-- name: RunsOfThread :many
SELECT * FROM runs WHERE thread = @thread ORDER BY no;

-- name: RunsBetween :many
SELECT * FROM runs WHERE id >= @low AND id < @high AND root_no >= 0 ORDER BY id LIMIT @max_rows;

-- name: ThreadsBetween :many
SELECT * FROM threads WHERE id >= @low AND id < @high AND id <> 't-pruned' ORDER BY id LIMIT @max_rows;

-- By their first runs: a clock may have been set since.
-- name: NewestThreads :many
SELECT * FROM threads WHERE id <> 't-pruned' ORDER BY (SELECT min(r.no) FROM runs r WHERE r.thread = threads.id) DESC LIMIT @max_rows;

-- A waiting run whose question is no longer open has something to do.
-- name: RunsToLookAt :many
SELECT * FROM runs INDEXED BY runs_unfinished
WHERE ended_at IS NULL AND (status = 'queued' OR status = 'running' OR (status = 'waiting' AND NOT EXISTS (
    SELECT 1 FROM pending_requests p WHERE p.run_no = runs.no AND p.status = 'open')))
ORDER BY no;

-- name: RunIDs :many
SELECT no, id FROM runs WHERE no IN (SELECT value FROM json_each(CAST(@numbers AS TEXT)));

-- name: RunsNumbered :many
SELECT * FROM runs WHERE no IN (SELECT value FROM json_each(CAST(@numbers AS TEXT))) ORDER BY no DESC;
