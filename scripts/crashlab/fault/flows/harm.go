//go:build linux

package flows

import (
	"bytes"
	"cmp"
	"errors"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"agent/scripts/crashlab/journal"
	"agent/scripts/crashlab/judge"
	"agent/scripts/crashlab/plan"
)

// harm is what happens to an artifact between two commands, and what a person wants then.
type harm struct {
	does string // in short
	do   func(file string, content []byte) error
	word string // the answer to what is asked about it
}

// byHand is what a person writes into an artifact.
const byHand = "edited by hand\n"

func harms() map[string]*harm {
	edit := func(file string, _ []byte) error { return os.WriteFile(file, []byte(byHand), 0o600) }
	link := func(file string, _ []byte) error {
		return errors.Join(os.Remove(file), os.Symlink("../notes.txt", file))
	}
	return map[string]*harm{
		"missing":      {does: "missing", do: func(file string, _ []byte) error { return os.Remove(file) }},
		"empty":        {does: "empty", do: func(file string, _ []byte) error { return os.Truncate(file, 0) }},
		"cut":          {does: "cut", do: func(file string, content []byte) error { return os.Truncate(file, int64(len(content))/2) }},
		"edit-keep":    {does: "edited", do: edit, word: "keep"},
		"edit-redo":    {does: "edited", do: edit, word: "redo"},
		"edit-restore": {does: "edited", do: edit, word: "restore"},
		"link-restore": {does: "replaced by links", do: link, word: "restore"},
		"link-redo":    {does: "replaced by links", do: link, word: "redo"},
		"link-again":   {does: "replaced by links", do: link, word: "again"},
		"unreadable":   {does: "unreadable", do: func(file string, _ []byte) error { return os.Chmod(filepath.Dir(file), 0) }},
	}
}

// harmsOf lists what artifacts of a family may come to. What a phase makes that goes around, or
// whose model says what it always says, does not follow from what is edited.
func harmsOf(family string) []string {
	all := slices.Sorted(maps.Keys(harms()))
	switch family {
	case "sequence", "side", "each":
		return all
	case "rounds": // whose first phase looks for what the second made
		return []string{"cut", "empty"}
	case "again":
		return []string{"cut", "missing"}
	case "redo":
		return []string{"cut", "empty", "missing", "unreadable"}
	}
	return []string{"cut", "edit-keep", "empty", "link-restore", "missing", "unreadable"}
}

// repaired says that the harm is put right without an answer of anybody's.
func (h *harm) repaired() bool { return h == nil || h.word == "" }

// harmed is an artifact that came to harm.
type harmed struct {
	path    string // "": none did
	content []byte // before
	since   int    // phases that had begun
}

// parts lists the facts about phases.
func (x *attempt) parts(kinds ...int64) ([]journal.Part, error) {
	var out []journal.Part
	root := x.root()
	if root == nil {
		return nil, nil
	}
	for _, f := range x.Record.Facts[root.Run.No] {
		if !slices.Contains(kinds, f.Kind) {
			continue
		}
		p, err := f.Part()
		if err != nil {
			return nil, err
		}
		p.Why = cmp.Or(p.Why, "ended")
		out = append(out, p)
	}
	return out, nil
}

// counting lists the artifacts that count: those of phases that are done and have not begun again.
// While a check runs, they are its own business.
func (x *attempt) counting() ([]string, error) {
	all, err := x.parts(journal.PhaseBegan, journal.PhaseEnded)
	counts := map[string]bool{}
	for _, p := range all {
		f := families()[x.script.family]
		i := slices.IndexFunc(f.phases, func(q phase) bool { return q.name == p.Phase })
		for _, out := range f.phases[i].outs() {
			if p.Why != "ended" && (p.Part == "work" || x.ran(p.Run)) && (p.Item == nil || strings.HasSuffix(out, "-"+p.Item.Name)) {
				delete(counts, out)
			}
		}
		for _, out := range p.Out {
			counts[out.Path] = true
		}
	}
	return slices.Sorted(maps.Keys(counts)), err
}

// ran says whether a run has begun.
func (x *attempt) ran(run string) bool {
	return slices.ContainsFunc(x.Histories, func(h *judge.History) bool { return h.Run.ID == run })
}

// atWork says whether a run of a phase has begun and not ended.
func (x *attempt) atWork() bool {
	return slices.ContainsFunc(x.Histories, func(h *judge.History) bool { return h.Parent != "" && !ended(h) })
}

func ended(h *judge.History) bool {
	return slices.Contains([]string{"completed", "failed", "cancelled"}, h.Run.Status)
}

