package lab_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
	"text/tabwriter"
	"time"

	"agent/fleet/lab"
)

var (
	figures = flag.Bool("figures", false, "measure what the design sets limits to")
	idle    = flag.Int("idle", 500, "how many runs wait while the memory of a worker is measured; 0 for none")
	idleFor = flag.Duration("idle-for", 10*time.Minute, "begin no further one of them after this time")
)

// sheet is a part of the table of figures, measured in a lab of its own.
type sheet struct {
	*lab.Lab
	rows  *strings.Builder
	hosts map[string]*lab.Host
}

// row adds a figure, with what the design allows.
func (s *sheet) row(figure, limit, format string, args ...any) {
	measured := fmt.Sprintf(format, args...)
	fmt.Fprintf(s.rows, "%s\t%s\t%s\n", figure, measured, limit)
	s.Logf("%s: %s (%s)", figure, measured, limit)
}

func (s *sheet) host(name string) { s.hosts[name] = s.Host(name) }

// measured has the program measure something.
func (s *sheet) measured(out any, args ...string) {
	s.Helper()
	if err := json.Unmarshal([]byte(s.Measure(args...)), out); err != nil {
		s.Fatal(err)
	}
}

// TestFigures measures what the design sets limits to, with -figures. What is too slow on the
// machine of the test is no failure; the table says what the limits are.
func TestFigures(t *testing.T) {
	if !*figures {
		t.Skip("-figures has it measured")
	}
	var rows strings.Builder
	part := func(name string, measure func(s *sheet)) {
		t.Run(name, func(t *testing.T) { measure(&sheet{lab.New(t), &rows, map[string]*lab.Host{}}) })
	}
	part("fleet", func(s *sheet) {
		s.StartEngine()
		s.host("h-01")
		s.memory(s.hosts["h-01"])
		for i := range 7 {
			s.host(fmt.Sprintf("h-%02d", i+2))
		}
		s.engine()
		s.takeover()
	})
	part("dir", func(s *sheet) { s.size(); s.witness("dir") })
	part("PostgreSQL", func(s *sheet) { s.Postgres(); s.witness("PostgreSQL") })
	part("crowd", (*sheet).crowd)
	var table strings.Builder
	w := tabwriter.NewWriter(&table, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "FIGURE\tMEASURED\tLIMIT\n%s", rows.String())
	w.Flush()
	t.Log("\n" + table.String())
}

const mega = 1 << 20

// memory is that of a worker which does nothing, and of one which drives four runs.
func (s *sheet) memory(h *lab.Host) {
	s.row("resident memory of an idle worker", "60 MB", "%d MB", h.Memory()/mega)
	var runs []string
	for i := range 4 {
		runs = append(runs, s.InStep(1, fmt.Sprintf("slow%d", i), []string{"sleep 15"}))
	}
	s.row("resident memory of a worker with 4 runs", "60 MB", "%d MB", h.Memory()/mega)
	for _, run := range runs {
		s.Until(run, "ended", time.Minute, lab.Run.Ended)
	}
}

// engine compares the fleet with the bare engine.
func (s *sheet) engine() {
	var dispatch struct {
		Bare  float64 `json:"bare_ms"`
		Fleet float64 `json:"fleet_ms"`
		Alone float64 `json:"alone_ms"`
	}
	s.measured(&dispatch, "-n", "30", "dispatch")
	s.row("dispatch: start to claim, p50 of 30", "bare + 60 ms", "%.0f ms; bare %.0f ms; agent alone %.0f ms", dispatch.Fleet, dispatch.Bare, dispatch.Alone)
	var rate struct{ Bare, Fleet, Alone float64 }
	s.measured(&rate, "-n", "60", "rate")
	both := 1 / (1/rate.Bare + 1/rate.Alone) // what processors can do that have the work of both
	s.row("60 runs of one step at once, 8 workers", "0.7 of bare", "%.1f runs/s; bare %.1f/s, ratio %.2f; 8 loops of agent alone %.1f/s, ratio %.2f; of both in turn %.1f/s, ratio %.2f",
		rate.Fleet, rate.Bare, rate.Fleet/rate.Bare, rate.Alone, rate.Fleet/rate.Alone, both, rate.Fleet/both)
}

