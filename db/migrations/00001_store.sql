-- +goose Up

-- What this folder is: id is made at random with it, incarnation counts the copies that were declared to be stores of their own, and
-- key_mac is what the key beside the database gives for a constant (db/key.go): with another key no call that was made is recognised.
CREATE TABLE store (
    no          INTEGER PRIMARY KEY,
    id          TEXT    NOT NULL,
    incarnation INTEGER NOT NULL DEFAULT 1,
    key_mac     BLOB    NOT NULL,
    CONSTRAINT store_one CHECK (no = 1),
    CONSTRAINT store_key_mac CHECK (length(key_mac) = 32)
) STRICT;

-- A conversation and its workspace. The fingerprints of its calls are made with a key of the thread that key_of names: itself, or
-- the one that it came from.
CREATE TABLE threads (
    id         TEXT    NOT NULL PRIMARY KEY,
    key_of     TEXT    NOT NULL,
    folder     TEXT    NOT NULL,
    created_at INTEGER NOT NULL,
    CONSTRAINT threads_id CHECK (id LIKE 't-_%')
) STRICT;

-- A run and what its journal says about it. Numbers are never used again: they are half of every journal key.
-- Times are microseconds since 1970, UTC. Lists of words are chains of OR: for IN, SQLite builds a table at every statement.
CREATE TABLE runs (
    no          INTEGER PRIMARY KEY AUTOINCREMENT,
    id          TEXT    NOT NULL,
    thread      TEXT    NOT NULL REFERENCES threads (id),
    previous    TEXT    NOT NULL DEFAULT '', -- the run before it in the thread
    folder      TEXT    NOT NULL,
    words       TEXT    NOT NULL,            -- the prompt's beginning
    model       TEXT    NOT NULL,
    mode        TEXT    NOT NULL,
    status      TEXT    NOT NULL,
    cause       TEXT    NOT NULL DEFAULT '',
    detail      TEXT    NOT NULL DEFAULT '',
    stop_reason TEXT    NOT NULL DEFAULT '',
    epoch       INTEGER NOT NULL DEFAULT 0,
    last_seq    INTEGER NOT NULL DEFAULT 0,
    turns       INTEGER NOT NULL DEFAULT 0,
    max_turns   INTEGER NOT NULL DEFAULT 0,
    calls       INTEGER NOT NULL DEFAULT 0,
    first_call  INTEGER NOT NULL DEFAULT 0,  -- rows of tool_executions between which those of this run lie; 0: none yet
    last_call   INTEGER NOT NULL DEFAULT 0,
    unknown     INTEGER NOT NULL DEFAULT 0,  -- calls whose outcome is unknown
    claims      INTEGER NOT NULL DEFAULT 0,  -- since something was last brought forward
    pid         INTEGER NOT NULL DEFAULT 0,
    boot        TEXT    NOT NULL DEFAULT '',
    host        TEXT    NOT NULL DEFAULT '',
    version     TEXT    NOT NULL,
    tools       TEXT    NOT NULL,
    created_at  INTEGER NOT NULL,
    updated_at  INTEGER NOT NULL,
    ended_at    INTEGER,
    CONSTRAINT runs_id CHECK (id LIKE 'r-_%'),
    CONSTRAINT runs_no CHECK (no BETWEEN 1 AND 549755813887),
    CONSTRAINT runs_last_seq CHECK (last_seq BETWEEN 0 AND 16777215),
    CONSTRAINT runs_status CHECK (status = 'queued' OR status = 'running' OR status = 'waiting' OR status = 'interrupted' OR status = 'completed' OR status = 'failed' OR status = 'cancelled'),
    CONSTRAINT runs_ended CHECK ((ended_at IS NOT NULL) = (status = 'completed' OR status = 'failed' OR status = 'cancelled'))
) STRICT;