// moveAway does what a person is asked to do who wants an artifact back, or made again, and
// something else lies in its place.
func (x *attempt) moveAway() error {
	root := x.root()
	if x.harmed.path == "" || x.moved || root == nil || root.Run.Status != "interrupted" || !strings.HasPrefix(x.script.harm, "link-") {
		return nil
	}
	last := x.World.Outputs[len(x.World.Outputs)-1]
	if x.moved = strings.Contains(last.Text, "move it away"); !x.moved {
		return nil
	}
	return os.Remove(filepath.Join(x.World.Dir, x.harmed.path))
}

// hurt does harm to an artifact, once one counts. Whatever still runs comes to its end first: it
// reads and writes artifacts as the harm does.
func (x *attempt) hurt() error {
	h := harms()[x.script.harm]
	if h == nil || x.harmed.path != "" || x.RunnerHalted {
		return nil
	}
	if n := len(x.World.Outputs); n == 0 || !x.World.Outputs[n-1].Killed {
		return nil
	}
	x.World.WaitRunners()
	if root := x.root(); root == nil || ended(root) || x.script.harm == "unreadable" && x.atWork() {
		return nil
	}
	all, err := x.counting()
	if err != nil || len(all) == 0 {
		return err
	}
	name := all[plan.Pick(len(all), x.script.key(), "artifact")]
	file := filepath.Join(x.World.Dir, name)
	content, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	began, err := x.parts(journal.PhaseBegan)
	if err != nil {
		return err
	}
	x.harmed = harmed{name, content, len(began)}
	return h.do(file, content)
}

// readable lets a folder that could not be read be read again, once a command has seen that. It
// must have begun nothing.
func (x *attempt) readable() (judge.Findings, error) {
	var f judge.Findings
	if x.script.harm != "unreadable" || x.harmed.path == "" || x.mended {
		return nil, nil
	}
	began, err := x.parts(journal.PhaseBegan)
	if err != nil {
		return nil, err
	}
	if len(began) > x.harmed.since {
		f.Add(judge.Broken, "%s cannot be read, and phase %s begins", x.harmed.path, began[len(began)-1].Phase)
	}
	x.mended = true
	return f, os.Chmod(filepath.Dir(filepath.Join(x.World.Dir, x.harmed.path)), 0o700)
}

// putRight does by hand what a person does who says that an artifact is to be looked at again.
func (x *attempt) putRight() error {
	file := filepath.Join(x.World.Dir, x.harmed.path)
	return errors.Join(os.Remove(file), os.WriteFile(file, x.harmed.content, 0o600))
}

// asOrdinaryUser has the commands be of a user who may not read everything.
func (x *attempt) asOrdinaryUser() error {
	const nobody = 65534
	if os.Getuid() != 0 {
		return nil
	}
	x.World.Launch = func(c *exec.Cmd) error {
		c.SysProcAttr.Credential = &syscall.Credential{Uid: nobody, Gid: nobody}
		return c.Start()
	}
	if err := os.Chmod(filepath.Dir(x.World.Root), 0o711); err != nil {
		return err
	}
	return filepath.WalkDir(x.World.Root, func(path string, _ fs.DirEntry, err error) error {
		return errors.Join(err, os.Chown(path, nobody, nobody))
	})
}

// regular wants what came to harm to be a file again, with what it is to hold.
func (x *attempt) regular(answered map[string][]string) (f judge.Findings, err error) {
	file := filepath.Join(x.World.Dir, x.harmed.path)
	info, err := os.Lstat(file)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		f.Add(judge.Differs, "%s is %s", x.harmed.path, info.Mode())
		return f, nil
	}
	content, err := os.ReadFile(file)
	edited := x.script.harm == "edit-keep" || x.script.harm == "edit-redo" || x.script.harm == "edit-restore" && len(answered["restore"]) == 0
	switch {
	case edited && string(content) != byHand:
		f.Add(judge.Lost, "%s was edited, and holds %q", x.harmed.path, content)
	case !edited && !bytes.Equal(content, x.harmed.content) && x.harmedStands():
		f.Add(judge.Lost, "%s holds %q, and held %q", x.harmed.path, content, x.harmed.content)
	}
	return f, err
}

// harmedStands says that the phase which made what came to harm is done once alone.
func (x *attempt) harmedStands() bool {
	f := families()[x.script.family]
	i := slices.IndexFunc(f.phases, func(p phase) bool { return slices.Contains(p.outs(), x.harmed.path) })
	return f.times[f.phases[i].name] == 0
}
