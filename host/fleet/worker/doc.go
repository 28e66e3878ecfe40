// Package worker is a host of a fleet: it takes runs from the engine while it has free slots, has
// the program agent drive them, and reports what became of them.
//
// A worker keeps no record of its own. What it knows of a run is in the state folder of agent and
// in the log, so it may be killed at any point: drivers are processes of their own, which go on,
// and the next worker finds them by their locks. Which facts a driver may act on is decided by the
// log alone (see package witness); nothing here is part of that fence.
package worker
