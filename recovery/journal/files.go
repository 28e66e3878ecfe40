package journal

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"
	"unicode/utf8"
)

// The facts about the files of a workspace. They may be recorded by who drives the run alone.
const (
	KindFilesBase    Kind = "files.base"
	KindFilesChanged Kind = "files.changed"
)

// FilesBase says what can be given back of a workspace from here on: what it held right before the
// first call of this process that may write anywhere in it.
type FilesBase struct {
	Look     int64     `json:"look"`               // number of the look in the family of runs, from 1
	Mode     KeepMode  `json:"mode"`               // what is kept from here on
	Why      string    `json:"why,omitempty"`      // why not everything is
	Manifest string    `json:"manifest,omitempty"` // under which the store keeps the list of all that was there
	Paths    int       `json:"paths,omitempty"`    // how many there were
	Sealed   int       `json:"sealed,omitempty"`   // of how many files the store keeps the content
	Bytes    int64     `json:"bytes,omitempty"`    // of those contents
	Pin      string    `json:"pin,omitempty"`      // folder of the pin in the state folder; "" for none
	Head     *GitHead  `json:"head,omitempty"`     // where git stood; nil: the workspace is no repository's
	LeftOut  []LeftOut `json:"left_out,omitempty"` // what cannot be given back, the most telling first
	Skipped  []SkipSum `json:"skipped,omitempty"`  // how many paths each reason left out
}

// KeepMode says what is kept of a workspace.
type KeepMode string

// The modes.
const (
	KeepAll   KeepMode = "all"   // what a command could destroy
	KeepTools KeepMode = "tools" // only what file tools write
)

// GitHead is where git stands in a workspace.
type GitHead struct {
	Commit string `json:"commit,omitempty"` // object id; "" before the first commit
	Ref    string `json:"ref,omitempty"`    // such as refs/heads/main; "" where it is detached
}

// LeftReason says why a content is not kept. The words are stable.
type LeftReason string

// The reasons.
const (
	LeftIgnoredFolder LeftReason = "ignored_folder"
	LeftNested        LeftReason = "nested_repository"
	LeftTooLarge      LeftReason = "too_large"
	LeftOverBudget    LeftReason = "over_budget"
	LeftSpecial       LeftReason = "special"
	LeftUnreadable    LeftReason = "unreadable"
	LeftUnstable      LeftReason = "unstable"
	LeftDropped       LeftReason = "dropped" // it was kept, and had to make room
)

// LeftReasons lists the reasons.
func LeftReasons() []LeftReason {
	return []LeftReason{LeftIgnoredFolder, LeftNested, LeftTooLarge, LeftOverBudget, LeftSpecial, LeftUnreadable, LeftUnstable, LeftDropped}
}

// LeftOut is one path whose content, or all below which, is not kept.
type LeftOut struct {
	Path   string     `json:"path"`
	Reason LeftReason `json:"reason"`
	Size   int64      `json:"size,omitempty"` // bytes, of a file
}

// SkipSum counts the paths that one reason left out.
type SkipSum struct {
	Reason LeftReason `json:"reason"`
	Paths  int        `json:"paths"`
}

// FilesChanged is what one look at a workspace found that the look before had not.
type FilesChanged struct {
	Look    int64        `json:"look"`             // number of the look in the family of runs, from 1
	During  *Place       `json:"during,omitempty"` // the call of this run that was under way; nil: none was
	Shared  []CallOf     `json:"shared,omitempty"` // calls of other runs of the family that were under way beside it
	Head    *HeadMove    `json:"head,omitempty"`   // git's HEAD was moved meanwhile
	Since   time.Time    `json:"since,omitzero"`   // of late changes: they are from after this time
	Changes []FileChange `json:"changes"`
}

// CallOf names a call of another run.
type CallOf struct {
	Run string `json:"run"`
	Place
}

// HeadMove says where git's HEAD was before and after.
type HeadMove struct {
	From GitHead `json:"from"`
	To   GitHead `json:"to"`
}

// FileProof says by what it is known whose change one is.
type FileProof string

// The proofs.
const (
	ProofTool    FileProof = "tool"    // a file tool wrote it
	ProofWhile   FileProof = "while"   // it changed while the call was under way
	ProofHost    FileProof = "host"    // this program wrote it: an answer, or an artifact put back
	ProofGit     FileProof = "git"     // git moved HEAD while the call was under way, and this path with it, from one commit to the other
	ProofOutside FileProof = "outside" // no call was under way
	ProofLate    FileProof = "late"    // the looks beside the calls did not hear of it: nobody knows when it was
)

// FileProofs lists the proofs, the one that says most first.
func FileProofs() []FileProof {
	return []FileProof{ProofTool, ProofHost, ProofGit, ProofWhile, ProofLate, ProofOutside}
}

