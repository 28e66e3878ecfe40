package files

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"agent/recovery/fault"
	"agent/recovery/journal"
	"agent/tools"
	"agent/tools/patch"
)

// patching is one patch on its way to the disk.
type patching struct {
	w       *Workspace
	call    tools.Call
	changes []change
	todo    []*stage
	made    []folder // for the files, in order
}

// stage is one change that is still to come.
type stage struct {
	change
	n       int // index of the change, which names the temporary file
	target  *Target
	old     []byte  // what is there now
	like    *Target // whose owner and mode it gets; of a rename the old name's
	content []byte  // what is to be there
	temp    string
	staged  os.FileInfo // of the temporary file
}

// folder is a folder that was made for a file.
type folder struct {
	parent *os.Root
	name   string
}

func (j *patching) close() {
	for _, s := range j.todo {
		s.target.Close()
	}
}

// carryOut writes every new content beside its file first, and then has them take their places:
// what makes a file, durably, and then what deletes one, so that no content is ever without a name.
// An error on the way takes back what was done.
func (j *patching) carryOut(ctx context.Context, p patch.Patch) (journal.Applied, error) {
	placed := false
	defer func() { // also after a panic
		if !placed {
			j.unstage()
		}
	}()
	err := j.ready(p)
	if err == nil {
		err = j.stageAll()
	}
	if err == nil {
		fault.Hit(fault.WriteTemp)
		err = ctx.Err()
	}
	for _, s := range j.todo {
		if err == nil {
			err = s.unchanged()
		}
	}
	if err != nil {
		return journal.AppliedNo, err
	}
	for _, gone := range []bool{false, true} {
		if applied, err := j.place(gone); err != nil {
			return applied, err
		}
	}
	placed = true
	return journal.AppliedYes, nil
}

// place has one kind of change take effect, and makes it durable.
func (j *patching) place(gone bool) (journal.Applied, error) {
	for i, s := range j.todo {
		if s.Gone != gone {
			continue
		}
		err := s.unchanged()
		if err == nil {
			err = s.act()
		}
		if err != nil {
			return j.back(j.todo[:i], err)
		}
		fault.Hit(fault.WriteRenamed)
	}
	for _, s := range j.todo {
		if s.Gone != gone {
			continue
		}
		if err := SyncFolder(s.target.Dir); err != nil {
			return journal.AppliedUnknown, fmt.Errorf("write %s: it is in place, but may not survive a power cut: %w", s.Path, reason(err))
		}
	}
	return journal.AppliedYes, nil
}

func (s *stage) act() error {
	if s.Gone {
		if err := s.target.Dir.Remove(s.target.Name); err != nil {
			return fmt.Errorf("delete %s: %w", s.Path, reason(err))
		}
		return nil
	}
	if err := s.target.Dir.Rename(s.temp, s.target.Name); err != nil {
		return fmt.Errorf("write %s: %w", s.Path, linkReason(err))
	}
	return nil
}

func (s *stage) unchanged() error {
	if err := s.target.Unchanged(); err != nil {
		return fmt.Errorf("write %s: %w", s.Path, err)
	}
	return nil
}

// ready looks at every file again. What an earlier attempt did is left out; anything that is
// neither as it was nor as it is to be ends the call before it begins.
func (j *patching) ready(p patch.Patch) error {
	sources := map[string]*stage{}
	for i, ch := range j.changes {
		s, err := j.w.targetToWrite(ch.Path)
		if err != nil {
			return err
		}
		st := &stage{change: ch, n: i, target: s, temp: fmt.Sprintf("%s.%d", tempName(j.call, j.call.Attempt), i)}
		now, content, err := s.look(maxEdit)
		state, why := ch.stateOf(now)
		if err == nil && (s.Rel != ch.Path || state == stateOdd) {
			err = fmt.Errorf("%s; read it again", why)
		}
		if err != nil || state == stateNew {
			s.Close()
			if err != nil {
				return err
			}
			continue
		}
		st.old, st.like, sources[ch.Path] = content, s, st
		j.todo = append(j.todo, st)
	}
	for _, s := range j.todo {
		if s.Gone {
			continue
		}
		old := s.old
		if from := sources[s.From]; from != nil {
			s.like = &Target{asked: s.target.asked, Dir: s.target.Dir, Name: s.target.Name, Info: from.target.Info}
			old = from.old
		}
		var err error
		if s.File >= len(p.Files) {
			return errors.New("what was recorded before is not of this patch")
		}
		if s.content, _, err = p.Files[s.File].Apply(old); err != nil {
			return err
		}
		if hashOf(s.content) != s.After {
			return fmt.Errorf("%s would not become what was recorded", s.Path)
		}
	}
	return nil
}

