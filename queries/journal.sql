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

-- name: Checkpoints :many
SELECT CAST(c.seq AS INTEGER) AS seq, c.turn, c.v, c.time, c.body, c.digest FROM checkpoints c
WHERE c.fact BETWEEN @first AND @final ORDER BY c.fact;

-- The facts of a run that have what a person searches for: its first, messages and its end. The
-- kinds are those of db/kinds.go.
-- name: SaidFacts :many
SELECT * FROM journal WHERE id BETWEEN @first AND @final AND (kind = 1 OR kind = 6 OR kind = 7 OR kind = 8 OR kind = 22) ORDER BY id;
