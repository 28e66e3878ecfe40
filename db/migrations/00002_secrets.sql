-- +goose Up

-- A secret that was taken out of the record, once: a placeholder [secret:<rule>:<id>] stands for it wherever it was said.
-- sealed is a nonce and what AES-256-GCM makes of the bytes as they stood, under a key that is worked out from the file key.
CREATE TABLE secrets (
    id       TEXT    NOT NULL PRIMARY KEY,
    rule     TEXT    NOT NULL,
    sealed   BLOB    NOT NULL,
    first_at INTEGER NOT NULL,
    CONSTRAINT secrets_id CHECK (length(id) BETWEEN 10 AND 52),
    CONSTRAINT secrets_sealed CHECK (length(sealed) > 28)
) STRICT;

-- A tool may ask a person while its call is under way: one more kind of question. A CHECK is changed by making its table anew.
DROP VIEW requests;

CREATE TABLE pending_requests_2 (
    no           INTEGER PRIMARY KEY,
    id           TEXT    NOT NULL,
    run_no       INTEGER NOT NULL REFERENCES runs (no),
    kind         TEXT    NOT NULL,
    status       TEXT    NOT NULL,
    answer       TEXT,
    answered_by  TEXT    NOT NULL DEFAULT '',
    opened_at    INTEGER NOT NULL,
    expires_at   INTEGER,
    closed_at    INTEGER,
    opened_seq   INTEGER NOT NULL,
    consumed_seq INTEGER,
    CONSTRAINT requests_id CHECK (id LIKE 'p-_%'),
    CONSTRAINT requests_kind CHECK (kind = 'ask_user' OR kind = 'confirm_action' OR kind = 'permission' OR kind = 'twin' OR kind = 'max_turns' OR kind = 'max_tokens' OR kind = 'max_cost' OR kind = 'elicitation'),
    CONSTRAINT requests_status CHECK (status = 'open' OR status = 'resolved' OR status = 'cancelled' OR status = 'expired'),
    CONSTRAINT requests_answer CHECK ((answer IS NOT NULL) = (status = 'resolved')),
    CONSTRAINT requests_closed CHECK ((closed_at IS NULL) = (status = 'open')),
    CONSTRAINT requests_consumed CHECK (consumed_seq IS NULL OR status <> 'open')
) STRICT;

INSERT INTO pending_requests_2
SELECT no, id, run_no, kind, status, answer, answered_by, opened_at, expires_at, closed_at, opened_seq, consumed_seq FROM pending_requests;

DROP TABLE pending_requests;
ALTER TABLE pending_requests_2 RENAME TO pending_requests;

CREATE UNIQUE INDEX requests_by_id ON pending_requests (id);
CREATE INDEX requests_by_run ON pending_requests (run_no);
CREATE UNIQUE INDEX requests_one_open ON pending_requests (run_no) WHERE status = 'open';

CREATE VIEW requests AS
SELECT p.no, p.id, p.run_no, p.kind, p.status, p.answer, p.answered_by, p.opened_at, p.expires_at, p.closed_at,
    p.opened_seq, p.consumed_seq, r.id AS run, r.thread AS thread
FROM pending_requests p JOIN runs r ON r.no = p.run_no;

-- +goose Down
DROP TABLE secrets;
