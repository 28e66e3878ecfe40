//go:build linux

package main

import (
	"agent/scripts/streams/stage"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// watched is how long how many watch.
type watched struct {
	observers int
	alone     time.Duration // without them, before and after
	crowd     time.Duration // with them
	history   int           // turns before that
}

func (w *world) watched() watched {
	if w.short {
		return watched{observers: 100, alone: 4 * time.Second, crowd: 30 * time.Second, history: 60}
	}
	return watched{observers: 1000, alone: time.Minute, crowd: 10 * time.Minute, history: 400}
}

const (
	tokenPace = 5 * time.Millisecond // of the model
	perTurn   = 400                  // tokens
	pastBytes = 1 << 20              // of text before it is watched: more than a connection takes up unread
	mostWAL   = 64 << 20
	mostKept  = 5 << 20 // bytes by which the server's memory may grow while they watch
)

// observers is one run that many watch, half of whom read nothing: the run is as fast as without
// them, and the server does not grow.
func observers(ctx context.Context, w *world) (f findings, err error) {
	size := w.watched()
	w.Model.Says(func(n int) stage.Answer {
		if n <= size.history {
			return stage.Answer{Tokens: strings.SplitAfter(strings.Repeat("a word of the past ", pastBytes/20/size.history), " ")}
		}
		return stage.Answer{Tokens: strings.SplitAfter(strings.Repeat("word ", perTurn-1)+"word", " "), Pace: tokenPace}
	})
	run, driver, err := w.Paced()
	if err != nil {
		return f, err
	}
	if err := w.Serve(); err != nil {
		return f, err
	}
	if err := w.until(ctx, run, size.history); err != nil {
		return f, err
	}
	m := meter{w: w, driver: driver}
	before := m.span(ctx, size.alone)
	idle := w.memory()
	crowd, err := w.crowd(ctx, run, size.observers)
	if err != nil {
		return f, err
	}
	m.span(ctx, size.crowd/4) // until all are there
	at := w.memory()
	with := m.span(ctx, size.crowd-size.crowd/4)
	end, wal := w.memory(), m.wal
	seen, err := crowd.end()
	f.must(err == nil, "the crowd: %v", err)
	after := m.span(ctx, size.alone)
	gone := w.memory()
	alone := span{before.tokens + after.tokens, before.took + after.took, before.cpu + after.cpu}
	ratio := with.rate() / alone.rate()
	f.add("observers", size.observers)
	f.add("stalled", size.observers/2)
	f.add("minutes", fmt.Sprintf("%.1f", size.crowd.Minutes()))
	f.add("tokens_per_second_alone", fmt.Sprintf("%.1f", alone.rate()))
	f.add("tokens_per_second_watched", fmt.Sprintf("%.1f", with.rate()))
	f.add("ratio", fmt.Sprintf("%.3f", ratio))
	f.add("driver_cpu_us_per_token_alone", fmt.Sprintf("%.0f", alone.each()))
	f.add("driver_cpu_us_per_token_watched", fmt.Sprintf("%.0f", with.each()))
	f.add("server_kb_idle_early_end_gone", fmt.Sprintf("%d %d %d %d", idle.rss>>10, at.rss>>10, end.rss>>10, gone.rss>>10))
	f.add("server_descriptors_idle_early_end_gone", fmt.Sprintf("%d %d %d %d", idle.files, at.files, end.files, gone.files))
	f.add("wal_most_bytes", wal)
	f.add("lines_read", seen.Lines)
	f.add("connected_again", seen.Again)
	f.add("stalled_closed", seen.Closed)
	f.add("stalled_closed_after_s", fmt.Sprintf("%.1f to %.1f", seen.Shortest, seen.Longest))
	f.must(ratio >= 0.9, "the run has %.3f of the tokens a second that it has alone", ratio)
	f.must(end.rss-at.rss <= mostKept, "the server grew from %d to %d KB while it was watched", at.rss>>10, end.rss>>10)
	f.must(end.files-at.files <= size.observers/10, "the server's descriptors grew from %d to %d", at.files, end.files)
	f.must(gone.files <= idle.files+5, "the server has %d descriptors once they are gone, %d before they came", gone.files, idle.files)
	f.must(wal < mostWAL, "the write-ahead log had %d bytes", wal)
	f.must(seen.Lines > 0 && seen.Open >= size.observers*9/10, "%d observers were open in the end, %d lines were read", seen.Open, seen.Lines)
	f.must(seen.Closed >= size.observers/2 && seen.Shortest >= 19 && seen.Longest < 30, "%d stalled ones were closed, after %.1f to %.1f s", seen.Closed, seen.Shortest, seen.Longest)
	return f, errors.Join(w.patient(ctx, run, &f), w.cancel(run))
}

// patient is the control: a server that waits for ever for who reads nothing must be seen.
func (w *world) patient(ctx context.Context, run string, f *findings) error {
	if w.short {
		return nil
	}
	w.Kill()
	if err := w.Break(ctx, "host/serve/events.go", "takeWait   = 20 * time.Second", "takeWait   = 20 * time.Hour"); err != nil {
		return err
	}
	if err := w.Serve(); err != nil {
		return err
	}
	crowd, err := w.crowd(ctx, run, 20)
	if err != nil {
		return err
	}
	m := meter{w: w}
	m.span(ctx, 40*time.Second)
	seen, err := crowd.end()
	f.controls++
	if seen.Closed == 0 && seen.Open == 20 {
		f.caught++
	}
	return err
}

// cancel ends a run.
func (w *world) cancel(run string) error {
	if out, err := w.Command("cancel", run).CombinedOutput(); err != nil {
		return fmt.Errorf("cancel the run: %v\n%s", err, out)
	}
	return nil
}

// until waits until the run has so many turns.
func (w *world) until(ctx context.Context, run string, turns int) error {
	return stage.Wait(ctx, 10*time.Minute, "the run has its history", func() (bool, error) {
		var v struct {
			Run struct {
				Turns  int    `json:"num_turns"`
				Status string `json:"status"`
			}
		}
		if err := w.Get(ctx, "/v1/runs/"+run, &v); err != nil {
			return false, err
		}
		if v.Run.Status != "running" {
			return false, fmt.Errorf("the run is %s", v.Run.Status)
		}
		return v.Run.Turns >= turns, nil
	})
}

// memory is what the server has.
type memory struct{ rss, files int }

func (w *world) memory() (m memory) {
	pid := w.Server.Process.Pid
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid)) // it is there until it is killed
	for line := range strings.Lines(string(text)) {
		if value, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			kb, _ := strconv.Atoi(strings.Fields(value)[0])
			m.rss = kb << 10
		}
	}
	list, _ := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
	m.files = len(list)
	return m
}

