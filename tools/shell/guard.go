package shell

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"agent/tools"
	"agent/tools/gitrepo"
	"agent/tools/sandbox"
)

// before looks at what git, editors and shells obey in the workspace of a command that may write
// there without a yes. fixed is what the sandbox keeps from changing; what the command adds beside
// it is put back at its end. A command that a person let run, or wrote, may add to it: then only
// what was always kept is.
func (t shell) before(c tools.Call, a shellArgs) (*gitrepo.Snapshot, []string, error) {
	if a.access() != sandbox.Write || !t.box.Support().Holds(sandbox.Write) {
		return nil, nil, nil
	}
	if info, err := os.Stat(filepath.Join(c.Folder, ".git", "HEAD")); err == nil && info.Mode().IsRegular() {
		// A folder that is there cannot be made by a command. Where it cannot be made, a command
		// cannot either.
		_ = os.Mkdir(filepath.Join(c.Folder, ".git", "hooks"), 0o755)
	}
	before, err := gitrepo.Obeyed(c.Folder)
	if err != nil {
		return nil, nil, err
	}
	before.Kept = before.Fixed(c.Yes)
	if c.Yes {
		return nil, before.Kept, nil
	}
	return &before, before.Kept, nil
}

// putBackText says to a model what became of what it planted.
func putBackText(notes []string) string {
	if len(notes) == 0 {
		return ""
	}
	return fmt.Sprintf("[put back, since others would run it unasked: %s; a command with access full may do this, after a person's yes]", strings.Join(notes, "; "))
}

// besideOf are the folders beside the workspace that a command can read. What it may change beyond
// the workspace is said by its access alone.
func besideOf(c tools.Call) []string {
	var list []string
	for _, d := range c.Dirs {
		list = append(list, d.Path)
	}
	return list
}
