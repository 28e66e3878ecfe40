package terminal

import (
	"agent/host/view"
	"agent/recovery"
	"agent/recovery/fault"
	"cmp"
	"fmt"
	"strings"
	"time"
)

// Runs lists runs with what to do next; nothing is what there is to say where none is listed.
func (t *Terminal) Runs(v view.Runs, nothing string) {
	if len(v.Runs) == 0 {
		t.Say(t.Err, "%s", nothing)
		return
	}
	table := Table{
		Fit:  t.Width(),
		Head: []string{"RUN", "STATUS", "AGE", "FOLDER", "PLACE", "PROMPT", "NEXT"},
		Most: []int{0, 0, 0, 28, 28, 32, 0},
	}
	now := fault.Now()
	t.addRuns(&table, v.Runs, 0, now)
	table.Write(t.Out)
	if v.Older > 0 {
		t.Say(t.Out, "%s: %s", view.Count(v.Older, "older run"), cmp.Or(v.WithOlder, "agent ls --all"))
	}
}

// addRuns adds runs to a table, each with the runs below it, further to the right.
func (t *Terminal) addRuns(table *Table, runs []view.Run, depth int, now time.Time) {
	branch := ""
	if depth > 0 {
		branch = "└" + strings.Repeat("──", depth-1) + " "
	}
	for _, r := range runs {
		next := ""
		if len(r.Next) > 0 {
			next = r.Next[0]
		}
		switch {
		case r.Request != nil && len(r.Next) > 1:
			next = view.AnswerCommand(r.Request.ID)
		case r.Status == recovery.StatusCompleted && len(r.Unknown) > 0:
			next = view.AnswerCommand(r.Unknown[0].ID)
		case r.Status == recovery.StatusCompleted && len(r.UnknownBelow) > 0:
			next = view.AnswerCommand(r.UnknownBelow[0].ID)
		}
		about := view.PromptStart(r.Prompt)
		if r.Name != "" {
			about = r.Name + ": " + about
		}
		if r.Role != "" {
			about = r.Role + ": " + about
		}
		table.Add(branch+r.ID, r.StatusText(now), view.Age(now, r.Created), t.Tilde(r.Folder), r.PlaceText(), about, next)
		t.addRuns(table, r.Children, depth+1, now)
	}
}

// Family prints the runs below a run as a tree: what each is there for, where it stands, what it
// took, and what it asks.
func (t *Terminal) Family(runs []view.Run, indent string) {
	now := fault.Now()
	for _, r := range runs {
		until := now
		if r.Ended != nil {
			until = *r.Ended
		}
		text := fmt.Sprintf("%s%s  %s  %s, %s, %s", indent, r.ID, r.StatusText(now), r.Role, view.Count(r.Turns, "turn"), view.Age(until, r.Created))
		if r.CostUSD != nil {
			text += ", $" + r.CostUSD.String()
		}
		t.Say(t.Out, "%s", text)
		if r.Request != nil {
			t.Say(t.Out, "%s  ? %s  %s", indent, view.PromptStart(r.Request.Message), view.AnswerCommand(r.Request.ID))
		}
		t.Family(r.Children, indent+"  ")
	}
}

// Requests lists questions; nothing as in Runs.
func (t *Terminal) Requests(v view.Requests, nothing string) {
	if len(v.Requests) == 0 {
		t.Say(t.Err, "%s", nothing)
		return
	}
	for i, r := range v.Requests {
		if i > 0 {
			t.Say(t.Out, "")
		}
		t.Say(t.Out, "%s", r.Text(fault.Now()))
	}
}

// Checkpoints lists the checkpoints of one run.
func (t *Terminal) Checkpoints(v view.Checkpoints) {
	if last := len(v.Checkpoints) - 1; last < 0 || v.Checkpoints[last].Turn == 0 {
		t.Say(t.Err, "run %s has no checkpoint yet: no turn of it is settled", v.Run)
	}
	if len(v.Checkpoints) == 0 {
		return
	}
	table := Table{Head: []string{"CHECKPOINT", "TURN", "FILES", "COMMITS", "STANDS", "TURNS LEFT", "TIME"}}
	for _, p := range v.Checkpoints {
		turn, left := fmt.Sprint(p.Turn), "no limit"
		if p.TurnsLeft != nil {
			left = fmt.Sprint(*p.TurnsLeft)
		}
		if p.Turn == 0 {
			turn, left = "-", ""
		}
		table.Add(p.ID, turn, p.Files.Marks(), view.CommitsText(p.Commits), view.StandsText(p.Stands), left, p.Time.Local().Format(time.DateTime))
	}
	table.Write(t.Out)
}

// Findings prints what doctor found, each fix once below all that it fixes.
func (t *Terminal) Findings(v view.Doctor) {
	area := ""
	for i, f := range v.Findings {
		head := ""
		if f.Area != area {
			area, head = f.Area, f.Area
		}
		level := string(f.Level)
		if f.Fixed {
			level = "done"
		}
		t.Say(t.Out, "%-4s  %-15s  %s", level, head, f.What)
		if last := i == len(v.Findings)-1; f.Remedy != "" && (last || v.Findings[i+1].Remedy != f.Remedy) {
			t.Say(t.Out, "%23s-> %s", "", f.Remedy)
		}
	}
	switch {
	case v.Bad > 0:
		t.Say(t.Out, "\n%d wrong, %d to know about", v.Bad, v.Warnings)
	case v.Warnings > 0:
		t.Say(t.Out, "\nnothing is wrong; %d to know about", v.Warnings)
	default:
		t.Say(t.Out, "\nnothing is wrong")
	}
}
