package config_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"agent/host/config"
)

// The person says what commands may write beside the workspace, and whether full ones see the state
// folder.
func TestSandbox(t *testing.T) {
	home, err := os.UserHomeDir()
	if err != nil {
		t.Skip(err)
	}
	for text, want := range map[string]config.Sandbox{
		"":                               {},
		"[sandbox]\nfull = \"hidden\"\n": {},
		"[sandbox]\nfull = \"open\"\nwritable = [\"~/.cache/go-build\", \"/srv/cache/\"]\n": {
			Open: true, Writable: []string{filepath.Join(home, ".cache/go-build"), "/srv/cache"},
		},
	} {
		user, workspace := files(t, text, "")
		got, err := config.Load(user, workspace, known)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got.Sandbox); diff != "" {
			t.Errorf("%q: %s", text, diff)
		}
	}
	for text, want := range map[string]string{
		"[sandbox]\nfull = \"closed\"\n":      `choose "hidden"`,
		"[sandbox]\nwritable = [\"cache\"]\n": "is no path of a folder",
		"[sandbox]\nwritable = [\"/\"]\n":     "is no path of a folder",
		"[sandbox]\nwritable = \"/tmp\"\n":    "wants paths as a list",
		"[sandbox]\nread = 1\n":               "what may stand here: full, writable",
	} {
		user, workspace := files(t, text, "")
		if _, err := config.Load(user, workspace, known); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", text, err)
		}
	}
	user, workspace := files(t, "", "[sandbox]\nfull = \"open\"\n")
	if _, err := config.Load(user, workspace, known); err == nil || !strings.Contains(err.Error(), "may not stand in the file of a workspace") {
		t.Errorf("a repository opened the sandbox: %v", err)
	}
}
