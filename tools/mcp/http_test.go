package mcp_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"agent/recovery/journal"
	"agent/scripts/testkit"
	"agent/scripts/testkit/testbin"
	"agent/tools/mcp"
)

// serve starts the fixture over HTTP and returns its address and its log.
func serve(t *testing.T, flags ...string) (address, folder string) {
	t.Helper()
	folder = t.TempDir()
	file := filepath.Join(folder, "address")
	cmd := exec.Command(testbin.Fake(t, "mcptest"), append([]string{"-http", file, "-log", filepath.Join(folder, "log")}, flags...)...)
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // it may have ended
		_ = cmd.Wait()         // it was killed
	})
	testkit.Until(t, "the server wrote its address", func() bool { _, err := os.Stat(file); return err == nil })
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text), folder
}

func remote(address string, headers ...mcp.Pair) mcp.Server {
	return mcp.Server{Name: "srv", From: mcp.FromPerson, URL: address, Headers: headers, Call: within, Start: within}
}

// A server at an address does what one on stdio does.
func TestHTTP(t *testing.T) {
	address, folder := serve(t)
	b := start(t, folder, remote(address))
	if b.started[0].Err != nil {
		t.Fatal(b.started[0].Err)
	}
	b.want("echo", "hello", "hello")
	shown := &strings.Builder{}
	if r, err := b.call("progress", "", call{shown: shown}); err != nil || r.Content != "done" || !strings.Contains(shown.String(), "2 of 3") {
		t.Errorf("%+v %v, shown %q", r, err, shown)
	}
	if r, err := b.call("long", "", call{}); err != nil || r.Size != 3_000_010 {
		t.Errorf("%d %v", r.Size, err)
	}
	b.want("change", "", "changed")
	// The notice of the change comes in another stream than the result of the call that made it,
	// and so maybe later.
	testkit.Until(t, "the notice of the change comes", func() bool {
		_, err := b.call("echo", "", call{})
		return err != nil && strings.Contains(err.Error(), "changed what it says of tool echo")
	})
	// It ends in a call, and is not there for the next.
	r, err := b.call("die", "", call{})
	if err == nil || r.Applied != "" || !strings.Contains(err.Error(), "the connection was lost in the call") {
		t.Errorf("%+v %v", r, err)
	}
	r, err = b.call("bare", "", call{})
	if err == nil || r.Applied != journal.AppliedNo {
		t.Errorf("%+v %v", r, err)
	}
}

// Headers go to the server that they were written for, and nowhere else.
func TestHTTPHosts(t *testing.T) {
	address, folder := serve(t, "-mode", "auth")
	secret := mcp.Pair{Name: "Authorization", Value: "Bearer right"}
	if b := start(t, folder, remote(address)); b.started[0].Err == nil || !strings.Contains(b.started[0].Err.Error(), "Unauthorized") {
		t.Error(b.started[0].Err)
	}
	if b := start(t, folder, remote(address, secret)); b.started[0].Err != nil {
		t.Error(b.started[0].Err)
	}
	b := start(t, folder, remote(strings.Replace(address, "/mcp", "/redirect", 1), secret))
	if err := b.started[0].Err; err == nil || !strings.Contains(err.Error(), "it redirects to another host, localhost:1, which nobody named") {
		t.Error(err)
	}
}

// What a server at an address sends is bounded as well.
func TestHTTPFloods(t *testing.T) {
	address, folder := serve(t)
	b := start(t, folder, remote(address))
	if r, err := b.call("flood", "", call{}); err == nil || r.Applied != "" {
		t.Errorf("%+v %v", r, err)
	}
	b.want("echo", "alive", "alive")
}