// Ours says whether a call changed the path, as far as that is known.
func (p FileProof) Ours() bool { return p != ProofOutside && p != ProofLate }

// FileChange is one path that changed.
type FileChange struct {
	Path   string       `json:"path"`          // in the workspace, with slashes
	Raw    []byte       `json:"raw,omitempty"` // the path where it is not UTF-8; then Path is only near it
	Proof  FileProof    `json:"proof"`
	Before *FileVersion `json:"before,omitempty"` // nil: nothing was there
	After  *FileVersion `json:"after,omitempty"`  // nil: nothing is there any more
}

// Name is the path as the system has it, with slashes.
func (c FileChange) Name() string {
	if c.Raw != nil {
		return string(c.Raw)
	}
	return c.Path
}

// NewFileChange is a change of the path as the system has it.
func NewFileChange(name string, proof FileProof, before, after *FileVersion) FileChange {
	c := FileChange{Path: name, Proof: proof, Before: before, After: after}
	if !utf8.ValidString(name) {
		c.Raw = []byte(name)
	}
	return c
}

// FileKind says what is at a path.
type FileKind string

// The kinds.
const (
	FileRegular FileKind = ""
	FileFolder  FileKind = "dir"
	FileLink    FileKind = "link"
	FileSpecial FileKind = "special" // a socket, a FIFO, a device
)

// LinkTarget is where a symbolic link leads, as the system has it. In JSON it is a text, or, where
// it is not UTF-8, the list of its bytes in base64.
type LinkTarget string

// MarshalJSON writes the target so that it can be read again to the byte.
func (l LinkTarget) MarshalJSON() ([]byte, error) {
	if utf8.ValidString(string(l)) {
		return json.Marshal(string(l))
	}
	return json.Marshal([][]byte{[]byte(l)})
}

// UnmarshalJSON reads both forms.
func (l *LinkTarget) UnmarshalJSON(text []byte) error {
	var plain string
	if json.Unmarshal(text, &plain) == nil {
		*l = LinkTarget(plain)
		return nil
	}
	var raw [][]byte
	if err := json.Unmarshal(text, &raw); err != nil || len(raw) != 1 {
		return fmt.Errorf("read the target of a link: %v", err)
	}
	*l = LinkTarget(raw[0])
	return nil
}

// FileVersion is what was at a path.
type FileVersion struct {
	Kind FileKind   `json:"kind,omitempty"`
	Mode uint32     `json:"mode,omitempty"` // permission bits, with setuid, setgid and sticky as in chmod(2); 0 of a link
	Size int64      `json:"size,omitempty"` // bytes, of a regular file
	Kept string     `json:"kept,omitempty"` // under which the store keeps the content; "" where Git or Lost says otherwise
	Git  string     `json:"git,omitempty"`  // object id of the blob that is the content; git or its pin has it
	Link LinkTarget `json:"link,omitempty"` // where a symbolic link leads, as it is written
	Lost LeftReason `json:"lost,omitempty"` // why the content is not kept
	// Stamp tells one content from another where it is not kept: of the inode, size and times.
	Stamp string `json:"stamp,omitempty"`
}

// Restorable says whether what was there can be made again.
func (v *FileVersion) Restorable() bool {
	return v == nil || v.Lost == "" && (v.Kind == FileFolder || v.Kind == FileLink || v.Kind == FileRegular && (v.Kept != "" || v.Git != ""))
}

// SameContent says whether two versions hold the same, their modes aside. Of the same content under
// a name of the store and one of git it says no.
func (v *FileVersion) SameContent(w *FileVersion) bool {
	if v == nil || w == nil {
		return v == w
	}
	if v.Kind != w.Kind || v.Link != w.Link || v.Size != w.Size {
		return false
	}
	switch {
	case v.Kind != FileRegular && v.Kind != FileSpecial:
		return true
	case v.Lost != "" || w.Lost != "":
		return v.Stamp == w.Stamp && v.Stamp != ""
	case v.Kept != "" && w.Kept != "":
		return v.Kept == w.Kept
	}
	return v.Git == w.Git && v.Git != ""
}

// Same says whether two versions are the same, with their modes.
func (v *FileVersion) Same(w *FileVersion) bool {
	return v.SameContent(w) && (v == nil || v.Mode == w.Mode)
}

// Kind names the fact.
func (FilesBase) Kind() Kind    { return KindFilesBase }
func (FilesChanged) Kind() Kind { return KindFilesChanged }

// Calls counts the changes that a call made, or may have made.
func (b FilesChanged) Calls() int {
	n := 0
	for _, c := range b.Changes {
		if slices.Contains([]FileProof{ProofTool, ProofWhile, ProofHost, ProofGit}, c.Proof) {
			n++
		}
	}
	return n
}