// stageAll writes every new content to a temporary file beside its place.
func (j *patching) stageAll() error {
	for _, s := range j.todo {
		for attempt := 1; attempt <= j.call.Attempt && len(s.target.missing) == 0; attempt++ {
			// An earlier attempt's leftover is this call's own. One that cannot be removed is in
			// nobody's way.
			_ = s.target.Dir.Remove(fmt.Sprintf("%s.%d", tempName(j.call, attempt), s.n))
		}
		if s.Gone {
			continue
		}
		for len(s.target.missing) > 0 {
			parent, rest := s.target.Dir, s.target.missing
			_, err := parent.Lstat(rest[0])
			s.target.missing = rest[:1]
			if err := s.target.MakeParents(); err != nil {
				return err
			}
			s.target.missing = rest[1:]
			if errors.Is(err, fs.ErrNotExist) {
				j.made = append(j.made, folder{parent, rest[0]})
			}
		}
		if err := s.write(); err != nil {
			return fmt.Errorf("write %s: %w", s.Path, reason(err))
		}
		info, err := s.target.Dir.Lstat(s.temp)
		if err == nil && (info.Mode()&0o100 != 0) != s.Exec {
			err = errors.New("this file system does not keep whether a file is executable")
		}
		if err != nil {
			return fmt.Errorf("write %s: %w", s.Path, reason(err))
		}
		s.staged = info
	}
	return nil
}

// write makes the temporary file, durably.
func (s *stage) write() error {
	s.like.Dir = s.target.Dir // its folders are there by now
	if err := s.like.writeTemp(s.temp, s.content); err != nil {
		return err
	}
	info, err := s.target.Dir.Lstat(s.temp)
	if err != nil {
		return err
	}
	mode := modeFor(info.Mode().Perm(), s.Exec)
	if mode == info.Mode().Perm() {
		return nil
	}
	f, err := s.target.Dir.OpenFile(s.temp, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	err = f.Chmod(mode)
	if err == nil {
		err = f.Sync()
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	return err
}

// unstage removes what was laid ready.
func (j *patching) unstage() {
	for _, s := range j.todo {
		if !s.Gone && len(s.target.missing) == 0 {
			_ = s.target.Dir.Remove(s.temp) // what cannot be removed is hidden, and the next attempt tries again
		}
	}
	for i := len(j.made) - 1; i >= 0; i-- {
		_ = j.made[i].parent.Remove(j.made[i].name) // a folder that somebody put something into stays
	}
}

// back takes back what was done before an error, in reverse. What cannot be taken back is said.
func (j *patching) back(done []*stage, cause error) (journal.Applied, error) {
	var stuck []string
	for i := len(done) - 1; i >= 0; i-- {
		s := done[i]
		err := s.takeBack()
		if err == nil {
			err = SyncFolder(s.target.Dir)
		}
		if err != nil {
			stuck = append(stuck, fmt.Sprintf("%s (%v)", s.Path, reason(err)))
		}
	}
	j.unstage()
	if len(stuck) == 0 {
		return journal.AppliedNo, fmt.Errorf("%w; nothing was changed", cause)
	}
	return journal.AppliedUnknown, fmt.Errorf("%w; the patch was done in part, and this could not be put back: %s", cause, strings.Join(stuck, ", "))
}

// takeBack puts the old content in its place again, if what is there is what this call made.
func (s *stage) takeBack() error {
	now, err := s.target.Dir.Lstat(s.target.Name)
	switch {
	case s.Gone && err == nil:
		return errors.New("something else took its place")
	case s.Gone && !errors.Is(err, fs.ErrNotExist):
		return err
	case !s.Gone && err != nil:
		return err
	case !s.Gone && (!os.SameFile(now, s.staged) || !now.ModTime().Equal(s.staged.ModTime())):
		return errors.New("it was changed by someone else meanwhile")
	}
	if !s.Before.Exists {
		return s.target.Dir.Remove(s.target.Name)
	}
	if err := s.target.writeTemp(s.temp, s.old); err != nil {
		_ = s.target.Dir.Remove(s.temp) // the error before says more
		return err
	}
	return linkReason(s.target.Dir.Rename(s.temp, s.target.Name))
}
