package permission_test

import (
	"encoding/json"
	"strings"
	"testing"

	"agent/host/permission"
	"agent/recovery/journal"
)

func shellRequest(command string) permission.Request {
	args, err := json.Marshal(map[string]string{"command": command, "access": "write"})
	if err != nil {
		panic(err) // strings always encode
	}
	return permission.Request{Mode: journal.ModeAsk, Tool: "shell", Args: args, Effect: journal.EffectWriteLocal, Folder: "/w"}
}

// What always adds to the rules is the script as it is, with other numbers where a number names
// something, and only where the script has a normal form.
func TestOfferedTexts(t *testing.T) {
	for command, want := range map[string]string{
		"go test ./...":                 "go test ./...",
		"gh  pr view 812 --comments":    "gh pr view {number} --comments",
		"git commit -m \"it's 5\"":      `git commit -m 'it'"'"'s 5'`,
		"head -n 5 x":                   "head -n 5 x", // behind an option a number is a setting
		"kill 812":                      "kill 812",    // its second word
		"gh run view 99172 && kill 12":  "gh run view {number} && kill 12",
		"echo a 12345678901234567890":   "echo a 12345678901234567890", // no number of anything
		"echo a '{number}' x":           "echo a '{number}' x",
		"cd sub && go vet ./... | tail": "cd sub && go vet ./... | tail",
		"go test > /dev/null 2>&1":      "go test 1>/dev/null 2>&1",
		"X=1 go test ./...":             "",
		"go test $(cat list)":           "",
		"go test ./... > out.txt":       "",
		"for i in 1 2; do ls; done":     "",
		"eval ls":                       "eval ls",
	} {
		for _, q := range []permission.Request{shellRequest(command), shellCall(journal.ModeAsk, command, "")} {
			got, says := "", ""
			for _, o := range (permission.Policy{}).Offers(q) {
				if o.Answer == journal.AnswerAlways {
					got, says = o.Rules, o.Says
				}
			}
			access := "full"
			if q.Effect == journal.EffectWriteLocal {
				access = "write"
			}
			rule := permission.Rule{Decision: journal.DecisionAllow, Tool: "shell", Text: want, Access: access, Folder: q.Folder}
			switch {
			case want == "" && got != "":
				t.Errorf("%s: offered\n%s", command, got)
			case want != "" && got != permission.TOML([]permission.Rule{rule}):
				t.Errorf("%s: offered %q\n%s", command, says, got)
			}
		}
	}
}

// A rule's text covers its own script and, where it says so, other numbers.
func TestTextRules(t *testing.T) {
	for _, tt := range []struct {
		text, command string
		want          bool
	}{
		{"gh pr view {number}", "gh pr view 7", true},
		{"gh pr view {number}", "gh pr  'view' 1234567890123456789", true},
		{"gh pr view {number}", "gh pr view 12345678901234567890", false},
		{"gh pr view {number}", "gh pr view -7", false},
		{"gh pr view {number}", "gh pr view 7a", false},
		{"gh pr view {number}", "gh pr view ''", false},
		{"gh pr view {number}", "gh pr view '{number}'", false},
		{"gh pr view {number}", "gh pr view 7 8", false},
		{"gh pr view {number}", "gh pr view 7; ls", false},
		{"gh pr view {number}", "gh pr view 7 | sh", false},
		{"gh pr view '{number}'", "gh pr view '{number}'", true},
		{"gh pr view '{number}'", "gh pr view 7", false},
		{"echo ' {number} '", "echo ' {number} '", true},
		{"echo ' {number} '", "echo ' 7 '", false},
		{"echo 10 {number} 0", "echo 10 55 0", true},
		{"echo 10 {number} 0", "echo 55 10 0", false},
		{"chmod 0'0' x", "chmod 4777 x", false},
		{"chmod 0'0' x", "chmod 00 x", true},
		{"kill a0'0'", "kill a00", true},
		{"x '{number}'0", "x {number}0", false},
		{"x '{number}'0", "x '{number}0'", true},
		{"echo {number}|wc {number}", "echo 1 | wc 2", true},
		{"a && b", "a; b", false},
		{"a; b", "a\nb", true},
		{"a 2>&1", "a", false},
		{"a", "a 2>/dev/null", false},
	} {
		r := permission.Rule{Decision: journal.DecisionAllow, Tool: "shell", Text: tt.text}
		if err := r.Check(); err != nil {
			t.Errorf("%q: %v", tt.text, err)
		}
		if d, why := decided(permission.New(r), shellCall(journal.ModeAsk, tt.command, "")); (d == journal.DecisionAllow) != tt.want {
			t.Errorf("%q for %q: %s %s", tt.text, tt.command, d, why)
		}
	}
}

