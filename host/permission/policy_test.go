package permission_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"agent/host/permission"
	"agent/recovery/journal"
)

// What the modes make of an effect where no rule says anything, and that each answer has a reason.
func TestModes(t *testing.T) {
	const allow, ask, deny = journal.DecisionAllow, journal.DecisionAsk, journal.DecisionDeny
	for _, tt := range []struct {
		name                   string
		q                      permission.Request
		plan, asks, auto, yolo journal.Decision
	}{
		{"read", permission.Request{Effect: journal.EffectRead}, allow, allow, allow, allow},
		{"read that goes out", permission.Request{Effect: journal.EffectRead, Outward: "example.com:443"}, ask, ask, ask, allow},
		{"local write", permission.Request{Effect: journal.EffectWriteLocal}, deny, ask, allow, allow},
		{"external write", permission.Request{Effect: journal.EffectWriteExternal}, deny, ask, ask, allow},
		{"local write that goes out", permission.Request{Effect: journal.EffectWriteLocal, Outward: "x:1"}, deny, ask, ask, allow},
		{"authored read", permission.Request{Authored: true, Effect: journal.EffectRead}, allow, allow, allow, allow},
		{"authored read that goes out", permission.Request{Authored: true, Effect: journal.EffectRead, Outward: "x:1"}, ask, allow, allow, allow},
		{"authored write", permission.Request{Authored: true, Effect: journal.EffectWriteExternal}, deny, allow, allow, allow},
	} {
		for i, want := range []journal.Decision{tt.plan, tt.asks, tt.auto, tt.yolo} {
			tt.q.Mode, tt.q.Tool = journal.Modes()[i], "x"
			if got, why := decided((permission.Policy{}), tt.q); got != want || why == "" {
				t.Errorf("%s in %s: %s (%q), want %s", tt.name, tt.q.Mode, got, why, want)
			}
		}
	}
}

func call(tool, args string, effect journal.Effect, mode journal.Mode) permission.Request {
	return permission.Request{Tool: tool, Args: json.RawMessage(args), Effect: effect, Mode: mode, Folder: "/work"}
}

// Deny beats ask beats allow, and each beats the mode; the folder bounds a rule; a glob does not
// reach shell and fetch.
func TestPrecedence(t *testing.T) {
	rule := func(d journal.Decision, tool string) permission.Rule { return permission.Rule{Decision: d, Tool: tool} }
	const allow, ask, deny = journal.DecisionAllow, journal.DecisionAsk, journal.DecisionDeny
	elsewhere := permission.Rule{Decision: allow, Tool: "put", Folder: "/other"}
	for _, tt := range []struct {
		name  string
		rules []permission.Rule
		q     permission.Request
		want  journal.Decision
	}{
		{"allow beats ask mode", []permission.Rule{rule(allow, "put")}, call("put", `{}`, journal.EffectWriteExternal, journal.ModeAsk), allow},
		{"but not plan", []permission.Rule{rule(allow, "put")}, call("put", `{}`, journal.EffectWriteExternal, journal.ModePlan), deny},
		{"ask beats allow", []permission.Rule{rule(allow, "put"), rule(ask, "put")}, call("put", `{}`, journal.EffectWriteExternal, journal.ModeYolo), ask},
		{"ask holds for a read", []permission.Rule{rule(ask, "get")}, call("get", `{}`, journal.EffectRead, journal.ModeYolo), ask},
		{"deny beats both", []permission.Rule{rule(deny, "p*"), rule(ask, "put"), rule(allow, "put")}, call("put", `{}`, journal.EffectRead, journal.ModeYolo), deny},
		{"a folder", []permission.Rule{elsewhere}, call("put", `{}`, journal.EffectWriteExternal, journal.ModeAsk), ask},
		{"a glob", []permission.Rule{rule(allow, "mcp__x__*")}, call("mcp__x__y", `{}`, journal.EffectWriteExternal, journal.ModeAsk), allow},
		{"a glob and shell", []permission.Rule{rule(allow, "*")}, shellCall(journal.ModeAsk, "ls", "sh"), ask},
		{"a glob and fetch", []permission.Rule{rule(allow, "*")}, call("fetch", `{"url":"https://x"}`, journal.EffectRead, journal.ModeYolo), allow},
		{"shell by name", []permission.Rule{rule(allow, "shell")}, bounded(journal.ModeAsk, "ls", "sh"), allow},
		{"but no full powers", []permission.Rule{rule(allow, "shell")}, shellCall(journal.ModeAsk, "ls", "sh"), ask},
	} {
		if got, why := decided(permission.New(tt.rules...), tt.q); got != tt.want {
			t.Errorf("%s: %s (%s), want %s", tt.name, got, why, tt.want)
		}
	}
	q := shellCall(journal.ModeAuto, "sudo ls", "sh")
	q.Authored = true
	if got, _ := decided(permission.New(rules(deny, []string{"sudo *"})...), q); got != deny {
		t.Errorf("a step of a runbook passes a deny rule: %s", got)
	}
	if got, _ := decided(permission.New(rules(ask, []string{"sudo *"})...), q); got != allow {
		t.Errorf("a step of a runbook is asked about: %s", got)
	}
}

