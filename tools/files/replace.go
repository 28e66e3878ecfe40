package files

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"agent/recovery/fault"
	"agent/recovery/journal"
	"agent/tools"
	"agent/tools/durable"
	"agent/tools/excerpt"
)

// TempPrefix begins the names under which new content waits for its rename. The rest names the
// call, so that what a killed write left behind is known as its own.
const TempPrefix = ".agent-tmp-"

func isTemp(name string) bool { return strings.HasPrefix(name, TempPrefix) }

// tempName is bounded and has no separator, whatever the run is called.
func tempName(c tools.Call, attempt int) string {
	run := sha256.Sum256([]byte(c.Run))
	return fmt.Sprintf("%s%s-%d.%d.%d", TempPrefix, hex.EncodeToString(run[:6]), c.Turn, c.Index, attempt)
}

// seen is what lies at a target.
type seen struct {
	Exists bool   `json:"exists"`
	Hash   string `json:"hash,omitempty"`  // SHA-256 of the content, in hex
	Inode  uint64 `json:"inode,omitempty"` // 0 where the system tells none
	Ctime  int64  `json:"ctime,omitempty"` // nanoseconds
	Size   int64  `json:"size,omitempty"`
	Mode   uint32 `json:"mode,omitempty"` // permission bits
}

// look reads the file at a target through its hash. The content is returned as well when keep is
// positive, and refused when it is longer.
func (s *Target) look(keep int64) (seen, []byte, error) {
	if s.Info == nil {
		return seen{}, nil, nil
	}
	f, info, err := s.Open()
	if err != nil {
		return seen{}, nil, err
	}
	defer f.Close() // it was only read from; nothing can be lost
	if keep > 0 && info.Size() > keep {
		return seen{}, nil, fmt.Errorf("%s has %d bytes, at most %d can be edited", s.asked, info.Size(), keep)
	}
	h := sha256.New()
	var content []byte
	if keep > 0 {
		content, err = io.ReadAll(io.LimitReader(f, keep+1))
		h.Write(content) // a hash takes every write
	} else {
		_, err = io.Copy(h, f)
	}
	if err == nil {
		info, err = f.Stat() // the ctime as it is once the content is read
	}
	if err != nil {
		return seen{}, nil, fmt.Errorf("read %s: %w", s.asked, reason(err))
	}
	id := IDOf(info)
	s.Info = info
	return seen{
		Exists: true, Hash: hex.EncodeToString(h.Sum(nil)), Inode: id.Inode, Ctime: id.Ctime,
		Size: info.Size(), Mode: uint32(info.Mode().Perm()),
	}, content, nil
}

// writable says why a file must not be written over.
func (s *Target) writable() error {
	switch {
	case s.Name == ".":
		return fmt.Errorf("%s is a folder", s.asked)
	case s.Info == nil:
		return nil
	case s.Info.IsDir():
		return fmt.Errorf("%s is a folder", s.asked)
	case !s.Info.Mode().IsRegular():
		return fmt.Errorf("%s is not a regular file (%s)", s.asked, kindOf(s.Info.Mode()))
	case s.Info.Mode().Perm()&0o222 == 0:
		return fmt.Errorf("%s is read-only (mode %04o)", s.asked, s.Info.Mode().Perm())
	case IDOf(s.Info).Links > 1:
		return fmt.Errorf("%s has %d hard links: writing it here would part it from its other names", s.asked, IDOf(s.Info).Links)
	}
	return nil
}

