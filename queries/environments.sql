-- name: AddEnvironment :exec
INSERT INTO environments (id, sealed) VALUES (@id, @sealed) ON CONFLICT (id) DO NOTHING;

-- name: GetEnvironment :one
SELECT sealed FROM environments WHERE id = @id;
