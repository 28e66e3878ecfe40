// Package db keeps the journal and everything that is read from it in one SQLite file.
//
// What holds, and where:
//
//   - A fact that was handed out or reported as written survives SIGKILL and power loss: WAL with synchronous=FULL, and a
//     commit that failed is never taken for one that did nothing (writer.go, full.go).
//   - Only the owner of a run appends to its journal. Every write names the status, the epoch and the last sequence number
//     that the writer saw; a write that no longer fits is [ErrLostRace] and leaves nothing behind (append.go).
//   - Rows of runs, tool_executions, pending_requests and checkpoints are projections of the journal, written in the same
//     transaction (project.go). A body is stored once, in the journal or, when it is large, in blobs or beside them.
//   - Everything that comes to rest passes through encode (encode.go).
//   - A file that is not ours, is newer than this binary or does not match its digests is left as it is and named.
//
// One process has one writer: a goroutine with a connection of its own, which puts whatever waits for it into one
// transaction. Readers have connections that cannot write.
package db