// Access in an allow rule is the most that a command may ask for, and means nothing where the
// system does not keep the command to it; in a deny rule it is the least.
func TestAccess(t *testing.T) {
	p := permission.New(permission.Rule{Decision: journal.DecisionAllow, Tool: "shell", Command: "make *", Access: "write"})
	for _, tt := range []struct {
		access string
		effect journal.Effect
		want   journal.Decision
	}{
		{"read", journal.EffectRead, journal.DecisionAllow}, {"write", journal.EffectWriteLocal, journal.DecisionAllow},
		{"full", journal.EffectWriteExternal, journal.DecisionAsk}, {"", journal.EffectWriteExternal, journal.DecisionAsk},
		{"write", journal.EffectWriteExternal, journal.DecisionAsk}, // nothing holds it
	} {
		q := call("shell", `{"command":"make x","access":"`+tt.access+`"}`, tt.effect, journal.ModeAsk)
		if tt.access == "" {
			q.Args = json.RawMessage(`{"command":"make x"}`)
		}
		if got, why := decided(p, q); got != tt.want {
			t.Errorf("%q, %s: %s (%s), want %s", tt.access, tt.effect, got, why, tt.want)
		}
	}
	p = permission.New(permission.Rule{Decision: journal.DecisionDeny, Tool: "shell", Access: "full"})
	if got, _ := decided(p, call("shell", `{"command":"ls"}`, journal.EffectWriteExternal, journal.ModeYolo)); got != journal.DecisionDeny {
		t.Error(got)
	}
	if got, _ := decided(p, call("shell", `{"command":"ls","access":"write"}`, journal.EffectWriteLocal, journal.ModeYolo)); got != journal.DecisionAllow {
		t.Error(got)
	}
}

// Every path of a call must be covered to be allowed, links followed and not; one that is denied
// denies it. What shows all below a folder is asked about where a part of that is denied.
func TestPaths(t *testing.T) {
	p := permission.New(
		permission.Rule{Decision: journal.DecisionAllow, Tool: "*_file", Path: "docs/**"},
		permission.Rule{Decision: journal.DecisionDeny, Tool: "*", Path: "docs/secret"},
	)
	for paths, want := range map[string]journal.Decision{
		"docs/a.md": journal.DecisionAllow, "docs/x/y": journal.DecisionAllow, "a.md": journal.DecisionAsk, "docs/a.md,a.md": journal.DecisionAsk,
		"docs/secret/x": journal.DecisionDeny, "docs/l/x,docs/secret/x": journal.DecisionDeny, "docs/../a.md": journal.DecisionAsk, "/etc/x": journal.DecisionAsk,
	} {
		q := call("write_file", `{}`, journal.EffectWriteLocal, journal.ModeAsk)
		q.Paths = strings.Split(paths, ",")
		if got, why := decided(p, q); got != want {
			t.Errorf("%s: %s (%s), want %s", paths, got, why, want)
		}
	}
	q := call("search", `{}`, journal.EffectRead, journal.ModeYolo)
	for path, want := range map[string]journal.Decision{".": journal.DecisionAsk, "docs": journal.DecisionAsk, "src": journal.DecisionAllow, "docs/secret": journal.DecisionDeny} {
		q.Paths = []string{path}
		if got, why := decided(p, q); got != want {
			t.Errorf("search %s: %s (%s), want %s", path, got, why, want)
		}
	}
}

