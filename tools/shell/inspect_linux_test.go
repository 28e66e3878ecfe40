//go:build !portable

// What a file of a lost command tells stands on the time at which it was made, which POSIX has not.

package shell

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"agent/recovery"
	"agent/recovery/journal"
	"agent/tools"
	"agent/tools/toolstest"
)

// A command whose runner SIGKILL ends: before it began to act it did not happen, after its end it
// did, and in between what is said is what the world shows. Never is anything said that is not so.
func TestLookAfterKill(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	old := time.Now().Add(-48 * time.Hour) // when the file was written
	for script, done := range map[string]func(b *bench) bool{
		"mkdir new":                func(b *bench) bool { return b.There("new") },
		"mkdir -p p/q/r":           func(b *bench) bool { return b.There("p/q/r") },
		"mkdir -m 700 new two":     func(b *bench) bool { return b.There("new") && b.There("two") },
		"rm file":                  func(b *bench) bool { return !b.There("file") },
		"rm -rf dir other":         func(b *bench) bool { return !b.There("dir") && !b.There("other") },
		"mv file dir":              func(b *bench) bool { return b.There("dir/file") },
		"mv file other":            func(b *bench) bool { return !b.There("file") },
		"mv -T dir dir2":           func(b *bench) bool { return b.There("dir2/in") },
		"touch fresh":              func(b *bench) bool { return b.There("fresh") },
		"touch file":               func(b *bench) bool { return toolstest.Stat(b.T, b.Path("file")).ModTime().After(old.Add(time.Hour)) },
		"git commit -m 'Say  it '": func(b *bench) bool { return strings.Contains(b.Git("log", "--format=%s"), "Say  it") },
		"git commit -qm it":        func(b *bench) bool { return strings.Contains(b.Git("log", "--format=%s"), "it") },
		"git commit -qam all":      func(b *bench) bool { return strings.Contains(b.Git("log", "--format=%s"), "all") },
	} {
		t.Run(script, func(t *testing.T) {
			if script != "mkdir -p p/q/r" && script != "mv file other" && !strings.HasPrefix(script, "git") {
				toolstest.OnlyWhole(t)
			}
			for point, want := range map[string]recovery.InspectionAnswer{
				"runner.after_began":   recovery.InspectionNotHappened,
				"runner.after_command": recovery.InspectionHappened,
				"runner.after_start":   "",
			} {
				b := newBench(t)
				b.Write("file", "x")
				b.Write("other", "y")
				b.Write("dir/in", "z")
				if err := os.Chtimes(b.Path("file"), old, old); err != nil {
					t.Fatal(err)
				}
				if strings.HasPrefix(script, "git") {
					b.Git("init", "-q", "-b", "main")
					b.Git("config", "user.email", "a@b")
					b.Git("config", "user.name", "a")
					b.Git("add", "file")
					b.Git("commit", "-q", "-m", "first")
					b.Git("add", ".")
				}
				if strings.Contains(script, "-qam") {
					b.Write("file", "more than x")
				}
				before := b.Witness()
				c := b.Call("shell", args{"command": script})
				c.Run = fmt.Sprintf("r-look-%d", os.Getpid()) // what is left of it is ended by its name, which no other test's command has
				c, err := b.Prepare("shell", c)
				if err != nil {
					t.Fatal(err)
				}
				die := filepath.Join(filepath.Dir(b.shell().callFolder(c)), "die-at")
				if err := os.WriteFile(die, []byte(point), 0o600); err != nil {
					t.Fatal(err)
				}
				r, err := b.Tool("shell").(tools.Caller).Call(b.Context(), c)
				i := b.Tool("shell").(tools.Inspector).Inspect(b.Context(), c)
				if want != "" && i.Answer != want {
					t.Errorf("%s, %s: %+v", script, point, i)
					continue
				}
				switch happened := done(b); i.Answer {
				case recovery.InspectionHappened:
					if !happened || r.Applied != journal.AppliedYes || r.How != journal.HowVerified || err != nil {
						t.Errorf("%s, %s: said to have happened: %v, %+v, %+v", script, point, err, r, i)
					}
				case recovery.InspectionNotHappened:
					if happened || b.Witness() != before || r.Applied != journal.AppliedNo || err == nil {
						t.Errorf("%s, %s: said not to have happened: %v, %+v, %+v", script, point, err, r, i)
					}
				}
			}
		})
	}
}
