package gitconfig

import (
	"path/filepath"
	"strings"
)

// maxLine bounds the files of a repository that hold one line.
const maxLine = 64 << 10

// GitFile reads a .git file, which says where the repository is: gitrepository-layout, gitfile.
func GitFile(name string) (string, bool) {
	text, err := ReadFile(name, maxLine)
	to, ok := strings.CutPrefix(string(text), "gitdir: ")
	if to = strings.TrimRight(to, "\r\n"); err != nil || !ok || to == "" {
		return "", false
	}
	return From(filepath.Dir(name), to), true
}

// Common is where a git folder has what all worktrees share: gitrepository-layout, commondir.
// linked says that this is another folder than its own.
func Common(git string) (common string, linked bool) {
	text, err := ReadFile(filepath.Join(git, "commondir"), maxLine)
	if to := strings.TrimRight(string(text), "\r\n"); err == nil && to != "" {
		return From(git, to), true
	}
	return git, false
}

// From is a path seen from a folder.
func From(base, name string) string {
	if !filepath.IsAbs(name) {
		name = filepath.Join(base, name)
	}
	return filepath.Clean(name)
}
