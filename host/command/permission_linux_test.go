package command_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"agent/host/model/modeltest"
)

// asksToTouch is a model that wants to make a file; what it says beside holds what a terminal would
// obey.
const asksToTouch = `{"stories": [{"prompt": "go", "turns": [
  {"calls": [{"tool": "shell", "args": {"command": "touch made"}}]},
  {"text": "Done."}]},
 {"prompt": "hide", "turns": [
  {"calls": [{"tool": "shell", "args": {"command": "touch made # \u001b]8;;http://x\u0007ok\u001b]8;;\u0007\r\u001b[1A\u001b[2Kls \u202eevil\u200b\n` + "PADDING" + `rm -rf made"}}]},
  {"text": "Done."}]}]}`

// atDesk prepares a person's place: a configuration whose model is a server of the test, and a
// workspace.
func atDesk(t *testing.T) (w *world, config string) {
	t.Helper()
	script, err := modeltest.ParseScript([]byte(strings.Replace(asksToTouch, "PADDING", strings.Repeat(" ", 10_000), 1)))
	if err != nil {
		t.Fatal(err)
	}
	server, err := modeltest.Start(modeltest.Options{Script: script})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Close(); err != nil {
			t.Error(err)
		}
	})
	w = newWorld(t)
	config = filepath.Join(w.home, ".config", "agent", "config.toml")
	if err := os.MkdirAll(filepath.Dir(config), 0o700); err != nil {
		t.Fatal(err)
	}
	text := "# mine\nmodel = \"work/m\"\n[providers.work]\nkind = \"chat\"\nbase_url = \"" + server.URL() + "/v1\"\napi_key_cmd = [\"echo\", \"" +
		modeltest.DefaultKey + "\"]\n"
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return w, config
}

// Always, said at the terminal, is a yes and a rule: the next run is not asked.
func TestAlwaysAtTheTerminal(t *testing.T) {
	w, config := atDesk(t)
	s := sit(t, w, "", "run", "go")
	s.until("answer (yes/always/always-run/never/no): ")
	s.types("a\n")
	s.until("say yes, always, always-run, never, no or no, REASON")
	s.types("?\n") // the rules whole, and the question stays
	s.until("text = \"touch made\"")
	s.types("always\n")
	s.until("from now on, in " + w.dir)
	s.until("completed")
	s.exits(0)
	b, err := os.ReadFile(config)
	if err != nil || !strings.HasPrefix(string(b), "# mine\n") || !strings.Contains(string(b), "\n[[allow]]\ntool = \"shell\"\ntext = \"touch made\"\n") {
		t.Fatalf("%v\n%s", err, b)
	}
	made := filepath.Join(w.dir, "made")
	if err := os.Remove(made); err != nil {
		t.Fatal(err)
	}
	s = sit(t, w, "", "run", "go")
	s.until("completed")
	s.exits(0)
	if _, err := os.Stat(made); err != nil || strings.Contains(s.screen(), "answer (") {
		t.Errorf("%v\n%s", err, s.screen())
	}
}

// Where the rule cannot be written, the answer stands and the person is shown the lines.
func TestAlwaysThatCannotBeWritten(t *testing.T) {
	w, config := atDesk(t)
	s := sit(t, w, "", "run", "go")
	s.until("answer (yes/always/always-run/never/no): ")
	if err := os.WriteFile(config, []byte("mode = 7\n"), 0o600); err != nil { // edited meanwhile, and wrong
		t.Fatal(err)
	}
	s.types("always\n")
	s.until("add it yourself")
	s.until("text = \"touch made\"")
	s.until("completed")
	s.exits(0)
	if b, err := os.ReadFile(config); err != nil || string(b) != "mode = 7\n" {
		t.Errorf("%v\n%s", err, b)
	}
	if _, err := os.Stat(filepath.Join(w.dir, "made")); err != nil {
		t.Error(err)
	}
}

// S18: what is asked is shown whole, and nothing in it reaches the terminal as a control sequence,
// goes back over a line, or is out of sight; what cannot be said exactly is not offered to stand.
func TestApprovalPromptShowsAll(t *testing.T) {
	w, _ := atDesk(t)
	s := sit(t, w, "", "run", "hide")
	s.until("answer (yes/no): ")
	s.types("no\n")
	s.until("completed")
	s.exits(0)
	shown := s.screen()
	asked := shown[strings.Index(shown, "? shell wants to act"):strings.Index(shown, "answer (yes/no): ")]
	for _, want := range []string{`\x1b]8;;http://x\x07ok`, `\x0d\x1b[1A\x1b[2Kls \u{202e}evil\u{200b}`, "rm -rf made", strings.Repeat(" ", 10_000)} {
		if !strings.Contains(asked, want) {
			t.Errorf("%.60q is not shown", want)
		}
	}
	if i := strings.IndexAny(asked, "\x1b\r\a\u202e\u200b"); i >= 0 {
		t.Errorf("the terminal gets %q", asked[i:min(i+20, len(asked))])
	}
	if _, err := os.Stat(filepath.Join(w.dir, "made")); err == nil {
		t.Error("it ran after a no")
	}
}
