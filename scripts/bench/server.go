//go:build linux

package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"agent/db"
	"agent/recovery/journal"
	"agent/scripts/streams/stage"
)

// within is a figure of which no more than the limit is promised.
func within(figure string, value float64, unit string, limit float64) row {
	return cost(figure, value, unit, limit, "is the limit")
}

// server is what the server, and a run in the background, take.
func server(ctx context.Context, b *bench) (rows []row, err error) {
	for _, part := range []func(context.Context, *bench, *stage.Stage) ([]row, error){live, beside, starts, crowded, longRun, manyListed, recovered} {
		s, err := stage.New(ctx, b.exe)
		if err != nil {
			return rows, err
		}
		some, err := part(ctx, b, s)
		rows = append(rows, some...)
		if err = errors.Join(err, s.Close()); err != nil {
			return rows, err
		}
	}
	return rows, nil
}

// stamped is an answer each of whose tokens says when it was sent.
func stamped(pace time.Duration) func(int) stage.Answer {
	return func(int) stage.Answer {
		tokens := make([]string, 1<<20)
		return stage.Answer{Tokens: tokens, Pace: pace, Last: true, Stamp: true}
	}
}

// live is how long a token takes from the model to those who watch.
func live(ctx context.Context, b *bench, s *stage.Stage) (rows []row, err error) {
	s.Model.Says(stamped(20 * time.Millisecond))
	run, _, err := s.Paced()
	if err != nil {
		return nil, err
	}
	if err := s.Serve(); err != nil {
		return nil, err
	}
	for _, c := range []struct {
		observers int
		p50, p99  float64
	}{{1, 15, 50}, {100, 40, 200}} {
		took, err := tokenTimes(ctx, s, run, c.observers, time.Duration(b.times(20))*time.Second)
		if err != nil {
			return rows, err
		}
		name := fmt.Sprintf("a token from the model to each of %d observers", c.observers)
		rows = append(rows, within(name+", median", median(took, time.Millisecond), "ms", c.p50),
			within(name+", of 100 the slowest", float64(took[len(took)*99/100])/1e6, "ms", c.p99))
	}
	return rows, s.Command("cancel", run).Run()
}

// beside is what a run in the background has of memory, beside others: its program's pages are
// shared by all processes of the binary.
func beside(_ context.Context, b *bench, s *stage.Stage) ([]row, error) {
	s.Model.Says(stamped(50 * time.Millisecond))
	runs := b.times(16)
	var pids []int
	for range runs {
		_, pid, err := s.Paced()
		if err != nil {
			return nil, err
		}
		pids = append(pids, pid)
	}
	var all, own float64
	for _, pid := range pids {
		pss, private, err := memoryOf(pid)
		if err != nil {
			return nil, err
		}
		all, own = all+pss/float64(runs), own+private/float64(runs)
	}
	name := fmt.Sprintf("a run in the background, one of %d", runs)
	return []row{within(name+", shared pages divided (PSS)", all, "MB", 10), plain(name+", private", own, "MB")}, s.EndRuns()
}

// tokenTimes are sorted: of every token, for every observer.
func tokenTimes(ctx context.Context, s *stage.Stage, run string, observers int, most time.Duration) ([]time.Duration, error) {
	within, stop := context.WithTimeout(ctx, most)
	defer stop()
	var mu sync.Mutex
	var all []time.Duration
	var failed error
	var reading sync.WaitGroup
	for range observers {
		reading.Go(func() {
			first := true // what the first piece has is older
			err := observe(within, s, "/v1/runs/"+run+"/events", func(kind, data string) bool {
				if kind != "live.text" {
					return true
				}
				now := time.Now()
				var v struct{ Data struct{ Text string } }
				if json.Unmarshal([]byte(data), &v) != nil || first {
					first = false
					return true
				}
				mu.Lock()
				defer mu.Unlock()
				for stamp := range strings.FieldsSeq(v.Data.Text) {
					if at, err := strconv.ParseInt(stamp, 10, 64); err == nil && len(stamp) == 19 { // not the half of one
						all = append(all, now.Sub(time.Unix(0, at)))
					}
				}
				return true
			})
			mu.Lock()
			defer mu.Unlock()
			failed = errors.Join(failed, err)
		})
	}
	reading.Wait()
	if len(all) < 10 {
		return nil, errors.Join(failed, fmt.Errorf("%d tokens came", len(all)))
	}
	slices.Sort(all)
	return all, nil
}

