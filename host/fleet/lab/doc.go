// Package lab has a fleet of real processes on one machine: Temporal's server on SQLite, workers
// with state folders of their own, drivers and their commands, each host in a PID namespace that
// dies as a machine does, and, for partitions, in a network namespace.
//
// Effects are counted outside of all of that: each command of a run appends a line to a file. What
// a promise allows is compared with these lines, never with what agent or the engine says.
//
// It needs Linux, root, and the three programs; see [Programs]. What the fleet costs is measured by
// go test -run TestFigures -figures -v .
package lab
