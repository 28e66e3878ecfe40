package config

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"agent/recovery/journal"
)

// The files as they are written. Pointers tell what is not said from what is zero.

type limitKeys struct {
	Mode      *string `toml:"mode"`
	MaxTurns  *int64  `toml:"max_turns"`
	MaxTokens *int64  `toml:"max_tokens"`
	MaxCost   *string `toml:"max_cost"`
	Timeout   *string `toml:"timeout"`
}

type userKeys struct {
	limitKeys
	restrictKeys
	Allow     []ruleKeys              `toml:"allow"`
	Model     *string                 `toml:"model"`
	Effort    *string                 `toml:"effort"`
	Idle      *string                 `toml:"idle"`
	Fetch     *fetchKeys              `toml:"fetch"`
	Sandbox   *sandboxKeys            `toml:"sandbox"`
	Serve     *serveKeys              `toml:"serve"`
	Witness   *witnessKeys            `toml:"witness"`
	Env       *envKeys                `toml:"env"`
	Keep      *keepKeys               `toml:"keep"`
	Notify    *string                 `toml:"notify"`
	Hooks     []hookKeys              `toml:"hook"`
	Providers map[string]providerKeys `toml:"providers"`
	Models    map[string]modelKeys    `toml:"models"`
}

type providerKeys struct {
	Kind    *string  `toml:"kind"`
	BaseURL *string  `toml:"base_url"`
	KeyEnv  *string  `toml:"api_key_env"`
	KeyCmd  []string `toml:"api_key_cmd"`

	AllowHTTP bool `toml:"allow_http"`
}

type modelKeys struct {
	Window    *int64  `toml:"window"`
	MaxOutput *int64  `toml:"max_output"`
	Input     *string `toml:"input_price"`
	Cached    *string `toml:"cached_price"`
	Written   *string `toml:"written_price"`
	Output    *string `toml:"output_price"`
}

// wants says what a key is written as.
func wants(path ...string) string {
	key := path[len(path)-1]
	if path[0] == "hook" && key == "command" {
		return `a command as a list, such as ["notify-send", "agent"]`
	}
	if isRules(path[0]) && key == "full" {
		return "true or false"
	}
	switch key {
	case "on":
		return `a word in quotes or a list of them, such as ["waiting", "ended"]`
	case "max_turns", "max_tokens", "window", "max_output", "drivers":
		return "a whole number"
	case "max_cost", "input_price", "cached_price", "written_price", "output_price":
		return `an amount of US dollars in quotes, such as "2.50"`
	case "timeout", "idle":
		return `a time in quotes, such as "30m"`
	case "api_key_cmd":
		return `a command as a list, such as ["pass", "show", "work"]`
	case "allow_http":
		return "true or false"
	case "providers", "models", "fetch", "sandbox", "serve", "env":
		return "a table"
	case "set":
		return `a table of texts, such as { CI = "1" }`
	case "tools":
		return `names of tools as a list, such as ["shell", "write_file"]`
	case "pass":
		return `names as a list, such as ["GITHUB_TOKEN", "AWS_*"]`
	case "writable":
		return `paths as a list, such as ["~/.cache/go-build"]`
	case "private":
		return `places as a list, such as ["127.0.0.1:3000", "10.0.0.0/8"]`
	case "allow", "ask", "deny":
		return "rules, each under [[" + key + "]]"
	case "hook":
		return "hooks, each under [[hook]]"
	}
	return "a text in quotes"
}

// keysAt are the keys that may stand in a table, by the table's path.
func keysAt(table []string) []string {
	switch {
	case len(table) == 0:
		return []string{
			"model", "mode", "max_turns", "max_tokens", "max_cost", "timeout", "effort", "idle", "providers", "models", "allow", "ask", "deny",
			"fetch", "sandbox", "env", "serve", "keep", "notify", "hook", "witness",
		}
	case table[0] == "sandbox" && len(table) == 1:
		return []string{"full", "writable"}
	case table[0] == "serve" && len(table) == 1:
		return []string{"recover", "drivers"}
	case table[0] == "witness" && len(table) == 1:
		return []string{"address", "patience"}
	case table[0] == "env" && len(table) == 1:
		return []string{"pass", "deny", "set"}
	case slices.Equal(table, []string{"env", "set"}):
		return []string{"*"}
	case table[0] == "keep" && len(table) == 1:
		return []string{"contents", "older", "runs"}
	case table[0] == "hook" && len(table) == 1:
		return []string{"on", "tools", "command", "timeout"}
	case table[0] == "fetch" && len(table) == 1:
		return []string{"private"}
	case isRules(table[0]) && len(table) == 1:
		return []string{"tool", "text", "command", "access", "full", "path", "host", "method", "folder"}
	case table[0] == "providers" && len(table) == 2:
		return []string{"kind", "base_url", "api_key_env", "api_key_cmd", "allow_http"}
	case table[0] == "models" && len(table) == 2:
		return []string{"window", "max_output", "input_price", "cached_price", "written_price", "output_price"}
	}
	return nil
}