CREATE UNIQUE INDEX runs_by_id ON runs (id);
CREATE INDEX runs_by_thread ON runs (thread);
CREATE INDEX runs_by_folder ON runs (folder);
CREATE INDEX runs_unfinished ON runs (status) WHERE ended_at IS NULL;
CREATE UNIQUE INDEX runs_one_unfinished ON runs (thread) WHERE ended_at IS NULL;

-- One fact of one run: id is the run's number shifted left by 24 bits, plus the fact's place in the run.
-- kind is a number that the view facts names, body is JSON, digest is half a SHA-256 over this row and the digest of the row before.
CREATE TABLE journal (
    id        INTEGER PRIMARY KEY,
    turn      INTEGER NOT NULL,
    kind      INTEGER NOT NULL,
    v         INTEGER NOT NULL,
    time      INTEGER NOT NULL,
    body      TEXT,
    body_hash BLOB,
    digest    BLOB    NOT NULL,
    CONSTRAINT journal_id CHECK (id > 16777216 AND (id & 16777215) > 0),
    CONSTRAINT journal_one_body CHECK ((body IS NULL) <> (body_hash IS NULL)),
    CONSTRAINT journal_body_hash CHECK (body_hash IS NULL OR length(body_hash) = 32),
    CONSTRAINT journal_digest CHECK (length(digest) = 16)
) STRICT;

-- The journal as a person wants to see it, with the names of its kinds.
CREATE VIEW facts AS
SELECT r.id AS run, j.id & 16777215 AS seq, j.turn,
    CASE j.kind
        WHEN 1 THEN 'run.created' WHEN 2 THEN 'run.claimed' WHEN 3 THEN 'run.interrupted' WHEN 4 THEN 'run.noted'
        WHEN 5 THEN 'run.stopping' WHEN 6 THEN 'run.completed' WHEN 7 THEN 'run.failed' WHEN 8 THEN 'run.cancelled'
        WHEN 9 THEN 'model.requested' WHEN 10 THEN 'model.answered' WHEN 11 THEN 'call.judged' WHEN 12 THEN 'call.started'
        WHEN 13 THEN 'call.settled' WHEN 14 THEN 'call.resolved' WHEN 15 THEN 'approval.voided' WHEN 16 THEN 'request.opened'
        WHEN 17 THEN 'request.answered' WHEN 18 THEN 'request.closed' WHEN 19 THEN 'turn.settled' WHEN 20 THEN 'model.failed'
        WHEN 21 THEN 'context.compacted' WHEN 22 THEN 'message.added' WHEN 23 THEN 'phase.started' WHEN 24 THEN 'phase.ended'
        WHEN 25 THEN 'artifacts.checked' WHEN 26 THEN 'artifact.restored' WHEN 27 THEN 'phase.rewound' WHEN 28 THEN 'run.parked'
        WHEN 29 THEN 'files.base' WHEN 30 THEN 'files.changed' WHEN 31 THEN 'commit.seen' WHEN 32 THEN 'run.restored'
        WHEN 33 THEN 'run.exported' WHEN 34 THEN 'workspace.behind'
        ELSE j.kind
    END AS kind,
    strftime('%Y-%m-%dT%H:%M:%fZ', j.time / 1e6, 'unixepoch') AS time,
    COALESCE(j.body, 'blob:' || lower(hex(j.body_hash))) AS body
FROM journal j JOIN runs r ON r.no = j.id >> 24;

-- A body that is too large for its row, once, by the SHA-256 of its bytes. With encoding 'file' it lies in the folder blobs.
CREATE TABLE blobs (
    hash     BLOB    NOT NULL PRIMARY KEY,
    size     INTEGER NOT NULL,
    encoding TEXT    NOT NULL,
    data     BLOB,
    CONSTRAINT blobs_hash CHECK (length(hash) = 32),
    CONSTRAINT blobs_encoding CHECK (encoding = 'plain' OR encoding = 'deflate' OR encoding = 'file'),
    CONSTRAINT blobs_data CHECK ((data IS NULL) = (encoding = 'file'))
) STRICT;