// observe reads a stream until each says false, it ends, or ctx does.
func observe(ctx context.Context, s *stage.Stage, path string, each func(kind, data string) bool) error {
	a, err := s.Ask(ctx, "GET", path, "")
	if err != nil {
		return err
	}
	defer a.Body.Close()
	lines := bufio.NewReaderSize(a.Body, 64<<10)
	kind := ""
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			return nil //nolint:nilerr // the end of the stream, or of the time
		}
		if name, ok := strings.CutPrefix(line, "event: "); ok {
			kind = strings.TrimSpace(name)
		} else if data, ok := strings.CutPrefix(line, "data: "); ok && !each(kind, data) {
			return nil
		}
	}
}

// memoryOf is what a process has, in MB.
func memoryOf(pid int) (pss, private float64, err error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", pid))
	if err != nil {
		return 0, 0, fmt.Errorf("read the memory of process %d: %w", pid, err)
	}
	for line := range strings.Lines(string(text)) {
		fields := strings.Fields(line)
		if len(fields) < 3 {
			continue
		}
		kb, _ := strconv.ParseFloat(fields[1], 64)
		switch fields[0] {
		case "Pss:":
			pss = kb / 1024
		case "Private_Clean:", "Private_Dirty:":
			private += kb / 1024
		}
	}
	return pss, private, nil
}

// starts is how long a start over HTTP takes.
func starts(ctx context.Context, b *bench, s *stage.Stage) ([]row, error) {
	s.Model.Says(func(int) stage.Answer { return stage.Answer{Tokens: []string{"done"}, Last: true} })
	if err := s.Serve(); err != nil {
		return nil, err
	}
	var took []time.Duration
	body := fmt.Sprintf(`{"prompt":"go","folder":%q,"model":"paced/test"}`, s.Work)
	for range b.times(30) {
		began := time.Now()
		a, err := s.Ask(ctx, "POST", "/v1/runs", body)
		if err != nil {
			return nil, err
		}
		took = append(took, time.Since(began))
		if err := a.Body.Close(); err != nil || a.StatusCode != http.StatusCreated {
			return nil, errors.Join(err, fmt.Errorf("POST /v1/runs: %s", a.Status))
		}
	}
	return []row{within("POST /v1/runs until 201, median", median(took, time.Millisecond), "ms", 60)}, nil
}

// crowded is what observers of a run that stands still cost the server.
func crowded(ctx context.Context, b *bench, s *stage.Stage) ([]row, error) {
	s.Model.Says(stamped(50 * time.Millisecond))
	run, _, err := s.Paced()
	if err != nil {
		return nil, err
	}
	if err := s.Serve(); err != nil {
		return nil, err
	}
	idle, err := rss(s.Server.Process.Pid)
	if err != nil {
		return nil, err
	}
	count := b.times(1000)
	open, stop := context.WithCancel(ctx)
	var reading sync.WaitGroup
	var there sync.WaitGroup
	there.Add(count)
	for range count {
		reading.Go(func() {
			once := sync.OnceFunc(there.Done)
			defer once()
			_ = observe(open, s, "/v1/runs/"+run+"/events", func(string, string) bool { once(); return true }) // it is counted either way
		})
	}
	there.Wait()
	with, err := rss(s.Server.Process.Pid)
	stop()
	reading.Wait()
	return []row{within("the server, nobody watches", idle, "MB", 30), within(fmt.Sprintf("the server, %d observers", count), with, "MB", 95)},
		errors.Join(err, s.Command("cancel", run).Run())
}

func rss(pid int) (float64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	if err != nil {
		return 0, err
	}
	pages, err := strconv.ParseFloat(strings.Fields(string(text))[1], 64)
	return pages * float64(os.Getpagesize()) / 1e6, err
}