// Keys are all keys of the person's file, with the tables that hold them: sandbox.full. A * stands
// for a name of the person's own.
func Keys() []string {
	var all []string
	for _, table := range [][]string{{}, {"providers", "*"}, {"models", "*"}, {"fetch"}, {"sandbox"}, {"env"}, {"env", "set"}, {"serve"}, {"witness"}, {"keep"}, {"hook"}, {"allow"}, {"ask"}, {"deny"}} {
		for _, key := range keysAt(table) {
			whole := append(slices.Clone(table), key)
			if len(keysAt(whole)) == 0 && len(keysAt(append(slices.Clone(whole), "*"))) == 0 { // no table
				all = append(all, strings.Join(whole, "."))
			}
		}
	}
	return all
}

// isKey says whether a key may stand in the person's file.
func isKey(path []string) bool {
	table, name := path[:len(path)-1], path[len(path)-1]
	if len(table) == 1 && (table[0] == "providers" || table[0] == "models") || slices.Equal(table, []string{"env", "set"}) {
		return true // a name of the person's own
	}
	return slices.Contains(keysAt(table), name)
}

// decode reads a text strictly. unknown makes the error about a key that the file may not have.
func decode(d *document, text []byte, into any, unknown func(path []string) *Error) error {
	if d.strangers > manyStrange {
		var all []error
		for _, name := range d.strange {
			all = append(all, unknown(strings.Split(name, "\x00")))
		}
		return errors.Join(append(all, fmt.Errorf("%s: in all %d keys may not stand there", d.file, d.strangers))...)
	}
	err := toml.NewDecoder(bytes.NewReader(text)).DisallowUnknownFields().Decode(into)
	var strict *toml.StrictMissingError
	var broken *toml.DecodeError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &strict):
		var all []error
		for _, e := range strict.Errors {
			all = append(all, unknown(e.Key()))
		}
		return errors.Join(all...)
	case errors.As(err, &broken):
		row, column := broken.Position()
		message := strings.TrimPrefix(broken.Error(), "toml: ")
		if key := broken.Key(); len(key) > 0 && strings.Contains(message, "cannot ") {
			message = fmt.Sprintf("%s wants %s", dotted(key), wants(key...))
		}
		return d.errorAt(place{row, max(column, 1)}, message)
	}
	return fmt.Errorf("read %s: %v", d.file, err)
}

// checker gathers what is wrong with the values.
type checker struct {
	d   *document
	all []error
}

func (c *checker) wrong(path []string, format string, args ...any) {
	c.all = append(c.all, c.d.wrong(path, format, args...))
}

func parseUser(file string, text []byte, known Known) (Config, error) {
	d := newDocument(file, text, isKey)
	var k userKeys
	if err := decode(d, text, &k, d.unknownKey); err != nil {
		return Config{}, err
	}
	c := &checker{d: d}
	out := Config{
		Defaults: c.limits(k.limitKeys), Providers: map[string]Provider{}, Models: map[string]Model{},
		Effort: journal.Effort(oneOf(c, "effort", k.Effort, journal.Efforts())),
	}
	out.Rules = slices.Concat(
		c.rules(journal.DecisionAllow, k.Allow, false), c.rules(journal.DecisionAsk, k.Ask, false), c.rules(journal.DecisionDeny, k.Deny, false))
	out.Private = c.fetch(k.Fetch)
	out.Sandbox, out.Serve, out.Witness = c.sandbox(k.Sandbox), c.serve(k.Serve), c.witness(k.Witness)
	out.Env = c.env(k.Env)
	out.Keep, out.Prune = c.keep(k.Keep)
	out.Notify, out.Hooks = oneOf(c, "notify", k.Notify, Notices()), c.hooks(k.Hooks)
	if idle := c.duration("idle", k.Idle); idle != nil {
		out.Idle = *idle
	}
	for _, name := range slices.Sorted(maps.Keys(k.Providers)) {
		out.Providers[name] = c.provider(name, k.Providers[name], known)
	}
	names := append(slices.Sorted(maps.Keys(k.Providers)), known.Providers...)
	for _, name := range slices.Sorted(maps.Keys(k.Models)) {
		c.providerOf([]string{"models", name}, name, names)
		out.Models[name] = c.model(name, k.Models[name])
	}
	if k.Model != nil {
		out.Model = *k.Model
		if *k.Model == "" {
			c.wrong([]string{"model"}, `model is empty; write provider/model, such as "anthropic/claude-sonnet-5-5"`)
		} else if strings.Contains(*k.Model, "/") && !strings.HasPrefix(*k.Model, "replay:") {
			c.providerOf([]string{"model"}, *k.Model, names)
		}
	}
	return out, errors.Join(c.all...)
}