// What each kind of rule grants, and to which scripts.
func TestKindsOfRules(t *testing.T) {
	command := func(c string) permission.Rule {
		return permission.Rule{Decision: journal.DecisionAllow, Tool: "shell", Command: c}
	}
	full := func(r permission.Rule) permission.Rule { r.Full = true; return r }
	access := func(r permission.Rule, a string) permission.Rule { r.Access = a; return r }
	for _, tt := range []struct {
		name    string
		rules   []permission.Rule
		command string
		want    string // the access that it gets of all that it asks for; "" for a question
	}{
		{"a command", []permission.Rule{command("./deploy.sh")}, "./deploy.sh", "full"},
		{"two commands", []permission.Rule{command("make"), command("make install")}, "make && make install", "full"},
		{"a pipeline", []permission.Rule{command("./a"), command("sh")}, "./a | sh", ""},
		{"a pipeline of which a part is a beginning", []permission.Rule{command("./a"), command("sh *")}, "./a | sh", "write"},
		{"the wider of two rules", []permission.Rule{command("git push"), full(command("git *")), full(command("cat *"))}, "git push | cat", "full"},
		{"another folder", []permission.Rule{command("cd sub"), command("./deploy.sh")}, "cd sub && ./deploy.sh", ""},
		{"a beginning", []permission.Rule{command("go test *")}, "go test ./...", "write"},
		{"a beginning and full access", []permission.Rule{access(command("go test *"), "full")}, "go test ./...", "write"},
		{"a beginning to read", []permission.Rule{access(command("go test *"), "read")}, "go test ./...", ""},
		{"a beginning with full powers", []permission.Rule{full(command("git push *"))}, "git push | cat", ""},
		{"all in a pipeline", []permission.Rule{full(command("git push *")), full(command("cat *"))}, "git push | cat", "full"},
		{"a wrapper", []permission.Rule{command("sh *")}, "sh -c 'rm x'", "write"},
		{"every command", []permission.Rule{command("")}, "for i in a; do $i; done", ""}, // only what a rule about commands covers is lowered
		{"every command with full powers", []permission.Rule{full(command(""))}, "for i in a; do $i; done", "full"},
		{"a text to write", []permission.Rule{{Decision: journal.DecisionAllow, Tool: "shell", Text: "make", Access: "write"}}, "make", ""},
		{"no normal form", []permission.Rule{command("ls *")}, "ls $x", ""},
	} {
		for _, r := range tt.rules {
			if err := r.Check(); err != nil {
				t.Errorf("%s: %v", tt.name, err)
			}
		}
		q := shellCall(journal.ModeAsk, tt.command, "")
		q.Bounded = true
		v := permission.New(tt.rules...).Decide(q)
		got := map[bool]string{true: "full", false: v.Access}[v.Access == ""]
		if v.Decision != journal.DecisionAllow {
			got = ""
		}
		if got != tt.want {
			t.Errorf("%s: %+v, want %q", tt.name, v, tt.want)
		}
	}
}

// What cannot be a rule is refused with what is wrong.
func TestWrongRules(t *testing.T) {
	for _, tt := range []struct {
		rule permission.Rule
		want string
	}{
		{permission.Rule{Tool: "shell", Text: "for f in *; do rm $f; done"}, "text: no rule can name it: an expansion"},
		{permission.Rule{Tool: "shell", Text: "a", Command: "a"}, "text: not beside command"},
		{permission.Rule{Tool: "shell", Text: strings.Repeat("a", 1001)}, "text: longer than 1000 bytes"},
		{permission.Rule{Tool: "fetch", Text: "a"}, `text: only a rule with tool = "shell" has it`},
		{permission.Rule{Tool: "shell", Text: "a", Decision: journal.DecisionDeny}, "text: only an allow rule has it; a rule that asks or denies has command"},
		{permission.Rule{Tool: "shell", Text: "a", Full: true}, "full: it is for rules that end in * or name no command, and is their access"},
		{permission.Rule{Tool: "shell", Command: "a", Full: true}, "full: it is for rules that end in * or name no command, and is their access"},
		{permission.Rule{Tool: "shell", Command: "a *", Access: "full", Full: true}, "full: it is for rules that end in * or name no command, and is their access"},
		{permission.Rule{Tool: "shell", Command: "git push # *"}, `command: "git push # *": what stands behind # is no part of it; put it in quotes if it is meant as it stands`},
		{permission.Rule{Tool: "shell", Command: "gh pr view {number} *"}, `command: "gh pr view {number} *": {number} stands for digits in text alone`},
		{permission.Rule{Tool: "shell", Command: "a *", Full: true, Decision: journal.DecisionAsk}, "full: only an allow rule in your own config.toml has it"},
		{permission.Rule{Tool: "fetch", Full: true}, `full: only a rule with tool = "shell" has it`},
	} {
		if tt.rule.Decision == "" {
			tt.rule.Decision = journal.DecisionAllow
		}
		if err := tt.rule.Check(); err == nil || err.Error() != tt.want {
			t.Errorf("%+v: %v, want %s", tt.rule, err, tt.want)
		}
	}
}