-- One call of a run. Arguments and result stay in the journal, where the sequence numbers point. Rows lie in the order in
-- which they came, those of one answer side by side, and a run says where its first and its last row are. So many runs at once
-- write few pages, and there is no second tree beside the table that every turn would have to write too. Only a call whose
-- output a model may read on has its id in an index; for an id that a person types the table is walked.
CREATE TABLE tool_executions (
    no           INTEGER PRIMARY KEY,
    run_no       INTEGER NOT NULL REFERENCES runs (no),
    turn         INTEGER NOT NULL,
    idx          INTEGER NOT NULL,
    attempt      INTEGER NOT NULL DEFAULT 0,
    id           TEXT    NOT NULL,
    tool         TEXT    NOT NULL,
    fingerprint  TEXT    NOT NULL,
    effect       TEXT    NOT NULL,
    phase        TEXT    NOT NULL,
    outcome      TEXT    NOT NULL DEFAULT '',
    applied      TEXT    NOT NULL DEFAULT '',
    resolved     TEXT    NOT NULL DEFAULT '', -- what a person decided about an unknown outcome
    proposed_seq INTEGER NOT NULL,
    started_seq  INTEGER NOT NULL DEFAULT 0,
    settled_seq  INTEGER NOT NULL DEFAULT 0,
    started_at   INTEGER NOT NULL DEFAULT 0,
    settled_at   INTEGER NOT NULL DEFAULT 0,
    cut          INTEGER NOT NULL DEFAULT 0, -- 1: its result shows only a part of its output
    CONSTRAINT calls_effect CHECK (effect = 'read' OR effect = 'write_local' OR effect = 'write_external'),
    CONSTRAINT calls_phase CHECK (phase = 'proposed' OR phase = 'started' OR phase = 'settled'),
    CONSTRAINT calls_outcome CHECK (outcome = '' OR outcome = 'ok' OR outcome = 'error' OR outcome = 'unknown' OR outcome = 'skipped' OR outcome = 'denied'),
    CONSTRAINT calls_applied CHECK (applied = '' OR applied = 'no' OR applied = 'yes' OR applied = 'unknown'),
    CONSTRAINT calls_resolved CHECK (resolved = '' OR resolved = 'happened' OR resolved = 'run' OR resolved = 'leave'),
    CONSTRAINT calls_settled CHECK ((phase = 'settled') = (outcome <> '')),
    CONSTRAINT calls_cut CHECK (cut BETWEEN 0 AND 1)
) STRICT;

CREATE INDEX calls_cut_by_id ON tool_executions (id) WHERE cut = 1;
CREATE INDEX calls_unknown ON tool_executions (run_no) WHERE outcome = 'unknown' AND resolved <> 'happened';

-- A call with the names of its run and thread: what this program reads. Arguments and result it takes from the journal itself.
CREATE VIEW call_rows AS
SELECT c.no, c.run_no, c.turn, c.idx, c.attempt, c.id, c.tool, c.fingerprint, c.effect, c.phase, c.outcome, c.applied, c.resolved,
    c.proposed_seq, c.started_seq, c.settled_seq, c.started_at, c.settled_at, c.cut, r.id AS run, r.thread AS thread
FROM tool_executions c JOIN runs r ON r.no = c.run_no;

-- A call as a person wants to see it, with its arguments and its result. Where the fact that holds them is too large for its row,
-- 'blob:' and the hash stand for it (table blobs). A fact that SQLite does not read as JSON, since it is nested too deep or damaged,
-- stands there whole: it must not keep anybody from reading the others.
CREATE VIEW calls AS
SELECT r.id AS run, r.thread AS thread, c.turn, c.idx AS call, c.id, c.tool,
    CASE WHEN p.body IS NULL THEN 'blob:' || lower(hex(p.body_hash)) WHEN NOT json_valid(p.body) THEN p.body
        ELSE json_extract(p.body, '$.calls[' || c.idx || '].args') END AS args,
    c.fingerprint, c.effect, c.phase, c.outcome, c.applied, c.resolved, c.attempt,
    CASE WHEN s.id IS NULL THEN NULL WHEN s.body IS NULL THEN 'blob:' || lower(hex(s.body_hash)) WHEN NOT json_valid(s.body) THEN s.body
        ELSE json_extract(s.body, '$.result.content') END AS result,
    strftime('%Y-%m-%dT%H:%M:%fZ', nullif(c.started_at, 0) / 1e6, 'unixepoch') AS started,
    strftime('%Y-%m-%dT%H:%M:%fZ', nullif(c.settled_at, 0) / 1e6, 'unixepoch') AS settled
