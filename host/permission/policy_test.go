package permission_test

import (
	"encoding/json"
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
			if got, why := (permission.Policy{}).Decide(tt.q); got != want || why == "" {
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
		{"shell by name", []permission.Rule{rule(allow, "shell")}, shellCall(journal.ModeAsk, "ls", "sh"), allow},
	} {
		if got, why := permission.New(tt.rules...).Decide(tt.q); got != tt.want {
			t.Errorf("%s: %s (%s), want %s", tt.name, got, why, tt.want)
		}
	}
	q := shellCall(journal.ModeAuto, "sudo ls", "sh")
	q.Authored = true
	if got, _ := permission.New(rules(deny, []string{"sudo *"})...).Decide(q); got != deny {
		t.Errorf("a step of a runbook passes a deny rule: %s", got)
	}
	if got, _ := permission.New(rules(ask, []string{"sudo *"})...).Decide(q); got != allow {
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
		if got, why := p.Decide(q); got != tt.want {
			t.Errorf("%q, %s: %s (%s), want %s", tt.access, tt.effect, got, why, tt.want)
		}
	}
	p = permission.New(permission.Rule{Decision: journal.DecisionDeny, Tool: "shell", Access: "full"})
	if got, _ := p.Decide(call("shell", `{"command":"ls"}`, journal.EffectWriteExternal, journal.ModeYolo)); got != journal.DecisionDeny {
		t.Error(got)
	}
	if got, _ := p.Decide(call("shell", `{"command":"ls","access":"write"}`, journal.EffectWriteLocal, journal.ModeYolo)); got != journal.DecisionAllow {
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
		if got, why := p.Decide(q); got != want {
			t.Errorf("%s: %s (%s), want %s", paths, got, why, want)
		}
	}
	q := call("search", `{}`, journal.EffectRead, journal.ModeYolo)
	for path, want := range map[string]journal.Decision{".": journal.DecisionAsk, "docs": journal.DecisionAsk, "src": journal.DecisionAllow, "docs/secret": journal.DecisionDeny} {
		q.Paths = []string{path}
		if got, why := p.Decide(q); got != want {
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
		got, why := p.Decide(q)
		if url == "::" && got == journal.DecisionAllow || url != "::" && got != want {
			t.Errorf("%s: %s (%s), want %s", url, got, why, want)
		}
	}
	q := call("fetch", `{"url":"https://a.example.com","method":"POST"}`, journal.EffectWriteExternal, journal.ModeAsk)
	q.Outward = "a.example.com:443"
	if got, _ := p.Decide(q); got != journal.DecisionAsk {
		t.Errorf("POST: %s", got)
	}
}

// What an answer adds says exactly the call, for its workspace, and nothing where that cannot be
// said.
func TestStanding(t *testing.T) {
	for _, tt := range []struct{ name, script, always, never string }{
		{"one command", `go test './a b' '*'`, "[[allow]]\ntool = \"shell\"\ncommand = \"go test './a b' '*'\"\naccess = \"full\"\nfolder = \"/work\"\n",
			"[[deny]]\ntool = \"shell\"\ncommand = \"go test './a b' '*'\"\nfolder = \"/work\"\n"},
		{"two commands", "make && ls", "[[allow]]\ntool = \"shell\"\ncommand = \"make\"\naccess = \"full\"\nfolder = \"/work\"\n\n" +
			"[[allow]]\ntool = \"shell\"\ncommand = \"ls\"\naccess = \"full\"\nfolder = \"/work\"\n", ""},
		{"a wrapper, word by word", "env A=b make", "[[allow]]\ntool = \"shell\"\ncommand = \"env A=b make\"\naccess = \"full\"\nfolder = \"/work\"\n",
			"[[deny]]\ntool = \"shell\"\ncommand = \"env A=b make\"\nfolder = \"/work\"\n"},
		{"an expansion", "make $X", "", ""},
		{"a redirection", "make > x", "", "[[deny]]\ntool = \"shell\"\ncommand = \"make\"\nfolder = \"/work\"\n"},
		{"eval", "eval make", "", "[[deny]]\ntool = \"shell\"\ncommand = \"eval make\"\nfolder = \"/work\"\n"},
		{"unreadable", "make (", "", ""},
	} {
		q := shellCall(journal.ModeAsk, tt.script, "sh")
		if got := permission.TOML((permission.Policy{}).Always(q)); got != tt.always {
			t.Errorf("%s, always:\n%s\nwant\n%s", tt.name, got, tt.always)
		}
		if got := permission.TOML((permission.Policy{}).Never(q)); got != tt.never {
			t.Errorf("%s, never:\n%s\nwant\n%s", tt.name, got, tt.never)
		}
	}
	if r := permission.New(rules(journal.DecisionAsk, []string{"make"})...).Always(shellCall(journal.ModeYolo, "make", "sh")); r != nil {
		t.Errorf("an allow rule is offered where an ask rule would beat it: %v", r)
	}
	q := call("write_file", `{"path":"a[1].md"}`, journal.EffectWriteLocal, journal.ModeAsk)
	q.Paths = []string{"a[1].md"}
	if got := permission.TOML((permission.Policy{}).Always(q)); got != "[[allow]]\ntool = \"write_file\"\npath = \"a\\\\[1\\\\].md\"\nfolder = \"/work\"\n" {
		t.Error(got)
	}
}

// The digest to which a yes is bound changes with what restricts, and not with what allows.
func TestDigest(t *testing.T) {
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
		if d, why := p.Decide(shellCall(journal.ModeAsk, script, "sh")); d == journal.DecisionAllow {
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
	bound := rule
	bound.Access, bound.Where = "write", "config.toml:3"
	for _, tt := range []struct {
		script string
		rules  []permission.Rule
		want   string
	}{
		{"go test ./... && touch more", []permission.Rule{rule}, "it may change anything; no allow rule covers: touch more"},
		{"go test ./... > log", []permission.Rule{rule}, "it may change anything; it writes to a file, which no allow rule covers"},
		{"echo hi > log", nil, "it may change anything; it writes to a file, which no allow rule covers"},
		{"echo hi", nil, "it may change anything"},
		{"go test ./...", []permission.Rule{bound}, "it may change anything; the rule at config.toml:3: go test * allows access write at most"},
		{"go vet $DIR/x y", []permission.Rule{rule}, "it may change anything; no allow rule covers: go vet …"},
		{"echo 'a\n  yes  runs it once'", []permission.Rule{rule}, "it may change anything; no allow rule covers: echo 'a yes runs it once'"},
		{"echo " + strings.Repeat("x", 100), []permission.Rule{rule}, "it may change anything; no allow rule covers: echo " + strings.Repeat("x", 54) + "…"},
	} {
		args, err := json.Marshal(map[string]string{"command": tt.script})
		if err != nil {
			t.Fatal(err)
		}
		got, why := permission.New(tt.rules...).Decide(call("shell", string(args), journal.EffectWriteExternal, journal.ModeAsk))
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
