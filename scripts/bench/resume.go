//go:build linux

package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"modernc.org/sqlite"
)

// resume is the time from the start of agent resume, after a kill, to the first thing that the run
// does to the world, and the memory at that moment. The limit is one reading of the same rows with
// the same driver, and the start of a process.
func resume(ctx context.Context, b *bench) ([]row, error) {
	sizes := []int{100, 1000, 10000, 100000}
	if b.quick {
		sizes = sizes[:3]
	}
	var when, memory, work []row
	var least float64 // memory over the shortest journal, in MB
	for _, facts := range sizes {
		k, err := b.killed(ctx, facts)
		if err != nil {
			return when, fmt.Errorf("make a journal of %d facts: %w", facts, err)
		}
		f, err := k.resumes(ctx, b.times(rounds(facts)))
		if err != nil {
			return when, fmt.Errorf("resume over %d facts: %w", facts, err)
		}
		if least == 0 {
			least = middle(f.memory)
		}
		what := fmt.Sprintf("%d events", facts)
		when = append(when, above(cost("resume to first action, "+what, median(f.action, time.Millisecond), "ms",
			median(f.limit, time.Millisecond), "to read the rows once and start a process"), whyLate(facts)))
		memory = append(memory, above(cost("memory then, "+what, middle(f.memory), "MB", least+f.read, "with 100 events, and the rows once"),
			whyResumed))
		work = []row{above(cost("processor time of the resume, "+what, median(f.busy, time.Millisecond), "ms",
			median(f.busyLimit, time.Millisecond), "to read the rows once and start a process"), whyRead)}
		if err := os.RemoveAll(filepath.Dir(k.home)); err != nil {
			return when, fmt.Errorf("remove a state folder: %v", err)
		}
	}
	return append(append(when, memory...), work...), nil
}

const (
	whyOpened = "before its first action it waits for eight fsyncs, which the limit has not: the log that the kill left is brought in and tried with " +
		"a commit (five), the interruption is marked, the run claimed, the call recorded. Of the processor time, a fifth is the look at what can confine " +
		"commands, beside the rest and in two processes more, a quarter faults of pages that are touched first, an eighth SQLite preparing statements, " +
		"a tenth the initialisers of packages. The collector has not run by then"
	whyRead = "every fact is also hashed, decoded and folded. Profile of 100,000: the driver's reading 38 %, half of it SQLite's steps and half " +
		"the driver's copies of values, each under a lock; decoding and hashing 23 %, folding and chaining 9 %, the collector 5 %; among " +
		"these, faults of pages that are touched first 15 %. They run side by side, so the ratio is lower the more processors are free"
	whyResumed = "Of what the process holds after 100,000 events, 49 MB are live: 21 of outputs, 17 of calls, 8 of messages to a model, in which the " +
		"outputs are shared. 19 are pages of the binary, 8 the runtime's own, and the rest what the collector has not taken yet: of 96 MB that " +
		"reading allocates, 40 are copies that the driver makes of each row"
)

func whyLate(facts int) string {
	if facts > 1000 {
		return whyRead + "; and " + whyOpened
	}
	return whyOpened
}

// rounds is how often a resume is measured.
func rounds(facts int) int {
	if facts > 10000 {
		return 7
	}
	return 20
}

// resumed is what was measured over one journal, round by round.
type resumed struct {
	action, limit   []time.Duration
	busy, busyLimit []time.Duration // processor time, of resume to the end of its process
	memory          []float64       // MB
	read            float64         // MB of rows
}

// resumes takes turns between resume and its limit.
func (k *killed) resumes(ctx context.Context, times int) (resumed, error) {
	var f resumed
	for range times {
		if err := k.restore(); err != nil {
			return f, fmt.Errorf("restore the killed run: %v", err)
		}
		if err := k.untilAction(ctx, &f); err != nil {
			return f, err
		}
		began, self := time.Now(), processorTime()
		var err error
		if f.read, err = readRows(ctx, filepath.Join(k.home, "agent.db")); err != nil {
			return f, fmt.Errorf("read the rows: %v", err)
		}
		self = processorTime() - self
		c := k.b.command(ctx, k.home, k.folder, "version")
		if out, err := c.CombinedOutput(); err != nil {
			return f, fmt.Errorf("start a process: %v\n%s", err, out)
		}
		f.limit, f.busyLimit = append(f.limit, time.Since(began)), append(f.busyLimit, self+busy(c))
	}
	return f, nil
}

