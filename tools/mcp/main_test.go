package mcp_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"agent/recovery/journal"
	"agent/scripts/testkit/testbin"
	"agent/tools"
	"agent/tools/mcp"
)

// within is longer than anything here takes.
const within = time.Minute

// bench is a set of one server, with what it did.
type bench struct {
	t       *testing.T
	log     string
	folder  string
	set     *mcp.Set
	tools   *tools.Registry
	started []mcp.Started
}

// define is the definition of the fixture with these flags; "LOG" stands for its log.
func define(t *testing.T, folder string, flags ...string) mcp.Server {
	t.Helper()
	args := append([]string{"-log", filepath.Join(folder, "log")}, flags...)
	return mcp.Server{Name: "srv", From: mcp.FromPerson, Command: testbin.Fake(t, "mcptest"), Args: args, Call: within, Start: within}
}

func start(t *testing.T, folder string, servers ...mcp.Server) *bench {
	t.Helper()
	b := &bench{t: t, folder: folder, log: filepath.Join(folder, "log")}
	ctx, cancel := context.WithTimeout(t.Context(), within)
	defer cancel()
	o := mcp.Options{Folder: folder, Environ: []string{"PATH=/usr/bin:/bin", "HOME=/nowhere"}, Version: "test", Level: "none"}
	b.set = mcp.NewPool().Start(ctx, servers, o, func(s mcp.Started) { b.started = append(b.started, s) })
	t.Cleanup(b.set.Close)
	var err error
	if b.tools, err = tools.NewRegistry(b.set.Tools()...); err != nil {
		t.Fatal(err)
	}
	return b
}

// one starts the fixture alone.
func one(t *testing.T, flags ...string) *bench {
	t.Helper()
	folder := t.TempDir()
	b := start(t, folder, define(t, folder, flags...))
	if b.started[0].Err != nil {
		t.Fatal(b.started[0].Err)
	}
	return b
}

func (b *bench) tool(name string) tools.Tool {
	b.t.Helper()
	t, err := b.tools.Get("mcp__srv__" + name)
	if err != nil {
		b.t.Fatal(err)
	}
	return t
}

// call calls a tool, with what it shows and a person who answers.
type call struct {
	ctx   context.Context
	turn  int
	ask   func(context.Context, journal.Question) (json.RawMessage, error)
	shown *strings.Builder
}

func (b *bench) call(name, text string, c call) (journal.Result, error) {
	b.t.Helper()
	args, err := json.Marshal(map[string]string{"text": text})
	if err != nil {
		b.t.Fatal(err)
	}
	if c.ctx == nil {
		ctx, cancel := context.WithTimeout(b.t.Context(), within)
		defer cancel()
		c.ctx = ctx
	}
	var mu sync.Mutex
	tc := tools.Call{
		Place: journal.Place{Turn: c.turn, Index: 2, Attempt: 1}, Run: "r-1", ID: "c-1", Args: args, Folder: b.folder, Ask: c.ask,
		Show: func(p []byte) {
			mu.Lock()
			defer mu.Unlock()
			if c.shown != nil {
				c.shown.Write(p)
			}
		},
	}
	return b.tool(name).(tools.Caller).Call(c.ctx, tc)
}

// want calls a tool that must work and say so.
func (b *bench) want(name, text, content string) {
	b.t.Helper()
	r, err := b.call(name, text, call{})
	if err != nil || r.Outcome != journal.OutcomeOK || r.Content != content {
		b.t.Errorf("%s: %+v %v, want %q", name, r, err, content)
	}
}

// logged is what the server did.
func (b *bench) logged() string {
	text, err := os.ReadFile(b.log)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		b.t.Fatal(err)
	}
	return string(text)
}
