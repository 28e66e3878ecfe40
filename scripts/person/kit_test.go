package person

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"agent/host/model/modeltest"
	"agent/scripts/testkit/testbin"
)

// patience is how long the person waits for something to appear.
const patience = 30 * time.Second

// person sits at a terminal.
type person struct {
	t      *testing.T
	root   string // holds the home folder
	server *modeltest.Server
	width  int
	saw    strings.Builder // the transcript
}

// sit gives the person a home folder, a folder of work, a model server, and a shell in tmux whose
// prompt shows how the last command ended.
func sit(t *testing.T, width int) *person {
	t.Helper()
	if os.Getenv("AGENT_TRANSCRIPTS") == "" {
		t.Skip("run by: scripts/check person")
	}
	server, err := modeltest.Start(modeltest.Options{Script: script()})
	if err != nil {
		t.Fatal(err)
	}
	p := &person{t: t, root: t.TempDir(), server: server, width: width}
	t.Cleanup(func() {
		_ = exec.Command("tmux", "-S", p.socket(), "kill-server").Run() // it may have ended
		if err := server.Close(); err != nil {
			t.Error(err)
		}
	})
	p.write("home/.config/agent/config.toml", "model = \"anthropic/claude-test\"\n")
	p.write("bin/.keep", "")
	if err := os.Symlink(testbin.Agent(t), filepath.Join(p.root, "bin", "agent")); err != nil {
		t.Fatal(err)
	}
	p.write("home/work/notes.txt", "alpha\nbeta\ngamma\n")
	p.command("git", "init", "-q", p.work())
	p.command("git", "-C", p.work(), "-c", "user.name=ana", "-c", "user.email=ana@example.com", "commit", "-q", "--allow-empty", "-m", "begin")
	p.write("tmux.conf", "set -g history-limit 50000\nset -g default-terminal screen-256color\nset -g status off\n")
	shell := append([]string{"env", "-i"}, p.environ()...)
	args := append([]string{"-S", p.socket(), "-f", filepath.Join(p.root, "tmux.conf"), "new-session", "-d", "-x", fmt.Sprint(width), "-y", "40", "-c", p.work()},
		append(shell, "bash", "--noprofile", "--norc", "-i")...)
	p.command("tmux", args...)
	p.until("[0] $ ")
	return p
}

func (p *person) socket() string { return filepath.Join(p.root, "tmux") }
func (p *person) work() string   { return filepath.Join(p.root, "home", "work") }

func (p *person) environ() []string {
	return []string{
		"HOME=" + filepath.Join(p.root, "home"), "PATH=" + filepath.Join(p.root, "bin") + ":/usr/local/bin:/usr/bin:/bin", "LANG=C.UTF-8", "USER=ana",
		"TERM=screen-256color", "HISTFILE=", `PS1=[$?] $ `, "ANTHROPIC_API_KEY=" + modeltest.DefaultKey, "ANTHROPIC_BASE_URL=" + p.server.URL(), "OLLAMA_HOST=127.0.0.1:1",
	}
}

func (p *person) write(name, text string) {
	p.t.Helper()
	path := filepath.Join(p.root, name)
	err := os.MkdirAll(filepath.Dir(path), 0o755)
	if err == nil {
		err = os.WriteFile(path, []byte(text), 0o644)
	}
	if err != nil {
		p.t.Fatal(err)
	}
}

