// Package origin says which version of a file brought each line of a content: of a commit's blob,
// or of what is on disk.
//
// # How it is found
//
// Promise A2 of the design of checkpoints: lines are replayed version by version, never guessed by
// counts. Each [Version] is compared with the one before it by the line diff that the project shows
// changes with. Lines that the diff keeps stay whose they were; lines that it adds are brought by
// the version. Whose version that is, an owner says: an index into a list of the caller's, or
// [Nobody] for a person, a formatter, git, or whatever else is none of ours.
//
// A content that is one of the versions has the lines of the newest such. Any other, such as a part
// that was staged by git add -p, is compared with the newest version, and what is not found there
// with those before it: the index may hold what has gone from disk since. A line that no version
// has is [Unknown]. So whoever asks about the disk records what a look finds there as a version
// first; and a line that was written anew before anybody looked counts as never having gone.
//
// # Rules
//
//   - A line that was taken away and written anew is whoever's wrote it last (promise C8).
//   - Unless it was put back: an owner's version that has again what a version of the same owner
//     took away brings nothing (git stash and git stash pop within a run, or cp, git checkout and
//     cp back), and neither does one that is marked as [Version.Back]: a rewind, or a person's git
//     stash pop. Nobody is no such owner: it is many.
//   - A line that only moves stays whose it was, where that is certain: it is in a block that has
//     gone from one place and has come at another in the same version, and the block has a line
//     with a letter or a digit that either content has once. A brace that moves alone is the
//     mover's. git blame has all that moves be the mover's; but a commit that moves what a run
//     wrote still holds the run's work (promise C1).
//   - How a line ends does not count: a change of LF to CRLF, or of the line end at the end of the
//     file, brings no line. Git converts line ends on the way into a commit, so a rule that counts
//     them would make every line of a checkout somebody else's. All other whitespace counts, as it
//     does in patch ids: in a Makefile or in Python it is meaning.
//   - A path where nothing is has no lines, and what is written there next is new.
//   - A content that is binary (a NUL byte in its first 8,000, as for git), over [MaxBytes] or over
//     [MaxLines] has no lines: it can be equal to a version, and nothing else. What is written over
//     it is new.
//   - Lines that come after a version whose content is [Lost] may have come with it: they are
//     Unknown. Lines that were there before it and are there after it stay whose they were.
//
// # Cost
//
// A version of n lines costs one diff, O(n log n), and up to [rounds] more over the parts of it
// that changed. A content costs at most one such diff for each version that is remembered, and none
// if it is one of them. Versions are remembered up to [remembered] lines together, the newest
// first, so that at most 64 MiB are held; an older one still counts for those that follow it.
package origin
