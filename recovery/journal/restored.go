package journal

import (
	"strings"
	"time"
)

// RunRestored says that the database of the run went back in time, or is that of a copy, and that a
// person let it count from there. The run may have gone further than its journal says: nothing that
// acts starts in it until a person said that it has not happened, in every mode, and no yes from
// before counts. With Nothing all that happened after this copy is in it, and what held before
// holds.
type RunRestored struct {
	Reason      string    `json:"reason"` // how it was seen that the database is behind, or what was restored
	By          string    `json:"by,omitempty"`
	Made        time.Time `json:"made,omitzero"`           // when the copy was made, where that is known
	Incarnation int64     `json:"incarnation,omitempty"`   // of the store from then on
	Nothing     bool      `json:"nothing_after,omitempty"` // a person said that nothing happened after that
	Pack        string    `json:"pack,omitempty"`          // of a run that came from another store: the pack that it came in
	Folder      string    `json:"folder,omitempty"`        // where the workspace is from here on, absolute, when the person named it
}

// Kind names the fact.
func (RunRestored) Kind() Kind { return KindRunRestored }

// RunExported says that the run went to another store, in a pack that only that one can open, and
// only once. It is driven there from here on: here it is not, until RunRestored takes it back.
type RunExported struct {
	To   string `json:"to"` // the store's address
	Pack string `json:"pack"`
	By   string `json:"by,omitempty"`
}

// Store is the store that it went to.
func (b RunExported) Store() string {
	store, _, _ := strings.Cut(strings.TrimPrefix(b.To, "agent-store-1-"), ".")
	return store
}

// WorkspaceBehind says that files which calls of the run have written are not in its workspace as
// they left them: it is another folder, or was given other files since.
type WorkspaceBehind struct {
	Folder string       `json:"folder"`
	Files  []BehindFile `json:"files"` // the first of them
	More   int          `json:"more,omitempty"`
}

// BehindFile is one such file.
type BehindFile struct {
	Path string `json:"path"`
	Call *Place `json:"call,omitempty"` // that wrote it last, of this run
	Gone bool   `json:"gone,omitempty"` // it is not there at all
}

// Kind names the fact.
func (RunExported) Kind() Kind     { return KindRunExported }
func (WorkspaceBehind) Kind() Kind { return KindWorkspaceBehind }
