-- name: AddFact :exec
INSERT INTO journal (id, turn, kind, v, time, body, body_hash, digest)
VALUES (@id, @turn, @kind, @v, @time, @body, @body_hash, @digest);

-- A turn writes two facts in its first commit and three in its second: one statement each costs half as much.
-- name: AddTwoFacts :exec
INSERT INTO journal (id, turn, kind, v, time, body, body_hash, digest)
VALUES (@id_1, @turn_1, @kind_1, @v_1, @time_1, @body_1, @body_hash_1, @digest_1),
    (@id_2, @turn_2, @kind_2, @v_2, @time_2, @body_2, @body_hash_2, @digest_2);

-- name: AddThreeFacts :exec
INSERT INTO journal (id, turn, kind, v, time, body, body_hash, digest)
VALUES (@id_1, @turn_1, @kind_1, @v_1, @time_1, @body_1, @body_hash_1, @digest_1),
    (@id_2, @turn_2, @kind_2, @v_2, @time_2, @body_2, @body_hash_2, @digest_2),
    (@id_3, @turn_3, @kind_3, @v_3, @time_3, @body_3, @body_hash_3, @digest_3);

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
