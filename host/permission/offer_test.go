package permission_test

import (
	"encoding/json"
	"slices"
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

// A beginning is offered where it covers one program alone, as narrow as it is of use.
// issue 17, part 1
func TestOfferedBeginnings(t *testing.T) {
	for command, want := range map[string]string{
		"go test ./...":                  "go test *",
		"go build":                       "go build *",
		"go run ./cmd/x -v":              "go run ./cmd/x *",
		"go generate ./...":              "", // it runs what the files say
		"git commit -m x":                "git commit *",
		"git -c core.pager=x log":        "",
		"git submodule foreach ls":       "",
		"npm run build":                  "npm run build *",
		"npm run --silent build":         "",
		"npm install left-pad":           "",
		"make test":                      "make test *",
		"make -j4 test":                  "", // any target
		"docker exec web sh":             "",
		"python3 tool.py a":              "python3 tool.py *",
		"python3 -c 'print(1)'":          "",
		"bash -c ls":                     "",
		"sudo ls":                        "",
		"xargs rm":                       "",
		"rm -rf build":                   "",
		"/bin/rm x":                      "",
		"chmod +x a":                     "",
		"mkdir -p a/b":                   "mkdir *",
		"ls src":                         "ls *",
		"./deploy.sh --prod":             "./deploy.sh *",
		"terraform plan -out x":          "terraform plan *",
		"go test ./... && git status":    "go test *; git status *",
		"go test ./... | tail -5":        "go test *; tail *",
		"go test ./... && rm -rf out":    "go test *; rm -rf out",
		"cd sub && go vet ./...":         "cd sub; go vet *",
		"X=1 go test ./...":              "",
		"go test $(cat list)":            "",
		"go test ./... > out.txt":        "",
		"find . -name x":                 "find *",
		"find . -name x -exec rm {} ';'": "",
		"eval ls":                        "",
	} {
		q := shellRequest(command)
		got, rules := "", ""
		for _, o := range (permission.Policy{}).Offers(q) {
			if o.Answer == journal.AnswerPrefix {
				got = strings.ReplaceAll(strings.TrimPrefix(o.Says, "runs it, and from now on here: "), " (access write)", "")
				rules = o.Rules
			}
		}
		if got != want {
			t.Errorf("%s: %q is offered, want %q", command, got, want)
		}
		if want != "" && !strings.Contains(rules, `folder = "/w"`) {
			t.Errorf("%s: the rules hold elsewhere too:\n%s", command, rules)
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
		{shellRequest("go test ./..."), "always always-prefix always-run never"},
		{shellRequest("rm x"), "always always-run never"},
		{shellRequest("a $b"), ""},
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
		if got, why := p.Decide(tt.q); got != tt.want {
			t.Errorf("all edits, %s: %s (%s)", tt.q.Tool, got, why)
		}
	}
	q := edit
	q.Mode = journal.ModePlan
	if got, _ := p.Decide(q); got != journal.DecisionDeny {
		t.Errorf("all edits in mode plan: %s", got)
	}
	no, err := permission.Read(journal.DecisionDeny, "edits")
	if got, _ := permission.New(no).Decide(obeyed); err != nil || got != journal.DecisionDeny {
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
		"ls":                          {Tool: "shell", Command: "ls"},
		"echo 'a (b)'":                {Tool: "shell", Command: "echo 'a (b)'"},
		"{write_file,edit_file}(a/*)": {Tool: "{write_file,edit_file}", Path: "a/*"},
	} {
		want.Decision = journal.DecisionAllow
		if got, err := permission.Read(journal.DecisionAllow, text); err != nil || got != want {
			t.Errorf("%s: %+v, %v", text, got, err)
		}
	}
	for text, why := range map[string]string{
		"": "empty", "  ": "empty", "a; b": "one simple command", "no_tool(x)": "no tool", "fetch(GET)": "", "fetch(BREW a.com)": "no method",
		"write_file(/etc/*)": "seen from the workspace", "sudo *": "runs what is in its arguments", "eval *": "never covered", "ask_user": "",
		"a > b": "simple command", "go test": "",
	} {
		_, err := permission.Read(journal.DecisionAllow, text)
		if why != "" && (err == nil || !strings.Contains(err.Error(), why)) {
			t.Errorf("%q: %v, want %q", text, err, why)
		}
	}
}

// Whatever is offered covers the call that it is offered for, and nothing that a person is asked
// about for another reason.
func FuzzOffers(f *testing.F) {
	for _, command := range []string{"go test ./...", "git log -1 && make test", "npm run build -- -x", "FOO=1 ls", "a 'b c' *"} {
		f.Add(command)
	}
	f.Fuzz(func(t *testing.T, command string) {
		q := shellRequest(command)
		for _, o := range (permission.Policy{}).Offers(q) {
			if o.Answer == journal.AnswerNever {
				continue
			}
			if strings.Contains(o.Rules, "deny") || !strings.Contains(o.Rules, "[[allow]]") {
				t.Fatalf("%q, %s:\n%s", command, o.Answer, o.Rules)
			}
			for _, other := range []string{"sudo ls", "sh -c ls", "curl x\n" + command} {
				var rules []permission.Rule
				for _, line := range strings.Split(o.Rules, "\n") {
					if text, ok := strings.CutPrefix(line, "command = "); ok {
						var c string
						if json.Unmarshal([]byte(text), &c) == nil {
							rules = append(rules, permission.Rule{Decision: journal.DecisionAllow, Tool: "shell", Command: c, Access: "write", Folder: "/w"})
						}
					}
				}
				covered := slices.ContainsFunc([]string{"sudo", "sh", "curl"}, func(w string) bool { return strings.Contains(command, w) })
				if d, _ := permission.New(rules...).Decide(shellRequest(other)); d == journal.DecisionAllow && !covered {
					t.Fatalf("%q, %s covers %q:\n%s", command, o.Answer, other, o.Rules)
				}
			}
		}
	})
}