// patience is how long anything may take that is waited for.
const patience = time.Minute

// busy is the processor time of a process that has ended.
func busy(c *exec.Cmd) time.Duration { return c.ProcessState.UserTime() + c.ProcessState.SystemTime() }

// processorTime is what this process has taken so far.
func processorTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0 // it fails for a wrong argument only
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// untilAction resumes the run and is notified by the kernel when the first name appears in the
// workspace. The memory is the most that the process had held by then.
func (k *killed) untilAction(ctx context.Context, f *resumed) (err error) {
	watch, err := k.watch()
	if err != nil {
		return fmt.Errorf("watch the workspace: %v", err)
	}
	defer func() { err = errors.Join(err, watch.Close()) }()
	gate, err := os.OpenFile(k.gate, os.O_RDWR, 0) // both ends: nothing waits for the other
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, gate.Close()) }()
	var said strings.Builder
	c := k.b.command(ctx, k.home, k.folder, "resume", k.run)
	c.Stdout, c.Stderr = &said, &said
	began := time.Now()
	if err := c.Start(); err != nil {
		return err
	}
	_, seen := watch.Read(make([]byte, 4096))
	took := time.Since(began)
	var mb float64
	if seen == nil {
		mb, err = peak(c.Process.Pid)
	} else {
		seen = errors.Join(fmt.Errorf("wait for the first action: %v", seen), c.Process.Kill())
	}
	_, opened := gate.WriteString("\n")
	if err = errors.Join(seen, err, opened, c.Wait()); err != nil {
		return fmt.Errorf("agent resume: %v\n%s", err, said.String())
	}
	f.action, f.memory, f.busy = append(f.action, took), append(f.memory, mb), append(f.busy, busy(c))
	return nil
}

// watch is notified of names that appear in the workspace.
func (k *killed) watch() (*os.File, error) {
	fd, err := syscall.InotifyInit1(syscall.IN_CLOEXEC | syscall.IN_NONBLOCK)
	if err != nil {
		return nil, err
	}
	f := os.NewFile(uintptr(fd), "inotify")
	if _, err = syscall.InotifyAddWatch(fd, k.folder, syscall.IN_CREATE|syscall.IN_MOVED_TO); err == nil {
		err = f.SetReadDeadline(time.Now().Add(patience))
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// peak is the most memory that a process has held so far, in MB. The figure that wait gives would
// begin with the memory of whoever started it.
func peak(pid int) (float64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(text)) {
		var kb float64
		if _, err := fmt.Sscanf(line, "VmHWM: %f kB", &kb); err == nil {
			return kb * 1024 / 1e6, nil
		}
	}
	return 0, fmt.Errorf("/proc/%d/status names no VmHWM", pid)
}

// readRows reads every row of a journal and looks at none. It gives their size in MB.
func readRows(ctx context.Context, path string) (mb float64, err error) {
	if _, err := sqlite.OFDLocking(true); err != nil && !sqlite.OFDLockingEnabled() {
		return 0, err
	}
	pool, err := sql.Open("sqlite", "file:"+path+"?mode=ro")
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, pool.Close()) }()
	rows, err := pool.QueryContext(ctx, "SELECT id, turn, kind, v, time, body, body_hash, digest FROM journal ORDER BY id")
	if err != nil {
		return 0, err
	}
	for rows.Next() {
		var id, turn, kind, v, at int64
		var body, hash, digest []byte
		if err := rows.Scan(&id, &turn, &kind, &v, &at, &body, &hash, &digest); err != nil {
			return 0, errors.Join(err, rows.Close())
		}
		mb += float64(5*8+len(body)+len(hash)+len(digest)) / 1e6
	}
	return mb, errors.Join(rows.Err(), rows.Close())
}

// middle is the median of figures.
func middle(all []float64) float64 {
	sorted := slices.Sorted(slices.Values(all))
	return sorted[len(sorted)/2]
}
