// Package config reads the configuration: the person's config.toml, and the .agent/config.toml of a
// workspace.
//
// The person's file may say everything:
//
//	model = "anthropic/claude-sonnet-5-5"    # used when neither --model nor the thread says one
//	mode = "ask"                             # these are the defaults of the flags of agent run
//	max_turns = 100
//	max_tokens = 2_000_000
//	max_cost = "2.50"                        # US dollars
//	timeout = "2h"
//	effort = "medium"                        # none, low, medium or high
//	idle = "2m"                              # no byte from the model for so long is a stall
//	notify = "both"                          # the terminal rings and shows a notification when a
//	                                         # run waits or has ended: off, bell, osc9 or both
//
//	[providers.work]                         # a name of one's own: --model work/<model>
//	kind = "chat"                            # anthropic, responses or chat
//	base_url = "http://127.0.0.1:8000/v1"
//	api_key_env = "WORK_KEY"                 # the name of a variable, never the key
//	api_key_cmd = ["pass", "show", "work"]   # or a command whose first line of output is the key
//	allow_http = true                        # the key may go to another machine without
//	                                         # encryption, whatever names the address: base_url,
//	                                         # --base-url or a variable such as OPENAI_BASE_URL
//
//	[models."work/qwen3"]                    # what is not known of a model, or known better
//	window = 131072                          # tokens
//	max_output = 8192
//	input_price = "0.50"                     # US dollars for a million tokens
//	cached_price = "0.05"                    # of these read from the provider's cache; without
//	                                         # it as input
//	written_price = "0.60"                   # of these written to it; without it as input
//	output_price = "1.50"
//
//	[fetch]
//	# What fetch may ask beside the internet: a host and port as a URL says them, or a network
//	# that any name may lead into.
//	private = ["127.0.0.1:3000", "wiki.corp:443", "10.0.0.0/8"]
//
//	[sandbox]
//	full = "hidden"                          # or "open": full commands may use sudo, and then
//	                                         # can see the state folder
//	writable = ["~/.cache/go-build"]         # what commands with access write may change beside
//	                                         # the workspace
//
//	[env]                                    # which variables of the environment commands get
//	pass = ["GITHUB_TOKEN", "AWS_*"]         # though they look like secrets
//	deny = ["KUBECONFIG"]                    # not these
//	set = { CI = "1" }                       # these with this value
//
//	[serve]
//	recover = "background"                   # which runs go on without being asked for: what was
//	                                         # handed over and what the machine went down under;
//	                                         # "all": also what crashed in a terminal; "none"
//	drivers = 4                              # so many of them at a time
//
//	[witness]                                # hears what each new run did, before it acts:
//	address = "unix:/run/user/1000/witness"  # agent-fleet witness listens there
//	patience = "10m"                         # a run is interrupted when it is silent for so long
//
//	[[hook]]                                 # is called when something happens to a run
//	on = ["waiting", "ended", "left_alone"]  # or one of them
//	command = ["notify-send", "agent"]       # gets one JSON object on its standard input
//	timeout = "10s"                          # and is killed after that
//
//	[[allow]]                                # runs without a yes; never in mode plan what writes
//	tool = "shell"
//	command = "go test *"                    # literal words; a last * stands for any further ones
//	access = "write"                         # at most: read, write or full
//	folder = "/home/me/project"              # the workspace in which the rule holds; everywhere
//	                                         # without it
//
//	[[ask]]                                  # is asked about, in mode yolo too
//	tool = "write_file"
//	path = "docs/**"                         # a glob below the workspace
//
//	[[deny]]                                 # never runs; beats ask, which beats allow
//	tool = "fetch"                           # or a glob, such as mcp__github__*
//	host = "*.example.com"
//	method = "POST"
//
// A provider that is known by name needs only what differs. What rules match is documented in
// package permit. A workspace's file comes with a repository, so it is not trusted: it may make the
// mode stricter, lower max_turns, max_tokens, max_cost and timeout, and hold [[ask]] and [[deny]];
// anything else in it is refused.
//
// What is wrong is refused with its file, line and column; nothing is ignored.
package config

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"agent/host/permission"
	"agent/recovery/journal"
)

// Kinds of wire protocol that a provider may speak.
const (
	KindAnthropic = "anthropic" // Anthropic's Messages API
	KindResponses = "responses" // OpenAI's Responses API
	KindChat      = "chat"      // OpenAI's Chat Completions, which compatible servers speak
)

// Config is what the files say. The zero value is that of no file.
type Config struct {
	Files     []string // those that were there, the person's first
	Model     string   // "" when not said
	Effort    journal.Effort
	Idle      time.Duration       // 0 when not said
	Defaults  Limits              // of the person
	Workspace Limits              // what the workspace's file allows at most
	Providers map[string]Provider // by name
	Models    map[string]Model    // by provider/model
	Rules     []permission.Rule   // of permission, the person's first
	Sandbox   Sandbox             // how commands are confined
	Serve     Serve               // which runs go on without being asked for
	Witness   Witness             // who hears what runs did before they act
	Env       Env                 // which variables commands get
	Keep      int64               // bytes of contents that are kept at most; 0 when not said
	Prune     Prune               // which finished threads are removed
	Private   []Private           // what the fetch tool may ask beside the internet
	Notify    string              // how the terminal tells that a run waits or has ended; "" when not said
	Hooks     []Hook              // commands that are called when something happens to a run
}

// Limits are what bounds a run. A nil limit is not said; 0 in one is no limit.
type Limits struct {
	Mode      journal.Mode // "" when not said
	MaxTurns  *int
	MaxTokens *int64
	MaxCost   *int64 // millionths of a US dollar
	Timeout   *time.Duration
}

