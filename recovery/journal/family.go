package journal

import "cmp"

// Family says which place a child has among runs: a call of another run has made it. But for
// Guarded all of it is empty in a root, which a person started.
type Family struct {
	Parent     string   `json:"parent,omitempty"`      // the run above it
	Root       string   `json:"root,omitempty"`        // the run at the top
	RootThread string   `json:"root_thread,omitempty"` // the thread of that run
	Role       string   `json:"role,omitempty"`        // what it is there for, such as "delegate c-1a2b3c4d"
	Only       []string `json:"only,omitempty"`        // names of the tools that it has; empty: all of its mode

	// Guarded says that the run above, or the one before it in the thread, may have gone further
	// than its journal says when this one began: what holds after RunRestored holds in it.
	Guarded bool `json:"guarded,omitempty"`
}

// FamilyThread is the thread of the run at the top: what is unknown in one run of a family guards
// all of them, and later runs of that thread.
func (c RunCreated) FamilyThread() string { return cmp.Or(c.RootThread, c.Thread) }

// RunParked says that the run has nothing to do but to wait for people who were asked in runs below
// it. It needs no process; a claim goes on with it.
type RunParked struct {
	Children []string `json:"children"` // the runs right below it that wait
}

// ChildEnd is how a run ended that carried out a call of another run. Its usage and its cost are
// charged to that run, and include those of the runs below it.
type ChildEnd struct {
	Run       string   `json:"run"`
	Status    string   `json:"status"` // completed, failed or cancelled
	Turns     int      `json:"turns,omitempty"`
	Usage     Usage    `json:"usage,omitzero"`      // what is estimated included
	Estimated bool     `json:"estimated,omitempty"` // a part of it is
	Cost      int64    `json:"cost,omitempty"`      // in millionths of a US dollar
	Priced    bool     `json:"priced,omitempty"`    // the cost is known
	Unknown   []string `json:"unknown,omitempty"`   // ids of its calls, and of those of runs below it, whose outcome is unknown
}
