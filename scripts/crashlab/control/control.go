//go:build linux

// Package control makes damage on purpose, which the lab must find: else nothing that it does not
// find means anything. Faults have controls of their own, in their packages.
package control

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"agent/scripts/crashlab/journal"
	"agent/scripts/crashlab/judge"
	"agent/scripts/crashlab/lab"
	"agent/scripts/crashlab/marks"
	"agent/scripts/crashlab/plan"
	"agent/scripts/crashlab/story"
	"agent/scripts/crashlab/trial"
	"agent/scripts/crashlab/world"
)

// control is damage made on purpose. The lab must find it, else nothing that it does not find means
// anything.
type control struct {
	name string
	kind string // of what must be found
	try  func(t *trial.Trial) (judge.Findings, error)
}

// Run carries one story out, kills it, and damages copies of what it leaves.
func Run(ctx context.Context, l *lab.Lab) error {
	killed, _, err := l.Play(ctx, plan.Job{Tool: "shell", Situation: "first", Shape: "runbook", Victim: "host", Arms: []plan.Arm{{Command: 0, Point: "call.after_effect", Pass: 1}}})
	if err != nil {
		return fmt.Errorf("play the story of the controls: %w", err)
	}
	if len(killed.Found) > 0 || len(killed.Fired) != 1 || len(killed.Histories) != 1 || len(killed.Histories[0].Verdicts) == 0 {
		l.Report.Fail(plan.Job{Tool: "shell", Situation: "first", Shape: "runbook", Victim: "host", Arms: killed.Arms}, killed)
		return errors.Join(errors.New("the story of the controls is not what it should be"), killed.World.Close(true))
	}
	for _, c := range append(recordControls(), worldControls()...) {
		f, err := c.try(killed)
		if err != nil {
			return errors.Join(fmt.Errorf("control %q: %w", c.name, err), killed.World.Close(true))
		}
		l.Control(c.name, c.kind, f)
	}
	if err := killed.World.Close(false); err != nil {
		return err
	}
	return naive(ctx, l)
}

// naive is a resumer as it should not be: what has no result is done once more. It must be seen.
func naive(ctx context.Context, l *lab.Lab) error {
	number, root := l.NextWorld()
	s, why := story.New("shell", "first", "runbook", number, l.Counter.Addr())
	if why != "" {
		return errors.New(why)
	}
	w, err := world.New(number, l.Exe, root, l.Counter, &s)
	if err != nil {
		return err
	}
	t := &trial.Trial{Story: &s, World: w, Arms: []plan.Arm{{Command: 0, Point: "call.after_effect", Pass: 1}}}
	if err := t.Step(s.RunArgs("", "")); err != nil {
		return errors.Join(err, w.Close(true))
	}
	for _, h := range t.Histories {
		for _, c := range h.Calls {
			if c.Starts == 0 || len(c.Results) > 0 {
				continue
			}
			again := exec.CommandContext(ctx, "/bin/sh", "-ec", "echo "+c.Marks[0]+" >> effects")
			again.Dir = w.Dir
			if err := again.Run(); err != nil {
				return errors.Join(err, w.Close(true))
			}
		}
	}
	saw, err := w.Witness.Counts()
	if err != nil {
		return errors.Join(err, w.Close(true))
	}
	l.Control("a naive resumer does again what has no result", judge.Twice, judge.CompareEffects(t.Histories, saw))
	return w.Close(false)
}

// damaged checks a copy of the record after a change to it.
func damaged(t *trial.Trial, change string) (judge.Findings, error) {
	r, err := journal.LoadChanged(t.World.State, t.World.Root, change)
	if err != nil {
		return nil, err
	}
	_, f := judge.Check(r, func(string) bool { return false })
	return f, nil
}

// recordControls damage the database.
func recordControls() []control {
	change := func(name, kind, statement string) control {
		return control{name, kind, func(t *trial.Trial) (judge.Findings, error) { return damaged(t, statement) }}
	}
	return []control{
		change("a row of the journal is removed", judge.Broken, `DELETE FROM journal WHERE id & 16777215 = 4`),
		change("the last row of the journal is removed", judge.Broken, `DELETE FROM journal WHERE id = (SELECT max(id) FROM journal)`),
		change("the time of a row is changed", judge.Broken, `UPDATE journal SET time = time + 1 WHERE id & 16777215 = 3`),
		change("a call's row says another outcome", judge.Broken, `UPDATE tool_executions SET outcome = 'error' WHERE turn = 1`),
		change("a call's row is removed", judge.Broken, `DELETE FROM tool_executions WHERE turn = 1`),
		change("a finished run counts as running", judge.Stuck, `UPDATE runs SET status = 'running', ended_at = NULL`),
		change("a run waits and nothing is asked", judge.Stuck, `UPDATE runs SET status = 'waiting', ended_at = NULL`),
		{"a call has a second result", judge.Broken, func(t *trial.Trial) (judge.Findings, error) { return changed(t, journal.Settled, true) }},
		{"a call's result is left out", judge.Lost, func(t *trial.Trial) (judge.Findings, error) { return changed(t, journal.Settled, false) }},
		{"a result changes between two looks", judge.Lost, func(t *trial.Trial) (judge.Findings, error) {
			all, _ := judge.Check(t.Record, func(string) bool { return false })
			all[0].Calls[0].Results[0].Result.Content += "x"
			return judge.CompareKept(t.Histories, all), nil
		}},
	}
}

