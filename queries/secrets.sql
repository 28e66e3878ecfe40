-- name: AddSecret :execrows
INSERT INTO secrets (id, rule, sealed, first_at) VALUES (@id, @rule, @sealed, @first_at) ON CONFLICT (id) DO NOTHING;

-- name: GetSecret :one
SELECT rule, sealed FROM secrets WHERE id = @id;

-- name: AllSecrets :many
SELECT id, rule, sealed FROM secrets ORDER BY rowid;
