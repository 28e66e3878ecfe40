package flow

import (
	"agent/recovery/journal"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// The answers to questions about a phase.
const (
	answerYes      = "yes"
	answerNo       = "no"
	answerRedo     = "redo"
	answerKeep     = "keep"
	answerRestore  = "restore"
	answerAgain    = "again"
	answerRetry    = "retry"
	answerContinue = "continue"
	answerStop     = "stop"
)

// asker asks a person and takes the answers.
type asker struct{ *State }

// choice is an answer with what it does.
type choice struct{ answer, does string }

// question is a request about a phase; the host fills in its id and time.
func question(q journal.PhaseQuestion, message string, choices []choice, open bool) *journal.Request {
	r := &journal.Request{Phase: &q, Question: journal.Question{Kind: journal.RequestPhase, Message: message, Schema: json.RawMessage(`{"type":"string"}`)}}
	for _, c := range choices {
		r.Choices, r.Hints = append(r.Choices, c.answer), append(r.Hints, c.does)
	}
	if !open {
		schema, err := json.Marshal(map[string]any{"type": "string", "enum": r.Choices})
		if err != nil {
			panic(err) // strings always encode
		}
		r.Schema = schema
	}
	return r
}

// askStart is the author's question before a phase begins.
func (s asker) askStart(p *phase) *journal.Request {
	choices := []choice{{answerYes, "begins"}, {answerNo, "ends the flow"}}
	message := p.def.Ask
	above := s.above(p.def)
	if above != nil {
		message += fmt.Sprintf("\nany other text has %s done again with it", above.Name)
	}
	return question(journal.PhaseQuestion{About: journal.AboutStart, Phase: p.def.Name, Versions: s.inputsOf(p)}, message, choices, above != nil)
}

// above is the phase that is done again with a person's words: the one above in the file, if this
// one waits for it, else the last that it waits for. It is nil where none may be done again, and
// where it is a runbook, which reads no words: it would only do its steps once more, and its author
// has to say that they may be.
func (s asker) above(p *Phase) *Phase {
	var above *Phase
	for _, name := range p.After {
		above = s.Def.Phase(name)
	}
	if i := s.Def.index(p.Name); i > 0 && s.Graph.Before(s.Def.Phases[i-1].Name, p.Name) {
		above = &s.Def.Phases[i-1]
	}
	if above == nil || above.Redo == RedoNever || above.Model == Runbook && above.Redo != RedoSafe {
		return nil
	}
	return above
}

// inputsOf lists the versions of what a phase reads, but for sources that nobody looked at yet.
func (s asker) inputsOf(p *phase) []journal.Artifact {
	var out []journal.Artifact
	for _, in := range p.def.Inputs {
		if v := s.forReader(p.def.Name, in.Path); in.Phase == "" && v != nil {
			out = append(out, journal.Artifact{Path: in.Path, SHA: v.SHA})
		}
		for _, x := range s.Instances(in.Phase) {
			for _, o := range x.Outputs() {
				if v := s.path(o.Path).layers[in.Phase]; v != nil {
					out = append(out, journal.Artifact{Path: o.Path, SHA: v.SHA})
				}
			}
		}
	}
	return out
}

// mayStart says whether a person let the phase begin with what counts now.
func (s asker) mayStart(p *phase) bool {
	if p.started == nil {
		return false
	}
	for _, in := range s.inputsOf(p) {
		sha, ok := p.started[in.Path]
		if v := s.forReader(p.def.Name, in.Path); !ok && (v == nil || v.maker == nil) {
			continue // a source that was first looked at after the answer
		}
		if sha != in.SHA {
			return false
		}
	}
	return true
}

// askRedo asks whether what was made from other inputs is made anew.
func (s asker) askRedo(x *Instance, changes []change, did []journal.PhaseCall) *journal.Request {
	q := journal.PhaseQuestion{About: journal.AboutRedo, Phase: x.Phase.Name, Item: x.Item}
	back := true
	for _, c := range changes {
		q.Versions = append(q.Versions, journal.Artifact{Path: c.path, SHA: c.now})
		back = back && c.byHand && c.from != "" && s.path(c.path).history[c.from].Copy != ""
	}
	var choices []choice
	if x.Phase.Redo != RedoNever {
		choices = append(choices, choice{answerRedo, "does " + x.Name() + " again, with what changed" + repeats(x.Phase)})
	}
	choices = append(choices, choice{answerKeep, x.Name() + " stands as it is"})
	if back {
		choices = append(choices, choice{answerRestore, "takes the edit back"})
	}
	choices = append(choices, choice{answerStop, "ends the flow"})
	return question(q, fmt.Sprintf("%s was made from %s.%s", x.Name(), madeFrom(changes), listed(x, did)), choices, false)
}

func madeFrom(changes []change) string {
	var parts []string
	for _, c := range changes {
		switch {
		case c.now == gone:
			parts = append(parts, fmt.Sprintf("%s %s, which is no input any more", c.path, short(c.from)))
		case c.from == "":
			parts = append(parts, fmt.Sprintf("no %s, which is there now", c.path))
		case c.byHand:
			parts = append(parts, fmt.Sprintf("%s %s, which was edited and is %s now", c.path, short(c.from), short(c.now)))
		default:
			parts = append(parts, fmt.Sprintf("%s %s, which is %s now", c.path, short(c.from), short(c.now)))
		}
	}
	return strings.Join(parts, ", and from ")
}

// maxListed is how many lines a question has of what a phase did.
const maxListed = 20

// listed is what a phase did beside writing its outputs, in lines.
func listed(x *Instance, did []journal.PhaseCall) string {
	if len(did) == 0 {
		return ""
	}
	var b strings.Builder
	fmt.Fprintf(&b, " It changed more than its outputs:")
	for i, c := range did {
		if i == maxListed {
			fmt.Fprintf(&b, "\n  ... and %d more", len(did)-i)
			break
		}
		times := ""
		if c.Times > 1 {
			times = fmt.Sprintf("  %d times", c.Times)
		}
		fmt.Fprintf(&b, "\n  %s %s%s  %s", c.Tool, c.Text, times, c.Outcome)
	}
	return b.String()
}

// repeats says what a redo does about what the phase did: a model goes on and knows it, a runbook
// begins at its first step.
func repeats(p *Phase) string {
	if p.Model == Runbook {
		return ": all its steps are carried out once more"
	}
	return "; nothing that it did is repeated by the host"
}

// askArtifact asks what becomes of an artifact that is not as recorded. The instance is the one
// that made it; nil for a source.
func (s asker) askArtifact(x *Instance, c journal.ArtifactCheck, did []journal.PhaseCall) *journal.Request {
	recorded, _ := s.Counts(c.Path)
	q := journal.PhaseQuestion{About: journal.AboutGone, Versions: []journal.Artifact{{Path: c.Path, SHA: recorded.SHA}}}
	message := fmt.Sprintf("%s is %s", c.Path, c.Reason)
	if c.Invalid != "" {
		q.About = journal.AboutInvalid
	}
	var choices []choice
	if c.Copied {
		choices = append(choices, choice{answerRestore, "puts it back from its copy"})
	}
	if x != nil {
		q.Phase, q.Item = x.Phase.Name, x.Item
		if x.Phase.Redo != RedoNever {
			choices = append(choices, choice{answerRedo, "does " + x.Name() + " again, which makes it" + repeats(x.Phase)})
			message += "." + listed(x, did)
		}
	}
	if !c.Copied || c.Invalid != "" {
		choices = append(choices, choice{answerAgain, "looks at it again, once you have put it right"})
	}
	choices = append(choices, choice{answerStop, "ends the flow"})
	return question(q, message, choices, false)
}

// askFailed asks what follows on a failure.
func (s asker) askFailed(p *Phase, item *journal.PhaseItem, message string) *journal.Request {
	retry := "tries once more"
	if p.Model == Runbook {
		retry += repeats(p)
	}
	return question(journal.PhaseQuestion{About: journal.AboutFailed, Phase: p.Name, Item: item}, message, []choice{
		{answerRetry, retry},
		{answerContinue, "goes on without it; what needs it fails"},
		{answerStop, "ends the flow"},
	}, false)
}

// holds says whether a person's decision still stands: it was made of the versions that count.
func (s *State) holds(x *Instance, word map[string]string) bool {
	if word == nil {
		return false
	}
	for name, sha := range word {
		v := s.forReader(x.Phase.Name, name)
		_, top := s.top(name)
		if sha != gone && (v == nil || v.SHA != sha) && (top == nil || top.SHA != sha) {
			return false
		}
	}
	return true
}

// decided takes a person's answer.
func (s asker) decided(r *journal.Request, text, who string) error {
	q := r.Phase
	if text == answerStop && slices.Contains(r.Choices, answerStop) {
		s.final = journal.RunCancelled{By: who, Reason: "stopped: " + firstLine(r.Message)}
		return nil
	}
	p := s.phases[q.Phase]
	if p == nil && q.About != journal.AboutGone && q.About != journal.AboutInvalid {
		return fmt.Errorf("there is no phase %q", q.Phase)
	}
	switch q.About {
	case journal.AboutStart:
		s.decidedStart(p, r, text, who)
	case journal.AboutFailed:
		s.decidedFailed(p, q.Item, text)
	case journal.AboutRedo:
		return s.decidedRedo(q, text)
	default:
		return s.decidedArtifact(q, text)
	}
	return nil
}

func (s asker) decidedStart(p *phase, r *journal.Request, text, who string) {
	above := s.above(p.def)
	word := strings.ToLower(strings.TrimSpace(text))
	switch {
	case word == answerYes:
		p.started = shown(r.Phase)
	case word == answerNo, above == nil:
		s.final = journal.RunCancelled{By: who, Reason: fmt.Sprintf("the answer to %q was %s", firstLine(p.def.Ask), text)}
	default:
		s.text = &rewinding{phase: above.Name, text: text, by: who, request: r.ID}
	}
}

func (s asker) decidedFailed(p *phase, item *journal.PhaseItem, text string) {
	x := p.all[key(item)]
	switch {
	case x == nil && text == answerRetry: // the list could not be used
		p.listFrom, p.listFail = "", ""
	case x == nil:
		p.carryOn = true
	case text == answerRetry:
		x.word = map[string]string{}
	default:
		x.carryOn = true
	}
}

func (s asker) decidedRedo(q *journal.PhaseQuestion, text string) error {
	x, err := s.instance(q.Phase, q.Item)
	if err != nil {
		return err
	}
	switch text {
	case answerRedo:
		x.word = shown(q)
	case answerKeep:
		if x.keep == nil {
			x.keep = map[string]string{}
		}
		for name, sha := range shown(q) {
			x.keep[name] = sha
		}
	case answerRestore:
		for _, c := range s.changes(x) {
			if sha, ok := shown(q)[c.path]; ok && sha == c.now && c.byHand {
				s.path(c.path).restore = c.from
			}
		}
	}
	return nil
}

func (s asker) decidedArtifact(q *journal.PhaseQuestion, text string) error {
	switch text {
	case answerRestore:
		for name, sha := range shown(q) {
			s.path(name).restore = sha
		}
	case answerAgain:
		s.again = true
	case answerRedo:
		x, err := s.instance(q.Phase, q.Item)
		if err != nil {
			return err
		}
		x.word = shown(q)
	}
	return nil
}

// shown is the versions that a question named.
func shown(q *journal.PhaseQuestion) map[string]string {
	out := map[string]string{}
	for _, v := range q.Versions {
		out[v.Path] = v.SHA
	}
	return out
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return line
}

// unanswered ends the flow where nobody answers: only what a person withdrew was cancelled.
func (s asker) unanswered(b journal.RequestClosed) {
	if s.Run.Stopping != nil {
		return
	}
	if b.Status == "cancelled" {
		s.final = journal.RunCancelled{Reason: b.Reason}
		return
	}
	s.final = journal.RunFailed{Reason: b.Reason}
}

// askedFor is the rewind that a person's words at the start of a phase want.
func (s asker) askedFor() journal.PhaseRewound {
	r := journal.PhaseRewound{Request: s.text.request}
	for _, x := range s.phases[s.text.phase].instances() {
		r.Phases = append(r.Phases, journal.Rewound{
			Phase: x.Phase.Name, Item: x.Item, Why: journal.WhyPerson, Reason: "a person wants it different", Text: s.text.text,
		})
	}
	return r
}

// Redo is the rewind of a phase that a person names.
func (s *State) Redo(name string) (journal.PhaseRewound, error) {
	var r journal.PhaseRewound
	if err := s.Def.Redoable(name); err != nil {
		return r, err
	}
	for _, x := range s.phases[name].instances() {
		if x.Status != StatusNew {
			r.Phases = append(r.Phases, journal.Rewound{Phase: name, Item: x.Item, Why: journal.WhyPerson, Reason: "a person wants it done again"})
		}
	}
	if len(r.Phases) == 0 {
		return r, fmt.Errorf("redo %s: it has not begun yet, and begins when what is before it is done", name)
	}
	return r, nil
}
