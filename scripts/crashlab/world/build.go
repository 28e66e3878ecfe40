//go:build linux

package world

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"agent/scripts/testkit/testbin"
)

// Binary is the binary of the sources that are here.
func Binary() (string, error) {
	folder, err := testbin.Make(testbin.Form{})
	return filepath.Join(folder, testbin.Form{}.Program()), err
}

// Commit names what is checked out here, and whether it was changed since; "unknown" outside of a
// repository.
func Commit(ctx context.Context) string {
	text, err := exec.CommandContext(ctx, "git", "describe", "--always", "--dirty", "--exclude=*").Output()
	if err != nil {
		return "unknown"
	}
	return strings.TrimSpace(string(text))
}

// ToolsOf lists the tools that the binary has.
func ToolsOf(ctx context.Context, exe, home string) ([]string, error) {
	c := exec.CommandContext(ctx, exe, "tools", "--json")
	c.Env, c.Dir = append(PlainEnv(), "HOME="+home, "AGENT_HOME="+filepath.Join(home, "state")), home
	text, err := c.Output()
	if err != nil {
		return nil, fmt.Errorf("agent tools --json: %v", err)
	}
	var l struct {
		Tools []struct {
			Name string `json:"name"`
		} `json:"tools"`
	}
	if err := json.Unmarshal(text, &l); err != nil {
		return nil, fmt.Errorf("agent tools --json: %v", err)
	}
	var names []string
	for _, t := range l.Tools {
		names = append(names, t.Name)
	}
	slices.Sort(names)
	return names, nil
}

// PlainEnv is the environment without what would choose a model or a folder.
func PlainEnv() []string {
	return slices.DeleteFunc(os.Environ(), func(v string) bool {
		name, _, _ := strings.Cut(v, "=")
		switch name {
		case "HOME", "OLLAMA_HOST", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "AGENT_HOME", "AGENT_WITNESS", "AGENT_FAULT", "AGENT_FAULT_UNSAFE", "NO_COLOR":
			return true
		}
		return strings.HasSuffix(name, "_API_KEY") || strings.HasSuffix(name, "_BASE_URL")
	})
}