// meter counts what the run does. Of the tokens it counts those that the driver took, which holds
// its provider up where it is slow.
type meter struct {
	w      *world
	driver int
	wal    int64 // the most bytes of the write-ahead log
}

// span is what was done in some time.
type span struct {
	tokens int64
	took   time.Duration
	cpu    time.Duration // of the driver
}

func (s span) rate() float64 { return float64(s.tokens) / s.took.Seconds() }
func (s span) each() float64 { return float64(s.cpu.Microseconds()) / float64(s.tokens) }

func (m *meter) span(ctx context.Context, most time.Duration) span {
	began, tokens, cpu := time.Now(), m.w.Model.Tokens.Load(), cpuOf(m.driver)
	for end := began.Add(most); time.Now().Before(end) && ctx.Err() == nil; {
		if i, err := os.Stat(filepath.Join(m.w.Home, "agent.db-wal")); err == nil {
			m.wal = max(m.wal, i.Size())
		}
		time.Sleep(100 * time.Millisecond)
	}
	return span{m.w.Model.Tokens.Load() - tokens, time.Since(began), cpuOf(m.driver) - cpu}
}

// cpuOf is the processor time that a process has had.
func cpuOf(pid int) time.Duration {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	user, _ := strconv.ParseInt(fields[11], 10, 64)
	system, _ := strconv.ParseInt(fields[12], 10, 64)
	return time.Duration(user+system) * time.Second / 100 // a tick is 10 ms
}

// crowd are the observers, in a process of their own that any other goes before.
type crowd struct {
	cmd *exec.Cmd
	in  interface{ Close() error }
	out *json.Decoder
}

func (w *world) crowd(ctx context.Context, run string, count int) (*crowd, error) {
	token, err := w.Token()
	if err != nil {
		return nil, err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	c := &crowd{cmd: exec.CommandContext(ctx, "nice", "-n", "19", self, crowdCommand, w.Socket(), token, path(run), strconv.Itoa(count))}
	c.cmd.Stderr = os.Stderr
	in, err := c.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	c.in, c.out = in, json.NewDecoder(out)
	return c, c.cmd.Start()
}

// end ends them, and gives what they saw.
func (c *crowd) end() (seen crowdSeen, err error) {
	err = errors.Join(c.in.Close(), c.out.Decode(&seen), c.cmd.Wait())
	return seen, err
}
