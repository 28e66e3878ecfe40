package worker

import (
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"agent/fleet/custody"
	"agent/fleet/log"
	"agent/fleet/seal"
	"agent/host/pack"
	"agent/host/witness/line"
)

// A worker that begins finds thousands of runs that wait: none of them takes a process, and a run
// that is not the fleet's is left out.
func TestWaitingRunsAreCountedWithoutAProcess(t *testing.T) {
	var list []string
	for i := range 3 {
		list = append(list, fmt.Sprintf(`{"id":"r-0000000%d","status":"waiting"}`, i))
	}
	a, args := program(t, `{"version":1,"more":["runs"],"runs":[`+strings.Join(list, ",")+`],"older":0}`, "0")
	l, err := log.Open(t.Context(), "dir:"+t.TempDir(), "n")
	if err != nil {
		t.Fatal(err)
	}
	h := host(1)
	h.homes, h.logger = &homes{first: a}, slog.New(slog.DiscardHandler)
	h.record = &record{log: l, key: seal.NewKey(), namespace: "n", host: h.Name, seen: time.Now()}
	for _, run := range []string{"r-00000000", "r-00000002"} {
		entry, err := h.record.key.Sealer("n", run).Seal(1, seal.Entry{By: h.Name, Epoch: 1, Records: []pack.Record{{Body: []byte("b")}}})
		if err == nil {
			err = l.Create(t.Context(), run, 1, entry)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	got := h.adopt(t.Context())
	if want := "r-00000000 r-00000002"; strings.Join(got.waiting, " ") != want || len(got.unread)+len(got.idle) > 0 {
		t.Errorf("it found %+v", got)
	}
	if !strings.Contains(args(), " ls ") {
		t.Errorf("the last command was %s", args())
	}
}

func TestAListThatIsCutOff(t *testing.T) {
	for _, text := range []string{"", `{"version":1}`, `{"runs":[{"id":"r-00000000"},{"id"`, `{"runs":5}`} {
		a, _ := program(t, text, "0")
		if err := a.unfinished(t.Context(), func(localRun) {}); err == nil {
			t.Errorf("%q is read as a list", text)
		}
	}
	a, _ := program(t, `{"runs":[]}`, "1")
	if err := a.unfinished(t.Context(), func(localRun) {}); err == nil {
		t.Error("a list is read of a command that ended in an error")
	}
}

// Where a run is, is kept while an activity drives it, and not for those that wait.
func TestNothingIsKeptOfARunThatIsNotDriven(t *testing.T) {
	h := host(1)
	h.record = &record{seen: time.Now()}
	said := func() custody.Progress { h.logged("r-1", 7, 20); return h.progress("r-1") }
	first, second := h.driven("r-1"), h.driven("r-1")
	if got := said(); got.Log != 7 || got.Facts != 20 {
		t.Errorf("of a run that is driven it is known %+v", got)
	}
	first()
	h.place("r-1", localRun{Turns: 3})
	if got := said(); got.Turn != 3 || got.Log != 7 {
		t.Errorf("of one that another activity drives it is known %+v", got)
	}
	second()
	if said(); len(h.places)+len(h.held) > 0 {
		t.Errorf("kept: %v", h.places)
	}
	if why := h.holds(line.Request{Op: line.Append, Root: "r-1", Why: "start of call 1.0 shell"}); why != "" || len(h.held) > 0 {
		t.Errorf("it is held: %s", why)
	}
}