// replace puts new content in the place of a target's file, durably and at once: whoever reads sees
// the old content or the new one. The steps: parents, each synced; temporary file beside it,
// synced; rename; folder synced. It keeps the permission bits of the file that was there and, where
// it may, its owner.
func (s *Target) replace(ctx context.Context, c tools.Call, content []byte) (journal.Applied, error) {
	if err := s.MakeParents(); err != nil {
		return journal.AppliedNo, err
	}
	for attempt := 1; attempt <= c.Attempt; attempt++ {
		// An earlier attempt's leftover is this call's own. One that cannot be removed is in
		// nobody's way.
		_ = s.Dir.Remove(tempName(c, attempt))
	}
	temp, placed := tempName(c, c.Attempt), false
	defer func() { // also after a panic
		if !placed {
			_ = s.Dir.Remove(temp) // what went wrong before says more
		}
	}()
	if err := s.writeTemp(temp, content); err != nil {
		return journal.AppliedNo, fmt.Errorf("write %s: %w", s.asked, reason(err))
	}
	fault.Hit(fault.WriteTemp)
	err := ctx.Err()
	if err == nil {
		err = s.Unchanged()
	}
	if err != nil {
		return journal.AppliedNo, fmt.Errorf("write %s: %w", s.asked, reason(err))
	}
	if err := s.Dir.Rename(temp, s.Name); err != nil {
		return journal.AppliedUnknown, fmt.Errorf("write %s: %w", s.asked, linkReason(err))
	}
	placed = true
	fault.Hit(fault.WriteRenamed)
	if err := SyncFolder(s.Dir); err != nil {
		return journal.AppliedUnknown, fmt.Errorf("write %s: it is in place, but may not survive a power cut: %w", s.asked, reason(err))
	}
	return journal.AppliedYes, nil
}

// MakeParents makes the folders on the way to the target that are not there, each durable.
func (s *Target) MakeParents() error {
	for len(s.missing) > 0 {
		name := s.missing[0]
		if err := s.Dir.Mkdir(name, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
			return fmt.Errorf("make folder %s for %s: %w", excerpt.Name(name), s.asked, reason(err))
		}
		if err := SyncFolder(s.Dir); err != nil {
			return fmt.Errorf("make folder %s for %s: %w", excerpt.Name(name), s.asked, reason(err))
		}
		info, err := s.Dir.Lstat(name)
		if err == nil && !info.IsDir() {
			err = errors.New("something else is in its place")
		}
		var sub *os.Root
		if err == nil {
			sub, err = Enter(s.Dir, name, info)
		}
		if err != nil {
			return fmt.Errorf("open folder %s for %s: %w", excerpt.Name(name), s.asked, reason(err))
		}
		s.held = append(s.held, sub)
		s.Dir, s.missing = sub, s.missing[1:]
	}
	return nil
}

func (s *Target) writeTemp(temp string, content []byte) error {
	f, err := s.Dir.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	err = s.LikeBefore(f)
	if err == nil {
		_, err = f.Write(content)
	}
	if err == nil {
		err = f.Sync()
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	return err
}

// LikeBefore gives the new file the owner and the permission bits of the old one.
func (s *Target) LikeBefore(f *os.File) error {
	if s.Info == nil {
		return nil
	}
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if was, is := IDOf(s.Info), IDOf(info); was.UID != is.UID || was.GID != is.GID {
		// Only a privileged process may give files away. A file of somebody else that may be
		// written here becomes this process's own, as every editor that saves by rename makes it.
		_ = f.Chown(was.UID, was.GID)
	}
	return f.Chmod(s.Info.Mode().Perm())
}

// Unchanged makes sure that what is about to be replaced is still what was looked at.
func (s *Target) Unchanged() error {
	now, err := s.Dir.Lstat(s.Name)
	switch {
	case errors.Is(err, fs.ErrNotExist) && s.Info == nil:
		return nil
	case errors.Is(err, fs.ErrNotExist):
		return errors.New("it was removed meanwhile")
	case err != nil:
		return err
	case s.Info == nil:
		return errors.New("it was made by someone else meanwhile")
	case !os.SameFile(now, s.Info) || IDOf(now).Ctime != IDOf(s.Info).Ctime || !now.ModTime().Equal(s.Info.ModTime()):
		return errors.New("it was changed by someone else meanwhile")
	}
	return nil
}

// SyncFolder makes the names in a folder durable.
func SyncFolder(dir *os.Root) error {
	f, err := dir.Open(".")
	if err != nil {
		return err
	}
	err = durable.SyncOpened(f)
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	return err
}

func linkReason(err error) error {
	var l *os.LinkError
	if errors.As(err, &l) {
		return l.Err
	}
	return reason(err)
}
