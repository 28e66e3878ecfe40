package scan

import (
	"bytes"
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
	"agent/tools/durable"
)

// ErrNotEmpty says that a folder stays, since something is in it.
var ErrNotEmpty = errors.New("the folder is not empty")

// ErrChanged says that a path stays as it is, since somebody changed it at that very moment.
var ErrChanged = errors.New("it was changed by someone else meanwhile")

// TempPrefix begins the names under which what is made again waits for its rename. The rest is
// worked out from the name that it gets, so that what a killed Restore left is found by the next.
const TempPrefix = ".agent-restore-"

const tempHex = 16 // digits behind the prefix

func tempName(name string) string {
	sum := sha256.Sum256([]byte(name))
	return TempPrefix + hex.EncodeToString(sum[:tempHex/2])
}

// IsTemp says whether a name is one that Restore uses for a moment.
func IsTemp(name string) bool {
	digits, ok := strings.CutPrefix(name, TempPrefix)
	return ok && len(digits) == tempHex && strings.Trim(digits, "0123456789abcdef") == ""
}

// Restore makes a version again, durably; content is that of a regular file. A path that is as
// wanted is not written, unless it is a file that may not be read. With want nil what is there is
// removed, a folder only if it is empty, and ErrNotEmpty says that it is not; so it is where a
// folder is in the way of something else. What is of another kind gives way, so a path that changes
// its kind is one Restore. A removal before it would, carried out once more after a kill, take away
// what was made.
//
// Whoever reads a file sees what was there or what is wanted, whole, and so does who looks after a
// kill. A link is made and never followed, and no link is followed on the way. Folders that are
// missing on the way are made. One that may not be written in is given the permission for that
// moment; after a kill in between it keeps it until its own version is made again, so a plan that
// was cut off is to be carried out from its begin.
func Restore(root *os.Root, path string, want *journal.FileVersion, content []byte) error {
	var f Folders
	return first(f.Restore(root, path, want, content), f.Sync(root))
}

// Clear removes what a killed Restore of a path left, for who does not restore it again.
func Clear(root *os.Root, path string) error {
	names, err := split(path)
	if err != nil {
		return about("clear up at", path, err)
	}
	last := len(names) - 1
	r := &restoring{root: root, parents: names[:last], name: names[last]}
	there, err := r.way(root, r.parents, nil)
	if err == nil && there {
		err = r.leftover()
	}
	if err = first(err, r.close()); err != nil {
		return about("clear up at", path, err)
	}
	return nil
}

// Folders are those whose names are not durable yet: for who makes many versions again and then
// syncs each folder once.
type Folders struct{ changed map[string]struct{} }

// Restore is the function of that name, but that what it did to names is durable after Sync alone.
func (f *Folders) Restore(root *os.Root, path string, want *journal.FileVersion, content []byte) error {
	names, err := split(path)
	if err == nil {
		err = possible(want, content)
	}
	if err == nil {
		last := len(names) - 1
		r := &restoring{root: root, folders: f, parents: names[:last], name: names[last]}
		err = first(r.run(want, content), r.close())
	}
	if err != nil {
		return about("restore", path, err)
	}
	return nil
}

// possible says why a version cannot be made.
func possible(want *journal.FileVersion, content []byte) error {
	switch {
	case want == nil:
		return nil
	case want.Kind == journal.FileRegular && int64(len(content)) != want.Size:
		return fmt.Errorf("its content has %d bytes and not %d", len(content), want.Size)
	case want.Kind == journal.FileLink && want.Link == "":
		return errors.New("the link leads nowhere")
	case want.Kind == journal.FileRegular, want.Kind == journal.FileLink, want.Kind == journal.FileFolder:
		return nil
	}
	return fmt.Errorf("what is of kind %q cannot be made again", want.Kind)
}

// restoring is one version under way.
type restoring struct {
	reached
	folders *Folders
	root    *os.Root
	parents []string
	name    string
	now     fs.FileInfo // what is there; nil: nothing
}

func (r *restoring) run(want *journal.FileVersion, content []byte) error {
	made := r.folders
	if want == nil {
		made = nil // nothing is where the folder is missing
	}
	there, err := r.way(r.root, r.parents, made)
	if err != nil || !there {
		return err
	}
	r.folders.add(r.parents)
	if err := r.leftover(); err != nil {
		return err
	}
	if r.now, err = r.lstat(r.name); err != nil {
		return err
	}
	switch {
	case want == nil:
		return r.remove()
	case want.Kind == journal.FileFolder:
		return r.folder(want)
	case want.Kind == journal.FileLink:
		return r.link(want)
	}
	return r.regular(want, content)
}

// lstat looks at a name in the folder; nil where nothing is.
func (r *restoring) lstat(name string) (info fs.FileInfo, err error) {
	err = r.allowed(func() error { info, err = r.dir.Lstat(name); return err })
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return info, err
}

// leftover removes what a killed Restore left.
func (r *restoring) leftover() error {
	temp := tempName(r.name)
	info, err := r.lstat(temp)
	if info == nil || info.IsDir() {
		return err // nothing is there, or nothing of ours
	}
	return r.allowed(func() error { return r.dir.Remove(temp) })
}

// remove takes away what is there.
func (r *restoring) remove() error {
	if r.now == nil {
		return nil
	}
	if !r.now.IsDir() {
		if err := r.unchanged(); err != nil {
			return err
		}
	}
	err := r.allowed(func() error { return r.dir.Remove(r.name) })
	if r.now.IsDir() && isNotEmpty(err) && r.sweep() {
		err = r.allowed(func() error { return r.dir.Remove(r.name) })
	}
	if r.now.IsDir() && isNotEmpty(err) {
		return ErrNotEmpty
	}
	return err
}

