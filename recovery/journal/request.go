package journal

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// Question is what a person is asked.
type Question struct {
	Kind    RequestKind     `json:"kind"`
	Message string          `json:"message"`
	Schema  json.RawMessage `json:"schema"`            // JSON Schema of the answer
	Choices []string        `json:"choices,omitempty"` // the answers, where they can be listed
	Hints   []string        `json:"hints,omitempty"`   // what each choice does, in the order of Choices
	About   string          `json:"about,omitempty"`   // id of the call whose unknown outcome the question is about
}

// RequestKind says why a person is asked.
type RequestKind string

// The kinds of pending requests.
const (
	RequestAskUser    RequestKind = "ask_user"
	RequestConfirm    RequestKind = "confirm_action"
	RequestPermission RequestKind = "permission"
	RequestTwin       RequestKind = "twin"
	RequestCopy       RequestKind = "copy" // a call of a run that may have gone further than its journal says
	RequestMaxTurns   RequestKind = "max_turns"
	RequestMaxTokens  RequestKind = "max_tokens"
	RequestMaxCost    RequestKind = "max_cost"
	RequestElicit     RequestKind = "elicitation" // asked by a tool while its call is under way
)

// Request is an open question of a run.
type Request struct {
	ID string `json:"id"` // p-…; filled in by the host
	Question
	Call  *Place         `json:"call,omitempty"`
	Phase *PhaseQuestion `json:"phase,omitempty"` // of a question about a phase

	// Of the call that the question belongs to, filled in by the host; the arguments where they are
	// what is decided on.
	CallID string          `json:"call_id,omitempty"`
	Tool   string          `json:"tool,omitempty"`
	Args   json.RawMessage `json:"arguments,omitempty"`

	Binding string     `json:"binding,omitempty"` // what a yes is bound to; filled in by the host
	Opened  time.Time  `json:"opened"`
	Expires *time.Time `json:"expires,omitempty"`
	// Rules are what an answer adds to the configuration of whoever gives it, as it is to stand
	// there, by the answer.
	Rules map[string]string `json:"rules,omitempty"`
}

// RequestOpened is a question to a person.
type RequestOpened struct {
	Request Request `json:"request"`
}

// RequestAnswered is the answer that the run's owner took.
type RequestAnswered struct {
	ID     string          `json:"id"`
	Answer json.RawMessage `json:"answer"`
	By     string          `json:"by,omitempty"`
	Mode   Mode            `json:"mode,omitempty"` // of the run from here on, where the answer has its plan carried out
}

// RequestClosed ends a question without an answer.
type RequestClosed struct {
	ID     string `json:"id"`
	Status string `json:"status"` // cancelled or expired
	Reason string `json:"reason"`
	Again  bool   `json:"again,omitempty"` // nobody decided: what it asked about is asked again
}

// Validate refuses a request whose answer could not be taken later.
func (r *Request) Validate() error {
	if r.ID == "" {
		return errors.New("the request has no id")
	}
	switch r.Kind {
	case RequestMaxTurns, RequestMaxTokens, RequestMaxCost, RequestPlan:
		return nil
	case RequestPhase:
		if r.Phase == nil || r.Call != nil {
			return errors.New("a question about a phase names the phase, and no call")
		}
		return nil
	case RequestAskUser, RequestConfirm, RequestPermission, RequestTwin, RequestCopy, RequestElicit:
	default:
		return fmt.Errorf("request kind %q is not known", r.Kind)
	}
	if r.Call == nil {
		return errors.New("the request belongs to no call")
	}
	if (r.Kind == RequestPermission || r.Kind == RequestCopy) && r.Binding == "" {
		return errors.New("a yes to the request would be bound to nothing")
	}
	return nil
}

// StandsFor says whether the request stands for the call at the place.
func (r *Request) StandsFor(p Place) bool {
	return r.Call != nil && r.Call.Turn == p.Turn && r.Call.Index == p.Index
}

// Text reads an answer as a person would say it: yes, no, or the text.
func Text(answer json.RawMessage) string {
	var v any
	if err := json.Unmarshal(answer, &v); err != nil {
		return string(answer)
	}
	switch v := v.(type) {
	case bool:
		if v {
			return "yes"
		}
		return "no"
	case string:
		return v
	}
	return string(answer)
}
