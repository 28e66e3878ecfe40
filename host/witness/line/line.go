// Package line is what a driver and its witness say to each other: one JSON object a line in each
// direction, over a unix socket. The driver asks, one request at a time, and the answers come in
// order. A line has at most [Longest] bytes.
//
// A witness keeps a log for each family of runs, named by the run at its top: entries at the places
// 1, 2, 3 and so on, of which each is written once. A driver says at which place its next facts
// belong, one after the last that it has seen. If that place is taken by somebody else, somebody
// else drives the family, and the driver is fenced: it may start nothing any more.
package line

import (
	"time"

	"agent/host/pack"
)

// Version is that of the form.
const Version = 1

// Longest is how long a line may be, bytes.
const Longest = 64 << 20

// The requests.
const (
	Hello  = "hello"  // how far is the log?
	Append = "append" // take these facts, at this place
)

// Request is what a driver says.
type Request struct {
	V     int    `json:"v"`
	Op    string `json:"op"`
	Root  string `json:"root"`            // the run at the top of the family
	Agent string `json:"agent,omitempty"` // version of the driver, in a hello

	Place   int64         `json:"place,omitempty"`   // that this entry takes
	Why     string        `json:"why,omitempty"`     // what is about to happen, in a few words
	Epoch   int64         `json:"epoch,omitempty"`   // of the run at the top
	Records []pack.Record `json:"records,omitempty"` // what is new: first what facts name, then each run with its new facts
}

// Reply is the answer. Exactly one of its members beside V is set.
type Reply struct {
	V       int     `json:"v"`
	OK      *OK     `json:"ok,omitempty"`
	Fenced  *Fenced `json:"fenced,omitempty"`  // the place is taken by somebody else
	Later   string  `json:"later,omitempty"`   // the log cannot be reached: why; to be asked again
	Refused string  `json:"refused,omitempty"` // never: why
}

// OK says that an entry is in the log, or how far it is.
type OK struct {
	Place int64            `json:"place"`          // the last one that is taken
	By    string           `json:"by,omitempty"`   // the host that took it, in the answer to a hello
	Runs  map[string]Stand `json:"runs,omitempty"` // in the answer to a hello
}

// Stand is how much of a run is in the log.
type Stand struct {
	Facts  int64  `json:"facts"`
	Digest []byte `json:"digest"` // of these facts, see pack.Chain
}

// Fenced says who has the family now.
type Fenced struct {
	Place int64     `json:"place"`
	By    string    `json:"by"` // the host
	Epoch int64     `json:"epoch,omitempty"`
	At    time.Time `json:"at,omitzero"`
}