// Provider is where models are asked. What is empty is as it is known by the provider's name.
type Provider struct {
	Kind    string
	BaseURL string
	KeyEnv  string   // the variable that holds the key
	KeyCmd  []string // the command that prints it

	AllowHTTP bool // the key may be sent to another machine over plain HTTP
}

// Model is what a person says about a model. Zero is not said.
type Model struct {
	Window    int64
	MaxOutput int64
	Price     *journal.Price
}

// Known are the names that the files may use without defining them.
type Known struct {
	Providers []string // known by name
	Reserved  []string // no provider may be called so
}

// UserPath is the person's file: $XDG_CONFIG_HOME/agent/config.toml, else
// ~/.config/agent/config.toml; "" without either.
func UserPath(getenv func(string) string) string {
	if x := getenv("XDG_CONFIG_HOME"); filepath.IsAbs(x) {
		return filepath.Join(x, "agent", "config.toml")
	}
	if home := getenv("HOME"); home != "" {
		return filepath.Join(home, ".config", "agent", "config.toml")
	}
	return ""
}

// WorkspacePath is the file of a workspace.
func WorkspacePath(folder string) string { return filepath.Join(folder, ".agent", "config.toml") }

// Load reads the person's file and that of a workspace; "" leaves one out. A file that is not there
// says nothing. The error names everything that is wrong; each part of it is an *Error where it is
// about a place in a file.
func Load(user, workspace string, known Known) (Config, error) {
	var c Config
	text, there, err := read(user, openFile)
	if err != nil {
		return Config{}, err
	}
	if there {
		if c, err = parseUser(user, text, known); err != nil {
			return Config{}, err
		}
		c.Files = append(c.Files, user)
	}
	if workspace == user {
		return c, nil // the home folder as a workspace, with XDG_CONFIG_HOME pointing into it
	}
	text, there, err = read(workspace, openInside)
	if err == nil && there {
		var rules []permission.Rule
		c.Workspace, rules, err = parseWorkspace(workspace, user, text)
		c.Rules = append(c.Rules, rules...)
		c.Files = append(c.Files, workspace)
	}
	if err != nil {
		return Config{}, err
	}
	return c, nil
}

// maxFile is larger than any configuration.
const maxFile = 1 << 20

// A pipe in a repository must not hold up whoever works there.
const openFlags = os.O_RDONLY | syscall.O_NONBLOCK

func openFile(path string) (*os.File, error) { return os.OpenFile(path, openFlags, 0) }

// openInside opens the file that WorkspacePath names. No link leads out of the workspace: what is
// wrong in a file is shown with its line, and a repository must not choose whose lines are shown.
func openInside(path string) (*os.File, error) {
	folder := filepath.Dir(filepath.Dir(path))
	if info, err := os.Stat(folder); err == nil && !info.IsDir() {
		return nil, fs.ErrNotExist
	}
	root, err := os.OpenRoot(folder)
	if err != nil {
		return nil, err
	}
	defer func() {
		_ = root.Close() // it was only read
	}()
	inside, err := filepath.Rel(folder, path)
	if err != nil {
		return nil, err
	}
	f, err := root.OpenFile(inside, openFlags, 0)
	var cause *fs.PathError
	if errors.As(err, &cause) && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR) {
		return nil, fmt.Errorf("open %s within its workspace: %v", path, cause.Err)
	}
	return f, err
}

func read(path string, open func(string) (*os.File, error)) ([]byte, bool, error) {
	if path == "" {
		return nil, false, nil
	}
	f, err := open(path)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, fmt.Errorf("read the configuration: %v", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is not a file", path)
	}
	var text []byte
	if err == nil {
		text, err = io.ReadAll(io.LimitReader(f, maxFile+1))
	}
	if err == nil && len(text) > maxFile {
		err = fmt.Errorf("%s is larger than 1 MiB", path)
	}
	if err != nil {
		return nil, false, fmt.Errorf("read the configuration: %v", err)
	}
	return text, true, nil
}

// Tighten returns the limits that hold where l was wished and w allows at most so much, and a
// sentence for each that w changed. A limit of l that is nil is none.
func (w Limits) Tighten(l Limits) (Limits, []string) {
	var said []string
	if w.Mode != "" && l.Mode.LooserThan(w.Mode) {
		said = append(said, fmt.Sprintf("mode %s instead of %s", w.Mode, l.Mode))
		l.Mode = w.Mode
	}
	lower(&l.MaxTurns, w.MaxTurns, func(n int) { said = append(said, fmt.Sprintf("at most %d turns", n)) })
	lower(&l.MaxTokens, w.MaxTokens, func(n int64) { said = append(said, fmt.Sprintf("at most %d tokens", n)) })
	lower(&l.MaxCost, w.MaxCost, func(n int64) { said = append(said, "at most "+journal.Dollars(n)) })
	lower(&l.Timeout, w.Timeout, func(d time.Duration) { said = append(said, fmt.Sprintf("at most %s of work", d)) })
	return l, said
}

// lower takes over a lower limit. Zero is no limit.
func lower[T int | int64 | time.Duration](have **T, most *T, tell func(T)) {
	var now T
	if *have != nil {
		now = **have
	}
	if most != nil && journal.Looser(now, *most) {
		v := *most
		*have = &v
		tell(v)
	}
}

// Or fills in what l leaves open from o.
func (l Limits) Or(o Limits) Limits {
	return Limits{
		Mode: cmp.Or(l.Mode, o.Mode), MaxTurns: cmp.Or(l.MaxTurns, o.MaxTurns), MaxTokens: cmp.Or(l.MaxTokens, o.MaxTokens),
		MaxCost: cmp.Or(l.MaxCost, o.MaxCost), Timeout: cmp.Or(l.Timeout, o.Timeout),
	}
}
