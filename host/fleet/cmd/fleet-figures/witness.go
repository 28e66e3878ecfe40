package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	fleetlog "agent/fleet/log"
	"agent/fleet/witness"
)

const rounds = 3

// bench is a witness whose answers are timed, with what runs on it.
type bench struct {
	settings
	folder string

	mu      sync.Mutex
	answers []time.Duration // to starts of calls
}

// witness measures what each call with an effect waits for: a put of 2 kB into the log alone, what
// the witness takes, and how much longer a run with a witness is than one without.
func (s settings) witness(ctx context.Context) (any, error) {
	folder, err := os.MkdirTemp("/tmp", "ff") // the path of a socket is short
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(folder) // in the folder for what is temporary
	b := &bench{settings: s, folder: folder}
	l, err := fleetlog.Open(ctx, s.log, "figures")
	if err != nil {
		return nil, err
	}
	defer l.Close() // what it measured is known
	put, err := b.puts(ctx, l)
	if err != nil {
		return nil, err
	}
	alone, watched, err := b.runs(ctx, l)
	if err != nil {
		return nil, err
	}
	call := (median(watched) - median(alone)) / float64(s.n)
	return map[string]float64{"put_ms": put, "answer_ms": median(b.answers), "call_ms": call}, nil
}

// puts is the median of a put.
func (b *bench) puts(ctx context.Context, l fleetlog.Log) (float64, error) {
	var took []time.Duration
	entry := bytes.Repeat([]byte("0123456789abcdef"), 128)
	root := fmt.Sprintf("r-%08d", time.Now().UnixNano()%1e8)
	for i := range b.n {
		begun := time.Now()
		if err := l.Create(ctx, root, int64(i+1), entry); err != nil {
			return 0, err
		}
		took = append(took, time.Since(begun))
	}
	return median(took), nil
}

// runs has agent carry out a runbook without a witness and with one, in turn.
func (b *bench) runs(ctx context.Context, l fleetlog.Log) (alone, watched []time.Duration, err error) {
	book := "---\nagent: runbook\n---\n# Steps\n" + strings.Repeat("\n```sh\ntrue\n```\n", b.n)
	if err := os.WriteFile(filepath.Join(b.folder, "book.md"), []byte(book), 0o600); err != nil {
		return nil, nil, err
	}
	if err := os.Mkdir(filepath.Join(b.folder, "work"), 0o700); err != nil {
		return nil, nil, err
	}
	socket := filepath.Join(b.folder, "witness", "w")
	at, err := witness.Listen(socket)
	if err != nil {
		return nil, nil, err
	}
	ctx, stop := context.WithCancel(ctx)
	served := make(chan error, 1)
	go func() {
		served <- witness.Serve(ctx, at, l, b.key, witness.Options{By: "figures", Namespace: "figures", On: b.answered})
	}()
	defer func() {
		stop()
		err = errors.Join(err, <-served)
	}()
	for range rounds {
		a, err := b.one(ctx, "")
		if err != nil {
			return nil, nil, err
		}
		w, err := b.one(ctx, "unix:"+socket)
		if err != nil {
			return nil, nil, err
		}
		alone, watched = append(alone, a), append(watched, w)
	}
	return alone, watched, nil
}

func (b *bench) answered(e witness.Event) {
	if !strings.HasPrefix(e.Why, "start of call") || e.Reply.OK == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.answers = append(b.answers, e.Took)
}

// one is how long one run takes.
func (b *bench) one(ctx context.Context, witness string) (time.Duration, error) {
	cmd := exec.CommandContext(ctx, b.agent, "run", "--json", "--runbook", "--mode", "yolo",
		"--dir", filepath.Join(b.folder, "work"), "-f", filepath.Join(b.folder, "book.md"))
	cmd.Env = append(os.Environ(), "AGENT_HOME="+filepath.Join(b.folder, "home"), "AGENT_WITNESS="+witness)
	begun := time.Now()
	if out, err := cmd.CombinedOutput(); err != nil {
		return 0, fmt.Errorf("agent run: %w: %s", err, out)
	}
	return time.Since(begun), nil
}
