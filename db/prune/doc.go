// Package prune removes finished threads from a state folder while other runs go on, and gives
// their space back to the disk.
//
// What goes is a thread with all runs in it and below them ([Look]). It stays while a run of it has
// not ended, a question is open, nobody has decided on a call whose outcome is unknown, or a thread
// that stays was forked from it.
//
// # The order
//
//  1. The runs of a thread are hidden: each leaves its tombstone, with its id and start key, and is
//     in no list any more. From here on the thread is gone.
//  2. The rows of the hidden runs go, a few at a time, and then the files that have their names.
//  3. The row of each run goes, and then the file of its lock.
//  4. The search index gives back what their words took. Contents, bodies and environments go that
//     no fact of those that stay names: the rows first, then the files.
//  5. Free pages are cut off the end of the database.
//
// Each step is a short transaction of its own (slice), and between two of them others write. A kill
// between any two leaves a sound store, in which the next call of [Remove] finishes 2 to 5.
package prune
