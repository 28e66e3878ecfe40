package mcp_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"
	"unicode"

	"agent/tools/mcp"
)

// FuzzServers: whatever is in a file of definitions, reading it is the same each time. A refusal
// names a place of the file, in words that a terminal may be shown and without a variable's value.
// What is accepted is JSON, and each server of it is whole; a workspace's takes nothing from the
// environment and is not believed.
func FuzzServers(f *testing.F) {
	for _, text := range []string{
		`{"mcpServers": {"a": {"command": "npx", "args": ["-y", "${PACKAGE}@1"], "env": {"TOKEN": "${TOKEN}", "PRICE": "$5 ${"}, "cwd": "/srv", "trusted": true, "timeout": "90s", "start_timeout": "1m", "tools": ["read"]}}}`,
		`{"mcpServers": {"far": {"type": "http", "url": "https://${HOST:-example.org}/mcp", "headers": {"Authorization": "Bearer ${TOKEN}"}}, "off": {"command": "x", "disabled": true}}}`,
		`{"mcpServers": {"a": {"command": "x"}, "a": {"command": "y"}}}`, `{"mcpServers": {"a": {"url": "http://host", "args": []}}}`, `{"mcpServers": {"a": {"type": "${TOKEN}"}}}`,
		`{"mcpServers": {"a": {"url": "${TOKEN}://x"}}}`, `{"mcpServers": {"a": {"command": "x", "env": {"\u001b[2J": 1}, "\u202e": 2}}}`, `{"mcpServers": {"\u0007": {}}}`,
		"{\n  \"mcpServers\": {,}\n}", `{"mcpServers": {`, `{"mcpServers": {}} {}`, `[]`, `{}`, ``, `{"mcpServers": {"a": {"command": "x", "args": ["${X:-${TOKEN}}"]}}}`,
		`{"mcpServers": {"a": {"command": "\u0000", "timeout": 5}}, "other": [[[1e999]]]}`, `{"mcpServers": {"a": {"url": "http://[::1]:99999/%zz", "headers": {"A B": "c\r\nd"}}}}`, "{\"\xff\": 1}",
		`{"mcpServers": ` + strings.Repeat(`[`, 40) + strings.Repeat(`]`, 40) + `}`,
	} {
		f.Add(text)
	}
	const value = "v4lue-0f-a-key"
	env := environment("TOKEN="+value, "PACKAGE=fs")
	f.Fuzz(func(t *testing.T, text string) {
		for _, from := range []string{mcp.FromPerson, mcp.FromWorkspace} {
			got, err := mcp.Read("f", from, []byte(text), env)
			again, err2 := mcp.Read("f", from, []byte(text), env)
			if !reflect.DeepEqual(got, again) || fmt.Sprint(err) != fmt.Sprint(err2) {
				t.Fatalf("it is read as %+v, %v and as %+v, %v", got, err, again, err2)
			}
			said := got.Notes
			if err != nil {
				said = append(said, strings.Split(err.Error(), "\n")...)
				inside(t, text, err)
			}
			for _, s := range said {
				if strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) }) {
					t.Errorf("a terminal would obey %q", s)
				}
				if strings.Contains(s, value) && !strings.Contains(text, value) {
					t.Errorf("the value of a variable is shown: %s", s)
				}
			}
			if err != nil {
				continue
			}
			if !json.Valid([]byte(text)) {
				t.Errorf("%q is accepted", text)
			}
			if from == mcp.FromWorkspace && strings.Contains(fmt.Sprint(got), value) && !strings.Contains(text, value) {
				t.Errorf("a workspace is given the value of a variable: %+v", got)
			}
			names := map[string]bool{}
			for _, s := range got.Servers {
				wholeServer(t, s)
				if names[s.Name] {
					t.Errorf("%s is there twice", s.Name)
				}
				names[s.Name] = true
			}
		}
	})
}

// inside: each part of the error names a place that the file has.
func inside(t *testing.T, text string, err error) {
	t.Helper()
	all := []error{err}
	if many, ok := err.(interface{ Unwrap() []error }); ok {
		all = many.Unwrap()
	}
	for _, e := range all {
		var at *mcp.PlaceError
		if !errors.As(e, &at) || at.Line < 1 || at.Line > strings.Count(text, "\n")+1 || at.Column < 1 || at.Column > len(text)+1 {
			t.Errorf("%d bytes: %v", len(text), e)
		}
	}
}

func wholeServer(t *testing.T, s mcp.Server) {
	t.Helper()
	switch {
	case (s.Command == "") == (s.URL == ""), s.Call <= 0, s.Start <= 0, s.From == mcp.FromWorkspace && s.Trusted, s.Name == "":
		t.Errorf("%+v is accepted", s)
	case s.URL != "" && mcp.CheckURL(s.URL) != nil, s.URL != "" && (s.Args != nil || s.Env != nil || s.Dir != ""), s.Command != "" && s.Headers != nil:
		t.Errorf("%+v is accepted", s)
	}
}

// A file comes with a repository and may be made to take long: it is read soon, whatever it is full
// of.
func TestFullFileIsReadSoon(t *testing.T) {
	var names, servers strings.Builder
	for i := range 80_000 {
		fmt.Fprintf(&names, `"%d":1,`, i)
	}
	for i := range 30_000 {
		fmt.Fprintf(&servers, `"s%d":{"command":"x","x":1},`, i)
	}
	for name, text := range map[string]string{
		"members": `{"mcpServers":{},` + names.String() + `"x":1}`, "keys": `{"mcpServers":{"a":{"command":"x",` + names.String() + `"x":1}}}`,
		"servers": `{"mcpServers":{` + servers.String() + `"x":{"command":"x"}}}`, "variables": `{"mcpServers":{"a":{"command":"` + strings.Repeat("${A}", 1<<18) + `"}}}`,
		"open": strings.Repeat("[", 1<<20), "lines": strings.Repeat("\n", 1<<20) + "x",
	} {
		for _, from := range []string{mcp.FromPerson, mcp.FromWorkspace} {
			began := time.Now()
			got, err := mcp.Read("f", from, []byte(text), environment())
			if took := time.Since(began); took > 20*time.Second {
				t.Errorf("%s: it took %s", name, took)
			}
			said := len(got.Notes)
			if err != nil {
				said += strings.Count(err.Error(), "\n")
			}
			if said > 200 {
				t.Errorf("%s of a %s: %d lines are said about it", name, from, said)
			}
		}
	}
}
