package origin

// What a content may have at most to have lines.
const (
	MaxBytes = 2 << 20
	MaxLines = 200_000
)

// Nobody owns a version that is none of ours, or of which it is not known whose it is.
const Nobody = -1

// Unknown is in the place of a version: none brought the line.
const Unknown = -1

// Content is what was at a path.
type Content struct {
	State State
	Bytes []byte // where something is there
	// ID names the content: equal contents have equal names. "" has the bytes compared. Of the
	// contents of one path all that are there have one, or none has.
	ID string
}

// State says whether something was at a path.
type State int

// The states.
const (
	There  State = iota // a file, or the target of a link
	Absent              // nothing was there
	Large               // a file was there that is too large to be read for its lines; its ID is known
	Lost                // something was there, and nobody knows any more what it said
)

// Version is one content of a path, and who made it.
type Version struct {
	Content Content
	Owner   int // the run, as an index of the caller's list; Nobody
	// Back says that the content was put back rather than written: by a rewind, or by git as it
	// took something out of the stash. Its lines are whose they were.
	Back bool
}

// Brought is what one version has in a change from one content to another.
type Brought struct {
	Version int // index of the version
	Owner   int // its owner
	Added   int // lines that the change adds, and the version brought
	Removed int // lines that the change removes, and the version took away
	// Whole says that the change leads to a content without lines (binary, too large, or nothing at
	// all), and that this version made it.
	Whole bool
}
