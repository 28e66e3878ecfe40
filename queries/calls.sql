-- name: AddCall :exec
INSERT INTO tool_executions (run_no, turn, idx, id, tool, effect, proposed_seq, phase, attempt, started_seq, started_at)
VALUES (@run_no, @turn, @idx, @id, @tool, @effect, @proposed_seq, @phase, @attempt, @started_seq, @started_at);

-- name: StartCall :execrows
UPDATE tool_executions SET phase = 'started', attempt = @attempt, started_seq = @seq, started_at = @now
WHERE run_no = @run_no AND turn = @turn AND idx = @idx AND phase <> 'settled';

-- name: SettleCall :execrows
UPDATE tool_executions SET phase = 'settled', outcome = @outcome, applied = @applied,
    settled_seq = @seq, settled_at = @now
WHERE run_no = @run_no AND turn = @turn AND idx = @idx AND phase <> 'settled';

-- name: RuleCall :execrows
UPDATE tool_executions SET ruled = @ruled
WHERE run_no = @run_no AND turn = @turn AND idx = @idx AND outcome = 'unknown' AND ruled <> 'happened';

-- name: SetCallPhase :execrows
UPDATE tool_executions SET phase = @phase
WHERE run_no = @run_no AND turn = @turn AND idx = @idx AND phase <> 'settled';

-- name: CallsOfRun :many
SELECT * FROM calls WHERE run = @run ORDER BY turn, idx;

-- name: CallsBetween :many
SELECT * FROM calls WHERE id >= @low AND id < @high ORDER BY id LIMIT @max_rows;

-- name: NewestCalls :many
SELECT * FROM calls ORDER BY no DESC LIMIT @max_rows;

-- name: UnknownCallsOfThread :many
SELECT * FROM calls WHERE thread = @thread AND run <> @except_run AND outcome = 'unknown' AND ruled <> 'happened'
ORDER BY run_no, turn, idx;

-- The first call without a result in the last turn of each of the runs.
-- name: OpenCallsOfRuns :many
SELECT c.run_no, c.turn, c.idx, c.attempt, c.id, c.tool, c.phase
FROM runs r CROSS JOIN tool_executions c ON c.run_no = r.no AND c.turn = r.turns
WHERE r.no IN (SELECT value FROM json_each(CAST(@numbers AS TEXT))) AND c.phase <> 'settled'
ORDER BY c.run_no, c.idx;
