-- name: AllBlobs :many
SELECT hash, size, encoding FROM blobs ORDER BY rowid;

-- name: SetKeyCheck :exec
INSERT INTO key_check (no, mac) VALUES (1, @mac);

-- name: GetKeyCheck :one
SELECT mac FROM key_check WHERE no = 1;
