package artifact

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"syscall"

	"agent/recovery/fault"
	"agent/recovery/journal"
	"agent/tools/files"
)

// Restore puts the recorded version of an artifact in the place of what a look found there. Where
// somebody wrote there since, nothing is replaced: *ChangedError. A copy that cannot be used is
// *NoCopyError, a folder that nothing can be written into *FolderError.
func (f *Folder) Restore(ctx context.Context, want journal.Artifact, found Found, copies *Copies) (journal.ArtifactRestored, error) {
	done := journal.ArtifactRestored{Path: want.Path, SHA: want.SHA, Replaced: found.SHA}
	content, why, err := copies.open(ctx, want.Copy, want.SHA)
	if err == nil && why != "" {
		err = &NoCopyError{want.Path, why}
	}
	if err == nil {
		err = inFolder(ctx, f.put(ctx, want.Path, content, fs.FileMode(want.Mode).Perm(), found.info))
	}
	if err != nil {
		return done, fmt.Errorf("put %s back: %w", want.Path, err)
	}
	return done, nil
}

// FolderError says that the folder of the run does not let the host write there. The store is
// whole.
type FolderError struct{ Err error }

func (e *FolderError) Error() string {
	text := e.Err.Error()
	if at := (*fs.PathError)(nil); errors.As(e.Err, &at) { // whose path is a temporary file's
		text = at.Err.Error()
	}
	switch {
	case errors.Is(e.Err, fs.ErrPermission), errors.Is(e.Err, syscall.EROFS):
		text += "; make its folder writable, then resume"
	case errors.Is(e.Err, syscall.ENOSPC), errors.Is(e.Err, syscall.EDQUOT):
		text += "; make room, then resume"
	}
	return text
}

// Unwrap is what the system said.
func (e *FolderError) Unwrap() error { return e.Err }

// inFolder is an error of writing in the folder of the run, where the system refused that.
func inFolder(ctx context.Context, err error) error {
	if err == nil || ctx.Err() != nil || errors.As(err, new(*RefusedError)) || errors.As(err, new(*ChangedError)) {
		return err
	}
	return &FolderError{err}
}

// NoCopyError says that an artifact cannot be put back.
type NoCopyError struct{ Path, Why string }

func (e *NoCopyError) Error() string { return e.Path + ": " + e.Why }

// ForeignError says that something lies where the host was to write, which it did not write and
// which was not there when the phase began: a person decides.
type ForeignError struct {
	Path string
	Now  journal.Artifact
}

func (e *ForeignError) Error() string {
	return fmt.Sprintf("%s is not what was there when the phase began, nor what was written there since (it is %.8s now)", e.Path, e.Now.SHA)
}

// Answer writes an output that is a phase's last answer. It replaces nothing but what was there
// when the phase began or what it wrote there earlier, whose hashes are mine: else *ForeignError,
// or *RefusedError where no file can be. An answer that is there already is made durable.
func (f *Folder) Answer(ctx context.Context, name string, content []byte, mine []string) error {
	err := f.answer(ctx, name, content, mine)
	if err != nil && !errors.As(err, new(*ForeignError)) {
		err = inFolder(ctx, err)
	}
	if err != nil {
		return fmt.Errorf("write the answer: %w", err)
	}
	return nil
}

func (f *Folder) answer(ctx context.Context, name string, content []byte, mine []string) error {
	t, err := f.find(name)
	if err != nil {
		return err
	}
	defer t.Close()
	if strings.HasSuffix(name, "/") {
		return &RefusedError{name, "a folder is no answer"}
	}
	if t.Info == nil {
		return f.put(ctx, name, content, 0, nil)
	}
	_ = t.Dir.Remove(f.temp(t)) // what a killed process left: it may be a second name of the answer
	r, err := f.read(ctx, t, 0, true)
	if err != nil {
		return err
	}
	switch {
	case r.sha == digest(content):
		if err := f.syncFolders(t); err != nil {
			return err
		}
		f.own[t.Rel] = placed(r.info, r.sha)
		return nil
	case !slices.Contains(mine, r.sha):
		return &ForeignError{name, r.artifact(name)}
	}
	return f.put(ctx, name, content, 0, r.info)
}

