package config_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"agent/host/config"
	"agent/host/permission"
	"agent/recovery/journal"
)

func ruleFor(command string) string {
	return permission.TOML([]permission.Rule{{Decision: journal.DecisionAllow, Tool: "shell", Command: command, Access: "full", Folder: "/work"}})
}

// An answer that stands is added below what a person wrote, which stays as it is to the byte; the
// mode of the file and a link to it stay.
func TestAdd(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "dotfiles", "config.toml")
	link := filepath.Join(dir, "config", "agent", "config.toml")
	for _, d := range []string{filepath.Dir(path), filepath.Dir(link)} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	const mine = "# mine\nmode   =   \"ask\"   # spaced as I like\n\n[[deny]] # never\ntool = 'shell'\ncommand = 'sudo *'"
	if err := os.WriteFile(path, []byte(mine), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(path, link); err != nil {
		t.Fatal(err)
	}
	line, err := config.Add(link, ruleFor("go test ./..."), "added in\nrun r-1", known)
	if err != nil || line != 9 {
		t.Fatal(line, err)
	}
	want := mine + "\n\n# added in run r-1\n[[allow]]\ntool = \"shell\"\ncommand = \"go test ./...\"\naccess = \"full\"\nfolder = \"/work\"\n"
	if got := contents(t, path); got != want {
		t.Errorf("%s", got)
	}
	if line, err := config.Add(link, ruleFor("go test ./..."), "again", known); err != nil || line != 9 || contents(t, path) != want {
		t.Errorf("the same rule again: line %d, %v\n%s", line, err, contents(t, path))
	}
	if info, err := os.Lstat(link); err != nil || info.Mode().Type() != os.ModeSymlink {
		t.Error(info, err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o644 {
		t.Error(info, err)
	}
	if left, err := filepath.Glob(filepath.Join(dir, "dotfiles", ".config*")); err != nil || len(left) > 0 {
		t.Error(left, err)
	}
}

func contents(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// A file that is not there is made, readable by its owner only.
func TestAddFirst(t *testing.T) {
	path := filepath.Join(t.TempDir(), "agent", "config.toml")
	if line, err := config.Add(path, ruleFor("ls"), "x", known); err != nil || line != 2 {
		t.Fatal(line, err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Error(info, err)
	}
	if c, err := config.Load(path, "", known); err != nil || len(c.Rules) != 1 || c.Rules[0].Where != path+":2" {
		t.Error(c.Rules, err)
	}
}

// A file that would not be read afterwards is left alone, and so is one of a person who wrote what
// cannot be added to; what is no rule is added to none, whatever a journal says that an answer
// adds.
func TestAddRefuses(t *testing.T) {
	for _, old := range []string{"mode = 1\n", "allow = [{tool = \"shell\", command = \"ls\"}]\n", "[[allow]\n"} {
		path := filepath.Join(t.TempDir(), "config.toml")
		if err := os.WriteFile(path, []byte(old), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := config.Add(path, ruleFor("ls"), "x", known); err == nil || contents(t, path) != old {
			t.Errorf("%v\n%s", err, contents(t, path))
		}
	}
	path := filepath.Join(t.TempDir(), "config.toml")
	for _, text := range []string{"", "mode = \"yolo\"\n", "[[allow]]\ntool = \"shell\"\n[providers.work]\n", ruleFor("ls") + "mode = \"yolo\"\n", ruleFor("ls") + "# x\n"} {
		if _, err := config.Add(path, text, "x", known); err == nil {
			t.Errorf("added %q", text)
		}
	}
	if _, err := os.Stat(path); err == nil {
		t.Error("the file was made")
	}
	if _, err := config.Add("", ruleFor("ls"), "x", known); err == nil {
		t.Error("added nowhere")
	}
}

// Processes that add at once lose nothing of each other. Each call opens and locks anew, as a
// process of its own does.
func TestAddAtOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "config.toml")
	const n = 20
	var all sync.WaitGroup
	errs := make(chan error, n)
	for i := range n {
		all.Go(func() {
			_, err := config.Add(path, ruleFor(fmt.Sprintf("echo %d", i)), "x", known)
			errs <- err
		})
	}
	all.Wait()
	close(errs)
	for err := range errs {
		if err != nil {
			t.Error(err)
		}
	}
	if got := strings.Count(contents(t, path), "[[allow]]"); got != n {
		t.Errorf("%d rules of %d are there", got, n)
	}
}
