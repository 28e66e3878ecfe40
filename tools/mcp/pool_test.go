package mcp_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"agent/recovery/journal"
	"agent/scripts/testkit"
	"agent/tools"
	"agent/tools/mcp"
	"agent/tools/toolstest"
)

// Runs that need the same server in the same folder share one process, which ends with the last of
// them; another folder or another definition is another server. The tools that one run is shown do
// not depend on another run.
func TestPool(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), within)
	defer cancel()
	folder, other := t.TempDir(), t.TempDir()
	pool := mcp.NewPool()
	begin := func(folder string, pinned []journal.ServerPin) *mcp.Set {
		t.Helper()
		o := mcp.Options{Folder: folder, Environ: []string{"PATH=/usr/bin:/bin"}, Version: "test", Level: "none", Pinned: pinned}
		set := pool.Start(ctx, []mcp.Server{define(t, folder, "-marker", filepath.Join(folder, "servers"))}, o, func(s mcp.Started) {
			if s.Err != nil {
				t.Fatal(s.Err)
			}
		})
		t.Cleanup(set.Close)
		return set
	}
	first := begin(folder, nil)
	pins := first.Pins()
	for i, p := range pins[0].Tools {
		if p.Name == "echo" {
			pins[0].Tools[i].Pin, pins[0].Tools[i].Schema = strings.Repeat("0", 64), nil
		}
	}
	second, elsewhere := begin(folder, pins), begin(other, nil)
	if n := len(toolstest.ServersOf(t, folder)); n != 1 {
		t.Errorf("the shared server was started %d times", n)
	}
	if n := len(toolstest.ServersOf(t, other)); n != 1 {
		t.Errorf("the server of the other folder was started %d times", n)
	}
	described := func(s *mcp.Set, name string) string {
		for _, one := range s.Tools() {
			if spec := one.Spec(); spec.Name == "mcp__srv__"+name {
				return spec.Description
			}
		}
		return ""
	}
	if a, b := described(first, "echo"), described(second, "echo"); a == b || !strings.HasPrefix(b, "Not available") {
		t.Errorf("the tool that only the second run knows otherwise: %q, %q", a, b)
	}
	first.Close()
	first.Close()
	if !toolstest.ServersOf(t, folder)[0].Alive() {
		t.Error("the shared server ended with the first of its two runs")
	}
	second.Close()
	elsewhere.Close()
	testkit.Until(t, "both servers end", func() bool {
		return !toolstest.ServersOf(t, folder)[0].Alive() && !toolstest.ServersOf(t, other)[0].Alive()
	})
	begin(folder, nil)
	if n := len(toolstest.ServersOf(t, folder)); n != 2 {
		t.Errorf("behind its last run the server was started %d times", n-1)
	}
}

// Servers that only the run before used have ended when the first server of the next run starts.
// One that both use is not started again.
func TestServersOfTheRunBefore(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), within)
	defer cancel()
	folder, other := t.TempDir(), t.TempDir()
	pool := mcp.NewPool()
	begin := func(folder string, taken func()) *mcp.Set {
		t.Helper()
		o := mcp.Options{Folder: folder, Environ: []string{"PATH=/usr/bin:/bin"}, Version: "test", Level: "none", Taken: taken}
		set := pool.Start(ctx, []mcp.Server{define(t, folder, "-marker", filepath.Join(folder, "servers"))}, o, func(s mcp.Started) {
			if s.Err != nil {
				t.Error(s.Err)
			}
		})
		t.Cleanup(set.Close)
		return set
	}
	first := begin(folder, nil)
	second := begin(folder, first.Close)
	if all := toolstest.ServersOf(t, folder); len(all) != 1 || !all[0].Alive() {
		t.Errorf("the server of both runs was started as %v", all)
	}
	var asked bool
	begin(other, func() {
		asked = true
		second.Close()
		if toolstest.ServersOf(t, folder)[0].Alive() {
			t.Error("the server of the run before is still there")
		}
		if _, err := os.Stat(filepath.Join(other, "servers")); err == nil {
			t.Error("the next run's server was started first")
		}
	})
	if !asked {
		t.Error("nobody heard that the next run's servers are counted")
	}
}

// A server that carries out a call of one run is not ended because another run's question for its
// tools fails meanwhile.
func TestBusyServerIsLeftAlone(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), within)
	defer cancel()
	folder := t.TempDir()
	gate := filepath.Join(folder, "gate")
	pool := mcp.NewPool()
	begin := func() (*mcp.Set, error) {
		var err error
		def := define(t, folder, "-marker", filepath.Join(folder, "servers"), "-mode", "stuck", "-gate", gate)
		set := pool.Start(ctx, []mcp.Server{def}, mcp.Options{Folder: folder, Level: "none"}, func(s mcp.Started) { err = s.Err })
		t.Cleanup(set.Close)
		return set, err
	}
	first, err := begin()
	if err != nil {
		t.Fatal(err)
	}
	reg, err := tools.NewRegistry(first.Tools()...)
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{t: t, folder: folder, log: filepath.Join(folder, "log"), set: first, tools: reg}
	done := make(chan error, 1)
	go func() {
		r, err := b.call("note", "kept", call{})
		if err == nil && r.Content != "sent kept" {
			err = errors.New(r.Content)
		}
		done <- err
	}()
	testkit.Until(t, "the call is under way", func() bool { return strings.Contains(b.logged(), "note kept") })
	if err := os.WriteFile(gate+".unlisted", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := begin(); err == nil || !strings.Contains(err.Error(), "while it carries out another call") {
		t.Errorf("the second run: %v", err)
	}
	if err := os.WriteFile(gate, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Errorf("the call of the first run: %v", err)
	}
	if all := toolstest.ServersOf(t, folder); len(all) != 1 {
		t.Errorf("the server was started as %v", all)
	}
}
