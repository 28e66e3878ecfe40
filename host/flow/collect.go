package flow

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"agent/host/child"
	"agent/host/drive"
	"agent/host/flow/artifact"
	"agent/host/words"
	"agent/recovery"
	"agent/recovery/flow"
	"agent/recovery/journal"
)

// collect takes what parts made whose children have ended, and records how they ended.
func (f *carrying) collect(ctx context.Context, h drive.Hands, a flow.Collect) error {
	doubts := false
	for _, run := range a.Runs {
		end, err := f.ended(ctx, h, run)
		if err != nil {
			return f.unreadable(ctx, h, err)
		}
		f.record(h, end)
		doubts = doubts || len(end.Unknown) > 0
		f.children.forget(run)
	}
	if doubts {
		return h.Doubts(ctx)
	}
	return nil
}

// ended is how a part ended.
func (f *carrying) ended(ctx context.Context, h drive.Hands, run string) (end journal.FlowPhaseEnded, err error) {
	x := f.s.Of(run)
	o := *x.Open
	end = journal.FlowPhaseEnded{
		Phase: o.Phase, Item: o.Item, Attempt: o.Attempt, Part: o.Part, Run: run,
		Outcome: journal.PhaseCancelled, Reason: "it never began", Quiet: true,
	}
	for _, was := range o.In {
		if f.folder == nil {
			break
		}
		counts, _ := f.s.Counts(was.Path)
		l, err := f.look(ctx, h.Process(), counts)
		if err != nil {
			return end, err
		}
		switch l.State {
		case journal.ArtifactIntact, journal.ArtifactEdited, journal.ArtifactMissing:
			end.In = append(end.In, l.Artifact)
		}
	}
	if _, there, err := f.engine.Carrier.Row(ctx, run); err != nil || !there {
		return end, err
	}
	s, err := drive.Alone(ctx, h.Process(), run)
	if err != nil {
		return end, fmt.Errorf("read run %s: %w", run, err)
	}
	head, err := h.Process().Store.Head(ctx, run)
	if err != nil {
		return end, err
	}
	end.Digest = hex.EncodeToString(head.Digest)
	account(&end, s, x)
	outcome(&end, s)
	if end.Outcome != journal.PhaseDone || o.Part == journal.PartSkipIf {
		return end, nil
	}
	if f.folder == nil {
		end.Outcome, end.Reason = journal.PhaseFailed, "what it made was not taken: the folder of the flow cannot be used"
		return end, nil
	}
	return end, f.take(ctx, h, &end, s, x)
}

// account is what a part used and did.
func account(end *journal.FlowPhaseEnded, s *recovery.State, x *flow.Instance) {
	of := child.EndOf(s)
	end.Usage, end.Cost, end.Turns, end.Took, end.Unknown = of.Usage, of.Cost, of.Turns, s.Active, of.Unknown
	end.Unpriced = !of.Priced && of.Usage != journal.Usage{}
	end.Did = acts(s, x)
	end.Quiet = len(end.Did) == 0
}

// outcome is how the child ended, seen from its part.
func outcome(end *journal.FlowPhaseEnded, s *recovery.State) {
	end.Reason = ""
	switch s.Status {
	case recovery.StatusCompleted:
		end.Outcome = journal.PhaseDone
		if end.Part == journal.PartSkipIf {
			end.Outcome, end.Reason = journal.PhaseSkipped, "its skip-if exited 0"
		}
	case recovery.StatusCancelled:
		end.Outcome, end.Reason = journal.PhaseCancelled, s.Final
	default:
		end.Outcome, end.Reason = journal.PhaseFailed, s.Final
		if end.Part == journal.PartSkipIf {
			end.Outcome, end.Reason = journal.PhaseDone, ""
		}
	}
}

// take takes the outputs of a part whose child did its work. An error is a reason to leave the
// flow: what a phase can do better is in the end.
func (f *carrying) take(ctx context.Context, h drive.Hands, end *journal.FlowPhaseEnded, s *recovery.State, x *flow.Instance) error {
	outputs := x.Outputs()
	var wrong []string
	for i, o := range outputs {
		answers := x.Phase.Answer != nil && i == len(outputs)-1
		if answers && end.Part == journal.PartWork {
			if err := h.Writing(ctx, o.Path, func() error { return answer(ctx, f.folder, o, s, x) }); err != nil {
				return err
			}
		}
		t, err := f.folder.Take(ctx, o, f.copies)
		if err != nil {
			return err
		}
		t.Call = wrote(s, o.Path, t.SHA)
		if t.Invalid == "" && !answers && end.Part == journal.PartWork && !made(t, x) {
			t.Invalid = "it lay there before, and the phase did not write it"
		}
		if t.Invalid != "" {
			wrong = append(wrong, fmt.Sprintf("%s: %s", o.Path, t.Invalid))
			continue
		}
		end.Out = append(end.Out, t.Artifact)
		if i == 0 && x.Phase.Pass != "" && !hasLine(t.Content, x.Phase.Pass) {
			end.Failed, end.Reason = true, fmt.Sprintf("%s has no line %q", o.Path, x.Phase.Pass)
		}
	}
	if len(wrong) > 0 {
		end.Outcome, end.Reason, end.Out, end.Failed = journal.PhaseFailed, strings.Join(wrong, "; "), nil, false
	}
	return nil
}

