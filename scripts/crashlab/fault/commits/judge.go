//go:build linux

package commits

import (
	"encoding/json"
	"fmt"
	"os/exec"
	"slices"
	"strings"

	"agent/scripts/crashlab/journal"
	"agent/scripts/crashlab/judge"
	"agent/scripts/crashlab/marks"
)

// The kinds of findings about links.
const (
	Unlinked  = "commit not linked"
	Misjudged = "commit linked as what it is not"
	Doubled   = "commit linked twice"
)

// link is a fact about a commit.
type link struct {
	Run        string          `json:"-"`
	Checkpoint string          `json:"checkpoint_id"`
	Commit     string          `json:"commit_id"`
	Relation   string          `json:"relation"`
	Proof      string          `json:"proof"`
	Of         string          `json:"of_id"`
	During     json.RawMessage `json:"during"`
}

// made is a commit that git's log tells of.
type made struct{ id, verb, subject, old string }

// want is how a commit is to be linked, by what its log says.
type want struct {
	relation, proof string
	during          bool // in the window of a call
}

func wants() map[string]want {
	return map[string]want{
		"one": {"made", "window", true}, "two": {"made", "window", true}, "three": {"made", "window", true}, "four": {"amended", "reflog", true},
		"five": {"made", "blobs", false}, "six": {"amended", "reflog", false},
	}
}

// judge judges the end of a script.
func (x *attempt) judge() error {
	if len(x.Found) > 0 {
		return nil
	}
	ended, f := x.status()
	x.Found = append(x.Found, f...)
	if !ended {
		return nil
	}
	links, err := x.links()
	if err != nil {
		return err
	}
	commits, err := x.log()
	if err != nil {
		return err
	}
	x.compare(commits, links)
	for _, l := range links {
		if _, err := x.git("cat-file", "-e", l.Commit+"^{commit}"); err != nil {
			x.Found.Add(judge.Lost, "run %s is linked with commit %s: %v", l.Run, l.Commit, err)
		}
	}
	if text, err := x.git("fsck", "--strict", "--no-dangling"); err != nil || text != "" && x.Unknown == 0 {
		x.Found.Add(judge.Broken, "git fsck says %q: %v", text, err)
	}
	for _, c := range x.Needless {
		if x.script.victim != "both" {
			x.Found.Add(judge.Needless, "no runner was killed, and the outcome of call %s is recorded as unknown", c)
		}
	}
	if err := x.effects(); err != nil {
		return err
	}
	return x.shown(links)
}

// compare holds git's log against the links.
func (x *attempt) compare(commits []made, links []link) {
	of := map[string][]link{}
	for _, l := range links {
		of[l.Commit] = append(of[l.Commit], l)
	}
	checkpoint := map[string]string{}
	for _, c := range commits {
		all := of[c.id]
		w, known := wants()[c.subject]
		amends := c.verb == "commit (amend)"
		switch {
		case !known || amends && len(of[c.old]) == 0: // a person's; or the first of two was never made, as its runner was killed
			if len(all) > 0 {
				x.Found.Add(Misjudged, "commit %s %q holds nothing of the run, and is linked: %+v", c.id, c.subject, all)
			}
			continue
		case len(all) == 0 && !w.during && x.Unknown > 0: // the runner was killed before it had left anything
			continue
		case len(all) == 0:
			x.Found.Add(Unlinked, "commit %s %q (%s)", c.id, c.subject, c.verb)
			continue
		case len(all) > 1:
			x.Found.Add(Doubled, "commit %s %q: %+v", c.id, c.subject, all)
		}
		l := all[0]
		x.linked++
		if l.Relation != w.relation || l.Proof != w.proof || (l.During != nil) != w.during {
			x.Found.Add(Misjudged, "commit %s %q is linked as %s (%s) %s, and is %+v", c.id, c.subject, l.Relation, l.Proof, l.During, w)
		}
		if old, seen := checkpoint[l.Checkpoint]; amends && l.Checkpoint != of[c.old][0].Checkpoint {
			x.Found.Add(Misjudged, "commit %s %q has %s, and the one that it replaced %s", c.id, c.subject, l.Checkpoint, of[c.old][0].Checkpoint)
		} else if seen && !amends {
			x.Found.Add(Doubled, "checkpoint %s is that of %s, and of %s", l.Checkpoint, old, c.id)
		}
		checkpoint[l.Checkpoint] = c.id
	}
	for id := range of {
		if !slices.ContainsFunc(commits, func(c made) bool { return c.id == id }) {
			x.Found.Add(Misjudged, "commit %s is linked, and git's log does not tell of it", id)
		}
	}
}