func (p *person) command(name string, args ...string) string {
	p.t.Helper()
	out, err := exec.Command(name, args...).CombinedOutput()
	if err != nil {
		p.t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
	return string(out)
}

// elsewhere has agent do something in another terminal, which ends with that code.
func (p *person) elsewhere(code int, args ...string) {
	p.t.Helper()
	c := exec.Command(filepath.Join(p.root, "bin", "agent"), args...)
	c.Dir, c.Env = p.work(), p.environ()
	out, err := c.CombinedOutput()
	if c.ProcessState == nil || c.ProcessState.ExitCode() != code {
		p.t.Fatalf("agent %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

// types types text as it is.
func (p *person) types(text string) {
	p.t.Helper()
	p.command("tmux", "-S", p.socket(), "send-keys", "-l", text)
}

// key presses a key by its name in tmux.
func (p *person) key(name string) {
	p.t.Helper()
	p.command("tmux", "-S", p.socket(), "send-keys", name)
}

// enters types a line, sees it, and presses Enter.
func (p *person) enters(line string) {
	p.t.Helper()
	p.types(line)
	p.await(fmt.Sprintf("%q was typed", line), func() bool { return strings.HasSuffix(strings.TrimRight(p.screen("-J"), " "), line) })
	p.key("Enter")
}

// screen is all that stands in the terminal since the story began, with lines joined that were only
// too long for it.
func (p *person) screen(flags ...string) string {
	p.t.Helper()
	return strings.TrimRight(p.command("tmux", append([]string{"-S", p.socket(), "capture-pane", "-p", "-S", "-"}, flags...)...), "\n ") + " "
}

// await looks until the answer is yes.
func (p *person) await(what string, ok func() bool) {
	p.t.Helper()
	end := time.NewTimer(patience)
	defer end.Stop()
	look := time.NewTicker(20 * time.Millisecond)
	defer look.Stop()
	for !ok() {
		select {
		case <-look.C:
		case <-end.C:
			p.t.Fatalf("waited in vain: %s:\n%s", what, p.screen())
		}
	}
}

// until waits for each of the texts to appear.
func (p *person) until(texts ...string) {
	p.t.Helper()
	for _, text := range texts {
		p.await(fmt.Sprintf("%q appears", text), func() bool { return p.shows(text) })
	}
}

// runs enters a command and waits for its end.
func (p *person) runs(command string, code int, texts ...string) {
	p.t.Helper()
	p.enters(command)
	p.ends(code, texts...)
}

var atPrompt = regexp.MustCompile(`(?m)^\[(\d+)\] \$ \z`)

// ends waits for the command to end with that code, and for texts.
func (p *person) ends(code int, texts ...string) {
	p.t.Helper()
	var at []string
	p.await("the command ends", func() bool {
		at = atPrompt.FindStringSubmatch(p.screen())
		return at != nil
	})
	if at[1] != fmt.Sprint(code) {
		p.t.Fatalf("it ended with %s, want %d:\n%s", at[1], code, p.screen())
	}
	p.until(texts...)
}

// never fails where a text stands in the terminal.
func (p *person) never(texts ...string) {
	p.t.Helper()
	for _, text := range texts {
		if p.shows(text) {
			p.t.Errorf("%q stands there:\n%s", text, p.screen())
		}
	}
}

// shows says whether a text stands in the terminal, also where its line is broken.
func (p *person) shows(text string) bool {
	screen := p.screen("-J")
	return strings.Contains(screen, text) || strings.Contains(strings.Join(strings.Fields(screen), " "), text)
}

// heard says whether a request to the model has a text.
func (p *person) heard(text string) bool {
	for _, e := range p.server.Exchanges() {
		if strings.Contains(e.Body, text) {
			return true
		}
	}
	return false
}

// story begins with an empty terminal, and keeps what the person saw.
func (p *person) story(name string, tell func()) {
	if !p.t.Run(name, func(t *testing.T) {
		outer := p.t
		p.t = t
		defer func() { p.t = outer }()
		p.command("tmux", "-S", p.socket(), "send-keys", "-R")
		p.key("C-l")
		p.until("] $ ")
		p.command("tmux", "-S", p.socket(), "clear-history")
		tell()
		fmt.Fprintf(&p.saw, "%s\n%s\n\n%s\n\n", strings.Repeat("=", p.width), name, strings.TrimRight(p.screen(), "\n"))
	}) {
		p.t.FailNow() // what comes next would meet another terminal than it is written for
	}
}

// keep writes the transcript where it is asked for, without what differs from one time to the next.
func (p *person) keep() {
	dir := os.Getenv("AGENT_TRANSCRIPTS")
	if dir == "" {
		return
	}
	text := p.saw.String()
	for _, r := range []struct{ is, to string }{
		{regexp.QuoteMeta(p.root), "…"}, {`127\.0\.0\.1:\d+`, "127.0.0.1:PORT"},
	} {
		text = regexp.MustCompile(r.is).ReplaceAllString(text, r.to)
	}
	var b bytes.Buffer
	for line := range strings.Lines(text) {
		b.WriteString(strings.TrimRight(line, " \n") + "\n")
	}
	if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("person-%d.txt", p.width)), b.Bytes(), 0o644); err != nil {
		p.t.Fatal(err)
	}
}
