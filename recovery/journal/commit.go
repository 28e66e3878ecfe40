package journal

import "time"

// KindCommitSeen is the one fact about git's commits.
const KindCommitSeen Kind = "commit.seen"

// CommitSeen says that a commit of a git repository holds work of this run. It may be recorded in
// every status, also after the end: a person may commit, or rewrite, what a run left long ago. The
// link is final once the turn that it is recorded in is settled.
type CommitSeen struct {
	Checkpoint string    `json:"checkpoint_id"`        // k-…: the one of this commit, or of the one that it stands for now
	Repo       string    `json:"repo"`                 // folder of the objects, such as /home/ada/site/.git
	Commit     string    `json:"commit_id"`            // object id, hex
	Tree       string    `json:"tree_id"`              // likewise
	Patch      string    `json:"patch_id,omitempty"`   // of git patch-id --stable; "" of a merge and of a commit without a change
	Parents    []string  `json:"parents,omitempty"`    // object ids
	Subject    string    `json:"subject,omitempty"`    // first line of its message
	Author     string    `json:"author,omitempty"`     // name and address
	Authored   time.Time `json:"authored_at,omitzero"` // in whole seconds
	Changes    []string  `json:"change_ids,omitempty"` // of Gerrit's trailer and of jj's header

	Verb     string         `json:"verb,omitempty"` // first words of the reflog's line, such as commit (amend); "" where there was none
	Relation CommitRelation `json:"relation"`
	Proof    CommitProof    `json:"proof"`
	Of       string         `json:"of_id,omitempty"`     // the commit that it stands for now
	During   *Place         `json:"during,omitempty"`    // the call of this run in whose window it was made; nil: no call of this run made it
	By       string         `json:"by_run_id,omitempty"` // the run whose call made it, where that is another; "" and no During: a person made it
	Paths    []string       `json:"paths,omitempty"`     // those of its paths that are work of this run, from the top of the repository; at most 100
	Share    int            `json:"share"`               // how many there are
	Files    int            `json:"files"`               // how many paths the commit changes
	Trailer  CommitTrailer  `json:"trailer"`
}

// CommitRelation says what a commit is to the checkpoint that it is linked with. The words are
// stable.
type CommitRelation string

// The relations.
const (
	CommitMade      CommitRelation = "made"      // it is the commit of the checkpoint
	CommitAmended   CommitRelation = "amended"   // git commit --amend made it from an earlier one
	CommitRebased   CommitRelation = "rebased"   // git rebase did
	CommitPicked    CommitRelation = "picked"    // git cherry-pick did
	CommitSquashed  CommitRelation = "squashed"  // it holds what several did
	CommitRewritten CommitRelation = "rewritten" // something else did, such as filter-branch
	CommitSame      CommitRelation = "same"      // it is the same commit in another repository
)

// CommitRelations lists the relations.
func CommitRelations() []CommitRelation {
	return []CommitRelation{CommitMade, CommitAmended, CommitRebased, CommitPicked, CommitSquashed, CommitRewritten, CommitSame}
}

// CommitProof says by what a link is known. The words are stable.
type CommitProof string

// The proofs.
const (
	CommitByWindow  CommitProof = "window"          // a line of git's reflog, written while the call was under way
	CommitByReflog  CommitProof = "reflog"          // a line of it that names the old commit and the new one
	CommitByTrailer CommitProof = "trailer+content" // its trailer, and content of the checkpoint
	CommitByPatch   CommitProof = "patch"           // its change is the same
	CommitByTree    CommitProof = "tree"            // all of its files are the same
	CommitByBlobs   CommitProof = "blobs"           // files in it, or lines of them, are the same
)

// CommitProofs lists the proofs.
func CommitProofs() []CommitProof {
	return []CommitProof{CommitByWindow, CommitByReflog, CommitByTrailer, CommitByPatch, CommitByTree, CommitByBlobs}
}

// CommitTrailer says whether a commit's message names a checkpoint in its trailers.
type CommitTrailer string

// The trailers.
const (
	TrailerOurs    CommitTrailer = "ours"    // that of the link
	TrailerNone    CommitTrailer = "none"    // there is none
	TrailerForeign CommitTrailer = "foreign" // it names another checkpoint
)

// Kind names the fact.
func (CommitSeen) Kind() Kind { return KindCommitSeen }
