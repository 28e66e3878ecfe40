package lab_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"agent/fleet/lab"
)

// Somebody copies the log of one namespace to another one: its worker refuses it by name, and takes
// nothing.
func TestAClonedLogIsRefused(t *testing.T) {
	t.Parallel()
	l := lab.New(t)
	l.StartEngine("-namespace", "default,elsewhere")
	h := l.Host("h-01")
	id := l.Begin("cloned", []string{"true"})
	l.Until(id, "ended", time.Minute, lab.Run.Ended)
	clone := filepath.Join(l.Dir, "log", "elsewhere")
	if err := os.CopyFS(clone, os.DirFS(filepath.Join(l.Dir, "log", "default"))); err != nil {
		t.Fatal(err)
	}
	h.PowerOff()
	text, code := h.Refused("--namespace", "elsewhere")
	if code == 0 || !strings.Contains(text, id) || !strings.Contains(text, "was written for another place, run or namespace") {
		t.Errorf("exit %d: %s", code, text)
	}
}

// The engine has forgotten a run, as it does with those that ended long ago. Its key brings nothing
// about a second time: the log knows it.
func TestAKeyThatTheEngineForgot(t *testing.T) {
	t.Parallel()
	l, h := lab.OneHost(t)
	id := l.Begin("forgot", []string{"true", "true"})
	l.Until(id, "ended", time.Minute, lab.Run.Ended)
	h.StopWorker()
	l.ForgetEngine()
	l.StartEngine()
	h.Start()
	file := filepath.Join(l.Dir, "books", "forgot.md")
	r, errs, code := l.Ask(file, "--key", "forgot")
	if code != 0 || r.ID != id {
		t.Fatalf("the same start: %+v, exit %d: %s", r, code, errs)
	}
	if r = l.Until(id, "ended", time.Minute, lab.Run.Ended); r.Status != "completed" {
		t.Errorf("it ended as %+v", r)
	}
	l.Once("forgot", 1, 2)
	h.StopWorker()
	l.ForgetEngine()
	l.StartEngine()
	h.Start()
	other := l.Book("other", lab.Runbook+"# other\n\n```sh\necho other.1 >> "+l.Dir+"/effects/other\n```\n")
	if r, errs, code = l.Ask(other, "--key", "forgot"); r.ID != id {
		t.Fatalf("another body: %+v, exit %d: %s", r, code, errs)
	}
	r = l.Until(id, "refused", time.Minute, lab.Run.Ended)
	if r.Status != "failed" || !strings.Contains(r.Text, "the key forgot stands for run "+id+", which was asked for in other words") {
		t.Errorf("another body with the key: %+v", r)
	}
	if n := len(l.Effects("other")); n != 0 {
		t.Errorf("it was carried out: %v", l.Effects("other"))
	}
}