// changed repeats or leaves out the first fact of a kind, with everything behind it numbered and
// digested anew: what is found is found by what the facts say.
func changed(t *trial.Trial, kind int64, again bool) (judge.Findings, error) {
	r := *t.Record
	r.Facts = map[int64][]journal.Fact{}
	r.Runs = append([]journal.Run(nil), r.Runs...)
	run := &r.Runs[0]
	var out []journal.Fact
	done := false
	for _, x := range t.Record.Facts[run.No] {
		if x.Kind == kind && !done {
			done = true
			if !again {
				continue
			}
			out = append(out, x)
		}
		out = append(out, x)
	}
	var prev []byte
	for i := range out {
		out[i].Seq = int64(i) + 1
		out[i].ID = run.No<<24 | out[i].Seq
		out[i].Digest = journal.Digest(prev, out[i])
		prev = out[i].Digest
	}
	r.Facts[run.No], run.LastSeq = out, int64(len(out))
	_, f := judge.Check(&r, func(string) bool { return false })
	return f, nil
}

// worldControls change what the witness sees and what was printed.
func worldControls() []control {
	seen := func(t *trial.Trial) (judge.Findings, error) {
		saw, err := t.World.Witness.Counts()
		return judge.CompareEffects(t.Histories, saw), err
	}
	append2 := func(t *trial.Trial, text string) error {
		return os.WriteFile(filepath.Join(t.World.Dir, "effects"), []byte(text), 0o600)
	}
	mark := func(t *trial.Trial, letter string) string { return marks.In(t.World.Number, letter) }
	return []control{
		{"the witness saw an effect twice", judge.Twice, func(t *trial.Trial) (judge.Findings, error) {
			err := append2(t, mark(t, "a")+"\n"+mark(t, "c")+"\n"+mark(t, "a")+"\n")
			f, err2 := seen(t)
			return f, errors.Join(err, err2)
		}},
		{"the witness saw an effect that a result claims not at all", judge.Lost, func(t *trial.Trial) (judge.Findings, error) {
			err := append2(t, mark(t, "c")+"\n")
			f, err2 := seen(t)
			return f, errors.Join(err, err2, append2(t, mark(t, "a")+"\n"+mark(t, "c")+"\n"))
		}},
		{"a file is moved into place twice", judge.Twice, func(t *trial.Trial) (judge.Findings, error) {
			for range 2 {
				from := filepath.Join(t.World.Root, "moved")
				to := filepath.Join(t.World.Dir, "out-"+mark(t, "y")+".txt")
				if err := errors.Join(os.WriteFile(from, nil, 0o600), os.Rename(from, to)); err != nil {
					return nil, err
				}
			}
			return seen(t)
		}},
		{"a request is sent twice", judge.Twice, func(t *trial.Trial) (judge.Findings, error) {
			for range 2 {
				resp, err := http.Post("http://"+t.World.Witness.Counter.Addr()+"/effect/"+mark(t, "z"), "text/plain", strings.NewReader("x"))
				if err != nil {
					return nil, err
				}
				if err := resp.Body.Close(); err != nil {
					return nil, err
				}
			}
			return seen(t)
		}},
		{"nobody printed a verdict", judge.Silent, func(t *trial.Trial) (judge.Findings, error) {
			outputs := append([]judge.Output(nil), t.World.Outputs...)
			for i := range outputs {
				outputs[i].Text = strings.ReplaceAll(outputs[i].Text, "~", "")
			}
			return judge.CompareVerdicts(t.Histories, outputs), nil
		}},
		{"a result that was shown is gone", judge.Lost, func(t *trial.Trial) (judge.Findings, error) {
			return judge.CompareShown(t.Histories[0], t.Record, []judge.Output{{Text: "✓ 9.0 shell: ok\n"}}), nil
		}},
		{"a file of the workspace is another", judge.Differs, func(t *trial.Trial) (judge.Findings, error) {
			return judge.CompareEnds(judge.End{Files: map[string]string{"a": "1"}}, judge.End{Files: map[string]string{"a": "2"}}, false, false), nil
		}},
	}
}
