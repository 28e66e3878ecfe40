-- name: AddFact :exec
INSERT INTO journal (id, turn, kind, v, time, body, body_hash, digest)
VALUES (@id, @turn, @kind, @v, @time, @body, @body_hash, @digest);

-- name: GetFact :one
SELECT * FROM journal WHERE id = @id;

-- name: Facts :many
SELECT * FROM journal WHERE id > @after AND id <= @upto ORDER BY id LIMIT @max_rows;

-- name: GetDigest :one
SELECT digest FROM journal WHERE id = @id;

-- name: AddBlob :exec
INSERT INTO blobs (hash, size, encoding, data) VALUES (@hash, @size, @encoding, @data)
ON CONFLICT (hash) DO NOTHING;

-- name: GetBlob :one
SELECT * FROM blobs WHERE hash = @hash;

-- name: AddCheckpoint :exec
INSERT INTO checkpoints (run_no, seq, id, turn, turns_left) VALUES (@run_no, @seq, @id, @turn, @turns_left);

-- name: Checkpoints :many
SELECT c.seq, c.id, c.turn, c.turns_left, j.time, j.digest
FROM checkpoints c JOIN runs r ON r.no = c.run_no JOIN journal j ON j.id = ((c.run_no << 24) | c.seq)
WHERE r.id = @run ORDER BY c.seq;
