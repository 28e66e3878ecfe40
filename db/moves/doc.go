// Package moves reads what of a store goes with a thread to another one ([Select]), and writes what
// comes from there ([Take]).
//
// What goes is a thread with all runs in it and below them, and the threads that it was forked
// from, since its model was shown what is in them. What the facts name goes too: bodies, kept
// contents, recorded environments, the values that placeholders stand for, and the key with
// which calls are recognised.
//
// What comes is written in one transaction, all of it or nothing. No fact of it may name a
// secret, a content or an environment of this store that it did not bring itself: whoever made
// the pack would get at it by the run.
package moves
