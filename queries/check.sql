-- name: AllBlobs :many
SELECT hash, size, encoding FROM blobs ORDER BY rowid;
