// Package stream carries what a run does to those who watch it, and never makes the run wait for
// them.
//
// Two kinds of things travel. A fact was durable before it came here and has a sequence number; it
// is never merged and never dropped from an observation that goes on. Everything else (a piece of
// the model's answer or of what it thinks, a running command's output, a note) is live only: pieces
// that are neighbours in a queue become one, and the fact that follows replaces them.
//
// Inside a process observers sit on a [Hub]. Between processes the present turn's text, reasoning
// and output of running calls go through a file per run ([Live], [LiveReader]) and facts through
// the database, whose changes a [Waker] hints at.
//
// To miss nothing and see nothing twice, observe first, read the journal up to its last fact next,
// and then pass over the facts that the observation delivers again.
package stream
