//go:build unix

package command_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"agent/host/model/modeltest"
	"agent/host/serve"
	"agent/scripts/testkit"
)

// part is a part of a topic, from its heading to the next.
func part(t *testing.T, topic, heading string) string {
	t.Helper()
	_, text, ok := strings.Cut(texts(t)[topic], "\n## "+heading+"\n")
	if !ok {
		t.Fatalf("%s has no part %q", topic, heading)
	}
	text, _, _ = strings.Cut(text, "\n## ")
	return text
}

// The table of agent help server is the list of codes, row by row.
func TestHelpListsTheCodes(t *testing.T) {
	_, table, _ := strings.Cut(part(t, "server", "Refusals"), "| code | status | what to do |\n|---|---|---|\n")
	table, _, _ = strings.Cut(table, "\n\n")
	var want []string
	for _, c := range serve.Codes() {
		want = append(want, fmt.Sprintf("| `%s` | %d | %s |", c.Name, c.Status, c.Do))
	}
	if got := strings.Split(table, "\n"); !slices.Equal(got, want) {
		t.Errorf("the table has\n%s\nthe list is\n%s", table, strings.Join(want, "\n"))
	}
}

// newHelpFolder is a state folder where agent help server has it, with a server and its model.
func newHelpFolder(t *testing.T, turns ...modeltest.Turn) (f *servedFolder, model *modeltest.Server) {
	t.Helper()
	const key = "test-help-key"
	model, err := modeltest.Start(modeltest.Options{Key: key, Script: modeltest.Script{Turns: turns}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = model.Close() }) // the test is over
	f = newServedFolder(t)
	f.home = filepath.Join(f.dir, ".local", "state", "agent")
	f.env = []string{"ANTHROPIC_API_KEY=" + key, "ANTHROPIC_BASE_URL=" + model.URL()}
	for _, dir := range []string{"site", ".local/bin"} {
		if err := os.MkdirAll(filepath.Join(f.dir, dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(filepath.Join(binDir(), "agent"), filepath.Join(f.dir, ".local", "bin", "agent")); err != nil {
		t.Fatal(err)
	}
	f.serve("")
	return f, model
}

// sh carries out lines as whoever has this home does.
func (f *servedFolder) sh(path, lines string) string {
	f.t.Helper()
	c := exec.CommandContext(f.t.Context(), "sh", "-ec", lines)
	c.Dir, c.Env = f.dir, []string{"HOME=" + f.dir, "PATH=" + path}
	out, err := c.CombinedOutput()
	if err != nil {
		f.t.Fatalf("%s\n%v: %s", lines, err, out)
	}
	return string(out)
}

// post starts a run, and returns its id.
func (f *servedFolder) post(body map[string]any) (run string) {
	f.t.Helper()
	text, err := json.Marshal(body)
	if err != nil {
		f.t.Fatal(err)
	}
	got := askServer(f.t, f.home, "POST", "/v1/runs", string(text))
	var v struct {
		Run string `json:"run_id"`
	}
	if err := json.Unmarshal([]byte(got), &v); err != nil || v.Run == "" {
		f.t.Fatalf("%s, %v", got, err)
	}
	return v.Run
}

// The examples of agent help server do what it says, as they are printed.
func TestServerExamples(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"curl", "jq"} {
		if _, err := exec.LookPath(name); err != nil {
			t.Skip("there is no", name)
		}
	}
	f, _ := newHelpFolder(t, modeltest.Turn{Calls: []modeltest.Call{{Tool: "shell", Args: []byte(`{"command": "echo yes >> effect"}`)}}}, modeltest.Turn{Text: "Done."})
	var blocks []string
	for _, b := range regexp.MustCompile(`(?m)(?:^    .*\n)+`).FindAllString(part(t, "server", "Examples"), -1) {
		b = regexp.MustCompile(`(?m)^    `).ReplaceAllString(b, "")
		blocks = append(blocks, strings.ReplaceAll(b, "/home/me", f.dir))
	}
	if len(blocks) != 4 {
		t.Fatalf("there are %d examples: %q", len(blocks), blocks)
	}
	path := filepath.Join(f.dir, ".local", "bin") + ":" + os.Getenv("PATH")
	began := make(chan string)
	go func() {
		defer close(began) // also where it failed
		began <- f.sh(path, blocks[0]+blocks[1])
	}()
	f.asks()
	where := strings.Join(strings.SplitAfter(blocks[0], "\n")[:2], "")
	f.sh(path, where+blocks[2])
	if got := <-began; got != "completed\nDone.\ncompleted\n" {
		t.Errorf("the start and its end: %s", got)
	}
	if effect, err := os.ReadFile(filepath.Join(f.dir, "site", "effect")); err != nil || string(effect) != "yes\n" {
		t.Errorf("what was approved: %q, %v", effect, err)
	}
	f.cron(blocks[3])
}

// asks waits until a run asks something.
func (f *servedFolder) asks() {
	f.t.Helper()
	testkit.Until(f.t, "a run asks something", func() bool {
		return strings.Contains(askServer(f.t, f.home, "GET", "/v1/pending", ""), `"id":"p-`)
	})
}

// cron carries a crontab out as cron does, twice: the run is one.
func (f *servedFolder) cron(table string) {
	t := f.t
	t.Helper()
	if err := os.WriteFile(filepath.Join(f.dir, "site", "task.md"), []byte("---\nagent: runbook\n---\n\n```sh access=read\ntrue\n```\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	path, command := "", ""
	for line := range strings.Lines(table) {
		if value, ok := strings.CutPrefix(line, "PATH="); ok {
			path = strings.TrimSpace(value)
		} else if fields := strings.SplitN(line, " ", 6); len(fields) == 6 {
			command = strings.ReplaceAll(fields[5], `\%`, "%") // a bare one ends the command
		}
	}
	count := func() int {
		return strings.Count(askServer(t, f.home, "GET", "/v1/runs?q=agent:+runbook", ""), `"id":"r-`)
	}
	for range 2 {
		said := f.sh(path, command)
		run := regexp.MustCompile(`r-[0-9a-z]{8}`).FindString(said)
		f.until(run, "completed")
	}
	if n := count(); n != 1 {
		t.Errorf("cron started %d runs", n)
	}
}

// What a start is given arrives, its pictures too; and a folder that is gone is refused by name,
// for a thread that is to go on in it and for a run.
func TestServeStartEdges(t *testing.T) {
	t.Parallel()
	f, model := newHelpFolder(t, modeltest.Turn{Text: "A dot."})
	const pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
	seen := f.post(map[string]any{"prompt": "what is it?", "folder": f.dir + "/site", "images": []string{pixel}})
	f.until(seen, "completed")
	if facts := askServer(t, f.home, "GET", "/v1/runs/"+seen+"/facts?limit=1", ""); !strings.Contains(facts, `"media":"image/png"`) {
		t.Error(facts)
	}
	if asked := model.Exchanges(); len(asked) != 1 || !strings.Contains(asked[0].Body, pixel) {
		t.Errorf("the model was asked %d times, and did not get the picture", len(asked))
	}
	refused := func(path, body string, status int, code string, next string) {
		t.Helper()
		got, text, err := tryServer(t, f.home, "POST", path, body, "")
		if err != nil || got != status || !strings.Contains(text, fmt.Sprintf(`"code":%q`, code)) || !strings.Contains(text, next) {
			t.Errorf("%s %s: %d %s, %v", path, body, got, text, err)
		}
	}
	refused("/v1/runs", `{"prompt":"see","folder":"/","runbook":true,"images":["`+pixel+`"]}`, 422, "refused", `"agent run --help"`)
	dir := filepath.Join(f.dir, "gone")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	over := f.post(map[string]any{"prompt": "```sh access=read\ntrue\n```\n", "folder": dir, "runbook": true})
	f.until(over, "completed")
	var of struct {
		Run struct {
			Thread string `json:"thread_id"`
		} `json:"run"`
	}
	if err := json.Unmarshal([]byte(askServer(t, f.home, "GET", "/v1/runs/"+over, "")), &of); err != nil || of.Run.Thread == "" {
		t.Fatalf("%+v, %v", of, err)
	}
	stopped := f.post(map[string]any{"prompt": "```sh access=read\nsleep 600\n```\n", "folder": dir, "runbook": true})
	f.until(stopped, "running")
	if out, err := f.agent(nil, "show", "--json", stopped).Output(); err == nil {
		var v struct {
			Run struct {
				Owner struct {
					PID int `json:"pid"`
				} `json:"owner"`
			} `json:"run"`
		}
		if err := json.Unmarshal(out, &v); err != nil || v.Run.Owner.PID == 0 {
			t.Fatalf("%s, %v", out, err)
		}
		if err := syscall.Kill(v.Run.Owner.PID, syscall.SIGINT); err != nil { // as a person stops what drives it
			t.Fatal(err)
		}
	}
	f.until(stopped, "interrupted")
	if err := os.Remove(dir); err != nil {
		t.Fatal(err)
	}
	refused("/v1/runs", `{"prompt":"more","thread":"`+of.Run.Thread+`","runbook":true}`, 422, "folder_gone", `"agent run --thread `+of.Run.Thread+` --dir FOLDER"`)
	refused("/v1/runs/"+stopped+"/resume", `{}`, 422, "folder_gone", `"agent resume --dir FOLDER `+stopped+`"`)
}