// The widths are offered from the narrowest to the widest, and each of them covers the call.
func TestWidths(t *testing.T) {
	edit := permission.Request{
		Mode: journal.ModeAsk, Tool: "edit_file", Args: json.RawMessage(`{"path":"a.go"}`), Effect: journal.EffectWriteLocal, Folder: "/w", Paths: []string{"a.go"},
	}
	obeyed := edit
	obeyed.Effect, obeyed.Paths = journal.EffectWriteExternal, []string{".envrc"}
	tool := permission.Request{Mode: journal.ModeAsk, Tool: "mcp__a__b", Args: json.RawMessage(`{}`), Effect: journal.EffectWriteExternal, Folder: "/w"}
	restore := tool
	restore.Tool = "restore_files"
	for _, tt := range []struct {
		q    permission.Request
		want string
	}{
		{shellRequest("go test ./..."), "always always-write always-run never"},
		{shellRequest("a $b"), "always-write always-run"},
		{shellCall(journal.ModeAsk, "rm x", ""), "always always-run never"},
		{shellCall(journal.ModeAsk, "rm $x", ""), ""},
		{edit, "always always-run always-edits never"},
		{obeyed, "always always-run never"},
		{tool, "always always-run never"},
		{restore, ""},
	} {
		var got []string
		for _, o := range (permission.Policy{}).Offers(tt.q) {
			got = append(got, o.Answer)
		}
		if strings.Join(got, " ") != tt.want {
			t.Errorf("%s %s: %v, want %s", tt.q.Tool, tt.q.Args, got, tt.want)
		}
	}
	all, err := permission.Read(journal.DecisionAllow, "edits")
	if err != nil {
		t.Fatal(err)
	}
	p := permission.New(all)
	for _, tt := range []struct {
		q    permission.Request
		want journal.Decision
	}{{edit, journal.DecisionAllow}, {obeyed, journal.DecisionAsk}, {shellRequest("touch a.go"), journal.DecisionAsk}} {
		if got, why := decided(p, tt.q); got != tt.want {
			t.Errorf("all edits, %s: %s (%s)", tt.q.Tool, got, why)
		}
	}
	q := edit
	q.Mode = journal.ModePlan
	if got, _ := decided(p, q); got != journal.DecisionDeny {
		t.Errorf("all edits in mode plan: %s", got)
	}
	no, err := permission.Read(journal.DecisionDeny, "edits")
	if got, _ := decided(permission.New(no), obeyed); err != nil || got != journal.DecisionDeny {
		t.Errorf("no edits: %s, %v", got, err)
	}
}

// A rule is read from one line, and what is none says why.
func TestReadRule(t *testing.T) {
	for text, want := range map[string]permission.Rule{
		"go test *":                   {Tool: "shell", Command: "go test *"},
		"shell(git push *)":           {Tool: "shell", Command: "git push *"},
		"shell":                       {Tool: "shell"},
		"write_file":                  {Tool: "write_file"},
		"write_file(docs/**)":         {Tool: "write_file", Path: "docs/**"},
		"fetch(example.com)":          {Tool: "fetch", Host: "example.com"},
		"fetch(POST *.example.com)":   {Tool: "fetch", Host: "*.example.com", Method: "POST"},
		"mcp__github__create_issue":   {Tool: "mcp__github__create_issue"},
		"shell(git push)":             {Tool: "shell", Text: "git push"},
		"ls":                          {Tool: "shell", Text: "ls"},
		"a; b":                        {Tool: "shell", Text: "a; b"},
		"gh pr view {number}":         {Tool: "shell", Text: "gh pr view {number}"},
		"echo 'a (b)'":                {Tool: "shell", Text: "echo 'a (b)'"},
		"sudo *":                      {Tool: "shell", Command: "sudo *"},
		"{write_file,edit_file}(a/*)": {Tool: "{write_file,edit_file}", Path: "a/*"},
	} {
		want.Decision = journal.DecisionAllow
		if got, err := permission.Read(journal.DecisionAllow, text); err != nil || got != want {
			t.Errorf("%s: %+v, %v", text, got, err)
		}
	}
	for text, why := range map[string]string{
		"git push": `--allow "git push" grants that; --allow-full is for x * and shell`,
		"edits":    `--allow "edits" grants that; --allow-full is for x * and shell`,
		"a; b *":   "one simple command",
		"shell()":  "nothing stands in the parentheses",
		"*":        "text: no rule can name it: a pattern",
	} {
		if _, err := permission.ReadFull(text); err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("full powers for %q: %v, want %q", text, err, why)
		}
	}
	for _, text := range []string{"git push *", "shell"} {
		if r, err := permission.ReadFull(text); err != nil || !r.Full {
			t.Errorf("full powers for %q: %+v, %v", text, r, err)
		}
	}
	for text, why := range map[string]string{
		"": "empty", "  ": "empty", "a; b *": "one simple command", "no_tool(x)": "no tool", "fetch(GET)": "", "fetch(BREW a.com)": "no method",
		"write_file(/etc/*)": "seen from the workspace", "ask_user": "", "a > b": "a redirection to a file", "a * b": "a pattern", "go test": "",
	} {
		_, err := permission.Read(journal.DecisionAllow, text)
		if why != "" && (err == nil || !strings.Contains(err.Error(), why)) {
			t.Errorf("%q: %v, want %q", text, err, why)
		}
	}
}
