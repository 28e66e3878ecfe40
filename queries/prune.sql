-- Runs that are removed. A run that was hidden is in no list: its row has root_no = -1 and the
-- thread t-pruned until all else of it is gone, and then goes too.

-- name: PrunableRuns :many
SELECT no, id, thread, root_no, root_thread, status, cause, words, last_seq, updated_at, ended_at FROM runs WHERE root_no >= 0 ORDER BY no;

-- Threads that were forked, or that are of a family.
-- name: DerivedThreads :many
SELECT id, key_of FROM threads WHERE key_of <> id;

-- name: AllUndecided :many
SELECT run_no, id FROM tool_executions INDEXED BY calls_unknown WHERE outcome = 'unknown' AND resolved <> 'happened' AND resolved = '' ORDER BY no;

-- name: AllOpenRequests :many
SELECT run_no, id FROM pending_requests INDEXED BY requests_one_open WHERE status = 'open';

-- How many rows and bytes the journal of a run has.
-- name: JournalSize :one
SELECT COUNT(*) AS facts, CAST(COALESCE(SUM(octet_length(body)), 0) AS INTEGER) AS bytes FROM journal WHERE id BETWEEN @low AND @high;

-- Whether a run came, after one of a number, into a thread or into one that is keyed as it is.
-- name: ThreadGrew :one
SELECT EXISTS (SELECT 1 FROM runs r JOIN threads t ON t.id = r.thread WHERE r.no > @after AND (t.key_of = @key_of OR r.thread = @thread));

-- name: AddPrunedThread :exec
INSERT INTO threads (id, key_of, folder, created_at) VALUES ('t-pruned', 't-pruned', '', 0) ON CONFLICT (id) DO NOTHING;

-- name: AddTombstone :execrows
INSERT INTO tombstones (run, start_key, start_digest, pruned_at)
SELECT r.id, r.start_key, r.start_digest, @pruned_at FROM runs r WHERE r.no = @no AND r.last_seq = @last_seq AND (r.ended_at IS NOT NULL OR r.cause = 'moved') AND r.root_no >= 0;

-- name: HideRun :exec
UPDATE runs SET thread = 't-pruned', status = CASE WHEN ended_at IS NULL THEN 'cancelled' ELSE status END, ended_at = COALESCE(ended_at, updated_at), root_no = -1, parent_no = -1, root_thread = '', start_key = '', start_digest = '', name = '' WHERE no = @no;

-- name: DropThread :exec
DELETE FROM threads WHERE threads.id = @id AND NOT EXISTS (SELECT 1 FROM runs r WHERE r.thread = threads.id);

-- name: HiddenRuns :many
SELECT no, id, last_seq, first_call, last_call FROM runs WHERE thread = 't-pruned' AND root_no < 0 AND no > @after ORDER BY no LIMIT @max_rows;

-- name: DropFacts :execrows
DELETE FROM journal WHERE id BETWEEN @low AND @high;

-- name: DropCalls :execrows
DELETE FROM tool_executions WHERE no BETWEEN @low AND @high AND run_no = @run_no;

-- name: DropRequests :execrows
DELETE FROM pending_requests WHERE pending_requests.no IN (SELECT p.no FROM pending_requests p WHERE p.run_no = @run_no LIMIT @max_rows);

-- name: DropFileChanges :execrows
DELETE FROM file_changes WHERE file_changes.no IN (SELECT f.no FROM file_changes f WHERE f.run_no = @run_no LIMIT @max_rows);

-- name: DropCommits :execrows
DELETE FROM commits WHERE commits.no IN (SELECT c.no FROM commits c WHERE c.run_no = @run_no LIMIT @max_rows);

-- Of all hidden runs: there is no index of what was read.
-- name: DropMessages :execrows
DELETE FROM inbox WHERE inbox.id IN (SELECT i.id FROM inbox i JOIN runs r ON r.no = i.run_no WHERE r.thread = 't-pruned' AND r.root_no < 0 LIMIT @max_rows);

-- name: DropRun :exec
DELETE FROM runs WHERE no = @no AND root_no < 0;

-- name: GetTombstone :one
SELECT * FROM tombstones WHERE run = @run;

-- name: TombstoneByStartKey :one
SELECT * FROM tombstones WHERE start_key = @start_key AND start_key <> '';

-- name: TombstonesBetween :many
SELECT * FROM tombstones WHERE run >= @low AND run < @high ORDER BY run LIMIT @max_rows;

-- Facts that may name a content: by the hash of their body, or in it.
-- name: NamingFacts :many
SELECT id, kind, body, body_hash FROM journal
WHERE id > @after AND id <= @upto AND (body_hash IS NOT NULL OR kind = 1 OR instr(body, '"kept":"') > 0 OR instr(body, '"copy":"') > 0
    OR instr(body, '"manifest":"') > 0 OR instr(body, '"blob":"') > 0)
ORDER BY id LIMIT @max_rows;

-- Where the runs stand that may name more contents: those that had not ended, and newer ones.
-- name: MovingRuns :many
SELECT no, last_seq FROM runs WHERE (no > @after OR no IN (SELECT value FROM json_each(CAST(@numbers AS TEXT)))) AND root_no >= 0;

-- name: AllKept :many
SELECT id FROM kept;

-- name: AllHashes :many
SELECT hash FROM blobs;

-- name: AllEnvironments :many
SELECT id FROM environments;

-- name: DropUnusedKept :execrows
DELETE FROM kept WHERE id = @id AND used_at <= @before;

-- name: DropBlob :execrows
DELETE FROM blobs WHERE hash = @hash;

-- name: DropEnvironment :execrows
DELETE FROM environments WHERE id = @id;

-- name: HasKept :one
SELECT EXISTS (SELECT 1 FROM kept WHERE id = @id);

-- name: HasBlob :one
SELECT EXISTS (SELECT 1 FROM blobs WHERE hash = @hash);

-- name: AnyoneDrives :one
SELECT EXISTS (SELECT 1 FROM runs INDEXED BY runs_unfinished WHERE ended_at IS NULL AND (status = 'running' OR status = 'queued'));
