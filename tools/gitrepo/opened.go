package gitrepo

import (
	"path"
	"slices"
	"strings"
)

// opened says what else is obeyed without asking, by the names that a path ends with. A name that
// ends with a slash is a folder, with all that is in it.
//
// Each line is here because a program runs or obeys it when a person enters the folder, opens it,
// or commits: no build file, which somebody has to ask for, is among them.
func opened() []string {
	return []string{
		// This program: rules and servers of a workspace.
		".agent/", ".mcp.json",
		// direnv(1): .envrc is run by cd, once allowed. mise (Hooks, Environments): the same for
		// its files.
		".envrc", ".mise.toml", "mise.toml", ".mise.local.toml", "mise.local.toml", ".mise/config.toml", "mise/config.toml",
		".config/mise.toml", ".config/mise/config.toml",
		// VS Code (Tasks, "runOn": "folderOpen"; settings such as git.path and terminal profiles;
		// MCP servers; workspace files).
		".vscode/tasks.json", ".vscode/settings.json", ".vscode/mcp.json", "*.code-workspace",
		// IntelliJ platform (.idea/runConfigurations and .run: run configurations, which may be
		// started with the project). .idea/workspace.xml and startup.xml: those that the project's
		// opening starts.
		"runConfigurations/", ".run/", ".idea/workspace.xml", ".idea/startup.xml",
		// Zed (Tasks; settings of language servers: binary).
		".zed/settings.json", ".zed/tasks.json",
		// Development containers (devcontainer.json reference, initializeCommand: it runs on the
		// host).
		".devcontainer/", ".devcontainer.json",
		// Vim ('exrc') and Emacs (Directory Variables).
		".exrc", ".vimrc", ".nvimrc", ".nvim.lua", ".dir-locals.el", ".dir-locals-2.el",
		// Programs that git's hooks call for a repository: husky, pre-commit, lefthook, overcommit.
		".husky/", ".pre-commit-config.yaml", "lefthook.yml", "lefthook.yaml", ".lefthook.yml", ".lefthook.yaml", ".overcommit.yml",
		// Other agents: hooks and servers that start with them.
		".claude/settings.json", ".claude/settings.local.json", ".cursor/mcp.json", ".cursor/hooks.json",
	}
}

// catalogue is opened, sorted for a walk.
type catalogue struct {
	folders []string            // names of folders
	files   map[string][]string // by their last name: the folders above, with slashes; "" for anywhere
	ending  []string            // ends of names
}

func newCatalogue() catalogue {
	c := catalogue{files: map[string][]string{}}
	for _, name := range opened() {
		switch {
		case strings.HasSuffix(name, "/"):
			c.folders = append(c.folders, strings.TrimSuffix(name, "/"))
		case strings.HasPrefix(name, "*"):
			c.ending = append(c.ending, name[1:])
		default:
			dir, base := path.Split(name)
			c.files[base] = append(c.files[base], strings.TrimSuffix(dir, "/"))
		}
	}
	return c
}

// file says whether a file's name, in a folder of the workspace, is a listed one.
func (c catalogue) file(dir, base string) bool {
	for _, above := range c.files[base] {
		if above == "" || dir == above || strings.HasSuffix(dir, "/"+above) {
			return true
		}
	}
	return slices.ContainsFunc(c.ending, func(end string) bool { return strings.HasSuffix(base, end) })
}

// parent says whether listed files have a folder of that name.
func (c catalogue) parent(base string) bool {
	for _, dirs := range c.files {
		if slices.ContainsFunc(dirs, func(dir string) bool { return slices.Contains(strings.Split(dir, "/"), base) }) {
			return true
		}
	}
	return false
}

func (c catalogue) folder(base string) bool { return slices.Contains(c.folders, base) }

// named is what of a path is obeyed, for people and to know it again elsewhere.
func (c catalogue) named(p string) string {
	for _, folder := range c.folders {
		if i := strings.LastIndex("/"+p+"/", "/"+folder+"/"); i >= 0 {
			return p[i:]
		}
	}
	dir, base := path.Split(p)
	for _, above := range c.files[base] {
		if above != "" && strings.HasSuffix("/"+dir, "/"+above+"/") {
			return above + "/" + base
		}
	}
	return base
}
