// Package backup makes one file of a state folder while runs go on ([Make]), and a state folder of
// such a file ([Unpack]).
//
// # The file
//
// A backup is a SQLite database, as VACUUM INTO makes it of the store's, with two more tables:
// backup has one row with the manifest, as JSON, and the sealed key, and backup_files lists what
// lies beside the database in the state folder: its path, how many bytes it has, and where they
// begin. These stand one behind the other behind the database, as they are. The end is a line of
// footSize bytes: a name, the version of the format, how many bytes the database has and how many
// are before the line, a hash of them (SHA-256 over the SHA-256 of each MiB), and a hash of that
// which is keyed with the store's key. SQLite does not see what is behind the database.
//
// # What is in it
//
// The database of one moment. Then the files that its rows name: bodies (blobs), kept contents
// (keep), and of calls that had begun and had no result the small files that say so (calls). They
// are durable before the rows that name them, so none is missing. Locks, output that is still
// written, logs and what is kept free for a full disk are not in it.
//
// The store's key is in it only sealed (HPKE, RFC 9180, with X25519, HKDF-SHA-256 and AES-256-GCM),
// to a public key or to one that is worked out from a passphrase (PBKDF2 with SHA-256). Without
// the key secrets, kept contents and recorded environments cannot be opened, and no call is
// recognised as one that was made before.
package backup