// links are the facts about commits, from the record.
func (x *attempt) links() (out []link, err error) {
	for _, run := range x.Record.Runs {
		for _, f := range x.Record.Facts[run.No] {
			if f.Kind != journal.CommitSeen {
				continue
			}
			l := link{Run: run.ID}
			if err := json.Unmarshal(f.Body, &l); err != nil {
				return nil, fmt.Errorf("read fact %d of run %s: %v", f.Seq, run.ID, err)
			}
			out = append(out, l)
		}
	}
	return out, nil
}

// log is what git's log of HEAD tells of commits, the oldest first.
func (x *attempt) log() (out []made, err error) {
	text, err := x.git("log", "-g", "--format=%H %gs", "HEAD")
	if err != nil {
		return nil, err
	}
	lines := strings.Split(strings.TrimSpace(text), "\n")
	slices.Reverse(lines)
	old := ""
	for _, line := range lines {
		id, rest, _ := strings.Cut(line, " ")
		verb, subject, _ := strings.Cut(rest, ": ")
		if strings.HasPrefix(verb, "commit") {
			out = append(out, made{id, verb, subject, old})
		}
		old = id
	}
	return out, nil
}

// effects compares what the witness saw.
func (x *attempt) effects() error {
	saw, err := x.World.Witness.Counts()
	if err != nil {
		return err
	}
	for _, letter := range letters() {
		n := saw[marks.In(x.World.Number, letter)]
		if n > 1 {
			x.Found.Add(judge.Twice, "the effect %s happened %d times", letter, n)
		} else if n < 1 && x.Unknown == 0 {
			x.Found.Add(judge.Lost, "the effect %s happened %d times", letter, n)
		}
	}
	return nil
}

// shown compares what agent log prints with the record.
func (x *attempt) shown(links []link) error {
	c := exec.Command(x.World.Exe, "log", "--json", "-n", "100")
	c.Dir, c.Env = x.World.Dir, x.World.Env
	text, err := c.Output()
	if err != nil {
		x.Found.Add(judge.Broken, "agent log: %v", err)
		return nil
	}
	var v struct {
		Commits, Off []struct {
			ID    string `json:"commit_id"`
			Links []struct {
				Checkpoint string `json:"checkpoint_id"`
				Run        string `json:"run_id"`
				Final      bool   `json:"final"`
			} `json:"links"`
		}
	}
	if err := json.Unmarshal(text, &v); err != nil {
		return fmt.Errorf("read what agent log says: %v", err)
	}
	n := 0
	for _, c := range append(v.Commits, v.Off...) {
		for _, l := range c.Links {
			n++
			if !l.Final {
				x.Found.Add(Misjudged, "agent log shows commit %s as provisional, and its run is over", c.ID)
			}
			if !slices.ContainsFunc(links, func(f link) bool { return f.Commit == c.ID && f.Run == l.Run && f.Checkpoint == l.Checkpoint }) {
				x.Found.Add(Misjudged, "agent log shows commit %s with %s of run %s, and the record does not", c.ID, l.Checkpoint, l.Run)
			}
		}
	}
	if n != len(links) {
		x.Found.Add(Unlinked, "agent log shows %d links, and the record has %d: %s", n, len(links), text)
	}
	return nil
}

// git asks git, which writes nothing.
func (x *attempt) git(args ...string) (string, error) {
	c := exec.Command("git", append([]string{"-C", x.World.Dir}, args...)...)
	c.Env = append(slices.Clone(x.World.Env), "GIT_OPTIONAL_LOCKS=0")
	text, err := c.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("git %s: %v: %s", strings.Join(args, " "), err, text)
	}
	return string(text), nil
}
