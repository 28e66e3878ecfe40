package shell

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"agent/tools/githook"
	"agent/tools/gitrepo/hooklines"
	"agent/tools/toolstest"
)

// Git reads its hooks from the environment of commands that may commit, where it can.
func TestCommandsGetGitsHooks(t *testing.T) {
	for version, want := range map[string]bool{"2.39.5": false, "2.53.9 (Apple Git-1)": false, "2.54.0": true, "3.0.1": true, "": false} {
		for _, access := range []string{"read", "write", "full"} {
			b := newBench(t)
			git := filepath.Join(t.TempDir(), "git")
			if err := os.WriteFile(git, []byte("#!/bin/sh\necho 'git version "+version+"'\n"), 0o755); err != nil {
				t.Fatal(err)
			}
			s := New(Options{Calls: b.shell().calls, Exe: b.Executable(), Program: b.Executable(), Git: git, Environ: toolstest.Environ(), Vars: []string{"OWN=x"}}).(shell)
			env := strings.Join(s.commandEnv(shellArgs{Access: access}), "\n")
			has := strings.Contains(env, "GIT_CONFIG_KEY_0=hook.agent-prepare.command\n") && strings.Contains(env, "GIT_CONFIG_COUNT=4")
			if has != (want && access != "read") || !strings.Contains(env, "OWN=x") || !has && strings.Contains(env, "GIT_CONFIG") {
				t.Errorf("%q, %s: %s", version, access, env)
			}
		}
	}
}

// A commit of a call has the trailer, with nothing installed.
func TestCommitOfACall(t *testing.T) {
	dir := os.Getenv("AGENT_GIT")
	if git := filepath.Join(dir, "git"); dir == "" || !githook.Configurable(git) {
		t.Skip("needs a git of 2.54 or newer: its folder in AGENT_GIT")
	}
	b := newBench(t)
	environ := append(toolstest.Environ(), "PATH="+dir+string(os.PathListSeparator)+os.Getenv("PATH"), "HOME="+t.TempDir())
	b.Use(New(Options{Calls: b.shell().calls, Exe: b.Executable(), Program: b.Executable(), Git: filepath.Join(dir, "git"), Environ: environ}))
	r, err := b.Run("shell", args{"command": `git init -q; git config user.name a; git config user.email b; git commit -q --allow-empty -m one
git log -1 --format='%(trailers:key=Agent-Checkpoint)'; git commit -q --allow-empty -m two; git log -1 --format='%(trailers:key=Agent-Checkpoint)'`})
	lines := strings.Fields(r.Content)
	if err != nil || len(lines) < 4 || !hooklines.IsID(lines[1]) || !hooklines.IsID(lines[3]) || lines[1] == lines[3] {
		t.Errorf("%v %+v", err, r)
	}
}
