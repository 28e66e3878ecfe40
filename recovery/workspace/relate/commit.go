package relate

import "agent/recovery/journal"

// Commit is a commit that was found in a repository.
type Commit struct {
	ID      string
	Repo    string // any name of the repository
	Tree    string
	Base    string   // tree of the first parent; "" of a first commit
	Parents []string // ids
	Patch   string   // stable patch id, whitespace counting; "" where nothing changed
	Identity
	ChangeIDs []string // of Gerrit's Change-Id lines and of jj's header
	Trailers  []string // ids (k-…) of our trailer in the last block of the message, as git reads it
	Mentions  []string // other ids (k-…) anywhere in the message
	Reverts   bool     // a line of the message begins with "This reverts commit "
	Changes   []Change // against the first parent, renames being a removal and an addition; of a merge none
	Verb      string   // of the reflog line that has it as the new id, up to the colon; "" where it was only walked to
	Blind     bool     // the reflog could not be read: Verb says nothing
	Of        string   // the id that the line of an amend, or of a rebase, replaced
	During    []Window // the calls that were under way when the line was written
	// Behind lists the linked commits that it stands on: its ancestors.
	Behind []string
	// Lines says for each path whose lines the commit adds, or takes away, against its first parent
	// (origin.History.Brought over the versions that looks saw). A path of which it is known that
	// no run ever changed it has an empty list; of one that is missing it is not known.
	Lines map[string][]Part
	// Held is what of linked commits is in it, line by line, as far as [Wants] asked for it.
	Held []Held
}

// Identity is what a rewrite by git keeps of a commit, when it is not asked to change it.
type Identity struct {
	Author  string // name and address
	Time    int64  // of the author, in seconds
	Subject string
}

// Change is one path that a commit changed.
type Change struct {
	Path          string
	Before, After string // blob ids, with the mode in front where it is not that of a plain file; "" where nothing is
}

// Window is a call that was under way.
type Window struct {
	Run   string
	Place journal.Place
	Git   bool // the call's own arguments run git, so that it may have committed what is not its work
}

// Part is what one call has in a path of a commit.
type Part struct {
	Run   string
	Place journal.Place
	// Lines counts those added and taken away; 0 where the content has no lines, and is as the call
	// left it.
	Lines int
}

// Held is a number of lines of a linked commit that are in another.
type Held struct {
	Linked string // id of the linked commit
	Path   string
	Lines  int // of those that the linked commit added, how many the other adds
}

// Known is what is known of commits.
type Known struct {
	Linked []Linked // in the order in which they were seen
	Ranges []Range  // candidates for what was squashed, beside those that Linked shows
	// Elsewhere lists the ids that were seen in trailers of commits that are not linked here: they
	// were minted in another store, or made up, and no commit gets them.
	Elsewhere []string
}

// Linked is a commit that is linked to a checkpoint.
type Linked struct {
	Checkpoint string // k-…
	ID         string
	Repo       string
	Tree, Base string
	Parents    []string
	Patch      string
	Identity
	ChangeIDs []string
	Changes   []Change
	Shares    []Share
	Replaced  bool     // it is on no branch any more
	Relation  Relation // with which it is linked, and the commit that it was made from; "" where nobody asks
	Of        string
}

// Range is a line of commits of one repository, of two at least.
type Range struct {
	Repo       string
	Commits    []string // ids, oldest first; not all are linked
	Tree, Base string   // tree of the last one, and of the parent of the first
	Patch      string   // stable patch id of the whole; "" where it was not worked out
}

// Share is what one run has in a commit.
type Share struct {
	Run   string
	Place journal.Place // the last call of the run that has something in it
	Paths []string      // sorted; none where the call made the commit and nothing in it is the run's
}

// Relation is how a commit came to belong to a checkpoint.
type Relation string

// The relations.
const (
	None      Relation = "none"      // it has nothing to do with a run
	Made      Relation = "made"      // by a call, or by a person with lines of a run's
	Amended   Relation = "amended"   // git commit --amend
	Rebased   Relation = "rebased"   // the same change on another parent
	Picked    Relation = "picked"    // git cherry-pick, or a revert of a revert
	Squashed  Relation = "squashed"  // with others into one
	Rewritten Relation = "rewritten" // filter-branch, reset and commit, a host, a jj
	Same      Relation = "same"      // the same commit in another clone
)

// Proof is by what the relation is known.
type Proof string

// The proofs.
const (
	ByNothing Proof = ""
	ByWindow  Proof = "window"          // a call was under way when git wrote its reflog
	ByReflog  Proof = "reflog"          // git's own line says what was replaced
	ByTrailer Proof = "trailer+content" // our trailer selected it, content proves it
	ByPatch   Proof = "patch"           // the same patch id
	ByTree    Proof = "tree"            // the same trees, before and after; also the same commit
	ByBlobs   Proof = "blobs"           // contents of files, or lines of theirs
)

// TrailerIs says whose the trailer is that the commit has.
type TrailerIs string

// Whose it is.
const (
	TrailerNone    TrailerIs = "none"
	TrailerOurs    TrailerIs = "ours"    // it names the checkpoint of the commit
	TrailerForeign TrailerIs = "foreign" // it names another, or one of another store
)

// Verdict is what a commit has to do with runs.
type Verdict struct {
	Relation Relation
	Proof    Proof
	// Checkpoint is the one that the commit belongs to. Of a new one it is the id in the commit's
	// trailer, or "" where one is to be minted.
	Checkpoint string
	New        bool     // no commit had the checkpoint before
	Also       []string // further checkpoints whose work is in it, oldest first
	Of         string   // id of the commit that it was made from
	Shares     []Share  // by run
	Files      Files
	Claims     []string // ids that the message names and of which nothing is in the commit
	Trailer    TrailerIs
}

// Files counts the files of the commits that a commit was made from.
type Files struct {
	In int // how many have something in this commit
	Of int // how many there are
}
