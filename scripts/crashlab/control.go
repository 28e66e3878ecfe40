//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// control is damage made on purpose. The lab must find it, else nothing that it does not find means anything.
type control struct {
	name string
	kind string // of what must be found
	try  func(t *tale) (findings, error)
}

// runControls tells one story, kills it, and damages copies of what it leaves.
func runControls(ctx context.Context, l *lab) error {
	killed, _, err := l.play(ctx, job{tool: "shell", situation: "first", shape: "runbook", victim: "host", arms: []arm{{0, "call.after_effect", 1}}})
	if err != nil {
		return fmt.Errorf("tell the story of the controls: %w", err)
	}
	if len(killed.found) > 0 || len(killed.fired) != 1 || len(killed.last) != 1 || len(killed.last[0].said) == 0 {
		l.report.fail(job{tool: "shell", situation: "first", shape: "runbook", victim: "host", arms: killed.arms}, killed)
		return errors.Join(errors.New("the story of the controls is not what it should be"), killed.world.close(true))
	}
	for _, c := range append(recordControls(), worldControls()...) {
		f, err := c.try(killed)
		if err != nil {
			return errors.Join(fmt.Errorf("control %q: %w", c.name, err), killed.world.close(true))
		}
		l.control(c.name, c.kind, f)
	}
	if err := killed.world.close(false); err != nil {
		return err
	}
	return naive(ctx, l)
}

func (l *lab) control(name, kind string, f findings) {
	for _, x := range f {
		if x.Kind == kind {
			l.report.caught(name)
			return
		}
	}
	var missing findings
	missing.add(unlisted, "the control %q was not found as %q; found: %v", name, kind, f)
	l.report.add(failure{Key: "control: " + name, Repeat: "go run ./scripts/crashlab -only " + job{tool: "shell", situation: "first", shape: "runbook", victim: "host"}.key(), Findings: missing})
}

// naive is a resumer as it should not be: what has no result is done once more. It must be seen.
func naive(ctx context.Context, l *lab) error {
	number, root := l.nextWorld()
	s, why := tell("shell", "first", "runbook", number, l.counter.addr())
	if why != "" {
		return errors.New(why)
	}
	w, err := newWorld(number, l.exe, root, l.counter, &s)
	if err != nil {
		return err
	}
	t := &tale{story: &s, world: w, arms: []arm{{0, "call.after_effect", 1}}}
	if err := t.step(s.runArgs("", "")); err != nil {
		return errors.Join(err, w.close(true))
	}
	for _, h := range t.last {
		for _, c := range h.calls {
			if c.starts == 0 || len(c.results) > 0 {
				continue
			}
			again := exec.CommandContext(ctx, "/bin/sh", "-ec", "echo "+c.marks[0]+" >> effects")
			again.Dir = w.dir
			if err := again.Run(); err != nil {
				return errors.Join(err, w.close(true))
			}
		}
	}
	saw, err := w.witness.counts()
	if err != nil {
		return errors.Join(err, w.close(true))
	}
	l.control("a naive resumer does again what has no result", twice, compareEffects(t.last, saw))
	return w.close(false)
}

// damaged checks a copy of the record after a change to it.
func damaged(t *tale, change string) (findings, error) {
	r, err := loadChanged(t.world.state, t.world.root, change)
	if err != nil {
		return nil, err
	}
	_, f := check(r, func(string) bool { return false })
	return f, nil
}

// recordControls damage the database.
func recordControls() []control {
	change := func(name, kind, statement string) control {
		return control{name, kind, func(t *tale) (findings, error) { return damaged(t, statement) }}
	}
	return []control{
		change("a row of the journal is removed", broken, `DELETE FROM journal WHERE id & 16777215 = 4`),
		change("the last row of the journal is removed", broken, `DELETE FROM journal WHERE id = (SELECT max(id) FROM journal)`),
		change("the time of a row is changed", broken, `UPDATE journal SET time = time + 1 WHERE id & 16777215 = 3`),
		change("a call's row says another outcome", broken, `UPDATE tool_executions SET outcome = 'error' WHERE turn = 1`),
		change("a call's row is removed", broken, `DELETE FROM tool_executions WHERE turn = 1`),
		change("a finished run counts as running", stuck, `UPDATE runs SET status = 'running', ended_at = NULL`),
		change("a run waits and nothing is asked", stuck, `UPDATE runs SET status = 'waiting', ended_at = NULL`),
		{"a call has a second result", broken, func(t *tale) (findings, error) { return changed(t, settled, true) }},
		{"a call's result is left out", lost, func(t *tale) (findings, error) { return changed(t, settled, false) }},
		{"a result changes between two looks", lost, func(t *tale) (findings, error) {
			all, _ := check(t.record, func(string) bool { return false })
			all[0].calls[0].results[0].Result.Content += "x"
			return compareKept(t.last, all), nil
		}},
	}
}

