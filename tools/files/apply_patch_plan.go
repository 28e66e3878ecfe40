package files

import (
	"errors"
	"fmt"
	"os"
	"path"
	"strings"

	"agent/tools/patch"
)

// maxPatched bounds the contents that one patch holds in memory.
const maxPatched = 128 << 20

// plan applies a patch in memory. Nothing is written. What makes a file comes before what deletes
// one, and that is the order in which it is carried out.
func (w *Workspace) plan(p patch.Patch) ([]change, error) {
	var makes, deletes []change
	var total int64
	for i, f := range p.Files {
		if err := w.settleName(&f); err != nil {
			return nil, err
		}
		made, deleted, err := w.planFile(i, f)
		if err != nil {
			return nil, err
		}
		for _, ch := range made {
			total += ch.Before.Size + ch.Size
		}
		if total > maxPatched {
			return nil, fmt.Errorf("the files of the patch have more than %d MiB together: apply it in parts", maxPatched>>20)
		}
		makes, deletes = append(makes, made...), append(deletes, deleted...)
	}
	all := append(makes, deletes...)
	return all, distinct(all)
}

// settleName decides whether a name that may carry a prefix does.
func (w *Workspace) settleName(f *patch.File) error {
	if f.Literal == "" {
		return nil
	}
	bare, literal := f.Name(), f.Literal
	first, _, _ := strings.Cut(literal, "/")
	if f.Create() {
		if there, err := w.there(first); err != nil || !there {
			return err
		}
		return fmt.Errorf("%s may mean %s or, since there is a folder %s, itself: write the line \"diff --git a/PATH b/PATH\" above its names", literal, bare, first)
	}
	here, err := w.there(bare)
	if err != nil {
		return err
	}
	there, err := w.there(literal)
	switch {
	case err != nil || !there:
		return err
	case here:
		return fmt.Errorf("%s may mean %s or itself, and both are there: write the line \"diff --git a/PATH b/PATH\" above its names", literal, bare)
	}
	if f.Old != "" {
		f.Old = literal
	}
	if f.New != "" {
		f.New = literal
	}
	return nil
}

func (w *Workspace) there(name string) (bool, error) {
	s, err := w.Find(name)
	if err != nil {
		return false, err
	}
	defer s.Close()
	return s.Info != nil, nil
}

// planFile applies one file's change in memory.
func (w *Workspace) planFile(i int, f patch.File) (makes, deletes []change, err error) {
	var old []byte
	var was change
	if !f.Create() {
		if was, old, err = w.before(f.Old, f.Delete() || f.Rename()); err != nil {
			return nil, nil, err
		}
	}
	content, n, err := f.Apply(old)
	if err != nil {
		return nil, nil, err
	}
	was.File, was.Removed = i, n.Removed
	if f.Delete() {
		was.Gone = true
		return nil, []change{was}, nil
	}
	exec, err := executable(f, was.Before)
	if err != nil {
		return nil, nil, err
	}
	made := was
	if f.Create() || f.Rename() {
		if made, err = w.free(f.New); err != nil {
			return nil, nil, err
		}
	}
	made.File, made.Exec, made.Added, made.Removed = i, exec, n.Added, n.Removed
	made.After, made.Size = hashOf(content), int64(len(content))
	if f.Rename() {
		made.From = was.Path
		was.Gone, was.Moved = true, true
		deletes = []change{was}
	} else if was.Before.Exists && made.After == was.Before.Hash && exec == (was.Before.Mode&0o100 != 0) {
		return nil, nil, fmt.Errorf("the patch changes nothing in %s", f.Old)
	}
	return []change{made}, deletes, nil
}

// before looks at a file that a patch changes. goes says that its name is to go.
func (w *Workspace) before(name string, goes bool) (change, []byte, error) {
	s, err := w.targetToWrite(name)
	if err != nil {
		return change{}, nil, err
	}
	defer s.Close()
	switch {
	case s.Info == nil:
		return change{}, nil, fmt.Errorf("%s does not exist; a file is made by --- /dev/null", name)
	case s.linked && goes:
		return change{}, nil, fmt.Errorf("%s is a symlink to %s: a patch neither deletes nor renames a symlink", name, s.Rel)
	}
	before, content, err := s.look(maxEdit)
	if err != nil {
		return change{}, nil, err
	}
	e, err := evidenceOf(w, s, before, nil)
	e.After, e.Size = "", 0
	return change{evidence: e}, content, err
}

// free looks at a place where a patch makes a file.
func (w *Workspace) free(name string) (change, error) {
	s, err := w.Find(name)
	if err == nil && s.Info == nil {
		s.Close()
		s, err = w.targetToWrite(name)
	}
	if err != nil {
		return change{}, err
	}
	defer s.Close()
	if s.Info != nil {
		return change{}, fmt.Errorf("%s exists already: a patch makes no file over another one", name)
	}
	e, err := evidenceOf(w, s, seen{}, nil)
	return change{evidence: e}, err
}

// executable says whether a file is to be executable. The old mode must be what is there.
func executable(f patch.File, before seen) (bool, error) {
	was := before.Mode&0o100 != 0
	switch {
	case f.NewMode == 0:
		return was, nil
	case !f.Create() && (f.OldMode&0o100 != 0) != was:
		return false, fmt.Errorf("%s has the mode %04o, and the patch's old mode is %o", f.Old, before.Mode, f.OldMode)
	}
	return f.NewMode&0o100 != 0, nil
}

// distinct refuses two changes of one path, also where only a file system tells upper from lower
// case, and a file that would have to be a folder too.
func distinct(all []change) error {
	if len(all) == 0 {
		return errors.New("the patch changes nothing")
	}
	seen := map[string]change{}
	for _, ch := range all {
		key := strings.ToLower(ch.Path)
		other, double := seen[key]
		same := ch.Path == other.Path || ch.Before.Exists && ch.Before.Inode == other.Before.Inode && ch.Before.Inode != 0
		switch {
		case double && (same || !ch.Before.Exists && !other.Before.Exists):
			return fmt.Errorf("%s is in the patch twice: put all hunks of a file below one header", ch.Path)
		case double && !(ch.Gone || other.Gone) && ch.Before.Exists != other.Before.Exists:
			return fmt.Errorf("%s and %s differ in upper and lower case only", other.Path, ch.Path)
		}
		seen[key] = ch
	}
	for _, ch := range all {
		for at := path.Dir(ch.Path); at != "."; at = path.Dir(at) {
			if other, ok := seen[strings.ToLower(at)]; ok {
				return fmt.Errorf("%s would have to be a file and the folder of %s", other.Path, ch.Path)
			}
		}
	}
	return nil
}

// modeFor is the mode of the new file: that of the old one, executable for whoever may read it, or
// not at all.
func modeFor(old os.FileMode, exec bool) os.FileMode {
	if (old&0o100 != 0) == exec {
		return old
	}
	if exec {
		return old | old&0o444>>2
	}
	return old &^ 0o111
}
