package undo

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"

	"agent/host/view"
	"agent/recovery/journal"
	pure "agent/recovery/workspace"
	"agent/tools"
	"agent/tools/restore"
)

// View is what others may see of the plan; redact keeps secrets out of what runs were asked to do.
func (p *Plan) View(redact func(string) string) view.Rewind {
	v := view.Rewind{
		Version: 1, To: p.To.String(), Thread: p.Thread, Folder: p.Folder, Only: string(p.Only), Ends: p.Ends, Runs: []string{}, Restore: []view.RewindPath{}, Remove: []view.RewindPath{},
		Yours: []view.RewindPath{}, Git: []view.RewindPath{}, LeftOut: []view.RewindPath{}, Moves: []view.HeadMove{},
		Stands: []view.Standing{}, Notes: []string{}, Conversation: p.Only != journal.RewindFiles,
	}
	for i, r := range p.Runs {
		v.Runs = append(v.Runs, r.ID)
		if v.Turns += r.Turns; i == 0 {
			v.Turns -= p.To.Turn
		}
		v.Notes = append(v.Notes, r.Notes()...)
		for _, e := range r.Stands {
			v.Stands = append(v.Stands, e.view(redact))
		}
	}
	v.Commits = p.commits()
	if m := p.move(); m != nil {
		v.Moves = append(v.Moves, view.HeadMove{From: headText(m.From), To: headText(m.To), Back: wayBack(m.From, m.To, p.inWay)})
	}
	v.Digest = p.digest(v)
	if p.Only == journal.RewindConversation {
		return v
	}
	v.Notes = append(v.Notes, p.Notes...)
	for _, i := range p.Files.Items {
		p.item(&v, i)
	}
	return v
}

// digest is the same for plans that would do the same to files and to the conversation.
func (p *Plan) digest(v view.Rewind) string {
	sum := sha256.Sum256(tools.Encode(struct {
		To    string
		Only  string
		Runs  []string
		Turns int
		Args  restore.Args
	}{v.To, v.Only, v.Runs, v.Turns, p.Args()}))
	return hex.EncodeToString(sum[:16])
}

func (p *Plan) item(v *view.Rewind, i pure.Item) {
	one := view.RewindPath{Path: i.Path, Run: i.By.Run, Proof: i.Proof, Reason: i.Reason, Shared: i.Shared, Asked: i.Overwrite, Held: i.Held}
	if i.By.During != nil {
		one.Call = i.By.During.String()
	}
	if !i.Since.IsZero() {
		one.Since = &i.Since
	}
	one.Text = reason(i, one.Call)
	switch i.Kind {
	case pure.KindRestore:
		v.Restore = append(v.Restore, one)
	case pure.KindRemove:
		v.Remove = append(v.Remove, one)
	case pure.KindYours:
		v.Yours = append(v.Yours, one)
	case pure.KindGit:
		v.Git = append(v.Git, one)
	case pure.KindLost:
		v.LeftOut = append(v.LeftOut, one)
	}
}

// reason says in words why a path is in the plan.
func reason(i pure.Item, call string) string {
	by := "call " + call + " of " + i.By.Run
	if call == "" {
		by = "run " + i.By.Run
	}
	switch i.Kind {
	case pure.KindLost:
		return fmt.Sprintf("what it was before %s is not kept (%s)", by, i.Reason)
	case pure.KindGit:
		return "git moved it during " + by
	case pure.KindYours:
		if i.Held {
			return "what stays is in it, or in its place"
		}
		if i.Reason != "" {
			return fmt.Sprintf("what is there since %s cannot be kept (%s): to write over it could not be undone", by, i.Reason)
		}
		if i.Since.IsZero() {
			return "it was changed since, by nobody's call"
		}
		return "it was changed by nobody's call, seen " + i.Since.Local().Format("15:04:05")
	}
	verb := "changed"
	if i.Want == nil {
		verb = "made"
	} else if i.Was == nil {
		verb = "removed"
	}
	if i.Proof == journal.ProofTool || i.Proof == journal.ProofHost {
		return verb + " by " + by
	}
	text := verb + " while " + by + " ran"
	if i.Shared {
		text += ", beside another call"
	}
	return text
}

// commits are those that calls made, but for those that others stand for now. Only of those that
// git stands at, or stood at before one of them, it is known how they come off their branch.
func (p *Plan) commits() []view.StandingCommit {
	on, replaced, seen := map[string]bool{p.head: true}, map[string]bool{}, map[string]bool{}
	out := []view.StandingCommit{}
	for _, r := range slices.Backward(p.Runs) {
		for _, c := range slices.Backward(r.Made) {
			replaced[c.Of] = true
			if replaced[c.Commit] || seen[c.Commit] {
				continue
			}
			seen[c.Commit] = true
			v := view.StandingCommit{ID: c.Commit, Checkpoint: c.Checkpoint, Subject: c.Subject}
			if on[c.Commit] && len(c.Parents) > 0 {
				v.Back = fmt.Sprintf("git reset --soft %.12s", c.Parents[0])
				on[c.Parents[0]] = true
			}
			out = append(out, v)
		}
	}
	slices.Reverse(out)
	return out
}

// Notes say what is not known of a run's files.
func (r Run) Notes() []string {
	if b := r.Base; b != nil && b.Mode == journal.KeepTools {
		return []string{fmt.Sprintf("of run %s only what file tools wrote is known: %s", r.ID, b.Why)}
	}
	return nil
}
