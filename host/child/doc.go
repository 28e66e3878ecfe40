// Package child has runs carry out calls of other runs: the tool delegate hands a task to a run of
// its own, the child, with its own journal, lock and thread.
//
// A child is driven only where its parent is, in the process that holds the lock of the run at the
// top, so that one process drives a family. Its id is on record with the start of the call and
// before its own first fact: no row means that it never began, one that ended has the call's
// result in its journal, and any other goes on where it stopped. So the outcome of such a call is
// never unknown, whenever a process is killed.
//
// A child has the mode, the tools and the limits of its parent at most, and what it used is charged
// to its parent.
package child