// answer writes the output that is the phase's last answer.
func answer(ctx context.Context, folder *artifact.Folder, o flow.Output, s *recovery.State, x *flow.Instance) error {
	text := s.Final
	if text != "" && !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	var mine []string
	for _, a := range x.Attempts {
		for _, b := range a.Start.Before {
			if b.Path == o.Path {
				mine = append(mine, b.SHA)
			}
		}
	}
	err := folder.Answer(ctx, o.Path, []byte(text), mine)
	if errors.As(err, new(*artifact.RefusedError)) {
		return nil // Take says the same, and the phase may be tried again
	}
	return err
}

// made says whether what lies at an output is the phase's: written since it began for the first
// time, or by a call of it, or what it made at an earlier attempt.
func made(t artifact.Taken, x *flow.Instance) bool {
	if t.Call != "" {
		return true
	}
	before := journal.Artifact{}
	for i, a := range x.Attempts {
		at := slices.IndexFunc(a.Start.Before, func(b journal.Artifact) bool { return b.Path == t.Path })
		if i == 0 && at >= 0 {
			before = a.Start.Before[at]
		}
		if a.End != nil && slices.ContainsFunc(a.End.Out, func(b journal.Artifact) bool { return b.Path == t.Path && b.SHA == t.SHA }) {
			return true
		}
	}
	return artifact.Fresh(before, t.Artifact)
}

// hasLine says whether a text has a line, without white space at its ends.
func hasLine(content []byte, line string) bool {
	for l := range strings.Lines(string(content)) {
		if strings.TrimSpace(l) == strings.TrimSpace(line) {
			return true
		}
	}
	return false
}

// written is what the tools that write files say of a call: the path and the SHA-256 of what is
// there then.
type written struct {
	Path string `json:"path"`
	Hash string `json:"hash"`
}

// writtenBy is what a call of such a tool wrote; false of any other.
func writtenBy(s *recovery.State, c *recovery.Call) (written, bool) {
	if c.Tool != "write_file" && c.Tool != "edit_file" || c.Result == nil || len(c.Result.Data) == 0 {
		return written{}, false
	}
	var w written
	if json.Unmarshal(c.Result.Data, &w) != nil || w.Path == "" {
		return written{}, false
	}
	if filepath.IsAbs(w.Path) {
		if rel, err := filepath.Rel(s.Created.Folder, w.Path); err == nil {
			w.Path = rel
		}
	}
	w.Path = filepath.ToSlash(filepath.Clean(w.Path))
	return w, true
}

// wrote is the id of the last call of a run that wrote a file as it is now; "" where none says so.
func wrote(s *recovery.State, path, sha string) string {
	id := ""
	for _, t := range s.Turns {
		for _, c := range t.Calls {
			if w, ok := writtenBy(s, c); ok && w.Path == path && w.Hash == sha && sha != "" {
				id = c.ID
			}
		}
	}
	return id
}

// acts lists what a run did beside reading and writing the outputs of its phase.
func acts(s *recovery.State, x *flow.Instance) []journal.PhaseCall {
	var out []journal.PhaseCall
	own := map[string]bool{}
	for _, o := range x.Outputs() {
		own[o.Path] = true
	}
	for _, t := range s.Turns {
		for _, c := range t.Calls {
			if c.Effect == journal.EffectRead || c.Phase == journal.PhaseProposed || c.Result != nil && c.Result.Applied == journal.AppliedNo {
				continue
			}
			if w, ok := writtenBy(s, c); ok && own[w.Path] {
				continue
			}
			did := journal.PhaseCall{Tool: c.Tool, Text: words.Call(c.Tool, c.Args), Times: 1, Outcome: journal.OutcomeUnknown}
			if c.Result != nil {
				did.Outcome = c.Result.Outcome
			}
			same := func(d journal.PhaseCall) bool {
				return d.Tool == did.Tool && d.Text == did.Text && d.Outcome == did.Outcome
			}
			if i := slices.IndexFunc(out, same); i >= 0 {
				out[i].Times++
				continue
			}
			out = append(out, did)
		}
	}
	return out
}