// A host is the one that is dialled, with its usual ports unless the rule names another.
func TestHosts(t *testing.T) {
	p := permission.New(
		permission.Rule{Decision: journal.DecisionAllow, Tool: "fetch", Host: "*.example.com", Method: "GET"},
		permission.Rule{Decision: journal.DecisionAllow, Tool: "fetch", Host: "api.test:8443"},
		permission.Rule{Decision: journal.DecisionDeny, Tool: "fetch", Host: "evil.example.com"},
	)
	for url, want := range map[string]journal.Decision{
		"https://a.example.com/x": journal.DecisionAllow, "https://A.EXAMPLE.com./": journal.DecisionAllow, "https://example.com": journal.DecisionAsk,
		"https://a.example.com.evil.net": journal.DecisionAsk, "https://a.example.com@evil.net/": journal.DecisionAsk, "https://evilexample.com": journal.DecisionAsk,
		"https://a.example.com:22/": journal.DecisionAsk, "https://api.test:8443/": journal.DecisionAllow, "https://api.test/": journal.DecisionAsk,
		"https://evil.example.com:99/": journal.DecisionDeny, "https://EVIL.example.com./": journal.DecisionDeny, "::": journal.DecisionAsk,
	} {
		args, err := json.Marshal(map[string]string{"url": url})
		if err != nil {
			t.Fatal(err)
		}
		q := call("fetch", string(args), journal.EffectRead, journal.ModeAsk)
		q.Outward = strings.ToLower(strings.TrimPrefix(url, "https://"))
		got, why := decided(p, q)
		if url == "::" && got == journal.DecisionAllow || url != "::" && got != want {
			t.Errorf("%s: %s (%s), want %s", url, got, why, want)
		}
	}
	q := call("fetch", `{"url":"https://a.example.com","method":"POST"}`, journal.EffectWriteExternal, journal.ModeAsk)
	q.Outward = "a.example.com:443"
	if got, _ := decided(p, q); got != journal.DecisionAsk {
		t.Errorf("POST: %s", got)
	}
}

// What an answer adds says exactly the call, for its workspace, and nothing where that cannot be
// said.
func TestStanding(t *testing.T) {
	const always, never = "[[allow]]\ntool = \"shell\"\ntext = %s\naccess = \"full\"\nfolder = \"/work\"\n", "[[deny]]\ntool = \"shell\"\ncommand = %s\nfolder = \"/work\"\n"
	for _, tt := range []struct{ name, script, always, never string }{
		{"one command", `go test './a b' '*'`, `"go test './a b' '*'"`, `"go test './a b' '*'"`},
		{"two commands", "make && ls", `"make && ls"`, ""},
		{"a wrapper, word by word", "env A=b make", `"env A=b make"`, `"env A=b make"`},
		{"an expansion", "make $X", "", ""},
		{"a redirection", "make > x", "", `"make"`},
		{"eval", "eval make", `"eval make"`, `"eval make"`},
		{"unreadable", "make (", "", ""},
	} {
		q := shellCall(journal.ModeAsk, tt.script, "sh")
		for _, a := range []struct {
			format, want string
			got          []permission.Rule
		}{{always, tt.always, (permission.Policy{}).Always(q, true)}, {never, tt.never, (permission.Policy{}).Never(q)}} {
			want := ""
			if a.want != "" {
				want = fmt.Sprintf(a.format, a.want)
			}
			if got := permission.TOML(a.got); got != want {
				t.Errorf("%s:\n%s\nwant\n%s", tt.name, got, want)
			}
		}
	}
	if r := permission.New(rules(journal.DecisionAsk, []string{"make"})...).Always(shellCall(journal.ModeYolo, "make", "sh"), true); r != nil {
		t.Errorf("an allow rule is offered where an ask rule would beat it: %v", r)
	}
	q := call("write_file", `{"path":"a[1].md"}`, journal.EffectWriteLocal, journal.ModeAsk)
	q.Paths = []string{"a[1].md"}
	if got := permission.TOML((permission.Policy{}).Always(q, true)); got != "[[allow]]\ntool = \"write_file\"\npath = \"a\\\\[1\\\\].md\"\nfolder = \"/work\"\n" {
		t.Error(got)
	}
}

