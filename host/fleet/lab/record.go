package lab

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// Place is a line of the log of a run.
type Place struct {
	Place int64     `json:"place"`
	Epoch int64     `json:"epoch"`
	By    string    `json:"by"`
	At    time.Time `json:"at"`
	Why   string    `json:"why"`
	Fence bool      `json:"fence"`
}

// Places lists the log of a run.
func (l *Lab) Places(run string) (out []Place) {
	l.Helper()
	text, errs, code := l.Call("log", "--json", "--log", l.LogURL, run)
	for d := json.NewDecoder(strings.NewReader(text)); d.More(); {
		var p Place
		if err := d.Decode(&p); err != nil {
			l.Fatalf("list the log of run %s: %v: %s", run, err, text)
		}
		out = append(out, p)
	}
	if code != 0 {
		l.Fatalf("list the log of run %s: exit %d: %s", run, code, errs)
	}
	return out
}

// Agent is what a command of agent prints on the host, on stdout.
func (h *Host) Agent(args ...string) string {
	h.Lab.Helper()
	cmd := h.command(append([]string{h.Lab.Agent}, args...)...)
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		h.Lab.Logf("agent %s on %s: %v: %s", args[0], h.Name, err, errs.String())
	}
	return string(out)
}

// AgentFails is what a command of agent says on the host that is to be refused.
func (h *Host) AgentFails(args ...string) (text string, code int) {
	h.Lab.Helper()
	cmd := h.command(append([]string{h.Lab.Agent}, args...)...)
	out, _ := cmd.CombinedOutput()
	return string(out), cmd.ProcessState.ExitCode()
}

// Facts counts the facts of each kind that the host has of a run.
func (h *Host) Facts(run string) map[string]int {
	h.Lab.Helper()
	var s struct {
		Facts []struct {
			Kind string `json:"kind"`
		} `json:"facts"`
	}
	if err := json.Unmarshal([]byte(h.Agent("show", "--json", run)), &s); err != nil {
		h.Lab.Fatalf("read the facts of run %s: %v", run, err)
	}
	out := map[string]int{}
	for _, f := range s.Facts {
		out[f.Kind]++
	}
	return out
}

// DeleteHome removes the state folder while everything on the host goes on. What is made in it
// meanwhile goes too.
func (h *Host) DeleteHome() {
	h.Lab.Helper()
	var err error
	for range 100 {
		if err = os.RemoveAll(h.Home()); err == nil {
			return
		}
	}
	h.Lab.Fatal(err)
}

// Memory is the resident memory of the host's worker, in bytes.
func (h *Host) Memory() int64 { h.Lab.Helper(); return h.memory("VmRSS:") }

// Peak is the most that it was.
func (h *Host) Peak() int64 { h.Lab.Helper(); return h.memory("VmHWM:") }

func (h *Host) memory(name string) int64 {
	h.Lab.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", h.inner()))
	for line := range strings.Lines(string(b)) {
		f := strings.Fields(line)
		if len(f) == 3 && f[0] == name {
			n, err := strconv.ParseInt(f[1], 10, 64)
			if err != nil {
				h.Lab.Fatal(err)
			}
			return n << 10
		}
	}
	h.Lab.Fatalf("look at the memory of the worker of %s: %v", h.Name, errors.Join(err, errors.New("it is not there")))
	return 0
}

// Patience is how long the drivers of the fleet wait for the log.
func (l *Lab) Patience(d time.Duration) {
	l.Helper()
	l.write("config/agent/config.toml", fmt.Sprintf("[witness]\npatience = %q\n", d.String()))
}

// UntilStopped waits until the driver of a run has stopped itself, as one that sleeps.
func (h *Host) UntilStopped(run string) {
	h.Lab.Helper()
	ok := Wait(time.Minute, func() bool {
		out, err := h.command("ps", "-o", "state=", "-p", strconv.Itoa(h.Driver(run))).Output()
		return err == nil && strings.HasPrefix(string(out), "T")
	})
	if !ok {
		h.Lab.Fatalf("the driver of run %s on %s does not stop", run, h.Name)
	}
}

// UntilLeft waits until no process has the run on the host.
func (h *Host) UntilLeft(run string) {
	h.Lab.Helper()
	if !Wait(time.Minute, func() bool { return h.Driver(run) == 0 }) {
		h.Lab.Fatalf("the driver of run %s on %s does not end", run, h.Name)
	}
}

// Runs counts the processes of the host whose command line holds a text.
func (h *Host) Runs(text string) (n int) {
	h.Lab.Helper()
	out, err := h.command("ps", "-eo", "args=").Output()
	if err != nil {
		h.Lab.Fatalf("list the processes of %s: %v", h.Name, err)
	}
	for line := range strings.Lines(string(out)) {
		if strings.Contains(line, text) {
			n++
		}
	}
	return n
}

// ForgetEngine ends the engine, which knows no run when it is started again.
func (l *Lab) ForgetEngine() {
	l.Helper()
	l.KillEngine()
	files, err := filepath.Glob(l.path("engine.db*"))
	if err != nil || len(files) == 0 {
		l.Fatalf("the engine has no files: %v", err)
	}
	for _, name := range files {
		if err := os.Remove(name); err != nil {
			l.Fatal(err)
		}
	}
}

// Left is how many processes are on the host beside its first one and its worker, once they are
// gone or the time is over.
func (h *Host) Left(limit time.Duration) (n int) {
	h.Lab.Helper()
	Wait(limit, func() bool {
		n = len(h.pids()) - 2
		return n <= 0
	})
	return n
}
