-- name: AddKept :exec
INSERT INTO kept (id, size, data) VALUES (@id, @size, @data) ON CONFLICT (id) DO NOTHING;

-- name: ReplaceKept :exec
INSERT INTO kept (id, size, data) VALUES (@id, @size, @data) ON CONFLICT (id) DO UPDATE SET size = excluded.size, data = excluded.data;

-- Of a content that no fact names yet: whoever removes what no fact names waits for that.
-- name: AddKeptAhead :exec
INSERT INTO kept (id, size, data, used_at) VALUES (@id, @size, @data, @used_at) ON CONFLICT (id) DO UPDATE SET used_at = excluded.used_at;

-- name: GetKept :one
SELECT size, data FROM kept WHERE id = @id;

-- name: NextKept :one
SELECT no, id, size, data FROM kept WHERE no > @after ORDER BY no LIMIT 1;

-- name: KeptSizes :many
SELECT id, CAST(COALESCE(length(data), 0) AS INTEGER) AS bytes FROM kept;

-- name: DropKept :exec
DELETE FROM kept WHERE id = @id;