FROM tool_executions c JOIN runs r ON r.no = c.run_no
    LEFT JOIN journal p ON p.id = ((c.run_no << 24) | c.proposed_seq)
    LEFT JOIN journal s ON s.id = ((c.run_no << 24) | c.settled_seq) AND c.settled_seq > 0;

-- A question to a person. What is asked stands in the journal, at opened_seq. Until the run's owner took the answer,
-- consumed_seq is NULL.
CREATE TABLE pending_requests (
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
    CONSTRAINT requests_kind CHECK (kind = 'ask_user' OR kind = 'confirm_action' OR kind = 'permission' OR kind = 'twin' OR kind = 'max_turns' OR kind = 'max_tokens' OR kind = 'max_cost' OR kind = 'elicitation' OR kind = 'phase' OR kind = 'copy' OR kind = 'plan'),
    CONSTRAINT requests_status CHECK (status = 'open' OR status = 'resolved' OR status = 'cancelled' OR status = 'expired'),
    CONSTRAINT requests_answer CHECK ((answer IS NOT NULL) = (status = 'resolved')),
    CONSTRAINT requests_closed CHECK ((closed_at IS NULL) = (status = 'open')),
    CONSTRAINT requests_consumed CHECK (consumed_seq IS NULL OR status <> 'open')
) STRICT;

CREATE UNIQUE INDEX requests_by_id ON pending_requests (id);
CREATE INDEX requests_by_run ON pending_requests (run_no);
CREATE UNIQUE INDEX requests_one_open ON pending_requests (run_no) WHERE status = 'open';

CREATE VIEW requests AS
SELECT p.no, p.id, p.run_no, p.kind, p.status, p.answer, p.answered_by, p.opened_at, p.expires_at, p.closed_at,
    p.opened_seq, p.consumed_seq, r.id AS run, r.thread AS thread
FROM pending_requests p JOIN runs r ON r.no = p.run_no;

-- The end of a settled turn: from here a run can go on. The fact says everything about it.
CREATE VIEW checkpoints AS
SELECT j.id >> 24 AS run_no, j.id & 16777215 AS seq, j.turn, j.v, j.time, j.body, j.digest, j.id AS fact
FROM journal j WHERE j.kind = 19;

-- What others want the owner of a run to do, such as to cancel it or to take a person's decision on a call whose outcome is unknown.
CREATE TABLE inbox (
    id           INTEGER PRIMARY KEY AUTOINCREMENT,
    run_no       INTEGER NOT NULL REFERENCES runs (no),
    kind         TEXT    NOT NULL,
    body         TEXT    NOT NULL,
    sender       TEXT    NOT NULL DEFAULT '',
    created_at   INTEGER NOT NULL,
    consumed_seq INTEGER,
    CONSTRAINT inbox_kind CHECK (kind = 'cancel' OR kind = 'resolution' OR kind = 'commit' OR kind = 'tell')
) STRICT;

CREATE INDEX inbox_unconsumed ON inbox (run_no) WHERE consumed_seq IS NULL;

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

-- +goose Down
DROP TABLE secrets;
DROP TABLE inbox;
DROP VIEW checkpoints;
DROP VIEW requests;
DROP TABLE pending_requests;
DROP VIEW facts;
DROP VIEW calls;
DROP VIEW call_rows;
DROP TABLE tool_executions;
DROP TABLE blobs;
DROP TABLE journal;
DROP TABLE runs;
DROP TABLE threads;
DROP TABLE store;
