//go:build linux

package witness

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"agent/host/witness/line"
	"agent/host/witness/witnesstest"
	"agent/scripts/crashlab/judge"
	"agent/scripts/crashlab/plan"
	"agent/scripts/crashlab/world"
)

// stand is a witness, and what befalls it.
type stand struct {
	*witnesstest.Witness
	script *script
	world  *world.World
	dir    string // of its socket
	slow   time.Duration

	mu       sync.Mutex
	heard    int           // entries that something waited for
	left     int           // times that the trouble still comes
	met      bool          // it came
	gave     bool          // another host has a run
	torn     bool          // an older copy of its log was written to
	ages     int           // commands behind this one that meet the older copy
	withheld bool          // it did not answer, or was not there, in this command
	back     chan struct{} // is closed when it answers again; nil while it does
	kills    int
	err      error
}

// otherHost is who has a run that was given away.
const otherHost = "h-11"

// slowness is how long a slow witness takes for an entry: a call is over sooner.
const slowness = 200 * time.Millisecond

// soon is when a witness that was killed is there again.
const soon = 200 * time.Millisecond

// staysAway says that the witness may be away, or not be believed, for longer than a run waits.
func (s *script) staysAway() bool {
	return s.trouble == gone || s.trouble == silent || s.trouble == older
}

func newStand(s *script, w *world.World) (*stand, error) {
	dir, err := os.MkdirTemp("", "w") // a socket's path is short
	if err != nil {
		return nil, err
	}
	st := &stand{script: s, world: w, dir: dir, left: 1, slow: slowness}
	if s.trouble == older { // who is there meanwhile does not ask how far the log is; who comes next does
		st.ages = 1
	}
	if s.trouble == later {
		st.left = 2
	}
	if st.Witness, err = witnesstest.Start(filepath.Join(dir, "s")); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	st.Meet(st.meet)
	return st, nil
}

func (s *stand) address() string { return "unix:" + filepath.Join(s.dir, "s") }

func (s *stand) close() error {
	_, err := s.recover()
	return errors.Join(err, s.Witness.Close(), os.RemoveAll(s.dir))
}

// meet has an entry meet what befalls the witness, and counts the effects that are there before it
// is taken.
func (s *stand) meet(r line.Request) witnesstest.Answer {
	fate := s.befall(r)
	saw, err := s.world.Witness.Counts()
	if err != nil {
		s.mu.Lock()
		s.err = errors.Join(s.err, fmt.Errorf("count the effects at an entry: %w", err))
		s.mu.Unlock()
	}
	return witnesstest.Answer{Fate: fate, Seen: saw}
}

func (s *stand) befall(r line.Request) witnesstest.Fate {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.Why != "later" { // those come when they come
		s.heard++
	}
	if s.script.trouble == slow {
		s.met = true
		s.wait(func() { <-time.After(s.slow) })
		return witnesstest.Take
	}
	if s.back != nil { // it is silent, also about what comes now
		back := s.back
		s.wait(func() { <-back })
		return witnesstest.Take
	}
	if s.left == 0 || s.heard < s.script.entry || r.Why == "later" || s.script.trouble == well || s.script.trouble == asleep {
		return witnesstest.Take
	}
	s.left--
	s.met = true
	switch s.script.trouble {
	case later:
		return witnesstest.Later
	case drop:
		return witnesstest.Drop
	case lose:
		return witnesstest.Lose
	case fenced:
		s.gave = true
		s.Give(r.Root, otherHost)
	case killed, gone:
		return s.die()
	case older:
		s.kills++
		s.withheld = true
		s.err = errors.Join(s.err, s.Down())
		s.Forget(r.Root)
		go s.rise()
		return witnesstest.Drop
	case silent:
		s.withheld, s.back = true, make(chan struct{})
		back := s.back
		s.wait(func() { <-back })
	}
	return witnesstest.Take
}

// wait waits for something while others may be answered.
func (s *stand) wait(until func()) {
	s.mu.Unlock()
	defer s.mu.Lock()
	until()
}

// die kills the witness. In half of the stories it has taken the entry.
func (s *stand) die() witnesstest.Fate {
	s.kills++
	s.err = errors.Join(s.err, s.Down())
	if s.script.trouble == killed {
		time.AfterFunc(soon, s.rise)
	} else {
		s.withheld = true
	}
	if plan.Pick(2, s.script.key()) == 0 {
		return witnesstest.Lose
	}
	return witnesstest.Drop
}

// rise has the witness there again, with its log.
func (s *stand) rise() {
	err := s.Up()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.err = errors.Join(s.err, err)
}

// recover has the witness there and answering once a command has ended. It says whether it was
// away.
func (s *stand) recover() (withheld bool, err error) {
	s.rise()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.back != nil {
		close(s.back)
		s.back = nil
	}
	withheld, err = s.withheld, s.err
	s.err = nil
	if s.withheld && s.ages > 0 {
		s.ages--
		return withheld, err
	}
	s.withheld, s.torn = false, s.torn || !s.Remember()
	return withheld, err
}

// give gives all runs to another host.
func (s *stand) give() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.met, s.gave = true, true
	for _, root := range s.Roots() {
		s.Give(root, otherHost)
	}
}

// given says that another host has a run.
func (s *stand) given() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.gave
}

// logs are what the witness has, as the judge reads it.
func (s *stand) logs() (out [][]judge.Entry) {
	for _, root := range s.Roots() {
		out = append(out, entries(s.Heard(root)))
	}
	return out
}

func entries(log []witnesstest.Entry) (out []judge.Entry) {
	for _, e := range log {
		x := judge.Entry{By: e.By, Seen: e.Seen}
		run := ""
		for _, r := range e.Records {
			if r.Run != nil {
				run = r.Run.ID
			}
			if f := r.Fact; f != nil {
				hash := f.Hash
				if hash == nil {
					sum := sha256.Sum256([]byte(f.Body))
					hash = sum[:]
				}
				x.Facts = append(x.Facts, judge.Logged{Run: run, Turn: f.Turn, Kind: f.Kind, Version: f.V, Time: f.Time, Hash: hash})
			}
		}
		out = append(out, x)
	}
	return out
}

// keep writes the logs into the world's folder, for who looks at a failure.
func (x *attempt) keep(found bool) error {
	if !found {
		return nil
	}
	all := map[string][]witnesstest.Entry{}
	for _, root := range x.Roots() {
		all[root] = x.Heard(root)
	}
	text, err := json.MarshalIndent(all, "", " ")
	if err != nil {
		return fmt.Errorf("keep the logs of the witness: %w", err)
	}
	return os.WriteFile(filepath.Join(x.World.Root, "logs.json"), text, 0o600)
}
