// Package sqlitefile opens one SQLite database with the folder around it, and writes to it safely.
// What is recorded in it does not matter here: the program says by which numbers its database is
// known, which migrations make its tables, and what it looks at while the file is opened
// ([Format]).
//
//   - [Open] is the whole protocol of opening, in numbered steps.
//   - Every connection is as its DSN asks for, which is read back; WAL with synchronous=FULL
//     (conn.go).
//   - One process has one writer, a connection of its own, and one goroutine at a time uses it: it
//     puts whatever waits into one transaction (queue.go, writer.go). Readers have connections that
//     cannot write.
//   - A commit that failed is never taken for one that did nothing: nothing more is written
//     (writer.go). A full disk costs the ballast, and then the transaction is tried once more
//     (full.go, ballast.go).
//   - A commit into a file that its path does not name any more is no commit (present.go).
package sqlitefile