// changed repeats or leaves out the first fact of a kind, with everything behind it numbered and digested anew: what is found is
// found by what the facts say.
func changed(t *tale, kind int64, again bool) (findings, error) {
	r := *t.record
	r.facts = map[int64][]fact{}
	r.runs = append([]runRow(nil), r.runs...)
	run := &r.runs[0]
	var out []fact
	done := false
	for _, x := range t.record.facts[run.no] {
		if x.kind == kind && !done {
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
		out[i].seq = int64(i) + 1
		out[i].id = run.no<<24 | out[i].seq
		out[i].digest = digestOf(prev, out[i])
		prev = out[i].digest
	}
	r.facts[run.no], run.lastSeq = out, int64(len(out))
	_, f := check(&r, func(string) bool { return false })
	return f, nil
}

// worldControls change what the witness sees and what was printed.
func worldControls() []control {
	seen := func(t *tale) (findings, error) {
		saw, err := t.world.witness.counts()
		return compareEffects(t.last, saw), err
	}
	append2 := func(t *tale, text string) error {
		return os.WriteFile(filepath.Join(t.world.dir, "effects"), []byte(text), 0o600)
	}
	mark := func(t *tale, letter string) string { return markIn(t.world.number, letter) }
	return []control{
		{"the witness saw an effect twice", twice, func(t *tale) (findings, error) {
			err := append2(t, mark(t, "a")+"\n"+mark(t, "c")+"\n"+mark(t, "a")+"\n")
			f, err2 := seen(t)
			return f, errors.Join(err, err2)
		}},
		{"the witness saw an effect that a result claims not at all", lost, func(t *tale) (findings, error) {
			err := append2(t, mark(t, "c")+"\n")
			f, err2 := seen(t)
			return f, errors.Join(err, err2, append2(t, mark(t, "a")+"\n"+mark(t, "c")+"\n"))
		}},
		{"a file is moved into place twice", twice, func(t *tale) (findings, error) {
			for range 2 {
				from := filepath.Join(t.world.root, "moved")
				to := filepath.Join(t.world.dir, "out-"+mark(t, "y")+".txt")
				if err := errors.Join(os.WriteFile(from, nil, 0o600), os.Rename(from, to)); err != nil {
					return nil, err
				}
			}
			return seen(t)
		}},
		{"a request is sent twice", twice, func(t *tale) (findings, error) {
			for range 2 {
				resp, err := http.Post("http://"+t.world.witness.counter.addr()+"/effect/"+mark(t, "z"), "text/plain", strings.NewReader("x"))
				if err != nil {
					return nil, err
				}
				if err := resp.Body.Close(); err != nil {
					return nil, err
				}
			}
			return seen(t)
		}},
		{"nobody printed a verdict", silent, func(t *tale) (findings, error) {
			outputs := append([]output(nil), t.world.outputs...)
			for i := range outputs {
				outputs[i].text = strings.ReplaceAll(outputs[i].text, "~", "")
			}
			return compareWords(t.last, outputs), nil
		}},
		{"a result that was shown is gone", lost, func(t *tale) (findings, error) {
			return compareShown(t.last[0], t.record, []output{{text: "✓ 9.0 shell: ok\n"}}), nil
		}},
		{"a file of the workspace is another", differs, func(t *tale) (findings, error) {
			return compareEnds(end{files: map[string]string{"a": "1"}}, end{files: map[string]string{"a": "2"}}, false, false), nil
		}},
	}
}
