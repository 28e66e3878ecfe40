// Package model says why a driver appends the start of a call to the log before it acts: it walks
// through every interleaving of three drivers of one run, each of which may be paused at any step,
// and for ever. It has the rule of the fleet, and three others that are tempting and wrong.
package model
