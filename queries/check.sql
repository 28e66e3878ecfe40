-- name: AllBlobs :many
SELECT hash, size, encoding FROM blobs ORDER BY rowid;

-- name: SetStore :exec
INSERT INTO store (no, id, key_mac) VALUES (1, @id, @key_mac);

-- name: GetStore :one
SELECT * FROM store WHERE no = 1;
