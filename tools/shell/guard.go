package shell

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"agent/tools"
	"agent/tools/gitrepo"
	"agent/tools/sandbox"
)

// before looks at what git, editors and shells obey in the workspace of a command that may write
// there without a yes, and in the folders beside it that it may write. What is Fixed of a folder
// the sandbox keeps from changing; what the command adds beside that is put back at its end. A
// command that a person let run, or wrote, may add to it: then only what was always kept is.
func (t shell) before(c tools.Call, a shellArgs) (before *gitrepo.Snapshot, folders []sandbox.Folder, err error) {
	folders = []sandbox.Folder{{Path: c.Folder, Write: true}}
	for _, d := range c.Dirs {
		folders = append(folders, sandbox.Folder{Path: d.Path, Write: d.Write})
	}
	if a.access() != sandbox.Write || !t.box.Support().Holds(sandbox.Write) {
		return nil, folders, nil
	}
	for i, f := range folders {
		if !f.Write || i > 0 && gone(f.Path) {
			continue
		}
		s, err := obeyed(f.Path)
		if err != nil {
			return nil, nil, err
		}
		s.Kept = s.Fixed(c.Yes)
		folders[i].Fixed = s.Kept
		if i == 0 {
			before = &s
		} else {
			before.Beside = append(before.Beside, s)
		}
	}
	if c.Yes {
		before = nil
	}
	return before, folders, nil
}

func gone(folder string) bool {
	_, err := os.Stat(folder)
	return errors.Is(err, fs.ErrNotExist)
}

// obeyed looks at one folder.
func obeyed(folder string) (gitrepo.Snapshot, error) {
	if info, err := os.Stat(filepath.Join(folder, ".git", "HEAD")); err == nil && info.Mode().IsRegular() {
		// A folder that is there cannot be made by a command. Where it cannot be made, a command
		// cannot either.
		_ = os.Mkdir(filepath.Join(folder, ".git", "hooks"), 0o755)
	}
	return gitrepo.Obeyed(folder)
}

// putBackText says to a model what became of what it planted.
func putBackText(notes []string) string {
	if len(notes) == 0 {
		return ""
	}
	return fmt.Sprintf("[put back, since others would run it unasked: %s; a command with access full may do this, after a person's yes]", strings.Join(notes, "; "))
}
