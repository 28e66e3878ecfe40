// Package artifact takes what the phases of a flow make, compares it with its record later, and
// puts it back. A flow says of a phase that it is done only after its outputs were taken, and the
// order of that is fixed:
//
//  1. the file is opened below the workspace without following a link out of it ([Folder.Take]): a
//     regular file, not git's, not of this program's settings or state;
//  2. it is synced, and read once, so that its hash, what is asked of it and its copy are of the
//     same bytes; size, times and inode are the same before and after;
//  3. the folders on the way to it are synced;
//  4. its bytes are sealed for the store, in which they are with the commit that names them
//     ([Copies.Rows]).
//
// Later a look says how what lies there compares with the record ([Folder.Check]): a file that is
// gone, empty or cut holds nothing of a person's and may be put back ([Folder.Restore]); anything
// else that differs is somebody's work and is never written over by itself. What the host writes
// comes into its place at once or not at all: a temporary file, synced, then linked where nothing
// lies, so that nothing can be replaced, or renamed over exactly the file that was looked at; then
// the folder is synced.
package artifact

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"
	"syscall"

	"agent/recovery/fault"
	"agent/tools/files"
)

// CopyLimit is how long a file may be that is copied and whose content is looked at, bytes.
const CopyLimit = 16 << 20

// FlowLimit is how much a flow may have copied, bytes.
const FlowLimit = 256 << 20

// Folder is the workspace of a flow. It is used by one goroutine at a time.
type Folder struct {
	w     *files.Workspace
	owner string            // tells temporary files of this flow from those of others
	order map[string]string // stamps of folders that were synced, by path
	named map[string]string // stamps of folders that were synced with a folder in them, by its path
	own   map[string]string // what was put in its place durably, by path: stamp and hash
	hit   func(fault.Point)
	buf   []byte // for what is read

	exchange func(dir *os.Root, a, b string) error // gives two files each other's names
}

// Open opens a workspace. No path may lead into a denied folder, such as the state folder. owner
// names the flow.
func Open(folder string, denied []string, owner string) (*Folder, error) {
	w, err := files.OpenWorkspace(folder, denied)
	if err != nil {
		return nil, err
	}
	return &Folder{
		w: w, owner: owner, order: map[string]string{}, named: map[string]string{}, own: map[string]string{}, hit: fault.Hit, exchange: exchange,
	}, nil
}

// Close lets go of the workspace.
func (f *Folder) Close() { f.w.Close() }

// RefusedError says that what lies at a path is none that a flow may have as an artifact.
type RefusedError struct{ Path, Why string }

func (e *RefusedError) Error() string { return e.Path + ": " + e.Why }

// ChangedError says that somebody wrote at a path meanwhile. Nothing of theirs was replaced.
type ChangedError struct{ Path string }

func (e *ChangedError) Error() string { return e.Path + " was changed by someone else meanwhile" }

// find walks to an artifact. *RefusedError says that none can be there; another error, that nobody
// could look. Where nothing is there, the target has no info.
func (f *Folder) find(name string) (*files.Target, error) {
	file := strings.TrimSuffix(name, "/")
	if name == "" || path.IsAbs(name) || path.Clean(file) != file || file == "." {
		return nil, &RefusedError{name, "not a path below the workspace"}
	}
	if files.Reserved(name) {
		return nil, &RefusedError{name, reserved}
	}
	t, err := f.w.Find(file)
	if err != nil {
		if errors.As(err, new(syscall.Errno)) {
			return nil, err
		}
		return nil, &RefusedError{name, strings.TrimPrefix(err.Error(), file+": ")}
	}
	why := ""
	switch dir := file != name; {
	case t.Linked():
		why = "it is a symlink"
	case files.Reserved(t.Rel):
		why = "it leads to " + t.Rel + ", and " + reserved
	case t.Info == nil:
	case dir && !t.Info.IsDir():
		why = "it is not a folder"
	case !dir && t.Info.IsDir():
		why = "it is a folder"
	case !dir && !t.Info.Mode().IsRegular():
		why = "it is not a regular file"
	}
	if why != "" {
		t.Close()
		return nil, &RefusedError{name, why}
	}
	return t, nil
}

const reserved = "what lies in .git and .agent is no artifact"

// temp is the name under which an artifact waits to come into its place. What a killed process left
// there is known by it.
func (f *Folder) temp(t *files.Target) string {
	sum := sha256.Sum256([]byte(f.owner + "\x00" + t.Rel))
	return files.TempPrefix + "artifact-" + hex.EncodeToString(sum[:8])
}

// stamp tells whether a file was written since, whatever its bytes.
func stamp(info fs.FileInfo) string {
	id := files.IDOf(info)
	return fmt.Sprintf("%d-%d-%d", id.Inode, id.Ctime, info.ModTime().UnixNano())
}

// same says whether two looks saw the same file, and nobody wrote to it in between.
func same(a, b fs.FileInfo) bool {
	return os.SameFile(a, b) && a.Size() == b.Size() && stamp(a) == stamp(b)
}

func digest(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}