// takeover is how long it takes until another host has claimed the run of one that is lost.
func (s *sheet) takeover() {
	id := s.InStep(2, "taken", []string{"true", "sleep 10", "true"}, "--away", "0")
	r, _ := s.Show(id)
	lost := time.Now()
	s.hosts[r.Host].Lose()
	s.Settle(id, 3*time.Minute)
	var x struct {
		Silent, Claimed time.Time
		By              string
	}
	s.measured(&x, "-workers", "0", "-run", id, "takeover")
	s.row("takeover: loss to the next claim, away 0", "beat of 20 s + 2 s", "%.1f s", x.Claimed.Sub(lost).Seconds())
	s.row("takeover: host given up to the next claim", "2 s", "%.2f s, by %s", x.Claimed.Sub(x.Silent).Seconds(), x.By)
}

// size is that of the programs.
func (s *sheet) size() {
	for _, program := range []struct{ name, path, limit string }{
		{"agent-fleet", s.Fleet, "40 MB"}, {"agent", s.Agent, "100 KB more than before"},
	} {
		info, err := os.Stat(program.path)
		if err != nil {
			s.Fatal(err)
		}
		s.row("size of "+program.name+", stripped", program.limit, "%.1f MB", float64(info.Size())/1e6)
	}
}

// witness is what a call with an effect waits for.
func (s *sheet) witness(name string) {
	var x struct {
		Put    float64 `json:"put_ms"`
		Answer float64 `json:"answer_ms"`
		Call   float64 `json:"call_ms"`
	}
	s.measured(&x, "-n", "40", "witness")
	s.row("witness for a call with an effect, "+name, "a put + 1 ms", "answers in %.2f ms; the run takes %.2f ms longer a call; a put %.2f ms", x.Answer, x.Call, x.Put)
}

const (
	few      = 100       // runs that wait; a worker has done by then all that it does for any
	more     = 10 * mega // that a worker may take with thousands
	answered = 36
)

// crowd is what a worker of which many runs wait takes: what it takes with few of them.
func (s *sheet) crowd() {
	if *idle == 0 {
		return
	}
	s.StartEngine()
	h := s.Host("h-01", "--slots", "8")
	begun := h.Memory()
	wait := func(n int) (x struct{ Seconds, Waiting float64 }) {
		s.measured(&x, "-n", fmt.Sprint(n), "-workers", "0", "-limit", idleFor.String(), "crowd")
		return x
	}
	wait(min(few, *idle))
	early := h.Memory()
	x := wait(*idle)
	left, now := h.Left(time.Minute), h.Memory()
	s.row("resident memory of a worker with waiting runs", "10 MB more than with 100; 60 MB",
		"%d MB idle, %d MB with %d, %d MB with %.0f, %d MB at most (all wait after %.0f s)",
		begun/mega, early/mega, min(few, *idle), now/mega, x.Waiting, h.Peak()/mega, x.Seconds)
	s.row("processes of waiting runs", "0", "%d of %.0f runs, which 8 slots have begun", left, x.Waiting)
	if now > early+more || left > 0 {
		s.Errorf("runs that wait are to cost nothing")
	}
	h.StopWorker()
	again := time.Now()
	line := h.Start()
	s.row("a worker begins with waiting runs", "10 MB more than idle", "%d MB after %.1f s: %s", h.Memory()/mega, time.Since(again).Seconds(), strings.TrimSpace(line))
	s.answers()
}

// answers has some of many runs that wait go on.
func (s *sheet) answers() {
	var runs []lab.Run
	for _, r := range s.List() {
		if r.Asked != nil && len(runs) < answered {
			runs = append(runs, r)
		}
	}
	begun := time.Now()
	for _, r := range runs {
		s.Do("answer", r.Asked.ID, "yes")
	}
	for _, r := range runs {
		if r = s.Until(r.ID, "ended", time.Minute, lab.Run.Ended); r.Status != "completed" {
			s.Errorf("run %s is %s: %s", r.ID, r.Status, r.Reason)
		}
	}
	s.row("answers to waiting runs", "all end", "%d end within %.0f s", len(runs), time.Since(begun).Seconds())
}
