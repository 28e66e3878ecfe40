package inspect

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"

	"agent/tools/files"
)

// Before is what a shell call records before it starts, when its script is a command whose effect
// can be looked at.
type Before struct {
	Verb   string      `json:"verb"`
	Places []place     `json:"places,omitempty"` // of mv: from, to
	Umask  uint32      `json:"umask"`
	Mode   uint32      `json:"mode"`            // of mkdir: the permission bits that it gives
	Given  bool        `json:"given,omitempty"` // they were given with -m
	Repo   *repository `json:"repo,omitempty"`  // of git commit
}

// record looks at the places of a command. ok is false where too little could be said afterwards,
// so that nothing is recorded.
func record(w *files.Workspace, d command) (sc Before, ok bool) {
	sc = Before{Verb: d.verb}
	if sc.Umask, ok = umask(); !ok {
		return sc, false
	}
	sc.Mode = 0o777 &^ sc.Umask
	if d.flags["m"] {
		sc.Mode, sc.Given = d.mode, true
	}
	if d.verb == "mv" {
		return sc, recordMove(w, &sc, d)
	}
	for _, o := range d.operands {
		p, err := recordOne(w, d, o)
		if err != nil {
			return sc, false
		}
		sc.Places = append(sc.Places, p)
	}
	return sc, true
}

// recordOne looks at one operand, and refuses what the command would refuse or leave as it is.
func recordOne(w *files.Workspace, d command, operand string) (place, error) {
	chain := ""
	if d.verb == "mkdir" && d.flags["p"] {
		for {
			s, err := w.Find(path.Dir(path.Clean(operand)))
			if err != nil {
				return place{}, err
			}
			there := s.Info != nil
			s.Close()
			if there {
				break
			}
			chain = path.Join(path.Base(path.Clean(operand)), chain)
			operand = path.Dir(path.Clean(operand))
		}
	}
	p, err := placeOf(w, operand)
	if err != nil {
		return p, err
	}
	p.Chain = chain
	wanted := d.verb == "rm" || d.verb == "touch" && p.Is.there()
	switch {
	case p.Is.there() != wanted:
		return p, fmt.Errorf("%s: the command would do nothing, or fail", operand)
	case d.verb == "touch" && p.Is.there() && !p.Is.regular(), d.verb == "rm" && p.Is.folder() && !d.flags["r"]:
		return p, fmt.Errorf("%s is not what the command is for", operand)
	}
	if d.verb == "rm" && p.Is.folder() {
		p.Tree, err = treeDigest(w, p)
	}
	return p, err
}

func recordMove(w *files.Workspace, sc *Before, d command) bool {
	from, err := placeOf(w, d.operands[0])
	if err != nil || !from.Is.there() {
		return false
	}
	to, err := placeOf(w, d.operands[1])
	if err != nil {
		return false
	}
	if s, err := w.Find(to.path()); err == nil {
		into := s.Info != nil && s.Info.IsDir()
		s.Close()
		switch {
		case into && d.flags["T"]:
			return false
		case into:
			to, err = placeOf(w, path.Join(to.path(), from.Name))
			if err != nil {
				return false
			}
		}
	}
	if to.Is.there() && (to.Is.same(from.Is) || d.flags["n"] || to.Is.folder() || from.Is.folder()) {
		return false
	}
	if from.path() == to.path() || strings.HasPrefix(to.path()+"/", from.path()+"/") || to.DirIs.Device != from.Is.Device {
		return false
	}
	sc.Places = []place{from, to}
	return true
}

// found is what a look says about one part of a command.
type found int

const (
	foundOdd found = iota // something else, or it cannot be determined
	foundOld              // untouched
	foundNew              // done, in the moment of the command
)

// inspect says what became of each place.
func inspect(w *files.Workspace, sc Before, when window) (found, string) {
	if sc.Verb == "mv" {
		return inspectMove(w, sc, when)
	}
	var says []string
	count := map[found]int{}
	for _, p := range sc.Places {
		f, why := inspectOne(w, sc, p, when)
		count[f]++
		says = append(says, why)
	}
	all := strings.Join(says, "; ")
	switch len(sc.Places) {
	case count[foundNew]:
		return foundNew, all
	case count[foundOld]:
		return foundOld, all
	}
	return foundOdd, all
}

func inspectOne(w *files.Workspace, sc Before, p place, when window) (found, string) {
	now, err := placeAgain(w, p)
	if err != nil {
		return foundOdd, err.Error()
	}
	switch sc.Verb {
	case "mkdir":
		return inspectMade(w, sc, p, now, when)
	case "touch":
		return inspectTouched(sc, p, now, when)
	}
	return inspectRemoved(w, p, now, when)
}

// absent says what to make of something that was not there and is not: only a folder that was not
// touched proves that it was not made and removed again.
func absent(p, now place) (found, string) {
	if p.DirIs.untouched(now.DirIs) {
		return foundOld, fmt.Sprintf("%s is still not there, and nothing in its folder was touched", p.path())
	}
	return foundOdd, fmt.Sprintf("%s is not there, but its folder was touched since: it may have been made and removed", p.path())
}