// put brings content into its place. was is what was found there; nil for nothing. mode is that of
// a file that is made; 0 for an ordinary one.
func (f *Folder) put(ctx context.Context, name string, content []byte, mode fs.FileMode, was fs.FileInfo) error {
	t, err := f.find(name)
	if err != nil {
		return err
	}
	defer t.Close()
	if (was == nil) != (t.Info == nil) || was != nil && !same(was, t.Info) {
		return &ChangedError{name}
	}
	if err := t.MakeParents(); err != nil {
		return err
	}
	temp := f.temp(t)
	if err := t.Dir.Remove(temp); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	err = writeTemp(t, temp, content, mode)
	if err == nil {
		f.hit(fault.ArtifactTemp)
		err = context.Cause(ctx)
	}
	switch {
	case err != nil:
		return dropTemp(t, temp, err)
	case was == nil:
		err = f.link(t, temp, mode, content)
	default:
		err = f.replace(t, temp)
	}
	if err == nil {
		err = f.syncFolders(t)
	}
	if err != nil {
		return err
	}
	if info, err := t.Dir.Lstat(t.Name); err == nil {
		f.own[t.Rel] = placed(info, digest(content))
	}
	return nil // without it the file is made durable once more when it is taken
}

// placed tells a file that was put in its place, as it was then, from what anybody wrote there
// since: its bytes and its name are durable.
func placed(info fs.FileInfo, sha string) string { return stamp(info) + " " + sha }

// dropTemp removes what will not come into its place.
func dropTemp(t *files.Target, temp string, err error) error {
	_ = t.Dir.Remove(temp) // what went wrong before says more
	return err
}

// writeTemp writes what waits to come into its place, durably.
func writeTemp(t *files.Target, temp string, content []byte, mode fs.FileMode) error {
	file, err := t.Dir.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	if err = t.LikeBefore(file); err == nil && t.Info == nil && mode != 0 {
		err = file.Chmod(mode)
	}
	return fill(file, content, err)
}

// fill writes the content of a new file durably, and closes the file; not after an error before.
func fill(file *os.File, content []byte, err error) error {
	if err == nil {
		_, err = file.Write(content)
	}
	if err == nil {
		err = file.Sync()
	}
	return errors.Join(err, file.Close())
}

// link gives a temporary file a name that nothing has. *ChangedError says that something has it by
// now.
func (f *Folder) link(t *files.Target, temp string, mode fs.FileMode, content []byte) error {
	err := t.Dir.Link(temp, t.Name)
	if errors.Is(err, errors.ErrUnsupported) || errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EMLINK) {
		err = makeNew(t, mode, content) // this file system has no hard links
	}
	if errors.Is(err, fs.ErrExist) {
		err = &ChangedError{t.Rel}
	}
	if err != nil {
		return dropTemp(t, temp, err)
	}
	f.hit(fault.ArtifactLinked)
	return t.Dir.Remove(temp)
}

// makeNew writes a file where none is, and replaces nothing. A process that is killed meanwhile
// leaves a file that is empty or cut, which the next look puts back.
func makeNew(t *files.Target, mode fs.FileMode, content []byte) error {
	file, err := t.Dir.OpenFile(t.Name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	if mode != 0 {
		err = file.Chmod(mode)
	}
	return fill(file, content, err)
}

// replace puts a temporary file in the place of the target, as far as that still is what was looked
// at: else *ChangedError.
func (f *Folder) replace(t *files.Target, temp string) error {
	ours, err := t.Dir.Lstat(temp)
	if err == nil && t.Unchanged() != nil {
		err = &ChangedError{t.Rel}
	}
	if err != nil {
		return dropTemp(t, temp, err)
	}
	err = f.exchange(t.Dir, temp, t.Name)
	if errors.Is(err, errors.ErrUnsupported) || errors.Is(err, syscall.EINVAL) {
		if err = t.Dir.Rename(temp, t.Name); err == nil {
			f.hit(fault.ArtifactLinked)
			return nil
		}
	}
	if errors.Is(err, fs.ErrNotExist) {
		err = &ChangedError{t.Rel}
	}
	if err != nil {
		return dropTemp(t, temp, err)
	}
	f.hit(fault.ArtifactLinked)
	old, err := t.Dir.Lstat(temp)
	if err == nil && untouched(old, t.Info) {
		return t.Dir.Remove(temp)
	}
	if err == nil {
		err = f.giveBack(t, temp, ours)
	}
	if err != nil {
		return fmt.Errorf("give %s back what was written there meanwhile, which lies in %s: %w", t.Rel, temp, err)
	}
	return dropTemp(t, temp, &ChangedError{t.Rel})
}

// untouched says whether nobody wrote to a file whose name was changed, which moves its ctime.
func untouched(a, b fs.FileInfo) bool {
	return os.SameFile(a, b) && a.Size() == b.Size() && a.ModTime().Equal(b.ModTime())
}

// giveBack gives what somebody put in the place of a target, right before ours came there, its name
// again. Where they saved once more in between, the newest counts, as it would have without us.
func (f *Folder) giveBack(t *files.Target, temp string, ours fs.FileInfo) error {
	if err := f.exchange(t.Dir, temp, t.Name); err != nil {
		return err
	}
	out, err := t.Dir.Lstat(temp)
	if err == nil && !untouched(out, ours) {
		err = f.exchange(t.Dir, temp, t.Name)
	}
	return err
}
