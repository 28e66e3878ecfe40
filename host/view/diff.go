package view

import (
	"slices"

	"agent/recovery/journal"
)

// Diff is what the calls of a run changed in files, from one position to another. Fields are only
// ever added.
type Diff struct {
	Version int        `json:"version"`
	Run     string     `json:"run_id"`
	From    int        `json:"from"` // the turn after which it begins; 0: before the run
	To      int        `json:"to"`   // the last turn that counts
	Files   []DiffFile `json:"files"`
	More    int        `json:"num_more,omitempty"` // paths that are left out, since there are too many
}

// DiffKind says what became of a path.
type DiffKind string

// The kinds.
const (
	DiffAdded   DiffKind = "added"
	DiffChanged DiffKind = "changed" // its content, its mode, or what it is
	DiffRemoved DiffKind = "removed"
)

// DiffFile is one path of a diff.
type DiffFile struct {
	Path    string            `json:"path"`
	Raw     []byte            `json:"raw,omitempty"` // the path where it is not UTF-8; then path is only near it
	Kind    DiffKind          `json:"kind"`
	Added   int               `json:"added"`             // lines
	Removed int               `json:"removed"`           // lines
	Before  *DiffVersion      `json:"before"`            // null: nothing was there
	After   *DiffVersion      `json:"after"`             // null: nothing is there any more
	Proof   journal.FileProof `json:"proof"`             // the weakest of its changes
	Calls   []DiffCall        `json:"calls"`             // that changed it
	Others  bool              `json:"others,omitempty"`  // somebody else changed it too, or alone
	Binary  bool              `json:"binary,omitempty"`  // no text: only its size is shown
	Secrets bool              `json:"secrets,omitempty"` // placeholders stand for secrets
	Notes   []string          `json:"notes"`             // what the diff itself cannot say
	Diff    string            `json:"diff"`              // in git's format
	Cut     bool              `json:"cut,omitempty"`     // it is longer: ask for this path alone
}

// DiffVersion is what was at a path.
type DiffVersion struct {
	Kind journal.FileKind   `json:"kind,omitempty"`
	Mode string             `json:"mode,omitempty"` // permission bits, octal
	Size int64              `json:"size"`           // bytes
	Lost journal.LeftReason `json:"lost,omitempty"` // why its content cannot be shown
}

// DiffCall is a call that changed a path, or was under way when it changed.
type DiffCall struct {
	Run   string         `json:"run_id"`
	Place *journal.Place `json:"place,omitempty"` // absent: no call was under way
	Phase string         `json:"phase,omitempty"` // of a flow: the run is a part of it
}

// Same says whether both name the same call.
func (c DiffCall) Same(d DiffCall) bool {
	if c.Place == nil || d.Place == nil {
		return c.Run == d.Run && c.Place == d.Place
	}
	return c.Run == d.Run && *c.Place == *d.Place
}

// Mark is the sign of a kind in a list.
func (k DiffKind) Mark() string {
	switch k {
	case DiffAdded:
		return "+"
	case DiffRemoved:
		return "-"
	}
	return "~"
}

// Phases are those of a flow whose runs changed a path.
func (f DiffFile) Phases() []string {
	var names []string
	for _, c := range f.Calls {
		if c.Phase != "" && !slices.Contains(names, c.Phase) {
			names = append(names, c.Phase)
		}
	}
	return names
}