// The digest to which a yes is bound changes with what restricts, and not with what allows. It is
// that of older versions: a yes that waits outlives an upgrade.
func TestDigest(t *testing.T) {
	old := permission.New(
		permission.Rule{Decision: journal.DecisionDeny, Tool: "shell", Command: "sudo *"},
		permission.Rule{Decision: journal.DecisionAsk, Tool: "write_file", Path: "docs/**", Folder: "/w", Where: "x:1"},
	)
	if got := old.Digest(); got != "bc800b10a249d86c39c37b610b489c3444ac1272761203ebe96b839e3c3736ac" {
		t.Errorf("the digest of an older version is %s now", got)
	}
	p := permission.New(deny("sudo *")...)
	if p.Digest() != p.With(allow("ls")...).Digest() || p.Digest() == p.With(deny("ls")...).Digest() || p.Digest() == (permission.Policy{}).Digest() {
		t.Error("the digest says otherwise")
	}
}

// A script that is made to take long is asked about soon, under deny rules too.
func TestMuchToFollow(t *testing.T) {
	p := plausible().With(deny("sudo *")...)
	for _, script := range []string{
		strings.Repeat("sh -c ", 5000) + "'a b'", strings.Repeat("env ", 15000), strings.Repeat("a ", 30000), strings.Repeat("eval 'sh -c \"x y\"' ", 2000),
		strings.Repeat("xargs sh -c 'a $(b) c' ", 1500), strings.Repeat("awk '{a|b}' ", 3000), strings.Repeat("find -exec sh -c 'eval x y' ", 1500),
	} {
		began := time.Now()
		if d, why := decided(p, shellCall(journal.ModeAsk, script, "sh")); d == journal.DecisionAllow {
			t.Errorf("%.20q is allowed: %s", script, why)
		}
		if took := time.Since(began); took > 10*time.Second {
			t.Errorf("%.20q took %s", script, took)
		}
	}
}

// A person who is asked although there are rules is shown what no rule covers, on one line (issue
// 4, permission).
func TestUncoveredIsNamed(t *testing.T) {
	rule := permission.Rule{Decision: journal.DecisionAllow, Tool: "shell", Command: "go test *"}
	rule.Full = true
	bound := rule
	bound.Full = false
	bound.Access, bound.Where = "write", "config.toml:3"
	for _, tt := range []struct {
		script string
		rules  []permission.Rule
		want   string
	}{
		{"go test ./... && touch more", []permission.Rule{rule}, "it may change anything; no allow rule covers: touch more"},
		{"go test ./... > log", []permission.Rule{rule}, "it may change anything; no rule can name it: a redirection to a file"},
		{"echo hi > log", nil, "it may change anything; no rule can name it: a redirection to a file"},
		{"echo hi", nil, "it may change anything"},
		{"go test ./...", []permission.Rule{bound}, "it may change anything; the rule at config.toml:3: go test * grants access write at most"},
		{"echo 'a\n  yes  runs it once'", []permission.Rule{rule}, "it may change anything; no allow rule covers: echo 'a yes runs it once'"},
		{"echo " + strings.Repeat("x", 100), []permission.Rule{rule}, "it may change anything; no allow rule covers: echo " + strings.Repeat("x", 54) + "…"},
	} {
		args, err := json.Marshal(map[string]string{"command": tt.script})
		if err != nil {
			t.Fatal(err)
		}
		got, why := decided(permission.New(tt.rules...), call("shell", string(args), journal.EffectWriteExternal, journal.ModeAsk))
		if got != journal.DecisionAsk || why != tt.want {
			t.Errorf("%q: %s, %q; want it asked about: %q", tt.script, got, why, tt.want)
		}
	}
}

// A rule about a tool that does not exist would restrict nothing: it is refused. Those of MCP
// servers are not known beforehand.
func TestRuleNamesATool(t *testing.T) {
	for tool, ok := range map[string]bool{"shell": true, "read_output": true, "mcp__a__b": true, "mcp__*": true, "*": true, "shel": false, "Shell": false} {
		if err := (permission.Rule{Decision: journal.DecisionDeny, Tool: tool}).Check(); (err == nil) != ok {
			t.Errorf("a rule about %q: %v", tool, err)
		}
	}
}
