package journal

import (
	"encoding/json"
	"fmt"
)

// Position is a place in a conversation: behind a settled turn of a run. Turn 0 is before the run.
type Position struct {
	Run  string `json:"run"`
	Turn int    `json:"turn"`
}

func (p Position) String() string { return fmt.Sprintf("%s@%d", p.Run, p.Turn) }

// Branch says where the conversation of a run goes on, where that is not behind the run before it
// in the thread, and what the run takes back.
type Branch struct {
	From   *Position  `json:"from,omitempty"`
	Rewind *RewindRun `json:"rewind,omitempty"` // From holds once such a run has completed
}

// RewindRun is what a run takes back.
type RewindRun struct {
	To   Position        `json:"to"`             // where the thread stands then
	Only RewindPart      `json:"only,omitempty"` // "" is both
	Args json.RawMessage `json:"args,omitempty"` // of its one call, which makes the files again; none where no file is to be written
	Yes  bool            `json:"yes,omitempty"`  // the person was shown all of it, and said yes
}

// RewindPart is a part of what a rewind takes back.
type RewindPart string

// The parts.
const (
	RewindFiles        RewindPart = "files"
	RewindConversation RewindPart = "conversation"
)
