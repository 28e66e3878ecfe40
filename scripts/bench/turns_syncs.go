//go:build linux

package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"agent/host/model/modeltest"
)

// syncKind is what the turns consist of whose fsyncs are counted.
type syncKind struct {
	what  string
	calls func(turn int) []modeltest.Call
}

func syncKinds() []syncKind {
	one := func(tool, args string) func(turn int) []modeltest.Call {
		return func(turn int) []modeltest.Call {
			return []modeltest.Call{{Tool: tool, Args: json.RawMessage(strings.ReplaceAll(args, "%d", fmt.Sprint(turn)))}}
		}
	}
	many := func(turn int) (calls []modeltest.Call) {
		for i := range reads {
			calls = append(calls, one("read_file", fmt.Sprintf(`{"path":"data-%d"}`, i))(turn)...)
		}
		return calls
	}
	return []syncKind{
		{"one read_file a turn", one("read_file", `{"path":"data-0"}`)},
		{fmt.Sprintf("%d read_file a turn", reads), many},
		{"one write_file a turn", one("write_file", `{"path":"out-%d","content":"`+kib()+`"}`)},
		{"one shell a turn", one("shell", `{"command":"cat data-0 # %d"}`)},
	}
}

// fsyncs counts with strace what the binary makes durable in a turn: the fsyncs of a run of 20
// turns without those of one of 10, over 10.
func (b *bench) fsyncs(ctx context.Context) (rows []row, err error) {
	const figure = "fsyncs of the database, "
	if _, err := exec.LookPath("strace"); err != nil {
		return []row{plain(figure+"not counted", 0, "").because("strace counts them, and is not installed")}, nil
	}
	server, err := modeltest.Start(modeltest.Options{Only: []modeltest.Protocol{modeltest.Anthropic}})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, server.Close()) }()
	for _, k := range syncKinds() {
		few, err := counted(func() (syncs, error) { return b.traced(ctx, server, k, 10) })
		if err != nil {
			return rows, err
		}
		many, err := counted(func() (syncs, error) { return b.traced(ctx, server, k, 20) })
		if err != nil {
			return rows, err
		}
		r := cost(figure+k.what, float64(many.database-few.database)/10, "a turn", 2, "one for each of its two commits")
		if runner, other := many.runner-few.runner, many.other-few.other; runner+other > 0 {
			r = r.because(fmt.Sprintf("beside them %s of the runner's files and %s in the workspace.", number(float64(runner)/10), number(float64(other)/10)))
		}
		rows = append(rows, r)
	}
	return rows, nil
}

// syncs are the fsyncs of a process.
type syncs struct{ database, runner, other int }

// traced drives one run of so many turns, and counts.
func (b *bench) traced(ctx context.Context, server *modeltest.Server, k syncKind, turns int) (syncs, error) {
	s, err := b.script(server, k, turns)
	if err != nil {
		return syncs{}, err
	}
	trace := s.home + ".trace"
	if err := s.drive(ctx, "strace", "-f", "--seccomp-bpf", "-y", "-e", "trace=fsync,fdatasync", "-o", trace); err != nil {
		return syncs{}, err
	}
	return countSyncs(trace, s.home)
}

// scripted is a run of so many turns that is to be driven, with a state folder and a workspace of
// its own.
type scripted struct {
	*bench
	syncKind
	server       *modeltest.Server
	home, folder string
}

func (b *bench) script(server *modeltest.Server, k syncKind, turns int) (s scripted, err error) {
	var script modeltest.Script
	for i := range turns {
		script.Turns = append(script.Turns, modeltest.Turn{Calls: k.calls(i)})
	}
	script.Turns = append(script.Turns, modeltest.Turn{Text: "done"})
	server.SetScript(script)
	s = scripted{bench: b, syncKind: k, server: server}
	if s.home, err = b.folder("state"); err != nil {
		return s, err
	}
	if s.folder, err = b.folder("work"); err != nil {
		return s, err
	}
	for i := range reads {
		if err := os.WriteFile(filepath.Join(s.folder, fmt.Sprintf("data-%d", i)), []byte(kib()), 0o600); err != nil {
			return s, err
		}
	}
	return s, nil
}

// drive carries the run out, below a program that watches it if one is named.
func (s scripted) drive(ctx context.Context, below ...string) error {
	args := append(below, s.exe, "run", "--mode", "yolo", "--model", "anthropic/claude-test", "go")
	c := exec.CommandContext(ctx, args[0], args[1:]...)
	c.Dir = s.folder
	c.Env = append(os.Environ(), "AGENT_HOME="+s.home, "HOME="+s.dir, "XDG_CONFIG_HOME=",
		"ANTHROPIC_API_KEY="+modeltest.DefaultKey, "ANTHROPIC_BASE_URL="+s.server.URL())
	if out, err := c.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %v\n%s", s.what, err, out)
	}
	return nil
}

// counted tries a count by strace again, three times in all, where strace itself lost the process:
// one that is stopped may go on just as strace begins to listen (ptrace(2), PTRACE_LISTEN: EIO),
// and its next syscall fails without its tracer. count begins with folders of its own.
func counted[T any](count func() (T, error)) (n T, err error) {
	for range 3 {
		if n, err = count(); err == nil || !strings.Contains(err.Error(), "strace: ptrace(") {
			break
		}
	}
	return n, err
}

// countSyncs reads what strace wrote.
func countSyncs(trace, home string) (n syncs, err error) {
	f, err := os.Open(trace)
	if err != nil {
		return n, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		switch line := lines.Text(); {
		case !strings.Contains(line, "sync(") || strings.Contains(line, "resumed"):
		case strings.Contains(line, filepath.Join(home, "agent.db")):
			n.database++
		case strings.Contains(line, filepath.Join(home, "calls")):
			n.runner++
		default:
			n.other++
		}
	}
	return n, lines.Err()
}
