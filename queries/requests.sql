-- name: AddRequest :exec
INSERT INTO pending_requests (id, run_no, kind, status, opened_at, expires_at, opened_seq)
VALUES (@id, @run_no, @kind, 'open', @opened_at, @expires_at, @opened_seq);

-- name: GetRequest :one
SELECT * FROM requests WHERE id = @id;

-- name: ResolveRequest :execrows
UPDATE pending_requests SET status = 'resolved', answer = @answer, answered_by = @answered_by, closed_at = @now
WHERE id = @id AND status = 'open';

-- name: CloseRequest :execrows
UPDATE pending_requests SET status = @status, answered_by = @answered_by, closed_at = @now
WHERE id = @id AND status = 'open';

-- name: ConsumeRequest :execrows
UPDATE pending_requests SET consumed_seq = @seq
WHERE id = @id AND run_no = @run_no AND status <> 'open' AND consumed_seq IS NULL;

-- name: CancelRequestsOfRun :exec
UPDATE pending_requests SET status = 'cancelled', closed_at = @now, consumed_seq = @seq WHERE run_no = @run_no AND status = 'open';

-- name: ExpireRequests :execrows
UPDATE pending_requests SET status = 'expired', closed_at = @now WHERE status = 'open' AND expires_at <= @now;

-- name: RequestsAreOver :one
SELECT EXISTS (SELECT 1 FROM pending_requests INDEXED BY requests_one_open WHERE status = 'open' AND expires_at <= @now);

-- name: OpenRequests :many
SELECT * FROM requests WHERE status = 'open' AND run_no IN (
    SELECT q.run_no FROM pending_requests q INDEXED BY requests_one_open WHERE q.status = 'open') ORDER BY no;

-- name: AllRequests :many
SELECT * FROM requests ORDER BY no;

-- name: OpenRequestsOfRuns :many
SELECT * FROM requests WHERE run_no IN (SELECT value FROM json_each(CAST(@numbers AS TEXT))) AND status = 'open' ORDER BY no;

-- name: UnconsumedRequestOfRun :one
SELECT * FROM requests WHERE run = @run AND status <> 'open' AND consumed_seq IS NULL ORDER BY no LIMIT 1;

-- name: RequestsBetween :many
SELECT * FROM requests WHERE id >= @low AND id < @high ORDER BY id LIMIT @max_rows;

-- name: NewestRequests :many
SELECT * FROM requests ORDER BY no DESC LIMIT @max_rows;

-- name: AddMessage :one
INSERT INTO inbox (run_no, kind, body, sender, created_at) VALUES (@run_no, @kind, @body, @sender, @created_at) RETURNING id;

-- name: FindMessage :one
SELECT id FROM inbox WHERE run_no = @run_no AND kind = @kind AND body = @body AND consumed_seq IS NULL ORDER BY id LIMIT 1;

-- name: UntakenMessage :one
SELECT id FROM inbox WHERE run_no = @run_no AND kind = @kind AND consumed_seq IS NULL ORDER BY id LIMIT 1;

-- name: FindCancel :one
SELECT id FROM inbox WHERE run_no = @run_no AND kind = 'cancel' AND consumed_seq IS NULL ORDER BY id LIMIT 1;

-- name: Messages :many
SELECT i.* FROM inbox i JOIN runs r ON r.no = i.run_no WHERE r.id = @run AND i.consumed_seq IS NULL ORDER BY i.id;

-- name: ConsumeMessage :execrows
UPDATE inbox SET consumed_seq = @seq WHERE id = @id AND run_no = @run_no AND consumed_seq IS NULL;
