//go:build linux

package main

import (
	"agent/scripts/streams/stage"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// leftover has many runs go on in processes of their own, started by commands and, once those were
// killed, by the server: when all have ended, no process of theirs is left, and none that nobody
// waited for.
func leftover(ctx context.Context, w *world) (f findings, err error) {
	count := 200
	if w.short {
		count = 12
	}
	book := "```sh\necho begins >> \"$RUN.txt\"\nwhile ! test -e go; do sleep 0.1; done\n```\n"
	var started []int
	for n := range count {
		name := fmt.Sprintf("book-%d.md", n)
		if err := os.WriteFile(filepath.Join(w.Work, name), []byte(strings.ReplaceAll(book, "$RUN", name)), 0o600); err != nil {
			return f, err
		}
		if n%20 == 0 { // no more than that are alive at a time: each has a command that waits
			if err := w.settle(ctx, started); err != nil {
				return f, err
			}
			started = nil
		}
		pid, err := w.waiting(ctx, name)
		if err != nil {
			return f, err
		}
		started = append(started, pid)
		if n%2 == 0 { // the server picks it up
			if err := killProcess(pid); err != nil {
				return f, err
			}
		}
	}
	if err := os.WriteFile(filepath.Join(w.Work, "go"), nil, 0o600); err != nil {
		return f, err
	}
	if err := w.Serve(); err != nil {
		return f, err
	}
	f.controls++
	if len(w.Processes()) > 1 { // the count is of something: some are alive now
		f.caught++
	}
	if err := stage.Wait(ctx, 5*time.Minute, "all runs end", func() (bool, error) {
		var v struct{ Runs []struct{ Status string } }
		err := w.Get(ctx, "/v1/runs?limit=200&status=completed", &v)
		return len(v.Runs) == count, err
	}); err != nil {
		return f, err
	}
	_ = stage.Wait(ctx, 20*time.Second, "they are gone", func() (bool, error) { return len(w.Processes()) == 1, nil })
	left, zombies := w.Processes(), w.zombies()
	f.add("runs", count)
	f.add("carried_on_by_the_server", (count+1)/2)
	f.add("processes_left", len(left)-1)
	f.add("zombies_left", len(zombies))
	f.must(len(left) == 1, "left beside the server: %v", left)
	f.must(len(zombies) == 0, "nobody waited for %v", zombies)
	return f, nil
}

// waiting starts a run, and returns once its command runs.
func (w *world) waiting(ctx context.Context, book string) (pid int, err error) {
	_, pid, err = w.Begin("--no-recover", "--runbook", "-f", book)
	if err != nil {
		return 0, err
	}
	return pid, stage.Wait(ctx, time.Minute, "its command runs", func() (bool, error) {
		_, err := os.Stat(filepath.Join(w.Work, book+".txt"))
		return err == nil, nil
	})
}

// settle lets the runs so far end, those apart whose process was killed.
func (w *world) settle(ctx context.Context, started []int) error {
	gate := filepath.Join(w.Work, "go")
	if err := os.WriteFile(gate, nil, 0o600); err != nil {
		return err
	}
	err := stage.Wait(ctx, time.Minute, "runs end", func() (bool, error) {
		for _, pid := range started {
			if _, err := os.Stat(fmt.Sprintf("/proc/%d", pid)); err == nil {
				return false, nil
			}
		}
		return true, nil
	})
	if err != nil {
		return err
	}
	return os.Remove(gate)
}

func killProcess(pid int) error {
	p, err := os.FindProcess(pid)
	if err != nil {
		return err
	}
	return p.Kill()
}

// zombies are children of the server that ended and were not waited for.
func (w *world) zombies() (list []string) {
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, path := range stats {
		text, err := os.ReadFile(path)
		if err != nil {
			continue
		}
		fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
		if fields[0] == "Z" && fields[1] == strconv.Itoa(w.Server.Process.Pid) {
			list = append(list, string(text))
		}
	}
	return list
}
