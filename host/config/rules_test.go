package config_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"agent/host/config"
	"agent/host/permission"
	"agent/recovery/journal"
)

const someRules = `mode = "ask"

[[allow]]
tool = "shell"
command = "go test *"
access = "write"
folder = "/home/me/project"

[[deny]]
tool = "fetch"
host = "*.example.com"
method = "POST"

[[allow]]   # a second one
tool = "write_file"
path = "docs/**"
`

// Rules are read from both files, each with the place where it stands; a workspace's hold in it and
// can only restrict.
func TestRules(t *testing.T) {
	user, workspace := files(t, someRules, "[[ask]]\ntool = \"mcp__github__*\"\n[[deny]]\ntool = \"shell\"\ncommand = \"sudo *\"\n")
	got, err := config.Load(user, workspace, known)
	if err != nil {
		t.Fatal(err)
	}
	want := []permission.Rule{
		{Decision: journal.DecisionAllow, Tool: "shell", Command: "go test *", Access: "write", Folder: "/home/me/project", Where: user + ":3"},
		{Decision: journal.DecisionAllow, Tool: "write_file", Path: "docs/**", Where: user + ":14"},
		{Decision: journal.DecisionDeny, Tool: "fetch", Host: "*.example.com", Method: "POST", Where: user + ":9"},
		{Decision: journal.DecisionAsk, Tool: "mcp__github__*", Where: workspace + ":1"},
		{Decision: journal.DecisionDeny, Tool: "shell", Command: "sudo *", Where: workspace + ":3"},
	}
	if diff := cmp.Diff(want, got.Rules); diff != "" {
		t.Error(diff)
	}
}

