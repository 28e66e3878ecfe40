// Package replay reads logs: what a family of runs did as far as it is in its log ([State]), the
// pack with which another host takes the family over ([Pack]), and the entry that keeps a host that
// is gone from going on ([Fence]).
//
// # What an entry has to be
//
// The records of an entry are first what its facts name, and no earlier entry brought: threads,
// environments, secrets, contents, bodies. Then comes each run with new facts, with the number and
// the chain of all its facts up to then, and behind it the new ones. So who reads a log from its
// beginning has proof of every fact.
//
// An entry has the epoch of the root run, which each claim raises. An epoch belongs to one host:
// what another host appends has a higher one, and so has what comes after a fence. A fence is an
// entry without records. It takes a place like any other, so whoever had the run is fenced by it.
// Whoever claims the run with a higher epoch goes on behind it ([Fence]), or nobody does ([End]).
package replay
