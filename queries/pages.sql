-- A page of roots, newest first, before the run of a number. A filter that is empty lets all pass.
-- name: RunsPage :many
SELECT * FROM runs INDEXED BY runs_roots WHERE root_no = 0 AND no < @before
    AND (CAST(@status AS TEXT) = '' OR status = CAST(@status AS TEXT))
    AND (CAST(@folder AS TEXT) = '' OR folder = CAST(@folder AS TEXT))
    AND (CAST(@text AS TEXT) = '' OR instr(lower(words), lower(CAST(@text AS TEXT))) > 0)
ORDER BY no DESC LIMIT @max_rows;