// A rule that says nothing or could never match is refused at the key that is wrong, in the
// person's file as in a workspace's; so is one by which a repository would allow itself something
// (S10, behaviour 5).
func TestRuleErrors(t *testing.T) {
	tests := []struct{ name, user, workspace, want string }{
		{"no tool", "\n[[allow]]\ncommand = \"ls\"\n", "", `USER:2:3: tool: a rule names its tool, such as tool = "shell"`},
		{"unknown key", "[[allow]]\ntool = \"shell\"\ncomand = \"ls\"\n", "",
			"USER:3:1: there is no allow.comand; what may stand here: tool, text, command, access, full, path, host, method, folder"},
		{"a table instead of a list", "[allow]\ntool = \"shell\"\n", "", "USER:1:2: rules are a list: write [[allow]]"},
		{"two commands", "[[allow]]\ntool = \"shell\"\ncommand = \"ls\"\n[[allow]]\ntool = \"shell\"\n command = \"git status; rm x\"\n", "",
			`USER:6:2: command: "git status; rm x": it wants one simple command, such as go test *; write a rule for each command`},
		{"a pipe", "[[deny]]\ntool = \"shell\"\ncommand = \"a | b\"\n", "", "USER:3:1: command: \"a | b\": it wants one simple command without pipes"},
		{"a star in the middle", "[[allow]]\ntool = \"shell\"\ncommand = \"git * status\"\n", "", "USER:3:1: command: \"git * status\": only its last word may be *"},
		{"an expansion", "[[allow]]\ntool = \"shell\"\ncommand = \"ls $HOME\"\n", "", "USER:3:1: command: \"ls $HOME\": its word 2 is not literal"},
		{"broken quotes", "[[allow]]\ntool = \"shell\"\ncommand = \"ls 'x\"\n", "", "USER:3:1: command: \"ls 'x\": it cannot be parsed"},
		{"a text that leaves something to a shell", "[[allow]]\ntool = \"shell\"\ntext = \"ls *\"\n", "", "USER:3:1: text: no rule can name it: a pattern"},
		{"an empty text", "[[allow]]\ntool = \"shell\"\ntext = \"\"\nfull = true\n", "", `USER:3:1: text: it is empty; leave it out to mean every command`},
		{"an empty command", "[[allow]]\ntool = \"shell\"\ncommand = \"\"\n", "", `USER:3:1: command: it is empty; leave it out to mean every command`},
		{"a text beside a command", "[[allow]]\ntool = \"shell\"\ntext = \"ls\"\ncommand = \"ls\"\n", "", `USER:3:1: text: not beside command`},
		{"full powers for a text", "[[allow]]\ntool = \"shell\"\ntext = \"ls\"\nfull = true\n", "",
			`USER:4:1: full: it is for rules that end in * or name no command, and is their access`},
		{"full powers in a rule that denies", "[[deny]]\ntool = \"shell\"\nfull = true\n", "", `USER:3:1: full: only an allow rule in your own config.toml has it`},
		{"full powers in a workspace", "", "[[ask]]\ntool = \"shell\"\nfull = true\n", `WORK:3:1: full: only an allow rule in your own config.toml has it`},
		{"full powers that are no truth", "[[allow]]\ntool = \"shell\"\nfull = \"yes\"\n", "", `USER:3:8: allow.full wants true or false`},
		{"a command of another tool", "[[allow]]\ntool = \"fetch\"\ncommand = \"ls\"\n", "", `USER:3:1: command: only a rule with tool = "shell" has it`},
		{"no access", "[[allow]]\ntool = \"shell\"\naccess = \"all\"\n", "", `USER:3:1: access: "all" is no access; choose read, write or full`},
		{"an absolute path", "[[allow]]\ntool = \"read_file\"\npath = \"/etc/*\"\n", "", `USER:3:1: path: "/etc/*" matches nothing`},
		{"a way out", "[[allow]]\ntool = \"read_file\"\npath = \"../x\"\n", "", `USER:3:1: path: "../x" matches nothing`},
		{"a bad glob", "[[allow]]\ntool = \"read_file\"\npath = \"a[\"\n", "", `USER:3:1: path: "a[" is no glob`},
		{"a bad tool", "[[allow]]\ntool = \"a[\"\n", "", `USER:2:1: tool: "a[" is no name and no glob of names`},
		{"a path of no file tool", "[[allow]]\ntool = \"mcp__x__y\"\npath = \"a\"\n", "", "USER:3:1: path: the tool mcp__x__y has no path"},
		{"a question", "[[deny]]\ntool = \"ask_user\"\n", "", "USER:2:1: tool: ask_user is a question to a person, and needs no permission"},
		{"a host with a path", "[[allow]]\ntool = \"fetch\"\nhost = \"https://x/y\"\n", "", `USER:3:1: host: "https://x/y" is no host`},
		{"a loose host", "[[allow]]\ntool = \"fetch\"\nhost = \"example.com*\"\n", "", `USER:3:1: host: "example.com*" is no host`},
		{"a method", "[[allow]]\ntool = \"fetch\"\nmethod = \"get\"\n", "", `USER:3:1: method: "get" is no method`},
		{"a folder", "[[allow]]\ntool = \"shell\"\nfolder = \"here\"\n", "", `USER:3:1: folder: "here" is no absolute path of a workspace`},
		{"in one line", "allow = [{tool = \"shell\", access = \"x\"}]\n", "", "USER:1:1: access:"},
		{"a workspace allows nothing", "", "mode = \"plan\"\n[[allow]]\ntool = \"shell\"\n",
			"WORK:2:3: allow may not stand in the file of a workspace, which comes with its repository and may only tighten mode, max_turns, max_tokens, " +
				"max_cost and timeout, and hold [[ask]] and [[deny]] rules; write it into USER"},
		{"nor in one line", "", "allow = [{tool = \"shell\"}]\n", "WORK:1:1: allow may not stand in the file of a workspace"},
		{"a workspace's own folder", "", "[[deny]]\ntool = \"shell\"\nfolder = \"/\"\n", "WORK:3:1: folder: a rule in the file of a workspace holds in that workspace"},
		{"a workspace's unknown key", "", "[[deny]]\ntool = \"shell\"\nwhy = \"x\"\n", "WORK:3:1: there is no deny.why; what may stand here: tool, text, command"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			user, workspace := files(t, tt.user, tt.workspace)
			_, err := config.Load(user, workspace, known)
			if err == nil {
				t.Fatal("it was taken")
			}
			if got := strings.NewReplacer(user, "USER", workspace, "WORK").Replace(err.Error()); !strings.HasPrefix(got, tt.want) {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}