// sweep empties a folder that holds nothing but what killed Restores left.
func (r *restoring) sweep() bool {
	sub, err := enter(r.dir, r.name)
	if sub == nil || err != nil {
		return false
	}
	defer sub.Close() // nothing was written through it
	list, err := namesIn(sub)
	if err != nil {
		return false
	}
	for _, name := range list {
		info, err := sub.Lstat(name)
		if err != nil || info.IsDir() || !IsTemp(name) {
			return false
		}
	}
	for _, name := range list {
		if sub.Remove(name) != nil {
			return false
		}
	}
	return true
}

// folder makes a folder, or gives the one that is there its mode.
func (r *restoring) folder(want *journal.FileVersion) error {
	if r.now != nil && !r.now.IsDir() {
		if err := r.remove(); err != nil {
			return err
		}
		r.now = nil
	}
	if r.now != nil && modeOf(r.now.Mode()) == want.Mode {
		return nil
	}
	if r.now == nil {
		if err := r.allowed(func() error { return r.dir.Mkdir(r.name, 0o700) }); err != nil {
			return err
		}
	}
	sub, err := enter(r.dir, r.name)
	if errors.Is(err, fs.ErrPermission) && r.dir.Chmod(r.name, fileMode(want.Mode|0o700)) == nil {
		sub, err = enter(r.dir, r.name)
	}
	if err == nil && sub == nil {
		err = ErrChanged
	}
	if err != nil {
		return err
	}
	defer sub.Close() // what is synced is the folder itself
	f, err := sub.Open(".")
	if err != nil {
		return err
	}
	return first(chmod(f, want.Mode), durable.SyncOpened(f), f.Close())
}

// link makes a link.
func (r *restoring) link(want *journal.FileVersion) error {
	if r.now != nil && r.now.Mode()&fs.ModeSymlink != 0 {
		if to, err := r.dir.Readlink(r.name); err == nil && to == string(want.Link) {
			return nil
		}
	}
	temp := tempName(r.name)
	if err := r.allowed(func() error { return r.dir.Symlink(string(want.Link), temp) }); err != nil {
		return err
	}
	return r.place(temp)
}

// regular makes a file, or gives the one that is there its mode.
func (r *restoring) regular(want *journal.FileVersion, content []byte) error {
	if r.now != nil && r.now.Mode().IsRegular() && r.now.Size() == want.Size {
		if done, err := r.sameContent(want, content); done || err != nil {
			return err
		}
	}
	temp := tempName(r.name)
	var f *os.File
	err := r.allowed(func() (err error) {
		f, err = r.dir.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		return err
	})
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	var mode error
	if err == nil {
		r.likeBefore(f)
		mode = chmod(f, want.Mode)
		err = f.Sync()
	}
	if err = first(err, f.Close()); err != nil {
		_ = r.dir.Remove(temp) // what went wrong before says more
		return err
	}
	return first(r.place(temp), mode)
}

// sameContent says whether the file that is there has the content that is wanted, and its mode or
// the wanted one by now. One with other names gets its mode as a new file does.
func (r *restoring) sameContent(want *journal.FileVersion, content []byte) (bool, error) {
	f, err := openRegular(r.dir, r.name, r.now)
	if err != nil {
		return false, nil // it is written over, or found changed
	}
	defer f.Close() // what is written is synced
	got, err := io.ReadAll(io.LimitReader(f, want.Size+1))
	if err != nil || !bytes.Equal(got, content) {
		return false, nil
	}
	if modeOf(r.now.Mode()) == want.Mode {
		return true, nil
	}
	if entryOf(r.now).Links != 1 || chmod(f, want.Mode) != nil {
		return false, nil
	}
	return true, f.Sync()
}

// likeBefore gives a new file the owner of the one that it replaces. Only a privileged process may:
// a file of somebody else that may be replaced here becomes this process's own.
func (r *restoring) likeBefore(f *os.File) {
	if r.now == nil || !r.now.Mode().IsRegular() {
		return
	}
	info, err := f.Stat()
	if err != nil {
		return
	}
	uid, gid, ok := ownerOf(r.now)
	if u, g, known := ownerOf(info); ok && known && (u != uid || g != gid) {
		_ = f.Chown(uid, gid) // see above
	}
}

// place gives what was made its name.
func (r *restoring) place(temp string) error {
	fault.Hit(fault.RestoreTemp)
	err := r.unchanged()
	if err == nil && r.now != nil && r.now.IsDir() {
		err = r.remove()
	}
	if err == nil {
		err = r.allowed(func() error { return r.dir.Rename(temp, r.name) })
	}
	if err != nil {
		_ = r.dir.Remove(temp) // as above
		return err
	}
	fault.Hit(fault.RestoreRenamed)
	return nil
}

// unchanged makes sure that what is about to go is what was looked at.
func (r *restoring) unchanged() error {
	now, err := r.dir.Lstat(r.name)
	switch {
	case errors.Is(err, fs.ErrNotExist) && r.now == nil:
		return nil
	case errors.Is(err, fs.ErrNotExist):
		return ErrChanged
	case err != nil:
		return err
	case r.now == nil || !os.SameFile(now, r.now):
		return ErrChanged
	case !now.IsDir() && entryOf(now) != entryOf(r.now):
		return ErrChanged
	}
	return nil
}

// chmod sets a mode and makes sure that it is set: of a group that this user is not in, the system
// drops setgid silently.
func chmod(f *os.File, mode uint32) error {
	if err := f.Chmod(fileMode(mode)); err != nil {
		return err
	}
	info, err := f.Stat()
	if err == nil && modeOf(info.Mode()) != mode {
		err = fmt.Errorf("it got the mode %04o and not %04o", modeOf(info.Mode()), mode)
	}
	return err
}
