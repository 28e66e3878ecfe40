// Package db keeps the journal and everything that is read from it in one SQLite file.
//
// What holds, and where:
//
//   - A fact that was handed out or reported as written survives SIGKILL and power loss: WAL with
//     synchronous=FULL, and a commit that failed is never taken for one that did nothing
//     (sqlitefile).
//   - Only the owner of a run appends to its journal. Every write names the status, the epoch and
//     the last sequence number that the writer saw; a write that no longer fits is [ErrLostRace]
//     and leaves nothing behind (append.go).
//   - Rows of runs, tool_executions and pending_requests are projections of the journal, written in
//     the same transaction (project.go); checkpoints are a view of it. A body is stored once, in
//     the journal or, when it is large, in blobs or in a file that is durable before the fact that
//     names it (encode.go, package blob).
//   - Everything that comes to rest passes through encode (encode.go).
//   - A file that is not ours, is newer than this binary or does not match its digests is left as
//     it is and named.
//
// Package sqlitefile opens the file, and has the one writer of a process.
package db
