// Package history reads the story of a git repository: whether anything of it moved (Mark, Same),
// what git logged in between (Lines), where its refs lead (Tips), and its commits (Reader).
//
// Marks, lines and tips are read from files, as gitrepository-layout and git-reflog describe them:
// HEAD of every worktree, logs/HEAD and logs/refs/heads, loose refs and packed-refs. What lies in a
// file's place (a FIFO, a link, a tree without end) neither holds up nor misleads who reads. Refs
// in reftables have no such files: their marks are those of the tables, their tips come from git,
// and their logs are not read, which Lines states.
//
// Objects are read by git, in a folder of ours that looks like a repository and borrows the objects
// (Open). So no setting, hook, attribute, filter, graft, replacement or commit graph of the
// repository or of a person counts, nothing is fetched, and nothing below .git is written. Every
// question is bounded in time and in size.
package history