// unknownKey is about a key that the person's file does not have.
func (d *document) unknownKey(path []string) *Error {
	table, name := path[:len(path)-1], path[len(path)-1]
	if strings.Contains(strings.ToLower(name), "key") || strings.Contains(strings.ToLower(name), "token") && name != "max_tokens" {
		return d.secret(path, "there is no %s: a key never stands in this file; name its variable with api_key_env, or a command that prints it with api_key_cmd",
			dotted(path))
	}
	if keys := keysAt(table); len(keys) > 0 {
		return d.wrong(path, "there is no %s; what may stand here: %s", dotted(path), strings.Join(keys, ", "))
	}
	return d.wrong(path, "there is no %s", dotted(path))
}

// providerOf sees to it that the first part of provider/model is one.
func (c *checker) providerOf(path []string, name string, names []string) {
	provider, model, ok := strings.Cut(name, "/")
	switch {
	case !ok || model == "":
		c.wrong(path, `%q is no model; write provider/model, such as "anthropic/claude-sonnet-5-5"`, name)
	case !slices.Contains(names, provider):
		c.wrong(path, "there is no provider %q; known are %s; define it with [providers.%s]",
			provider, strings.Join(names, ", "), dotted([]string{provider}))
	}
}

func (c *checker) provider(name string, k providerKeys, known Known) Provider {
	path := []string{"providers", name}
	at := func(key string) []string { return append(slices.Clone(path), key) }
	p := Provider{Kind: text(k.Kind), BaseURL: text(k.BaseURL), KeyEnv: text(k.KeyEnv), KeyCmd: k.KeyCmd, AllowHTTP: k.AllowHTTP}
	builtin := slices.Contains(known.Providers, name)
	switch {
	case slices.Contains(known.Reserved, name):
		c.wrong(path, "%s is a model of its own; give the provider another name", name)
	case name == "" || strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789_-.") != "":
		c.wrong(path, "%q is no name for a provider: small letters, digits, - _ .", name)
	case !builtin && (k.Kind == nil || k.BaseURL == nil):
		c.wrong(path, "provider %s is not known by name: it needs kind and base_url", name)
	}
	if kinds := []string{KindAnthropic, KindResponses, KindChat}; k.Kind != nil && !slices.Contains(kinds, p.Kind) {
		c.wrong(at("kind"), "there is no kind %q; choose %s", p.Kind, orList(kinds))
	}
	if k.BaseURL != nil {
		if err := CheckURL(p.BaseURL); err != nil {
			c.all = append(c.all, c.d.secret(at("base_url"), "base_url: %v", err))
		}
	}
	if k.KeyEnv != nil && !isVariable(p.KeyEnv) {
		c.all = append(c.all, c.d.secret(at("api_key_env"),
			"api_key_env wants the name of a variable, such as WORK_KEY; a key itself never stands in this file"))
	}
	if k.KeyCmd != nil && (len(k.KeyCmd) == 0 || k.KeyCmd[0] == "") {
		c.wrong(at("api_key_cmd"), "api_key_cmd names no command; it wants %s", wants("api_key_cmd"))
	}
	if k.KeyEnv != nil && k.KeyCmd != nil {
		c.wrong(at("api_key_cmd"), "say api_key_env or api_key_cmd, not both")
	}
	return p
}

func (c *checker) model(name string, k modelKeys) Model {
	at := func(key string) []string { return []string{"models", name, key} }
	m := Model{}
	for _, n := range []struct {
		key  string
		from *int64
		to   *int64
	}{{"window", k.Window, &m.Window}, {"max_output", k.MaxOutput, &m.MaxOutput}} {
		if n.from != nil {
			if *n.to = *n.from; *n.from <= 0 {
				c.wrong(at(n.key), "%s wants a number of tokens above 0", n.key)
			}
		}
	}
	if m.Window > 0 && m.MaxOutput >= m.Window {
		c.wrong(at("max_output"), "max_output must be below window: a request and its answer share it")
	}
	price := func(key string, text *string, or int64) int64 {
		if text == nil {
			return or
		}
		v, err := Dollars(*text)
		if err != nil {
			c.wrong(at(key), "%s: %v", key, err)
		}
		return v
	}
	switch {
	case k.Input != nil && k.Output != nil:
		m.Price = &journal.Price{Input: price("input_price", k.Input, 0), Output: price("output_price", k.Output, 0)}
		m.Price.Cached = price("cached_price", k.Cached, m.Price.Input)
		m.Price.Written = price("written_price", k.Written, m.Price.Input)
	case k.Input != nil || k.Output != nil || k.Cached != nil || k.Written != nil:
		c.wrong([]string{"models", name}, "a price is both input_price and output_price")
	}
	return m
}

func text(p *string) string {
	if p == nil {
		return ""
	}
	return *p
}
