// Package moves has runs go to another store ([Export]), and takes in what comes from one
// ([Import]). What goes is a thread with its families (package agent/db/moves), in one file
// (package agent/host/pack).
//
// A pack is a copy: what it does not say may have happened all the same where it was made, so runs
// of it that had not ended ask before each call that acts, wherever it is taken in. With
// [ExportOptions.Move] it is none: the runs are marked as gone, under their locks, before the
// pack is written; it is sealed to one store, which takes it once. So at every moment there is
// one place where they can be driven, or none: the same export writes the pack again.
//
// The order of a move: the thread is noted as gone, the root gets run.exported, then the runs below
// it, then the pack is written. Whoever is killed in between does the same again.
package moves
