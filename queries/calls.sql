-- Whoever changes a call looks for it from its run's last row on, and finds it among the calls of
-- one answer.
-- name: StartCall :execrows
UPDATE tool_executions SET phase = 'started', attempt = @attempt, started_seq = @seq, started_at = @now
WHERE tool_executions.no = (
    SELECT c.no FROM runs r CROSS JOIN tool_executions c ON c.no BETWEEN r.first_call AND r.last_call
    WHERE r.no = @run_no AND c.run_no = r.no AND c.turn = @turn AND c.idx = @idx ORDER BY c.no DESC LIMIT 1
) AND tool_executions.phase <> 'settled';

-- What a person decides about a call of unknown outcome. That it was run once more is the last word
-- on it; before that, nothing but that follows on happened.
-- name: ResolveCall :execrows
UPDATE tool_executions SET resolved = @resolved
WHERE tool_executions.no = (
    SELECT c.no FROM runs r CROSS JOIN tool_executions c ON c.no BETWEEN r.first_call AND r.last_call
    WHERE r.no = @run_no AND c.run_no = r.no AND c.turn = @turn AND c.idx = @idx ORDER BY c.no DESC LIMIT 1
) AND tool_executions.outcome = 'unknown' AND tool_executions.resolved <> 'run'
    AND (tool_executions.resolved = 'happened') = CAST(@happened AS INTEGER);

-- name: SetCallPhase :execrows
UPDATE tool_executions SET phase = @phase
WHERE tool_executions.no = (
    SELECT c.no FROM runs r CROSS JOIN tool_executions c ON c.no BETWEEN r.first_call AND r.last_call
    WHERE r.no = @run_no AND c.run_no = r.no AND c.turn = @turn AND c.idx = @idx ORDER BY c.no DESC LIMIT 1
) AND tool_executions.phase <> 'settled';

-- name: CallsOfRun :many
SELECT c.* FROM runs r CROSS JOIN call_rows c ON c.no BETWEEN r.first_call AND r.last_call
WHERE r.id = @run AND c.run_no = r.no ORDER BY c.no;

-- name: CallsBetween :many
SELECT * FROM call_rows WHERE id >= @low AND id < @high ORDER BY id LIMIT @max_rows;

-- name: CutCalls :many
SELECT * FROM call_rows WHERE id = @id AND cut = 1 ORDER BY no;

-- name: NewestCalls :many
SELECT * FROM call_rows ORDER BY no DESC LIMIT @max_rows;

-- The calls of a thread, and of the runs below the thread's, that the twin guard compares with.
-- Those of which a person said that they happened are in no index: they are looked for among the
-- calls of those runs, at a claim, which reads the runs anyway.
-- name: DoubtsOfThread :many
SELECT * FROM (
    SELECT c.* FROM call_rows c CROSS JOIN runs r ON r.no = c.run_no
    WHERE (r.thread = @thread OR (r.root_thread = @thread AND r.root_thread <> '')) AND c.run <> @except_run
        AND c.outcome = 'unknown' AND c.resolved <> 'happened' AND c.resolved <> 'run'
    UNION ALL
    SELECT c.* FROM runs r CROSS JOIN call_rows c ON c.no BETWEEN r.first_call AND r.last_call
    WHERE (r.thread = @thread OR (r.root_thread = @thread AND r.root_thread <> '')) AND r.id <> @except_run
        AND c.run_no = r.no AND c.outcome = 'unknown' AND c.resolved = 'happened'
) ORDER BY run_no, turn, idx;

-- How many calls with an unknown outcome the runs of a thread and those below tell of, and how many
-- are found without the indexes of runs by thread: a damaged index must not hide one.
-- name: CountUnknownOfThread :one
SELECT CAST(COALESCE(SUM(t.unknown), 0) AS INTEGER) AS told, (
    SELECT COUNT(*) FROM tool_executions c CROSS JOIN runs r ON r.no = c.run_no
    WHERE c.outcome = 'unknown' AND c.resolved <> 'happened' AND c.resolved <> 'run'
        AND (r.thread = @thread OR (r.root_thread = @thread AND r.root_thread <> '')) AND r.id <> @except_run) AS found
FROM runs t WHERE (t.thread = @thread OR (t.root_thread = @thread AND t.root_thread <> '')) AND t.id <> @except_run;

-- The first call without a result in the last turn of each of the runs.
-- name: OpenCallsOfRuns :many
SELECT c.run_no, c.turn, c.idx, c.attempt, c.id, c.tool, c.phase
FROM runs r CROSS JOIN tool_executions z ON z.no = r.last_call
    CROSS JOIN tool_executions c ON c.no BETWEEN z.no - z.idx AND z.no
WHERE c.run_no = r.no AND c.turn = r.turns AND r.no IN (SELECT value FROM json_each(CAST(@numbers AS TEXT))) AND c.phase <> 'settled'
ORDER BY c.run_no, c.idx;

-- Calls whose outcome is unknown and on which nobody has decided. The condition of the index
-- calls_unknown stands in full.
-- name: UndecidedCallsOfRuns :many
SELECT * FROM call_rows WHERE run_no IN (SELECT value FROM json_each(CAST(@numbers AS TEXT)))
    AND outcome = 'unknown' AND resolved <> 'happened' AND resolved = '' ORDER BY no;
