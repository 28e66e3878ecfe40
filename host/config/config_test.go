package config_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"agent/host/config"
	"agent/recovery/journal"
)

var known = config.Known{Providers: []string{"anthropic", "openai", "ollama"}, Reserved: []string{"runbook", "replay"}}

// files writes the person's file and the workspace's; "" leaves one out.
func files(t *testing.T, user, workspace string) (string, string) {
	t.Helper()
	dir := t.TempDir()
	u, w := filepath.Join(dir, "user.toml"), filepath.Join(dir, "work.toml")
	for path, text := range map[string]string{u: user, w: workspace} {
		if text == "" {
			continue
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return u, w
}

const whole = `
model = "work/qwen3"
mode = "auto"
max_turns = 50
max_tokens = 2_000_000
max_cost = "2.50"
timeout = "1h30m"
effort = "high"
idle = "90s"

[providers.work]
kind = "chat"
base_url = "http://127.0.0.1:8000/v1"
api_key_env = "WORK_KEY"

[providers.anthropic]
api_key_cmd = ["pass", "show", "anthropic"]

[models."work/qwen3"]
window = 131072
max_output = 8192
input_price = "0.50"
cached_price = "0.05"
output_price = "1.50"
`

func ptr[T any](v T) *T { return &v }

// Everything that the package's documentation names is read.
func TestLoadWhole(t *testing.T) {
	user, workspace := files(t, whole, "mode = \"plan\"\nmax_turns = 10\n")
	got, err := config.Load(user, workspace, known)
	if err != nil {
		t.Fatal(err)
	}
	want := config.Config{
		Files: []string{user, workspace}, Model: "work/qwen3", Effort: journal.EffortHigh, Idle: 90 * time.Second,
		Defaults: config.Limits{
			Mode: journal.ModeAuto, MaxTurns: ptr(50), MaxTokens: ptr(int64(2_000_000)), MaxCost: ptr(int64(2_500_000)), Timeout: ptr(90 * time.Minute),
		},
		Workspace: config.Limits{Mode: journal.ModePlan, MaxTurns: ptr(10)},
		Providers: map[string]config.Provider{
			"work":      {Kind: "chat", BaseURL: "http://127.0.0.1:8000/v1", KeyEnv: "WORK_KEY"},
			"anthropic": {KeyCmd: []string{"pass", "show", "anthropic"}},
		},
		Models: map[string]config.Model{"work/qwen3": {
			Window: 131072, MaxOutput: 8192,
			Price: &journal.Price{Input: 500_000, Cached: 50_000, Written: 500_000, Output: 1_500_000},
		}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// A file that is not there says nothing.
func TestLoadNothing(t *testing.T) {
	user, workspace := files(t, "", "")
	got, err := config.Load(user, workspace, known)
	if diff := cmp.Diff(config.Config{}, got); err != nil || diff != "" {
		t.Error(err, diff)
	}
	if _, err := config.Load("", filepath.Join(os.Args[0], ".agent", "config.toml"), known); err != nil {
		t.Error(err)
	}
}

// What is wrong is refused with file, line and column, the line, and what is right instead. USER
// and WORK stand for the files.
func TestLoadErrors(t *testing.T) {
	tests := []struct{ name, user, workspace, want string }{
		{"unknown key", "\nmodle = \"x\"\n", "", `
USER:2:1: there is no modle; what may stand here: model, mode, max_turns, max_tokens, max_cost, timeout, effort, idle, providers, models, allow, ask, deny, fetch, sandbox, env, serve, keep, notify, hook, witness
     2 | modle = "x"
       | ^`},
		{"two unknown keys", "a = 1\nb = 2\n", "", `
USER:1:1: there is no a; what may stand here: model, mode, max_turns, max_tokens, max_cost, timeout, effort, idle, providers, models, allow, ask, deny, fetch, sandbox, env, serve, keep, notify, hook, witness
     1 | a = 1
       | ^
USER:2:1: there is no b; what may stand here: model, mode, max_turns, max_tokens, max_cost, timeout, effort, idle, providers, models, allow, ask, deny, fetch, sandbox, env, serve, keep, notify, hook, witness
     2 | b = 2
       | ^`},
		{"unknown key of a provider", "[providers.openai]\n  url = \"http://127.0.0.1\"\n", "", `
USER:2:3: there is no providers.openai.url; what may stand here: kind, base_url, api_key_env, api_key_cmd, allow_http
     2 |   url = "http://127.0.0.1"
       |   ^`},
		{"a key in the file is not shown", "[providers.openai]\napi_key = \"sk-123\"\n", "", `
USER:2:1: there is no providers.openai.api_key: a key never stands in this file; name its variable with api_key_env, or a command that prints it with api_key_cmd`},
		{"a key as the name of a variable is not shown", "[providers.openai]\napi_key_env = \"sk-123\"\n", "", `
USER:2:1: api_key_env wants the name of a variable, such as WORK_KEY; a key itself never stands in this file`},
		{"a password in an address is not shown", "[providers.openai]\nbase_url = \"https://me:secret@host/v1\"\n", "", `
USER:2:1: base_url: a name or password in an address would be kept and shown; use api_key_env or api_key_cmd`},
		{"query", "[providers.openai]\nbase_url = \"https://host/v1?a=b\"\n", "", `
USER:2:1: base_url: an address with ? or # cannot be extended to the provider's paths`},
		{"wrong type", "max_turns = \"ten\"\n", "", `
USER:1:13: max_turns wants a whole number
     1 | max_turns = "ten"
       |             ^`},
		{"wrong type of a price", "[models.\"openai/x\"]\ninput_price = 0.5\n", "", `
USER:2:15: models."openai/x".input_price wants an amount of US dollars in quotes, such as "2.50"
     2 | input_price = 0.5
       |               ^`},
		{"syntax", "model = \n", "", `
USER:1:9: unexpected character U+000A at start of value
     1 | model = 
       |         ^`},
		{"mode", "model = \"openai/x\"\nmode = \"never\"\n", "", `
USER:2:1: there is no mode "never"; choose plan, ask, auto or yolo
     2 | mode = "never"
       | ^`},
		{"effort", "effort = \"huge\"\n", "", `
USER:1:1: there is no effort "huge"; choose none, low, medium or high
     1 | effort = "huge"
       | ^`},
		{"time", "timeout = \"90\"\n", "", `
USER:1:1: timeout: "90" is no time, such as 30s, 2m or 1h30m
     1 | timeout = "90"
       | ^`},
		{"no idle time", "idle = \"0s\"\n", "", `
USER:1:1: idle: "0s" is no time, such as 30s, 2m or 1h30m
     1 | idle = "0s"
       | ^`},
		{"cost", "max_cost = \"much\"\n", "", `
USER:1:1: max_cost: "much" is no amount of US dollars, such as 2.50
     1 | max_cost = "much"
       | ^`},
		{"turns below zero", "max_turns = -1\n", "", `
USER:1:1: max_turns wants a count from 0; 0 is no limit
     1 | max_turns = -1
       | ^`},
		{"provider that needs more", "[providers.work]\nkind = \"chat\"\n", "", `
USER:1:12: provider work is not known by name: it needs kind and base_url
     1 | [providers.work]
       |            ^`},
		{"kind", "[providers]\nopenai = {kind = \"soap\"}\n", "", `
USER:2:11: there is no kind "soap"; choose anthropic, responses or chat
     2 | openai = {kind = "soap"}
       |           ^`},
		{"two keys", "[providers.openai]\napi_key_env = \"A\"\napi_key_cmd = [\"a\"]\n", "", `
USER:3:1: say api_key_env or api_key_cmd, not both
     3 | api_key_cmd = ["a"]
       | ^`},
		{"empty command", "[providers.openai]\napi_key_cmd = []\n", "", `
USER:2:1: api_key_cmd names no command; it wants a command as a list, such as ["pass", "show", "work"]
     2 | api_key_cmd = []
       | ^`},
		{"reserved", "[providers.replay]\nkind = \"chat\"\nbase_url = \"http://127.0.0.1\"\n", "", `
USER:1:12: replay is a model of its own; give the provider another name
     1 | [providers.replay]
       |            ^`},
		{"model of no provider", "[models.\"wrok/x\"]\nwindow = 10\n", "", `
USER:1:9: there is no provider "wrok"; known are anthropic, openai, ollama; define it with [providers.wrok]
     1 | [models."wrok/x"]
       |         ^`},
		{"default model of no provider", "model = \"wrok/x\"\n", "", `
USER:1:1: there is no provider "wrok"; known are anthropic, openai, ollama; define it with [providers.wrok]
     1 | model = "wrok/x"
       | ^`},
		{"half a price", "[models.\"openai/x\"]\ninput_price = \"1\"\n", "", `
USER:1:9: a price is both input_price and output_price
     1 | [models."openai/x"]
       |         ^`},
		{"window", "[models.\"openai/x\"]\nwindow = 100\nmax_output = 100\n", "", `
USER:3:1: max_output must be below window: a request and its answer share it
     3 | max_output = 100
       | ^`},
		{"a workspace chooses no model", "", "mode = \"plan\"\nmodel = \"openai/x\"\n", `
WORK:2:1: model may not stand in the file of a workspace, which comes with its repository and may only tighten mode, max_turns, max_tokens, max_cost and timeout, and hold [[ask]] and [[deny]] rules; write it into USER
     2 | model = "openai/x"
       | ^`},
		{"a workspace names no command", "", "[providers.openai]\napi_key_cmd = [\"evil\"]\n", `
WORK:1:12: providers may not stand in the file of a workspace, which comes with its repository and may only tighten mode, max_turns, max_tokens, max_cost and timeout, and hold [[ask]] and [[deny]] rules; write it into USER
     1 | [providers.openai]
       |            ^`},
		{"what a terminal would obey is not shown", "", "\"\\u001b[2J\" = 1 # \u202e\u009b\n", `
WORK:1:1: there is no "\x1b[2J"; what may stand here: model, mode, max_turns, max_tokens, max_cost, timeout, effort, idle, providers, models, allow, ask, deny, fetch, sandbox, env, serve, keep, notify, hook, witness
     1 | "\u001b[2J" = 1 # ??
       | ^`},
		{"unknown key of a workspace", "", "colour = 1\n", `
WORK:1:1: there is no colour; what may stand here: model, mode, max_turns, max_tokens, max_cost, timeout, effort, idle, providers, models, allow, ask, deny, fetch, sandbox, env, serve, keep, notify, hook, witness
     1 | colour = 1
       | ^`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			user, workspace := files(t, tt.user, tt.workspace)
			_, err := config.Load(user, workspace, known)
			if err == nil {
				t.Fatal("it was taken")
			}
			got := strings.NewReplacer(user, "USER", workspace, "WORK").Replace(err.Error())
			if diff := cmp.Diff(strings.TrimPrefix(tt.want, "\n"), got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// A file that cannot be read is an error, and a pipe in a repository holds nobody up.
func TestLoadUnreadable(t *testing.T) {
	dir := t.TempDir()
	if _, err := config.Load(dir, "", known); err == nil || !strings.Contains(err.Error(), "is not a file") {
		t.Errorf("a folder: %v", err)
	}
	pipe := filepath.Join(dir, "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := config.Load("", pipe, known); err == nil || !strings.Contains(err.Error(), "is not a file") {
		t.Errorf("a pipe: %v", err)
	}
	big := filepath.Join(dir, "big")
	if err := os.WriteFile(big, make([]byte, 1<<20+1), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := config.Load(big, "", known); err == nil || !strings.Contains(err.Error(), "larger than 1 MiB") {
		t.Errorf("a large file: %v", err)
	}
}

// A link in a workspace that leads out of it is not followed: an error would show a line of
// whatever it leads to.
func TestLoadLinkOut(t *testing.T) {
	dir := t.TempDir()
	secret := filepath.Join(dir, "secret")
	if err := os.WriteFile(secret, []byte("root:not for a repository\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, link := range map[string]string{
		"absolute": secret,
		"relative": "../../secret",
	} {
		work := filepath.Join(dir, name)
		path := config.WorkspacePath(work)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(link, path); err != nil {
			t.Fatal(err)
		}
		_, err := config.Load("", path, known)
		if want := "read the configuration: open " + path + " within its workspace: path escapes from parent"; err == nil || err.Error() != want {
			t.Errorf("%s: %v", name, err)
		}
	}
	inside := filepath.Join(dir, "inside")
	if err := os.MkdirAll(filepath.Join(inside, ".agent"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(inside, "limits.toml"), []byte("max_turns = 7\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("../limits.toml", config.WorkspacePath(inside)); err != nil {
		t.Fatal(err)
	}
	c, err := config.Load("", config.WorkspacePath(inside), known)
	if err != nil || c.Workspace.MaxTurns == nil || *c.Workspace.MaxTurns != 7 {
		t.Errorf("a link within: %+v, %v", c.Workspace, err)
	}
}

// A workspace tightens and never loosens.
func TestTighten(t *testing.T) {
	wished := config.Limits{Mode: journal.ModeAuto, MaxTurns: ptr(100), Timeout: ptr(time.Duration(0))}
	tests := []struct {
		name      string
		workspace config.Limits
		want      config.Limits
		said      []string
	}{
		{"nothing", config.Limits{}, wished, nil},
		{"looser", config.Limits{Mode: journal.ModeYolo, MaxTurns: ptr(200), Timeout: ptr(time.Duration(0))}, wished, nil},
		{"no limit is looser", config.Limits{MaxTurns: ptr(0)}, wished, nil},
		{
			"tighter",
			config.Limits{
				Mode: journal.ModePlan, MaxTurns: ptr(7), MaxTokens: ptr(int64(5000)), MaxCost: ptr(int64(1_500_000)), Timeout: ptr(time.Minute),
			},
			config.Limits{
				Mode: journal.ModePlan, MaxTurns: ptr(7), MaxTokens: ptr(int64(5000)), MaxCost: ptr(int64(1_500_000)), Timeout: ptr(time.Minute),
			},
			[]string{"mode plan instead of auto", "at most 7 turns", "at most 5000 tokens", "at most $1.50", "at most 1m0s of work"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, said := tt.workspace.Tighten(wished)
			if diff := cmp.Diff(tt.want, got) + cmp.Diff(tt.said, said); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestDollars(t *testing.T) {
	for text, want := range map[string]int64{"2.50": 2_500_000, "0": 0, "$3": 3_000_000, "0.000001": 1, "10": 10_000_000} {
		if got, err := config.Dollars(text); err != nil || got != want {
			t.Errorf("%s: %d, %v", text, got, err)
		}
	}
	for _, text := range []string{"", ".5", "1.", "-1", "1e3", "0.0000001", "1,5", "9999999999"} {
		if got, err := config.Dollars(text); err == nil {
			t.Errorf("%s was taken as %d", text, got)
		}
	}
}

func TestUserPath(t *testing.T) {
	for _, tt := range []struct{ xdg, home, want string }{
		{"/x", "/h", "/x/agent/config.toml"}, {"", "/h", "/h/.config/agent/config.toml"}, {"relative", "/h", "/h/.config/agent/config.toml"}, {"", "", ""},
	} {
		env := map[string]string{"XDG_CONFIG_HOME": tt.xdg, "HOME": tt.home}
		if got := config.UserPath(func(name string) string { return env[name] }); got != tt.want {
			t.Errorf("%+v: %s", tt, got)
		}
	}
}
