// Package lineage reads what a run inherits of the conversations that it comes from: its thread,
// the threads that this one was forked from, and the runs below theirs. What acted outside of a
// workspace stays done when a rewind or a fork takes it out of the conversation: the model has
// forgotten it, and the twin guard must not.
package lineage
