//go:build linux

package lab

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"time"
)

// Pass says what is carried out in parts. Parts of different passes do not add up.
type Pass struct {
	Commit     string `json:"commit"`
	Binary     string `json:"binary"` // digest of what is killed
	Mode       string `json:"mode"`
	Seed       uint64 `json:"seed"`
	EveryShape bool   `json:"every_shape"`
}

// Parts keeps in a file what of a pass is done, so that the pass goes on where an earlier part of
// it ended, or was killed. Its pieces are combinations, stories of a fault, and whole kinds of
// faults. A nil *Parts is a pass in one part.
type Parts struct {
	path  string
	pass  Pass
	began time.Time
	limit time.Duration // nothing begins after it; 0 for no limit

	mu     sync.Mutex
	report *Report
	number int
	done   map[string]bool
	left   int
	saved  time.Time
}

// kept is what the file holds.
type kept struct {
	Pass   Pass            `json:"pass"`
	Number int             `json:"parts"`
	Done   []string        `json:"done"`
	Report json.RawMessage `json:"report"`
}

// saveEvery is how often the file is written, at most: it names every piece.
const saveEvery = 20 * time.Second

// OpenParts begins a pass that is kept in the file, or goes on with it: r then counts from where
// the part before ended.
func OpenParts(path string, limit time.Duration, pass Pass, r *Report) (*Parts, error) {
	now := time.Now()
	p := &Parts{path: path, pass: pass, began: now, limit: limit, report: r, number: 1, done: map[string]bool{}, saved: now}
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return p, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read what is done of the pass: %w", err)
	}
	var k kept
	if err := json.Unmarshal(text, &k); err != nil {
		return nil, fmt.Errorf("read what is done of the pass in %s: %w; remove the file to begin anew", path, err)
	}
	if k.Pass != pass {
		return nil, fmt.Errorf("the pass in %s is another one, of commit %s, mode %s and seed %d: give the same flags, with -exe the same binary, or remove the file to begin anew",
			path, k.Pass.Commit, k.Pass.Mode, k.Pass.Seed)
	}
	if err := r.goOn(k.Report); err != nil {
		return nil, fmt.Errorf("read the counts of the pass in %s: %w; remove the file to begin anew", path, err)
	}
	p.number = k.Number + 1
	for _, piece := range k.Done {
		p.done[piece] = true
	}
	return p, nil
}

// begin says whether a piece is to be carried out: not when it is done, and not when the time of
// this part is over.
func (p *Parts) begin(piece string) bool {
	if p == nil {
		return true
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.done[piece] {
		return false
	}
	if p.limit > 0 && time.Since(p.began) >= p.limit {
		p.left++
		return false
	}
	return true
}

// end notes that a piece is done.
func (p *Parts) end(piece string) error {
	if p == nil {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.done[piece] = true
	if time.Since(p.saved) < saveEvery {
		return nil
	}
	return p.save()
}

// Left is how many pieces this part has left to the next ones. A kind of fault that has not begun
// counts as one.
func (p *Parts) Left() int {
	if p == nil {
		return 0
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.left
}

// Close ends the part. Of a pass that is complete no file is left.
func (p *Parts) Close(complete bool) error {
	if p == nil {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if !complete {
		return p.save()
	}
	if err := os.Remove(p.path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// save replaces the file. A pass whose lab is killed meanwhile goes on from the file before.
func (p *Parts) save() error {
	p.saved = time.Now()
	report, err := p.report.snapshot(p.began)
	if err != nil {
		return err
	}
	b, err := json.Marshal(kept{Pass: p.pass, Number: p.number, Done: slices.Sorted(maps.Keys(p.done)), Report: report})
	if err == nil {
		err = os.WriteFile(p.path+".new", b, 0o600)
	}
	if err == nil {
		err = os.Rename(p.path+".new", p.path)
	}
	if err != nil {
		return fmt.Errorf("keep what is done of the pass: %w", err)
	}
	return nil
}

// Result is what is kept of a pass in which all was as promised.
func (p *Parts) Result(command string) string {
	r := p.report
	var b strings.Builder
	for _, line := range []struct {
		name  string
		value any
	}{
		{"commit", p.pass.Commit}, {"command", command}, {"seed", r.Seed}, {"parts", p.number},
		{"stories", r.Stories}, {"commands", r.Commands}, {"kills", r.Kills},
		{"effects_done_twice", r.Twice}, {"results_lost", r.Lost}, {"runs_stuck", r.Stuck}, {"silent_decisions", r.Silent},
		{"other_findings", r.Other}, {"outcomes_unknown", r.Unknown}, {"not_tried", len(r.NotTried)},
		{"controls", len(r.Controls) + r.missed()}, {"caught", len(r.Controls)}, {"seconds", int(r.Seconds)},
	} {
		fmt.Fprintf(&b, "%s %v\n", line.name, line.value)
	}
	return b.String()
}
