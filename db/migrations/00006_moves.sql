-- +goose Up

-- Threads that are not only here. copy: it came as a copy of one that may have gone on in the store. moved: it went to that store. What
-- comes into such a thread asks before each call that acts. rekeyed is 1 where the key with which its calls were recognised did not come
-- with it.
CREATE TABLE custody (
    thread  TEXT    NOT NULL PRIMARY KEY,
    word    TEXT    NOT NULL,
    store   TEXT    NOT NULL,
    rekeyed INTEGER NOT NULL DEFAULT 0,
    at      INTEGER NOT NULL,
    CONSTRAINT custody_word CHECK (word = 'copy' OR word = 'moved')
) STRICT;

-- The keys with which calls of threads are recognised that came from another store, by the thread that threads.key_of names: a nonce and
-- what AES-256-GCM makes of the key, under a key that is worked out from the file key.
CREATE TABLE thread_keys (
    thread TEXT NOT NULL PRIMARY KEY,
    sealed BLOB NOT NULL,
    CONSTRAINT thread_keys_sealed CHECK (length(sealed) > 28)
) STRICT;

-- Contents that facts of another store name, whose names are hashes with the key of that one: id is the name that they have here.
CREATE TABLE kept_names (
    no   INTEGER PRIMARY KEY,
    name BLOB NOT NULL,
    id   BLOB NOT NULL
) STRICT;

CREATE UNIQUE INDEX kept_names_by_name ON kept_names (name);

-- Packs that were taken, for ever: each is taken once.
CREATE TABLE packs (
    id       TEXT    NOT NULL PRIMARY KEY,
    thread   TEXT    NOT NULL,
    taken_at INTEGER NOT NULL
) STRICT;

-- +goose Down
DROP TABLE packs;
DROP TABLE kept_names;
DROP TABLE thread_keys;
DROP TABLE custody;