// longRun is a run of 10,000 facts, from its beginning.
func longRun(ctx context.Context, b *bench, s *stage.Stage) ([]row, error) {
	const turns = 2000
	store, err := db.Open(ctx, s.Home, db.Options{NoBallast: true})
	if err != nil {
		return nil, err
	}
	const run = "r-0000long"
	err = grow(ctx, store, journal.RunCreated{Run: run, Prompt: "go", Folder: s.Work, Model: "runbook", Mode: journal.ModeAsk}, turns)
	if err = errors.Join(err, store.Close()); err != nil {
		return nil, err
	}
	if err := s.Serve("--recover", "none"); err != nil {
		return nil, err
	}
	var took []time.Duration
	for range b.times(20) {
		began, facts := time.Now(), 0
		err := observe(ctx, s, "/v1/runs/"+run+"/events?after=0", func(kind, _ string) bool {
			facts++
			return kind != "run.state"
		})
		if facts < turns*factsPerTurn {
			return nil, errors.Join(err, fmt.Errorf("%d facts came", facts))
		}
		took = append(took, time.Since(began))
	}
	return []row{within("10,000 facts as events, from the first", median(took, time.Second), "s", 0.5)}, nil
}

// manyListed is the first page of many runs.
func manyListed(ctx context.Context, b *bench, s *stage.Stage) ([]row, error) {
	home, err := b.manyRuns(ctx, 10_000, 0, finished)
	if err != nil {
		return nil, err
	}
	s.Home = home
	if err := s.Serve("--recover", "none"); err != nil {
		return nil, err
	}
	var took []time.Duration
	for range b.times(50) {
		began := time.Now()
		var page struct{ Runs []json.RawMessage }
		if err := s.Get(ctx, "/v1/runs?limit=50", &page); err != nil || len(page.Runs) != 50 {
			return nil, errors.Join(err, fmt.Errorf("%d runs came", len(page.Runs)))
		}
		took = append(took, time.Since(began))
	}
	return []row{within("the first page of 10,000 runs, 50 of them", median(took, time.Millisecond), "ms", 10)}, nil
}

// recovered is how long a server takes from its start until it has runs go on that were killed.
func recovered(ctx context.Context, b *bench, s *stage.Stage) ([]row, error) {
	const runs = 8
	s.Model.Says(stamped(50 * time.Millisecond))
	var first, all []time.Duration
	for range b.times(10) {
		if err := os.RemoveAll(s.Home); err != nil {
			return nil, err
		}
		var killed []string
		for range runs {
			run, _, err := s.Paced()
			if err != nil {
				return nil, err
			}
			killed = append(killed, run)
		}
		if err := s.EndRuns(); err != nil {
			return nil, err
		}
		began := time.Now()
		if err := s.Serve(); err != nil {
			return nil, err
		}
		times, err := claims(ctx, s, killed)
		if err != nil {
			return nil, err
		}
		first, all = append(first, times[0].Sub(began)), append(all, times[len(times)-1].Sub(began))
		s.Kill()
		if err := s.EndRuns(); err != nil {
			return nil, err
		}
	}
	return []row{within("from the server's start to its first recovered run", median(first, time.Second), "s", 0.3),
		within("to all of 8", median(all, time.Second), "s", 1.5)}, nil
}

// claims waits until each run was claimed a second time, and gives when that was.
func claims(ctx context.Context, s *stage.Stage, runs []string) ([]time.Time, error) {
	var times []time.Time
	err := stage.Wait(ctx, time.Minute, "the runs go on", func() (bool, error) {
		times = nil
		for _, run := range runs {
			var page struct {
				Facts []struct {
					Type string
					Time time.Time
					Data struct{ Epoch int }
				}
			}
			if err := s.Get(ctx, "/v1/runs/"+run+"/facts?limit=20", &page); err != nil {
				return false, err
			}
			for _, f := range page.Facts {
				if f.Type == string(journal.KindRunClaimed) && f.Data.Epoch == 2 {
					times = append(times, f.Time)
				}
			}
		}
		return len(times) >= len(runs), nil
	})
	slices.SortFunc(times, time.Time.Compare)
	return times, err
}
