// Package files holds the tools that read, search and write the files of a workspace.
//
// Workspace is the only way to a path: it walks folder by folder, so that no spelling, symlink or
// mount leads outside or to a denied folder. What writes records evidence of what was there before
// it acts (write_inspect.go, apply_patch_inspect.go), so that a look after a crash tells whether
// the write happened.
//
// Over budget: at most 4 files of one prefix: apply_patch plans, writes and inspects many files as
// one step
package files

import "agent/tools"

// Tools makes the tools that work on the files of a workspace. No path leads them to a denied
// folder, and they write nothing of what the policy names. A search passes over what the person
// ignores everywhere too, in the file that ignores finds; nil is none.
func Tools(denied []string, policy func() []string, ignores func() string) []tools.Tool {
	l := limits{denied: denied, policy: policy, ignores: ignores}
	return []tools.Tool{applyPatch{l}, editFile{l}, findFiles{l}, listDir{l}, readFile{l}, search{l}, writeFile{l}}
}

// limits are what the file tools share.
type limits struct {
	denied  []string        // folders that no path leads to
	policy  func() []string // the person's policy: folders and files that are read and never written; nil is none
	ignores func() string   // finds the file of what the person ignores everywhere; nil is none
}

// openToWrite opens a workspace for what writes in it.
func (l limits) openToWrite(folder string) (*Workspace, error) {
	w, err := OpenWorkspace(folder, l.denied)
	if err == nil && l.policy != nil {
		for _, path := range l.policy() {
			w.policy = append(w.policy, guardedOf(path))
		}
	}
	return w, err
}

// openToWalk opens a workspace for what goes through its folders.
func (l limits) openToWalk(folder string) (*Workspace, error) {
	w, err := OpenWorkspace(folder, l.denied)
	if err == nil {
		w.ignores = l.ignores
	}
	return w, err
}
