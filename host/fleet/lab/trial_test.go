package lab_test

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"sync"
	"testing"
	"time"

	"agent/fleet/lab"
)

var (
	runs  = flag.Int("runs", 20, "how many runs the trial has")
	hosts = flag.Int("hosts", 8, "on how many hosts")
	kill  = flag.Duration("kill", 5*time.Second, "between two kills")
	lose  = flag.Duration("lose", time.Minute, "between two hosts that are lost with their homes")
	seed  = flag.Uint64("seed", 1, "of the order of events")
	limit = flag.Duration("limit", 40*time.Minute, "of the whole trial")
	out   = flag.String("out", "", "file that the counts are written to")
)

// trial is what happened in it.
type trial struct {
	*lab.Lab
	mu    sync.Mutex
	hosts []*lab.Host
	names []string
	ids   map[string]string // of the runs, by name

	workers, drivers, reboots, lost int // kills of each kind
}

// TestManyRuns kills workers, drivers and machines at random while runs go on, and loses some hosts
// for good. Every run ends, nothing is done twice, and at most one call of a run is unknown.
func TestManyRuns(t *testing.T) {
	l := lab.New(t)
	l.StartEngine()
	x := &trial{Lab: l, ids: map[string]string{}}
	for i := range *hosts {
		x.hosts = append(x.hosts, l.Host(fmt.Sprintf("h-%02d", i+1)))
	}
	began := time.Now()
	done := make(chan struct{})
	var trouble sync.WaitGroup
	trouble.Go(func() { x.trouble(done) })
	x.begin()
	ended := x.settle(began)
	took := time.Since(began)
	close(done)
	trouble.Wait()
	x.judge(ended, took)
}

// begin starts all runs, as fast as the engine takes them.
func (x *trial) begin() {
	for i := range *runs {
		name := fmt.Sprintf("n%05d", i)
		id := x.Begin(name, []string{"true", "sleep 0.5", "true"}, "--away", "15s")
		x.mu.Lock()
		x.names, x.ids[name] = append(x.names, name), id
		x.mu.Unlock()
	}
}

// settle answers what is asked until every run has ended, or the time is over.
func (x *trial) settle(began time.Time) map[string]lab.Run {
	t := time.NewTicker(2 * time.Second)
	defer t.Stop()
	for ; ; <-t.C {
		ended := map[string]lab.Run{}
		counts := map[string]int{}
		for _, r := range x.List() {
			counts[r.Status]++
			if r.Ended() {
				ended[r.ID] = r
			}
			if r.Asks() {
				x.Try("answer", r.Asked.ID, "yes") // what is refused is asked again
			}
			if r.Status == "parked" {
				x.Try("resume", r.ID)
			}
		}
		if len(ended) == *runs || time.Since(began) > *limit { // time: the person asked for a trial of so long
			return ended
		}
		x.Logf("%s: %v; killed %d workers, %d drivers, %d machines; lost %d hosts", time.Since(began).Round(time.Second), counts,
			x.workers, x.drivers, x.reboots, x.lost)
	}
}

// trouble kills something every few seconds until the trial is over.
func (x *trial) trouble(done chan struct{}) {
	r := rand.New(rand.NewPCG(*seed, 0))
	kills, losses := time.NewTicker(*kill), time.NewTicker(*lose)
	defer kills.Stop()
	defer losses.Stop()
	for {
		h := x.hosts[r.IntN(len(x.hosts))]
		select {
		case <-done:
			return
		case <-losses.C:
			h.Lose()
			h.Boot()
			h.Start()
			x.lost++
		case <-kills.C:
			x.kill(r, h)
		}
	}
}

func (x *trial) kill(r *rand.Rand, h *lab.Host) {
	switch r.IntN(3) {
	case 0:
		h.KillWorker()
		h.Start()
		x.workers++
	case 1:
		if h.KillAnyDriver(r) {
			x.drivers++
		}
	case 2:
		h.PowerOff()
		h.Boot()
		h.Start()
		x.reboots++
	}
}

// judge compares the effects with what was promised.
func (x *trial) judge(ended map[string]lab.Run, took time.Duration) {
	status, twice, missing, unknown := map[string]int{}, 0, 0, 0
	most := 0
	for _, name := range x.names {
		r, ok := ended[x.ids[name]]
		if !ok {
			now, _ := x.Show(x.ids[name])
			x.Errorf("%s has not ended: %+v", name, now)
			continue
		}
		status[fmt.Sprintf("%s (exit %d)", r.Status, r.Exit)]++
		unknown, most = unknown+len(r.Unknown), max(most, len(r.Unknown))
		for key, n := range x.Effects(name) {
			if n > 1 {
				twice++
				x.Errorf("%s was done %d times: %+v", key, n, r)
			}
		}
		if got := len(x.Effects(name)); got+len(r.Unknown) < 3 {
			missing++
			x.Errorf("%s did %d of 3 steps: %+v", name, got, r)
		}
	}
	text := fmt.Sprintf(`runs %d
hosts %d
ends %d
effects_done_twice %d
runs_with_a_step_missing %d
calls_of_unknown_outcome %d
unknown_at_most_in_a_run %d
workers_killed %d
drivers_killed %d
machines_killed %d
hosts_lost %d
trial_seconds %.0f
runs_a_second %.2f
`, *runs, *hosts, len(ended), twice, missing, unknown, most, x.workers, x.drivers, x.reboots, x.lost, took.Seconds(),
		float64(*runs)/took.Seconds())
	x.Log(status)
	x.Log("\n" + text)
	if *out != "" {
		if err := os.WriteFile(*out, []byte(text), 0o644); err != nil {
			x.Error(err)
		}
	}
	if most > 1 {
		x.Errorf("a run has %d calls of unknown outcome", most)
	}
}
