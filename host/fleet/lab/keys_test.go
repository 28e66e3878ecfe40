package lab_test

import (
	"strings"
	"sync"
	"testing"
	"time"

	"agent/fleet/lab"
)

// Twenty starts with one key at once are one run, and another request with it is refused, also when
// the run has ended.
func TestOneKeyIsOneRun(t *testing.T) {
	l, _ := lab.OneHost(t)
	id := l.Begin("warm", []string{"true"})
	l.Until(id, "ended", time.Minute, lab.Run.Ended)
	file := l.Book("same", lab.Runbook+"# same\n\n```sh\necho same.1 >> "+l.Dir+"/effects/same; sleep 2\n```\n")
	other := l.Book("other", lab.Runbook+"# same\n\n```sh\necho other.1 >> "+l.Dir+"/effects/other\n```\n")
	const starts = 20
	var runs [starts]lab.Run
	var all sync.WaitGroup
	for i := range runs {
		all.Go(func() {
			r, errs, code := l.Ask(file, "--key", "k")
			if code != 0 {
				t.Errorf("exit %d: %s", code, errs)
			}
			runs[i] = r
		})
	}
	all.Wait()
	first := 0
	for _, r := range runs {
		if r.ID != runs[0].ID {
			t.Errorf("run %s and run %s have one key", r.ID, runs[0].ID)
		}
		if !r.Existed {
			first++
		}
	}
	if first != 1 {
		t.Errorf("%d of %d starts say that they began the run", first, starts)
	}
	refused := func(when string) {
		if _, errs, code := l.Ask(other, "--key", "k"); code == 0 || !strings.Contains(errs, "the key k stands for run "+runs[0].ID) {
			t.Errorf("another prompt %s: exit %d: %s", when, code, errs)
		}
	}
	refused("while it runs")
	if r := l.Until(runs[0].ID, "ended", time.Minute, lab.Run.Ended); r.Status != "completed" {
		t.Errorf("it ended as %+v", r)
	}
	refused("after its end")
	if r, errs, code := l.Ask(file, "--key", "k"); r.ID != runs[0].ID || !r.Existed || r.Status != "completed" {
		t.Errorf("the same start after its end: %+v, exit %d: %s", r, code, errs)
	}
	if r, errs, code := l.Ask(other, "--key", "k2"); r.ID == runs[0].ID || r.ID == "" {
		t.Errorf("another key: %+v, exit %d: %s", r, code, errs)
	} else {
		l.Until(r.ID, "ended", time.Minute, lab.Run.Ended)
	}
	l.Once("same", 1)
	l.Once("other", 1)
}
