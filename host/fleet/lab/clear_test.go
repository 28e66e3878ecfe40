package lab_test

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"agent/fleet/lab"
)

// canaries are what a run of the test tells, asks and does.
func canaries() map[string]string {
	return map[string]string{
		"prompt": "kestrelpromptharbour", "question": "kestrelquestionharbour", "answer": "kestrelanswerharbour",
		"argument": "kestrelargumentharbour", "output": "kestreloutputharbour", "file": "kestrelfileharbour",
	}
}

// before is the text of which tr makes another one: the output of a command is no part of it.
func before(text string) string {
	return strings.Map(func(r rune) rune { return 'a' + (r-'a'+25)%26 }, text)
}

// Nothing of what a run tells, asks and does is in the engine's or the log's files; that the next
// host has it shows that it went through the log.
func TestNothingIsInTheClear(t *testing.T) {
	for name, where := range map[string]func(l *lab.Lab) (log string){
		"dir":      func(l *lab.Lab) string { return filepath.Join(l.Dir, "log") },
		"postgres": func(l *lab.Lab) string { l.Postgres(); return filepath.Join(l.Dir, "pg") },
		"bucket":   func(l *lab.Lab) string { l.Bucket(); return filepath.Join(l.Dir, "s3") },
	} {
		t.Run(name, func(t *testing.T) { sealed(t, where) })
	}
}

func sealed(t *testing.T, where func(l *lab.Lab) string) {
	l, c := lab.New(t), canaries()
	log := where(l)
	l.StartEngine()
	h := l.Host("h-01")
	file := l.Book(c["file"], fmt.Sprintf("%s# Ask\n\n%s\n\n- ask_user %q\n\n```sh\n: %s; echo %s | tr a-z b-za; echo %s > left.txt\n```\n\n- confirm_action \"Go on?\"\n",
		lab.Runbook, c["prompt"], c["question"]+"?", c["argument"], before(c["output"]), c["argument"]))
	r, errs, code := l.Ask(file, "--key", "kestrelkeyharbour")
	if r.ID == "" {
		t.Fatalf("exit %d: %s", code, errs)
	}
	r = l.Until(r.ID, "waiting", time.Minute, lab.Run.Asks)
	if !strings.Contains(r.Asked.Text, c["question"]) {
		t.Errorf("the engine does not have the question: %+v", r)
	}
	first := r.Asked.ID
	l.Do("answer", first, c["answer"])
	r = l.Until(r.ID, "waiting again", time.Minute, func(r lab.Run) bool { return r.Asks() && r.Asked.ID != first })
	h.Lose()
	next := l.Host("h-02")
	l.Do("move", r.ID, "--host-is-gone")
	l.Do("answer", r.Asked.ID, "yes")
	if r = l.Settle(r.ID, 2*time.Minute); r.Status != "completed" {
		t.Fatalf("it ended as %+v", r)
	}
	unseen(t, l, log)
	seen(t, l, next, r.ID)
}

// unseen fails the test where a canary or the fleet's key is in a file of the engine or the log.
func unseen(t *testing.T, l *lab.Lab, log string) {
	all := canaries()
	all["start key"] = "kestrelkeyharbour"
	text, err := os.ReadFile(filepath.Join(l.Dir, "key"))
	if err != nil {
		t.Fatal(err)
	}
	key, err := base64.StdEncoding.DecodeString(strings.TrimSpace(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	all["fleet's key"] = string(key)
	for what, canary := range all {
		for _, path := range []string{filepath.Join(l.Dir, "engine.db"), log} {
			if files := l.Found(canary, path); len(files) > 0 {
				t.Errorf("the %s is in %v", what, files)
			}
		}
	}
}

// seen fails the test where the search does not find what has to be there: the run's id in the
// engine, which stores it as it is, and the canaries on the host that has them by the log.
func seen(t *testing.T, l *lab.Lab, next *lab.Host, run string) {
	if len(l.Found(run, filepath.Join(l.Dir, "engine.db"))) == 0 {
		t.Error("the search does not find the run in the engine's files")
	}
	if strings.HasPrefix(l.LogURL, "postgres:") && len(l.Found(run, filepath.Join(l.Dir, "pg"))) == 0 {
		t.Error("the search does not find the run in the files of PostgreSQL")
	}
	c := canaries()
	for _, what := range []string{"prompt", "question", "answer", "argument", "output"} {
		if len(l.Found(c[what], next.Home())) == 0 {
			t.Errorf("the %s is not on %s", what, next.Name)
		}
	}
}

// The search finds a text in each form that it looks for.
func TestControlTheSearchFindsWhatIsThere(t *testing.T) {
	const text = "kestrelcontrolharbour"
	folder := t.TempDir()
	l := &lab.Lab{TB: t, Dir: folder}
	forms := map[string]func(b []byte) string{
		"raw": func(b []byte) string { return string(b) }, "hex": hex.EncodeToString,
		"base64": base64.StdEncoding.EncodeToString, "base64url": base64.RawURLEncoding.EncodeToString,
		"HEX": func(b []byte) string { return strings.ToUpper(hex.EncodeToString(b)) },
	}
	for form, encode := range forms {
		for around := range 6 {
			path := filepath.Join(folder, fmt.Sprintf("%s%d", form, around))
			data := append(bytes.Repeat([]byte{0xfb}, around), text...)
			if err := os.WriteFile(path, []byte(encode(append(data, bytes.Repeat([]byte{0xef}, around/2)...))), 0o600); err != nil {
				t.Fatal(err)
			}
			if found := l.Found(text, path); len(found) != 1 {
				t.Errorf("%s with %d bytes before it is not found", form, around)
			}
			if found := l.Found("kestrelabsentharbour", path); len(found) != 0 {
				t.Errorf("what is not there is found in %v", found)
			}
		}
	}
}
