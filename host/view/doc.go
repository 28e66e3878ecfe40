// Package view is what front doors show: the versioned JSON of runs, calls, requests, outcomes,
// plans and refusals, the commands that bring a run forward, and one-line texts for people. It
// works on what it is given: it opens nothing, reads no clock and writes nowhere.
//
// The names in JSON: an object has its own id as id and refers to others by run_id, thread_id,
// call_id and request_id. Times end in _at, spans in _ms, and counts begin with num_. A list is
// never null. next holds the commands that bring something forward, and summary is a call's
// arguments in a few words. Facts are given as the journal holds them. Fields are only ever added.
package view
