package pack

import "time"

// Version is that of the form. A reader refuses what is newer than itself.
const Version = 1

// Header is the first line: what anybody may know of a pack.
type Header struct {
	Version int       `json:"agent_pack"`
	ID      string    `json:"id"` // k-…, one for each pack
	From    string    `json:"from"`
	To      string    `json:"to,omitempty"` // the address of the store that it is sealed to; "" for none
	Move    bool      `json:"move"`         // the runs go on where it is taken, and nowhere else
	Made    time.Time `json:"made_at"`
	Key     []byte    `json:"key"` // of the blocks: sealed where To is set
}

// Record is one line. Exactly one member is set.
type Record struct {
	About   *About   `json:"about,omitempty"`
	Thread  *Thread  `json:"thread,omitempty"`
	Kept    *Kept    `json:"kept,omitempty"`
	Body    []byte   `json:"body,omitempty"` // of a fact, too long for its line; named by its SHA-256
	Secret  *Secret  `json:"secret,omitempty"`
	Environ *Environ `json:"environment,omitempty"`
	Run     *Run     `json:"run,omitempty"`
	Fact    *Fact    `json:"fact,omitempty"` // of the run before it
	End     *End     `json:"end,omitempty"`
}

// About says what is in a pack.
type About struct {
	Thread string `json:"thread"` // that the person named, by a run of it
	Host   string `json:"host"`
	By     string `json:"by,omitempty"` // who made it
	Agent  string `json:"agent"`        // version of the binary
	Whole  bool   `json:"whole"`        // secrets, kept contents, environments and keys are in it
	Runs   int    `json:"runs"`
	Facts  int64  `json:"facts"`
}

// Thread is a conversation, or that of a run below another.
type Thread struct {
	ID      string    `json:"id"`
	KeyOf   string    `json:"key_of"` // the thread with whose key its calls are recognised
	Key     []byte    `json:"key,omitempty"`
	Folder  string    `json:"folder"`
	Created time.Time `json:"created_at"`
	Source  bool      `json:"source,omitempty"` // it came along, since another one was forked from it
}

// Kept is a content that facts name.
type Kept struct {
	Name string `json:"name"`
	List bool   `json:"list,omitempty"` // of files: what it names came before
	Data []byte `json:"data"`
}

// Secret is a value that facts have a placeholder for.
type Secret struct {
	ID    string `json:"id"`
	Rule  string `json:"rule"`
	Value []byte `json:"value"`
}

// Environ is what commands of a run get.
type Environ struct {
	ID        string   `json:"id"`
	Variables []string `json:"variables"`
}

// Run begins a run.
type Run struct {
	ID     string `json:"id"`
	Thread string `json:"thread"`
	Facts  int64  `json:"facts"`
	Digest []byte `json:"digest"` // of all its facts, see Chain
}

// Fact is one fact as it is recorded, with placeholders for secrets.
type Fact struct {
	Turn int64  `json:"turn"`
	Kind int64  `json:"kind"` // by its number
	V    int64  `json:"v"`
	Time int64  `json:"time"` // microseconds since 1970
	Body string `json:"body,omitempty"`
	Hash []byte `json:"body_hash,omitempty"` // of a body that is too long
}

// End is the last record.
type End struct {
	Records int64 `json:"records"` // before it
}
