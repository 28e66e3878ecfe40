-- Runs below others. Those who look at them know the numbers of the runs above.

-- name: ChildrenOf :many
SELECT * FROM runs INDEXED BY runs_by_parent WHERE parent_no = @parent_no AND parent_no > 0 ORDER BY no;

-- name: RunsBelow :many
SELECT * FROM runs INDEXED BY runs_by_root WHERE root_no = @root_no AND root_no > 0 ORDER BY no;

-- How many children each of the runs has, and how many of them have ended; those without any are
-- left out. It reads the index alone.
-- name: CountChildren :many
SELECT parent_no, COUNT(*) AS children, COUNT(ended_at) AS ended FROM runs INDEXED BY runs_by_parent
WHERE parent_no IN (SELECT value FROM json_each(CAST(@numbers AS TEXT))) AND parent_no > 0 GROUP BY parent_no;

-- name: LastClaim :one
SELECT time FROM journal WHERE id BETWEEN @low AND @high AND kind = 2 ORDER BY id DESC LIMIT 1;

-- Whether a run below recorded an answer of a model, a result, a person's answer or its end after a
-- moment. The kinds are those of db/kinds.go.
-- name: MovedSince :one
SELECT EXISTS (
    SELECT 1 FROM runs r INDEXED BY runs_by_root CROSS JOIN journal j ON j.id BETWEEN (r.no << 24) AND (r.no << 24 | r.last_seq)
    WHERE r.root_no = @root_no AND r.root_no > 0 AND r.updated_at > @since AND j.time > @since
        AND (j.kind = 6 OR j.kind = 7 OR j.kind = 8 OR j.kind = 10 OR j.kind = 13 OR j.kind = 17 OR j.kind = 21)
);

-- Calls of a root and of the runs below it whose outcome is unknown and on which nobody has
-- decided.
-- name: UndecidedOfFamily :many
SELECT * FROM call_rows WHERE run_no IN (
    SELECT r.no FROM runs r WHERE r.no = @root_no UNION ALL SELECT r.no FROM runs r INDEXED BY runs_by_root WHERE r.root_no = @root_no AND r.root_no > 0)
    AND outcome = 'unknown' AND resolved <> 'happened' AND resolved = '' ORDER BY no;

-- Calls of the runs below a root that a rule, the mode or a person refused.
-- name: DeniedBelow :many
SELECT * FROM call_rows WHERE run_no IN (SELECT r.no FROM runs r INDEXED BY runs_by_root WHERE r.root_no = @root_no AND r.root_no > 0)
    AND outcome = 'denied' ORDER BY no;

-- Runs of a thread, and below those, that have calls of unknown outcome, without one run.
-- name: DoubtfulRuns :many
SELECT * FROM runs WHERE (thread = @thread OR (root_thread = @thread AND root_thread <> '')) AND id <> @except_run AND unknown > 0 ORDER BY no;

-- Calls of unknown outcome on which nobody has decided, of the runs below each of the roots. They
-- are few, so the search begins with their index.
-- name: UndecidedBelow :many
SELECT sqlc.embed(c), r.root_no FROM call_rows c JOIN runs r ON r.no = c.run_no
WHERE c.no IN (
    SELECT t.no FROM tool_executions t INDEXED BY calls_unknown CROSS JOIN runs b ON b.no = t.run_no
    WHERE t.outcome = 'unknown' AND t.resolved <> 'happened' AND t.resolved = ''
        AND b.root_no > 0 AND b.root_no IN (SELECT value FROM json_each(CAST(@numbers AS TEXT)))
) ORDER BY c.no;

-- What a person answered in any run of a family, the one at the top included.
-- name: AnswersOfFamily :many
SELECT id FROM pending_requests WHERE run_no IN (
    SELECT r.no FROM runs r WHERE r.no = @root_no UNION ALL SELECT r.no FROM runs r INDEXED BY runs_by_root WHERE r.root_no = @root_no AND r.root_no > 0)
    AND answer = @answer ORDER BY no;
