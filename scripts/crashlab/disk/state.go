//go:build linux

package main

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// The models of what a cut leaves of what nobody had waited for.
const (
	everything = "everything" // all of it: the process was killed, and the machine was not
	synced     = "synced"     // nothing of it; a name only if its folder was synced since
	prefix     = "prefix"     // of each file the first few writes, of each folder the first few changes
	scattered  = "scattered"  // any of them
	torn       = "torn"       // as prefix, and of the next write some sectors
	nosync     = "nosync"     // as scattered for what files hold, of all that was ever written: a disk that ignores fsync
)

func models() []string { return []string{everything, synced, prefix, scattered, torn, nosync} }

const sector = 512

// shot makes one state of a timeline.
type shot struct {
	time  *timeline
	model string
	seed  uint64
	rng   *rand.Rand
	keep  []string
	omit  []string
	into  string
	names map[uint64]map[string]uint64 // of folders, after the cut
	wrote map[uint64]string            // files, where they were written first
}

// take writes the folder as a cut leaves it. into must not exist. What is in keep stays as it is
// seen: it stands for what is not on this disk. A path that begins like one in omit is left out,
// without a change to the rest.
func (t *timeline) take(model string, seed uint64, into string, keep, omit []string) error {
	if !slices.Contains(models(), model) {
		return fmt.Errorf("there is no model %q; there are %s", model, strings.Join(models(), ", "))
	}
	s := &shot{time: t, model: model, seed: seed, rng: rand.New(rand.NewPCG(seed, uint64(t.at))), keep: keep, omit: omit, into: into,
		names: map[uint64]map[string]uint64{}, wrote: map[uint64]string{}}
	s.cutNames()
	if err := os.Mkdir(into, 0o700); err != nil {
		return err
	}
	return s.folder(rootID, "")
}

// cutNames decides which names there are.
func (s *shot) cutNames() {
	t := s.time
	names := map[uint64]map[string]entry{}
	var waiting []*change
	seen := map[*change]bool{}
	for _, id := range slices.Sorted(maps.Keys(t.inodes)) {
		x := t.inodes[id]
		if !x.folder {
			continue
		}
		names[id] = maps.Clone(x.durable)
		var open []*change
		for _, c := range x.changes {
			if !c.done && !seen[c] {
				seen[c] = true
				open = append(open, c)
			}
		}
		waiting = append(waiting, s.choose(open)...)
	}
	slices.SortFunc(waiting, func(a, b *change) int { return a.n - b.n })
	for _, c := range waiting {
		for _, p := range c.sets {
			place(names[p.dir], p, c.n)
		}
	}
	for id, of := range names {
		s.names[id] = map[string]uint64{}
		for name, e := range of {
			if e.id != 0 {
				s.names[id][name] = e.id
			}
		}
	}
	for _, p := range s.keep {
		s.keepName(p)
	}
}

// choose says which of a folder's open changes have reached the disk.
func (s *shot) choose(open []*change) []*change {
	switch s.model {
	case everything, nosync:
		return open
	case synced:
		return nil
	case prefix, torn:
		return open[:s.rng.IntN(len(open)+1)]
	}
	var out []*change
	moved := map[uint64]bool{}
	for _, c := range slices.Backward(open) {
		// What moved a file after another move knows where that one put it.
		if s.rng.IntN(2) == 0 && (c.moves == 0 || !moved[c.moves]) {
			continue
		}
		if c.moves != 0 {
			moved[c.moves] = true
		}
		out = append(out, c)
	}
	return out
}

// keepName gives a path the name that is seen, and the folders above it.
func (s *shot) keepName(p string) {
	dir := uint64(rootID)
	for part := range strings.SplitSeq(p, "/") {
		x := s.time.inodes[dir]
		if x == nil || !x.folder {
			return
		}
		id, ok := x.names[part]
		if !ok {
			delete(s.names[dir], part)
			return
		}
		s.names[dir][part] = id
		dir = id
	}
}

// folder writes a folder and all that is in it.
func (s *shot) folder(id uint64, at string) error {
	for _, name := range slices.Sorted(maps.Keys(s.names[id])) {
		child := s.names[id][name]
		x := s.time.inodes[child]
		if x == nil {
			return fmt.Errorf("%s: there is no file of number %d", path.Join(at, name), child)
		}
		to := path.Join(at, name)
		if slices.ContainsFunc(s.omit, func(p string) bool { return strings.HasPrefix(to, p) }) {
			continue
		}
		if !x.folder {
			if err := s.file(child, x, to); err != nil {
				return err
			}
			continue
		}
		if err := os.Mkdir(filepath.Join(s.into, to), 0o700); err != nil {
			return err
		}
		if err := s.folder(child, to); err != nil {
			return err
		}
		if err := os.Chmod(filepath.Join(s.into, to), os.FileMode(x.mode&0o777)); err != nil {
			return err
		}
	}
	return nil
}

func (s *shot) file(id uint64, x *inode, at string) error {
	to := filepath.Join(s.into, at)
	if first, ok := s.wrote[id]; ok {
		return os.Link(first, to)
	}
	s.wrote[id] = to
	if x.link != "" {
		return os.Symlink(x.link, to)
	}
	own := *x
	c := s.bytes(id, &own, slices.ContainsFunc(s.keep, func(p string) bool { return at == p || strings.HasPrefix(at, p+"/") }))
	f, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	if _, err = f.Write(c.data); err == nil {
		err = f.Truncate(c.size)
	}
	if err == nil {
		err = f.Chmod(os.FileMode(own.mode & 0o777))
	}
	if e := f.Close(); err == nil {
		err = e
	}
	return err
}

// bytes decides what a file holds; the mode may change with it.
func (s *shot) bytes(id uint64, x *inode, kept bool) content {
	n := len(x.pending)
	s.rng = rand.New(rand.NewPCG(s.seed, uint64(s.time.at)<<32|id)) // of its own: what is left out changes nothing
	if n == 0 || s.model == synced && !kept {
		return x.kept
	}
	c := x.kept.clone()
	cut := n
	if (s.model == prefix || s.model == torn) && !kept {
		cut = s.rng.IntN(n + 1)
	}
	for i := range x.pending[:cut] {
		if (s.model == scattered || s.model == nosync) && !kept && s.rng.IntN(2) == 0 {
			continue
		}
		x.apply(&c, &x.pending[i], -1)
	}
	if s.model == torn && cut < n {
		if sectors := s.tear(&x.pending[cut]); sectors > 0 {
			x.apply(&c, &x.pending[cut], sectors)
		}
	}
	return c
}

// tear says how many bytes of a write reached the disk: up to the boundary of a sector inside of
// it, or none.
func (s *shot) tear(op *operation) int {
	if op.Op != opWrite {
		return 0
	}
	first := (op.Offset/sector+1)*sector - op.Offset
	inside := (int64(len(op.data))-first-1)/sector + 1 // boundaries within it
	if int64(len(op.data)) <= first {
		return 0
	}
	k := s.rng.Int64N(inside + 1)
	if k == 0 {
		return 0
	}
	return int(first + (k-1)*sector)
}
