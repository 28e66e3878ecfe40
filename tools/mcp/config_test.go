package mcp_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"agent/tools/mcp"
)

func environment(pairs ...string) func(string) (string, bool) {
	return func(name string) (string, bool) {
		for _, p := range pairs {
			if n, v, _ := strings.Cut(p, "="); n == name {
				return v, true
			}
		}
		return "", false
	}
}

// The person's file says everything, with variables.
func TestReadWhole(t *testing.T) {
	const file = `{"mcpServers": {
  "files": {"command": "npx", "args": ["-y", "${PACKAGE}@1"], "env": {"TOKEN": "${TOKEN}", "PRICE": "$5 ${"}, "cwd": "/srv",
    "trusted": true, "timeout": "90s", "start_timeout": "1m", "tools": ["read"]},
  "far": {"type": "http", "url": "https://${HOST:-example.org}/mcp", "headers": {"Authorization": "Bearer ${TOKEN}"}},
  "off": {"command": "x", "disabled": true}
}}`
	got, err := mcp.Read("mcp.json", mcp.FromPerson, []byte(file), environment("PACKAGE=fs", "TOKEN=t0p"))
	if err != nil {
		t.Fatal(err)
	}
	want := mcp.File{Servers: []mcp.Server{
		{
			Name: "files", From: mcp.FromPerson, Command: "npx", Args: []string{"-y", "fs@1"},
			Env: []mcp.Pair{{Name: "TOKEN", Value: "t0p"}, {Name: "PRICE", Value: "$5 ${"}}, Dir: "/srv", Trusted: true,
			Only: []string{"read"}, Call: 90 * time.Second, Start: time.Minute,
		},
		{
			Name: "far", From: mcp.FromPerson, URL: "https://example.org/mcp",
			Headers: []mcp.Pair{{Name: "Authorization", Value: "Bearer t0p"}}, Call: mcp.DefaultCall, Start: mcp.DefaultStart,
		},
		{Name: "off", From: mcp.FromPerson, Command: "x", Disabled: true, Call: mcp.DefaultCall, Start: mcp.DefaultStart},
	}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// What is wrong is refused with its place, and no line of the file is shown.
func TestReadErrors(t *testing.T) {
	tests := []struct{ name, from, text, want string }{
		{"no object", mcp.FromPerson, `[]`, `f:1:1: the file wants an object: {"mcpServers": {...}}`},
		{"no servers", mcp.FromPerson, `{}`, `f:1:1: mcpServers is missing`},
		{"syntax", mcp.FromPerson, "{\n  \"mcpServers\": {,}\n}", `f:2:17: the JSON text cannot be read: invalid character ','`},
		{"cut off", mcp.FromPerson, `{"mcpServers": {`, `f:1:16: the JSON text ends in its middle`},
		{"two texts", mcp.FromPerson, `{"mcpServers": {}} {}`, `f:1:20: something stands behind the end of the JSON text`},
		{"twice", mcp.FromPerson, `{"mcpServers": {"a": {"command": "x"}, "a": {"command": "y"}}}`, `f:1:40: "a" stands here twice`},
		{"name", mcp.FromPerson, `{"mcpServers": {"a b": {"command": "x"}}}`, `f:1:17: a server's name has 1 to 64 letters, digits, _, . and -`},
		{"nothing", mcp.FromPerson, `{"mcpServers": {"a": {}}}`, `f:1:17: a needs command or url`},
		{"both", mcp.FromPerson, `{"mcpServers": {"a": {"command": "x", "url": "https://h"}}}`, `say command or url, not both`},
		{"old transport", mcp.FromPerson, `{"mcpServers": {"a": {"type": "sse", "url": "https://h"}}}`, `"sse" is a transport that the protocol dropped`},
		{"key", mcp.FromPerson, `{"mcpServers": {"a": {"command": "x", "alwaysAllow": []}}}`, `there is no "alwaysAllow"; what may stand here: type, command`},
		{"bare number", mcp.FromPerson, `{"mcpServers": {"a": {"command": "x", "timeout": 60}}}`, `timeout wants a time with its unit, such as "30s" or "10m"`},
		{"variable", mcp.FromPerson, `{"mcpServers": {"a": {"command": "x", "env": {"K": "${NONE}"}}}}`, `K: the variable NONE is not set`},
		{"variable of a workspace", mcp.FromWorkspace, `{"mcpServers": {"a": {"url": "https://h/${TOKEN:-x}"}}}`, `${TOKEN} may not stand in the file of a workspace`},
		{"trusted workspace", mcp.FromWorkspace, `{"mcpServers": {"a": {"command": "x", "trusted": true}}}`, `trusted may not stand in the file of a workspace`},
		{"plain http", mcp.FromPerson, `{"mcpServers": {"a": {"url": "http://example.org/mcp"}}}`, `http is only for this machine`},
		{"looks local", mcp.FromPerson, `{"mcpServers": {"a": {"url": "http://127.0.0.1.example.org/mcp"}}}`, `http is only for this machine`},
		{"password", mcp.FromPerson, `{"mcpServers": {"a": {"url": "https://me:hush@h/mcp"}}}`, `a name or password in an address would be shown`},
		{"other scheme", mcp.FromPerson, `{"mcpServers": {"a": {"url": "file:///etc/passwd"}}}`, `it is no address`},
		{"header", mcp.FromPerson, `{"mcpServers": {"a": {"url": "https://h", "headers": {"A": "x\r\nB: y"}}}}`, `header "A" is none`},
		{"nul", mcp.FromPerson, `{"mcpServers": {"a": {"command": "x\u0000y"}}}`, `command holds a NUL character`},
		{"deep", mcp.FromPerson, strings.Repeat("[", 100), `nested too deeply`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := mcp.Read("f", test.from, []byte(test.text), environment("TOKEN=t0p"))
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %s", err, test.want)
			}
			if err != nil && (strings.Contains(err.Error(), "t0p") || strings.Contains(err.Error(), "hush")) {
				t.Errorf("the error shows a secret: %v", err)
			}
		})
	}
}

// A workspace's file is shared with other programs: what they know and this one does not is said,
// and does no harm.
func TestReadForeignKey(t *testing.T) {
	got, err := mcp.Read("f", mcp.FromWorkspace, []byte(`{"mcpServers": {"a": {"command": "x", "oauth": {}}}}`), environment())
	if err != nil || len(got.Servers) != 1 || cmp.Diff(got.Notes, []string{`f:1:39: "oauth" is not known here and does nothing`}) != "" {
		t.Errorf("%v %v", got, err)
	}
}

// A workspace cannot put its server in the place of the person's.
func TestMerge(t *testing.T) {
	all, hidden := mcp.Merge([]mcp.Server{{Name: "a", Command: "mine"}}, []mcp.Server{{Name: "a", Command: "theirs"}, {Name: "b"}})
	if len(all) != 2 || all[0].Command != "mine" || all[1].Name != "b" || cmp.Diff(hidden, []string{"a"}) != "" {
		t.Errorf("%v %v", all, hidden)
	}
}
