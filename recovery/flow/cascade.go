package flow

import (
	"agent/recovery/journal"
	"fmt"
)

// Look is what the host found of an artifact.
type Look struct {
	journal.Artifact // as it is now; with a copy, where the host made one of what it found
	State            journal.ArtifactState
	Detail           string // why it cannot be read
	Copied           bool   // the copy of the recorded version was read and matches
	Invalid          string // why it may not count as it is now: what its phase's file asks for does not hold
	Run              string // of a child whose call, as recorded, wrote these bytes
}

// Cascade says what becomes of each artifact that was looked at. The phase is the one that was
// about to begin, where only its inputs were looked at; "" for a look at all.
func (s *State) Cascade(looks []Look, before string) journal.ArtifactsChecked {
	out := journal.ArtifactsChecked{Epoch: s.Run.Epoch, Before: before}
	for _, l := range looks {
		c := journal.ArtifactCheck{Artifact: l.Artifact, State: l.State, Invalid: l.Invalid, Run: l.Run}
		_, v := s.top(l.Path)
		if v == nil {
			continue // it does not count
		}
		c.Copied = l.Copied && v.Copy != ""
		c.Verdict, c.Reason = s.verdict(l, c.Copied, v)
		if l.State != journal.ArtifactIntact && v.Copy != "" && !l.Copied {
			c.Unusable = v.SHA
		}
		out.Artifacts = append(out.Artifacts, c)
	}
	return out
}

// verdict: what is intact stays; what was lost is put back once by itself, before anything is made
// anew; what a person edited counts.
func (s *State) verdict(l Look, copied bool, v *version) (journal.ArtifactVerdict, string) {
	switch l.State {
	case journal.ArtifactIntact:
		return journal.ArtifactKeep, ""
	case journal.ArtifactUnreadable:
		return journal.ArtifactStop, l.Detail
	case journal.ArtifactEdited:
		if l.Invalid != "" {
			return journal.ArtifactAsk, "edited since, and " + l.Invalid
		}
		return journal.ArtifactAccept, fmt.Sprintf("edited since (%s -> %s): this version counts from here on", short(v.SHA), short(l.SHA))
	}
	maker, lost := s.maker(l.Path), "it has no copy that can be used"
	if l.Detail != "" {
		lost += " (" + l.Detail + ")"
	}
	switch {
	case copied && v.restored == 0:
		reason := fmt.Sprintf("%s: put back from its copy (%s)", l.State, short(v.SHA))
		if maker != nil && maker.Phase.Redo != RedoNever {
			reason += fmt.Sprintf("; to have it made anew: agent resume %s --redo %s", s.Run.Created.Run, maker.Phase.Name)
		}
		return journal.ArtifactRestore, reason
	case copied:
		return journal.ArtifactAsk, fmt.Sprintf("%s once more, after it was put back", l.State)
	case maker != nil:
		return journal.ArtifactRedo, fmt.Sprintf("%s, and %s: %s makes it anew", l.State, lost, maker.Name())
	}
	return journal.ArtifactAsk, fmt.Sprintf("%s, %s, and no phase makes it", l.State, lost)
}

// short is the beginning of a digest, for a person.
func short(sha string) string {
	if len(sha) > 8 {
		return sha[:8]
	}
	return sha
}
