package lab

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Settle answers yes to whatever a run asks until it ends.
func (l *Lab) Settle(id string, limit time.Duration) Run {
	l.Helper()
	end := time.Now().Add(limit)
	for {
		r := l.Until(id, "waiting or ended", time.Until(end), Run.Rests)
		if r.Ended() {
			return r
		}
		if errs, code := l.Try("answer", r.Asked.ID, "yes"); code != 0 {
			l.Logf("answer %s: exit %d: %s", r.Asked.ID, code, errs)
		}
		l.Until(id, "going on", time.Until(end), func(now Run) bool { return !now.Asks() || now.Asked.ID != r.Asked.ID })
	}
}

// Stays reports whether a step stays undone for a time.
func (l *Lab) Stays(name string, step int, d time.Duration) bool {
	l.Helper()
	key := fmt.Sprintf("%s.%d", name, step)
	return !Wait(d, func() bool { return l.Effects(name)[key] > 0 })
}

// pids are the processes of the host, as the machine sees them.
func (h *Host) pids() []int {
	out, _ := exec.Command("ps", "-eo", "pid=,ppid=").Output()
	children := map[int][]int{}
	for line := range strings.Lines(string(out)) {
		f := strings.Fields(line)
		if len(f) != 2 {
			continue
		}
		pid, _ := strconv.Atoi(f[0])
		parent, _ := strconv.Atoi(f[1])
		children[parent] = append(children[parent], pid)
	}
	all := []int{h.pid()}
	if h.worker != nil && !h.worker.ended() {
		all = append(all, h.inner()) // its parent is outside
	}
	for i := 0; i < len(all); i++ {
		all = append(all, children[all[i]]...)
	}
	return all
}

// Freeze stops all processes of the host, as a machine that is put to sleep.
func (h *Host) Freeze() {
	for range 3 { // new ones may begin meanwhile
		for _, pid := range h.pids() {
			_ = syscall.Kill(pid, syscall.SIGSTOP) // one that has ended sleeps well
		}
	}
}

// Thaw lets them go on.
func (h *Host) Thaw() {
	h.wakeNsenter()
	for _, pid := range h.pids() {
		_ = syscall.Kill(pid, syscall.SIGCONT) // it may have ended asleep
	}
}

// wakeNsenter wakes the process outside that waits for the worker: it stops when the worker does.
func (h *Host) wakeNsenter() {
	if h.worker != nil && !h.worker.ended() {
		_ = h.worker.cmd.Process.Signal(syscall.SIGCONT) // it may have ended asleep
	}
}

// Gone waits until the copy of a run on a host is over: nothing drives it, and it has moved.
func (l *Lab) Gone(h *Host, id string, limit time.Duration) bool {
	l.Helper()
	var last string
	ok := Wait(limit, func() bool {
		out, _ := h.command(l.Agent, "show", "--json", id).Output()
		var s struct {
			Run struct {
				Status, Cause, Detail string
				Owner                 any
			}
		}
		last = fmt.Sprint(json.Unmarshal(out, &s), s.Run)
		return s.Run.Owner == nil && s.Run.Status == "interrupted" && s.Run.Cause == "moved"
	})
	if !ok {
		l.Logf("the copy of %s on %s: %s", id, h.Name, last)
	}
	return ok
}

// List describes all runs that the engine knows.
func (l *Lab) List() []Run {
	l.Helper()
	out, errs, _ := l.Call("ls", "--all", "--json")
	var v struct {
		Runs []Run `json:"runs"`
	}
	if err := json.Unmarshal([]byte(out), &v); err != nil {
		l.Logf("list the runs: %v: %s", err, errs)
	}
	return v.Runs
}

// KillAnyDriver ends one of the host's drivers, if it has any, as a crash does.
func (h *Host) KillAnyDriver(r *rand.Rand) bool {
	out, err := h.command(h.Lab.Agent, "ls", "--json", "--all", "--status=running").Output()
	var v struct {
		Runs []struct {
			Owner *struct {
				PID int `json:"pid"`
			} `json:"owner"`
		} `json:"runs"`
	}
	if err != nil || json.Unmarshal(out, &v) != nil {
		return false
	}
	var pids []int
	for _, run := range v.Runs {
		if run.Owner != nil && run.Owner.PID > 1 {
			pids = append(pids, run.Owner.PID)
		}
	}
	if len(pids) == 0 {
		return false
	}
	return h.command("kill", "-9", strconv.Itoa(pids[r.IntN(len(pids))])).Run() == nil
}

// Machine adds a host without a worker.
func (l *Lab) Machine(name string) *Host {
	h := &Host{Lab: l, Name: name, Slots: 4}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.hosts[name] = h
	return h
}

// Refused starts a worker that is to end at once, beside the host, and gives what it says.
func (h *Host) Refused(args ...string) (text string, code int) {
	h.Lab.Helper()
	all := append(h.workerArgs(), args...)
	cmd := exec.Command("timeout", append([]string{"60"}, all...)...)
	out, _ := cmd.CombinedOutput()
	return string(out), cmd.ProcessState.ExitCode()
}
