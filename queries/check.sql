-- name: AllBlobs :many
SELECT hash, size, encoding FROM blobs ORDER BY rowid;

-- name: SetStore :exec
INSERT INTO store (no, id, key_mac, inode, born, machine) VALUES (1, @id, @key_mac, @inode, @born, @machine);

-- name: GetStoreKey :one
SELECT key_mac FROM store WHERE no = 1;

-- name: SetStoreFile :exec
UPDATE store SET inode = @inode, born = @born, machine = @machine WHERE no = 1;

-- name: SetStoreCopy :exec
UPDATE store SET id = @id, incarnation = incarnation + 1, archive = @archive, inode = @inode, born = @born, machine = @machine WHERE no = 1;

-- name: SetStoreGuarded :exec
UPDATE store SET guarded = (SELECT COALESCE(MAX(no), 0) FROM runs) WHERE no = 1;

-- name: SetStoreBackedUp :exec
UPDATE store SET backed_up = @at WHERE no = 1;

-- name: GetStore :one
SELECT * FROM store WHERE no = 1;
