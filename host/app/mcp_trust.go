package app

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"agent/host/config"
	"agent/host/stream"
	"agent/host/view"
	"agent/recovery/fault"
	"agent/tools/durable"
	"agent/tools/mcp"
)

// A workspace's .mcp.json comes with its repository and names programs to start. Until the person
// notes yes to exactly these bytes, nothing of it is started and nothing is sent. The decision is
// kept by the folder's path with the file's SHA-256, in the person's own folder, where no command
// of a run can write.

// trusted is trust.json.
type trusted struct {
	Version int                 `json:"version"`
	MCP     map[string]decision `json:"mcp"` // by the workspace's path

	// What the servers start from of a workspace's files when they were allowed: by the workspace's
	// path, by server, by the file's path below the workspace, its SHA-256.
	Scripts map[string]map[string]map[string]string `json:"scripts,omitempty"`
}

// decision is what the person decided about a file.
type decision struct {
	Digest string    `json:"sha256"`
	Yes    bool      `json:"yes"`
	At     time.Time `json:"at"`
}

// AskTrust puts a workspace's file to the person.
type AskTrust func(context.Context, *ServerFiles) (bool, error)

// allowed returns the servers that may be started, and what is to be noted about the others.
func (a *App) allowed(ctx context.Context, f *ServerFiles, ask AskTrust) ([]mcp.Server, []string, error) {
	mine, notes, err := f.ownAllowed(ctx, ask)
	if err != nil {
		return nil, nil, err
	}
	if f.Wrong != nil {
		return mine, append(notes, f.Wrong.Error()), nil
	}
	if len(namesOf(f.theirs.Servers)) == 0 {
		return mine, notes, nil
	}
	ok, why, err := f.decided()
	if err == nil && !ok && why != refusedIt && ask != nil {
		f.Own, f.OwnOnly = nil, false
		if ok, err = ask(ctx, f); errors.Is(err, ErrNoAnswer) {
			err = nil
		} else if err == nil {
			err = f.Keep(ok)
			why = refusedIt
		}
	}
	switch {
	case err != nil:
		return nil, nil, err
	case !ok:
		return mine, append(notes, f.notStarted(why)), nil
	}
	list, hidden := mcp.Merge(mine, f.theirs.Servers)
	for _, name := range hidden {
		notes = append(notes, fmt.Sprintf("MCP server %s is the one of %s, not that of %s", name, f.person, f.Workspace))
	}
	return list, append(notes, f.theirs.Notes...), nil
}

const refusedIt = "you refused this content"

// decided looks up what the person decided about the file as it is now, and else says why it is not
// started.
func (f *ServerFiles) decided() (yes bool, why string, err error) {
	t, err := f.read()
	w, there := t.MCP[f.folder]
	switch {
	case err != nil:
		return false, "", err
	case !there:
		return false, "the file comes with the folder, and nobody allowed it yet", nil
	case w.Digest != f.Digest:
		return false, "the file was changed since it was looked at", nil
	case !w.Yes:
		return false, refusedIt, nil
	}
	for _, s := range f.theirs.Servers {
		if d := mcp.Differences(t.Scripts[f.folder][scriptKey(s)], f.scripts[scriptKey(s)]); d != "" {
			return false, fmt.Sprintf("what server %s starts from is not what was allowed (%s)", s.Name, d), nil
		}
	}
	return true, "", nil
}

func (f *ServerFiles) read() (trusted, error) {
	t := trusted{Version: 1, MCP: map[string]decision{}}
	text, there, err := config.ReadPerson(f.trustAt)
	if err != nil || !there {
		return t, err
	}
	if err := json.Unmarshal(text, &t); err != nil || t.Version != 1 || t.MCP == nil {
		return t, fmt.Errorf("read what was trusted: %s is not what agent wrote (%v); move it away to be asked again", f.trustAt, err)
	}
	return t, nil
}

// Keep writes down what the person decided about the file as it was shown.
func (f *ServerFiles) Keep(yes bool) error {
	if f.trustAt == "" {
		return fmt.Errorf("keep your decision on %s: %w", f.Workspace, errNoTrustFile)
	}
	t, err := f.read()
	if err != nil {
		return err
	}
	if f.Digest != "" {
		t.MCP[f.folder] = decision{Digest: f.Digest, Yes: yes, At: fault.Now().UTC().Truncate(time.Second)}
	}
	if yes {
		t.take(f, slices.Concat(f.Own, f.theirs.Servers))
	}
	return f.write(t)
}

func (f *ServerFiles) write(t trusted) error {
	text, err := json.MarshalIndent(t, "", "  ")
	if err == nil {
		err = os.MkdirAll(filepath.Dir(f.trustAt), 0o700)
	}
	if err == nil {
		err = durable.Replace(f.trustAt, 0o600, bytes.NewReader(append(text, '\n')))
	}
	if err != nil {
		return fmt.Errorf("keep your decision on %s: %v", f.Workspace, err)
	}
	return nil
}

// Shown is everything that the workspace's file would start or ask, with what cannot be seen by its
// number.
func (f *ServerFiles) Shown() string {
	var b strings.Builder
	if !f.OwnOnly {
		fmt.Fprintf(&b, "%s came with this folder and names MCP servers. They would be started with your rights:\n", f.Workspace)
		f.list(&b, f.theirs.Servers)
	}
	if len(f.Own) > 0 {
		fmt.Fprintf(&b, "%s names MCP servers that start from files of this folder, which are not what was allowed. They would be started with your rights:\n", f.person)
		f.list(&b, f.Own)
	}
	return b.String()
}

func (f *ServerFiles) list(b *strings.Builder, servers []mcp.Server) {
	for _, s := range servers {
		if s.Disabled {
			continue
		}
		head := s.URL
		if s.Command != "" {
			words := []string{view.ShellWord(s.Command)}
			for _, arg := range s.Args {
				words = append(words, view.ShellWord(arg))
			}
			head = strings.Join(words, " ")
		}
		fmt.Fprintf(b, "  %s: %s\n", s.Name, indented(head))
		for _, e := range s.Env {
			fmt.Fprintf(b, "    with %s=%s\n", indented(e.Name), indented(view.ShellWord(e.Value)))
		}
		for _, h := range s.Headers {
			fmt.Fprintf(b, "    with header %s: %s\n", indented(h.Name), indented(h.Value))
		}
		if s.Dir != "" {
			fmt.Fprintf(b, "    in folder %s\n", indented(s.Dir))
		}
		for _, path := range slices.Sorted(maps.Keys(f.scripts[scriptKey(s)])) {
			fmt.Fprintf(b, "    starts from %s, as it is now\n", indented(path))
		}
	}
}

// indented shows a text of the file so that no line of it can be taken for one of ours.
func indented(s string) string { return strings.ReplaceAll(stream.Visible(s), "\n", "\n      ") }

// ErrNoAnswer says that a question was left open.
var ErrNoAnswer = errors.New("no answer was given")