// inspectMade judges mkdir: a folder that this process's user made in the moment of the command,
// with the command's mode, and that nobody has put anything into since.
func inspectMade(w *files.Workspace, sc Before, p, now place, when window) (found, string) {
	if !now.Is.there() {
		return absent(p, now)
	}
	leaf := now
	if p.Chain != "" {
		var err error
		if leaf, err = placeOf(w, path.Join(p.path(), p.Chain)); err != nil || !leaf.Is.there() {
			return foundOdd, fmt.Sprintf("%s is there, and %s in it is not", p.path(), p.Chain)
		}
	}
	switch is := leaf.Is; {
	case !is.folder() || !now.Is.folder():
		return foundOdd, p.path() + " is there, and is no folder"
	case is.Btime == 0:
		return foundOdd, leaf.path() + " is there, and this file system does not record when it was made"
	case !when.holds(is.Btime) || !when.holds(now.Is.Btime):
		return foundOdd, leaf.path() + " is there, and was not made in the moment of the command"
	case is.UID != os.Geteuid() || is.Mode&0o777 != sc.Mode&0o777:
		return foundOdd, leaf.path() + " is there, with another owner or another mode than the command gives"
	case is.Mtime != is.Btime || is.Ctime != is.Btime && !(sc.Given && when.holds(is.Ctime)):
		return foundOdd, leaf.path() + " is there, and was touched since"
	}
	return foundNew, fmt.Sprintf("%s is there, made in the moment of the command", leaf.path())
}

// inspectTouched judges touch, which gives a file the same time three times over; who only writes
// it does not.
func inspectTouched(sc Before, p, now place, when window) (found, string) {
	is := now.Is
	switch {
	case !p.Is.there() && !is.there():
		return absent(p, now)
	case p.Is.there() && is.untouched(p.Is):
		return foundOld, p.path() + " is exactly as it was before"
	case !is.there():
		return foundOdd, p.path() + " was there and is gone"
	case !is.regular() || p.Is.there() && (!is.same(p.Is) || is.Size != p.Is.Size || is.Mode != p.Is.Mode):
		return foundOdd, p.path() + " is another file than before"
	case is.Mtime != is.Ctime || is.Mtime != is.Atime || !when.holds(is.Mtime):
		return foundOdd, p.path() + " does not have one time that is the moment of the command"
	case !p.Is.there() && (is.Size != 0 || is.UID != os.Geteuid() || is.Mode&0o777 != 0o666&^sc.Umask || !when.holds(is.Btime)):
		return foundOdd, p.path() + " is there, and is not what the command makes"
	}
	return foundNew, fmt.Sprintf("%s has the time of the command", p.path())
}

// inspectRemoved judges rm: the name is gone, and the last thing that happened in its folder
// happened in the moment of the command.
func inspectRemoved(w *files.Workspace, p, now place, when window) (found, string) {
	switch {
	case now.Is.there() && now.Is.untouched(p.Is) && p.Is.folder():
		if tree, err := treeDigest(w, p); err != nil || tree != p.Tree {
			return foundOdd, p.path() + " is there, and not all of what was in it"
		}
		return foundOld, p.path() + " and all that is in it is exactly as it was before"
	case now.Is.there() && now.Is.untouched(p.Is):
		return foundOld, p.path() + " is exactly as it was before"
	case now.Is.there():
		return foundOdd, p.path() + " is there, and was touched since"
	case !when.holds(now.DirIs.Mtime):
		return foundOdd, fmt.Sprintf("%s is gone, and its folder was touched at another time than the command's", p.path())
	}
	return foundNew, fmt.Sprintf("%s is gone since the moment of the command", p.path())
}

// inspectMove judges mv within a file system: the very same file has the other name.
func inspectMove(w *files.Workspace, sc Before, when window) (found, string) {
	from, to := sc.Places[0], sc.Places[1]
	src, err := placeAgain(w, from)
	if err != nil {
		return foundOdd, err.Error()
	}
	dst, err := placeAgain(w, to)
	if err != nil {
		return foundOdd, err.Error()
	}
	switch {
	case !src.Is.there() && dst.Is.same(from.Is) && dst.Is.Size == from.Is.Size && dst.Is.Mtime == from.Is.Mtime && when.holds(dst.Is.Ctime):
		return foundNew, fmt.Sprintf("%s is now %s: the same file, renamed in the moment of the command", from.path(), to.path())
	case src.Is.untouched(from.Is) && from.DirIs.untouched(src.DirIs) && to.DirIs.untouched(dst.DirIs) && dst.Is.untouched(to.Is):
		return foundOld, fmt.Sprintf("%s and %s are exactly as they were before", from.path(), to.path())
	}
	return foundOdd, fmt.Sprintf("%s and %s are neither as before nor as the command leaves them", from.path(), to.path())
}

// trusted says whether a command's name means the system's own program: what else is in PATH may do
// anything.
func trusted(name string, env []string) bool {
	for _, pair := range env {
		list, ok := strings.CutPrefix(pair, "PATH=")
		if !ok {
			continue
		}
		for _, dir := range filepath.SplitList(list) {
			if info, err := os.Stat(filepath.Join(dir, name)); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
				dir = filepath.Clean(dir)
				return dir == "/bin" || dir == "/usr/bin" || name == "git" && dir == "/usr/local/bin"
			}
		}
	}
	return false
}
