//go:build linux

package mcp

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
)

// The lab's MCP server reads, acts once for each call, and asks in the middle of a call before it
// acts.
func TestMCPServer(t *testing.T) {
	t.Chdir(t.TempDir())
	asked := make(chan string, 1)
	counter := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { asked <- r.URL.Path }))
	defer counter.Close()
	in, send := io.Pipe()
	receive, out := io.Pipe()
	over := make(chan error, 1)
	go func() { over <- Serve(in, out, counter.Listener.Addr().String(), "7") }()
	lines := bufio.NewScanner(receive)
	hear := func() message {
		t.Helper()
		var m message
		if !lines.Scan() || json.Unmarshal(lines.Bytes(), &m) != nil {
			t.Fatalf("heard %q, %v", lines.Text(), lines.Err())
		}
		return m
	}
	say := func(text string) { fmt.Fprintln(send, text) }
	call := func(tool string) string {
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":%q,"arguments":{"mark":"mark-7-a"}}}`, tool)
	}
	done := func() string { b, _ := os.ReadFile("effects"); return string(b) }
	for _, x := range []struct{ say, want string }{
		{`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}`, `"protocolVersion":"2025-06-18"`},
		{`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, `"readOnlyHint":true`},
		{call("look"), "needle"},
		{call("launch"), "there is no tool"},
	} {
		say(x.say)
		if m := hear(); !strings.Contains(string(m.Result), x.want) || done() != "" {
			t.Errorf("%s brings %s", x.say, m.Result)
		}
	}
	say(call("count"))
	if m := hear(); !strings.Contains(string(m.Result), "counted") || done() != "mark-7-a\n" {
		t.Errorf("count brings %s, and %q", m.Result, done())
	}
	say(call("ask"))
	if path := <-asked; path != "/asks/7" {
		t.Errorf("the lab is told of a question by %s", path)
	}
	q := hear()
	if q.Method != "elicitation/create" || done() != "mark-7-a\n" {
		t.Errorf("asked to ask, it says %v, and %q is done", q, done())
	}
	say(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"action":"accept","content":{"colour":"blue"}}}`, q.ID))
	if m := hear(); !strings.Contains(string(m.Result), "counted, blue") || done() != "mark-7-a\nmark-7-a\n" {
		t.Errorf("ask brings %s, and %q", m.Result, done())
	}
	send.Close()
	if err := <-over; err != nil {
		t.Error(err)
	}
}
