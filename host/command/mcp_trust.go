package command

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"agent/host/config"
	"agent/host/stream"
	"agent/host/terminal"
	"agent/host/view"
	"agent/recovery/fault"
	"agent/tools/mcp"
)

// A workspace's .mcp.json comes with its repository and names programs to start. Until the person said yes to exactly these
// bytes, nothing of it is started and nothing is sent. The word is kept by the folder's path with the file's SHA-256, in the
// person's own folder, where no command of a run can write.

// trusted is trust.json.
type trusted struct {
	Version int             `json:"version"`
	MCP     map[string]word `json:"mcp"` // by the workspace's path

	// What the servers start from of a workspace's files when they were allowed: by the workspace's path, by server, by the file's
	// path below the workspace, its SHA-256.
	Scripts map[string]map[string]map[string]string `json:"scripts,omitempty"`
}

// word is what the person said of a file.
type word struct {
	Digest string    `json:"sha256"`
	Yes    bool      `json:"yes"`
	At     time.Time `json:"at"`
}

// asksTrust puts a workspace's file to the person.
type asksTrust func(context.Context, *found) (bool, error)

// allowed returns the servers that may be started, and what is to be said of the others.
func (a *App) allowed(ctx context.Context, f *found, ask asksTrust) ([]mcp.Server, []string, error) {
	mine, said, err := f.ownAllowed(ctx, ask)
	if err != nil {
		return nil, nil, err
	}
	if f.wrong != nil {
		return mine, append(said, f.wrong.Error()), nil
	}
	if len(namesOf(f.theirs.Servers)) == 0 {
		return mine, said, nil
	}
	ok, why, err := f.word()
	if err == nil && !ok && why != refusedIt && ask != nil {
		f.own, f.ownOnly = nil, false
		if ok, err = ask(ctx, f); errors.Is(err, errNoAnswer) {
			err = nil
		} else if err == nil {
			err = f.keep(ok)
			why = refusedIt
		}
	}
	switch {
	case err != nil:
		return nil, nil, err
	case !ok:
		return mine, append(said, f.notStarted(why)), nil
	}
	list, hidden := mcp.Merge(mine, f.theirs.Servers)
	for _, name := range hidden {
		said = append(said, fmt.Sprintf("MCP server %s is the one of %s, not that of %s", name, f.person, f.workspace))
	}
	return list, append(said, f.theirs.Notes...), nil
}

const refusedIt = "you refused this content"

// word looks up what the person said of the file as it is now, and else says why it is not started.
func (f *found) word() (yes bool, why string, err error) {
	t, err := f.read()
	w, there := t.MCP[f.folder]
	switch {
	case err != nil:
		return false, "", err
	case !there:
		return false, "the file comes with the folder, and nobody allowed it yet", nil
	case w.Digest != f.digest:
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

func (f *found) read() (trusted, error) {
	t := trusted{Version: 1, MCP: map[string]word{}}
	text, there, err := config.ReadPerson(f.trustAt)
	if err != nil || !there {
		return t, err
	}
	if err := json.Unmarshal(text, &t); err != nil || t.Version != 1 || t.MCP == nil {
		return t, fmt.Errorf("read what was trusted: %s is not what agent wrote (%v); move it away to be asked again", f.trustAt, err)
	}
	return t, nil
}

// keep writes down what the person said of the file as it was shown.
func (f *found) keep(yes bool) error {
	if f.trustAt == "" {
		return fmt.Errorf("keep your decision on %s: %w", f.workspace, errNoTrustFile)
	}
	t, err := f.read()
	if err != nil {
		return err
	}
	if f.digest != "" {
		t.MCP[f.folder] = word{Digest: f.digest, Yes: yes, At: fault.Now().UTC().Truncate(time.Second)}
	}
	if yes {
		t.take(f, slices.Concat(f.own, f.theirs.Servers))
	}
	return f.write(t)
}

func (f *found) write(t trusted) error {
	text, err := json.MarshalIndent(t, "", "  ")
	if err == nil {
		err = writeWhole(f.trustAt, append(text, '\n'))
	}
	if err != nil {
		return fmt.Errorf("keep your decision on %s: %v", f.workspace, err)
	}
	return nil
}

// writeWhole puts a file of the person's own in place at once: it is the old one or the new one, whatever happens.
func writeWhole(path string, text []byte) error {
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(dir, "."+filepath.Base(path)+"-*") // 0600
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	err = errors.Join(err, f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// shown is everything that the workspace's file would start or ask, with what cannot be seen by its number.
func (f *found) shown() string {
	var b strings.Builder
	if !f.ownOnly {
		fmt.Fprintf(&b, "%s came with this folder and names MCP servers. They would be started with your rights:\n", f.workspace)
		f.list(&b, f.theirs.Servers)
	}
	if len(f.own) > 0 {
		fmt.Fprintf(&b, "%s names MCP servers that start from files of this folder, which are not what was allowed. They would be started with your rights:\n", f.person)
		f.list(&b, f.own)
	}
	return b.String()
}

func (f *found) list(b *strings.Builder, servers []mcp.Server) {
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

// errNoAnswer says that a question was left open.
var errNoAnswer = errors.New("no answer was given")

// askTrust puts the workspace's file to the person at the terminal.
func (a *commandLine) askTrust(ctx context.Context, f *found) (bool, error) {
	t, err := terminal.OpenPrompt()
	if err != nil {
		return false, errNoAnswer
	}
	defer t.Close()
	return putTrust(ctx, t, f)
}

func putTrust(ctx context.Context, t *terminal.Prompt, f *found) (bool, error) {
	t.Discard()
	t.Say("? %s", f.shown())
	t.Say("  yes  starts them, now and in every later run here, until the file or what they start from changes\n")
	t.Say("  no   goes on without them, and does not ask again until the file changes\n")
	t.Say("  (Ctrl-D goes on without them this time)\n")
	for {
		t.Say("answer (yes/no): ")
		line, err := t.ReadLine(ctx)
		switch {
		case err != nil && ctx.Err() != nil:
			t.Say("\n")
			return false, context.Cause(ctx)
		case errors.Is(err, io.EOF):
			t.Say("\n")
			return false, errNoAnswer
		case err != nil:
			return false, fmt.Errorf("read the answer about %s: %v", f.workspace, err)
		}
		switch strings.ToLower(strings.TrimSpace(line)) {
		case "yes", "y":
			return true, nil
		case "no", "n":
			return false, nil
		}
		t.Say("  say yes or no\n")
	}
}
