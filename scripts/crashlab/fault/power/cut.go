//go:build linux

package power

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"agent/scripts/crashlab/journal"
	"agent/scripts/crashlab/judge"
	"agent/scripts/crashlab/lab"
	"agent/scripts/crashlab/machine"
	"agent/scripts/crashlab/marks"
)

// effectsPath stands for what is no part of this machine: what a command did there stays done,
// whatever this disk has lost.
const effectsPath = "work/effects"

// makeState makes a state in a new folder, which the caller removes.
func (p *recording) makeState(c cut) (string, error) {
	into := p.folder()
	s := machine.State{At: c.at, Model: c.model, Seed: c.seed, Into: into, Keep: []string{effectsPath}}
	if !c.resume {
		s.Omit = []string{"home/state/ballast", "home/state/.ballast"}
	}
	return into, p.disk.MakeState(s)
}

// judgeAll looks at states, several at once. They come in the order of time, so that the disk goes
// through its operations once.
func (p *recording) judgeAll(ctx context.Context, cuts []cut) error {
	var wg sync.WaitGroup
	defer wg.Wait()
	var mu sync.Mutex
	var wrong error
	room := make(chan struct{}, 2)
	p.lab.Report.BeginPart(len(cuts), "power cuts judged")
	for _, c := range cuts {
		room <- struct{}{}
		mu.Lock()
		err := wrong
		mu.Unlock()
		if err == nil {
			err = context.Cause(ctx)
		}
		if err != nil {
			return err
		}
		dir, err := p.makeState(c)
		if err != nil {
			return err
		}
		wg.Go(func() {
			defer func() { <-room }()
			defer p.lab.Report.Progress()
			if err := p.judgeState(c, dir); err != nil {
				mu.Lock()
				wrong = errors.Join(wrong, err)
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	return wrong
}

// judgeState judges a state, reports what is found, and removes it if that is nothing.
func (p *recording) judgeState(c cut, dir string) error {
	f, err := p.judge(c, dir)
	if err != nil {
		return fmt.Errorf("%s: %w", c.key(p.shape), err)
	}
	p.lab.Report.AddFigure("cuts judged", 1)
	return p.report(c, dir, f)
}

// report reports what was found in a state.
func (p *recording) report(c cut, dir string, f judge.Findings) error {
	if len(f) == 0 {
		return os.RemoveAll(dir)
	}
	key := c.key(p.shape)
	p.lab.Report.AddFailure(lab.Failure{Key: key, Repeat: "go run ./scripts/crashlab -faults -only " + key, Folder: dir, Findings: f})
	note := fmt.Sprintf("%s\nafter operation %d\n", key, c.at)
	for _, op := range p.ops[:c.at] {
		note += fmt.Sprintf("%d %s %s %s %d+%d\n", op.N, op.Op, op.Path, op.To, op.Offset, op.Size)
	}
	return os.WriteFile(dir+".ops", []byte(note+p.world.Transcript()), 0o600)
}

// judge says what is not as promised in the folder that a cut left, before anything goes on in it.
func (p *recording) judge(c cut, dir string) (judge.Findings, error) {
	var f judge.Findings
	r, err := openState(filepath.Join(dir, "home", "state"))
	if err != nil {
		f.Add(judge.Broken, "the database does not open after the cut: %v", err)
		return f, nil
	}
	all, f := judge.Check(r, func(string) bool { return true }) // who drove it is dead: the next start reports it
	f = append(f, p.compareBefore(r)...)
	f = append(f, p.compareShown(c.at, all, r)...)
	saw, err := p.seen(c.at, dir)
	if err != nil {
		return nil, err
	}
	f = append(f, judge.CompareEffects(all, saw)...)
	claims, err := compareClaims(r, dir)
	return append(f, claims...), err
}

// openState opens the database itself, which nobody else will, and reads it whole.
func openState(state string) (*journal.Record, error) {
	path := filepath.Join(state, "agent.db")
	if _, err := os.Stat(path); errors.Is(err, os.ErrNotExist) {
		return &journal.Record{Facts: map[int64][]journal.Fact{}}, nil
	}
	db, err := sql.Open("sqlite", "file:"+path+"?_pragma=synchronous(OFF)") // the state is thrown away
	if err != nil {
		return nil, err
	}
	var answer string
	err = db.QueryRow(`PRAGMA quick_check`).Scan(&answer)
	if err := errors.Join(err, db.Close()); err != nil {
		return nil, err
	}
	if answer != "ok" {
		return nil, fmt.Errorf("quick_check: %s", answer)
	}
	return journal.LoadFile(path, state)
}

// compareBefore says what a state holds that the story's journal, which only ever grew, does not
// begin with.
func (p *recording) compareBefore(r *journal.Record) judge.Findings {
	var f judge.Findings
	for _, run := range r.Runs {
		facts := p.record.Facts[run.No]
		for i, x := range r.Facts[run.No] {
			if i >= len(facts) || string(facts[i].Digest) != string(x.Digest) {
				f.Add(judge.Broken, "run %s: fact %d is not the one that was written", run.ID, x.Seq)
				break
			}
		}
	}
	return f
}

// shownForms are the forms of lines that report a fact.
type shownForms struct {
	run, started, settled, verdict, asks, answers, ended *regexp.Regexp
}

func newShownForms() shownForms {
	return shownForms{
		run:     regexp.MustCompile(`^run (r-[0-9a-z]+) `),
		started: regexp.MustCompile(`^> (\d+)\.(\d+) `),
		settled: regexp.MustCompile(`^✓ (\d+)\.(\d+) `),
		verdict: regexp.MustCompile(`^~ (\d+)\.(\d+) `),
		asks:    regexp.MustCompile(`agent answer (p-[0-9a-z]+)`),
		answers: regexp.MustCompile(`^\? (p-[0-9a-z]+) answered by [^:]*: (.*)$`),
		ended:   regexp.MustCompile(`^run (r-[0-9a-z]+) (completed|failed|cancelled)`),
	}
}

// compareShown says what was shown before a cut and is gone after it. r is of the state, or of any
// time after it.
func (p *recording) compareShown(at int, all []*judge.History, r *journal.Record) judge.Findings {
	var f judge.Findings
	forms := newShownForms()
	var h *judge.History
	if len(all) > 0 {
		h = all[0] // the story is one run
	} else {
		h = &judge.History{}
	}
	for _, line := range p.shown {
		if line.at > at {
			continue
		}
		if what := forms.missing(line.text, h, r); what != "" {
			f.Add(judge.Lost, "agent %s showed %q before the cut, and %s", strings.Join(line.args, " "), line.text, what)
		}
	}
	return f
}

// missing says what a line reports that the record does not hold; "" when all is there.
func (s shownForms) missing(line string, h *judge.History, r *journal.Record) string {
	if m := s.run.FindStringSubmatch(line); m != nil && h.Run.ID != m[1] {
		return "the run is gone"
	}
	if m := s.started.FindStringSubmatch(line); m != nil {
		if c := callAt(h, m); c == nil || c.Starts == 0 && len(c.Results) == 0 {
			return "that the call was started is gone"
		}
	}
	if m := s.settled.FindStringSubmatch(line); m != nil {
		if c := callAt(h, m); c == nil || len(c.Results) == 0 {
			return "the result is gone"
		}
	}
	if m := s.verdict.FindStringSubmatch(line); m != nil {
		if c := callAt(h, m); c == nil || len(c.Judged) == 0 {
			return "the verdict is gone"
		}
	}
	request := func(id string, what func(q journal.Request) bool) bool {
		return slices.ContainsFunc(r.Requests, func(q journal.Request) bool { return q.ID == id && what(q) })
	}
	if m := s.asks.FindStringSubmatch(line); m != nil && !request(m[1], func(journal.Request) bool { return true }) {
		return "the question is gone"
	}
	if m := s.answers.FindStringSubmatch(line); m != nil && !request(m[1], func(q journal.Request) bool {
		value := map[string]string{"yes": "true", "no": "false"}[m[2]]
		return q.Status == "resolved" && (strings.Contains(q.Answer, m[2]) || value != "" && strings.Contains(q.Answer, value))
	}) {
		return "the answer is gone"
	}
	if m := s.ended.FindStringSubmatch(line); m != nil && h.Run.Status != m[2] {
		return "its end is gone"
	}
	return ""
}

// callAt is the call that a line's numbers name.
func callAt(h *judge.History, m []string) *judge.Call {
	var turn, index int64
	if _, err := fmt.Sscan(m[1]+" "+m[2], &turn, &index); err != nil {
		return nil // too large for a number: no call is there
	}
	return h.Call(turn, index)
}

// seen counts the effects that had happened at a cut and that the state still has: a request and a
// line that a command wrote elsewhere stay done; a file that was put into place may be gone with
// the disk.
func (p *recording) seen(at int, dir string) (map[string]int, error) {
	saw := p.outside(at)
	text, err := os.ReadFile(filepath.Join(dir, effectsPath))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	for line := range strings.Lines(string(text)) {
		saw[strings.TrimSpace(line)]++
	}
	files, err := p.placed(dir)
	for m, n := range files {
		saw[m] += n
	}
	return saw, err
}

// outside are the effects that reached another machine.
func (p *recording) outside(at int) map[string]int {
	p.mu.Lock()
	defer p.mu.Unlock()
	saw := map[string]int{}
	for _, h := range p.hits {
		if h.at <= at {
			saw[h.mark]++
		}
	}
	return saw
}

// placed are the files of the workspace that hold what they hold in the end.
func (p *recording) placed(dir string) (map[string]int, error) {
	saw := map[string]int{}
	for _, name := range p.files() {
		b, err := os.ReadFile(filepath.Join(dir, "work", name))
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return nil, err
		}
		if err == nil && string(b) == p.after[name] {
			for _, m := range marks.Find(name) {
				saw[m]++
			}
		}
	}
	return saw, nil
}
