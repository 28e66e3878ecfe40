// Package catalog knows providers and models by name: where they are asked, which variable holds
// the key, how much they take and what that costs. It is data and pure functions; the environment
// is an argument.
//
// A model is named provider/model, such as anthropic/claude-sonnet-5-5. A bare name that begins as
// one provider's models do (claude-, gpt-) is that provider's. Two models have no provider:
// runbook, and replay:FILE, which plays a recording back.
package catalog

import (
	"cmp"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"agent/host/model/runbook"
	"agent/recovery/journal"
)

// Wire protocols.
const (
	Anthropic = "anthropic" // Anthropic's Messages API
	Responses = "responses" // OpenAI's Responses API
	Chat      = "chat"      // OpenAI's Chat Completions, which compatible servers speak
)

// Replay is what the name of a recording begins with.
const Replay = "replay:"

// Provider is where models are asked.
type Provider struct {
	Name     string
	Protocol string
	Said     bool     // the configuration says the protocol
	BaseURL  string   // without the paths of the protocol
	From     string   // what said BaseURL: a variable, the configuration; "" when it is the provider's own
	KeyEnv   string   // the variable that holds the key; "" when none is needed
	KeyCmd   []string // the command that prints it, instead
	Default  string   // the model that is used when nothing but its key is known; "" when there is none
	Start    string   // the command that starts it, for a server on this machine
	Billing  string   // the page where it is paid; "" when not known
	URLEnv   string   // the variable that says where it is, instead

	AllowHTTP bool // the person's file lets the key go to another machine over plain HTTP
}

// Model is what is known about a model. Zero is not known.
type Model struct {
	Window    int64
	MaxOutput int64
	Price     *journal.Price
}

// Catalog is what is known by name together with what a person configured.
type Catalog struct {
	providers []Provider
	models    map[string]Model // by provider/model, configured
	getenv    func(string) string
}

// New puts together what is known by name, what the environment says, and what a person configured:
// providers and models by name, of which what is empty is as it is known. A variable that says
// where a provider is beats the configuration.
func New(getenv func(string) string, providers map[string]Provider, models map[string]Model) *Catalog {
	c := &Catalog{providers: builtin(), models: models, getenv: getenv}
	for i := range c.providers {
		p := &c.providers[i]
		if own, ok := providers[p.Name]; ok {
			p.merge(own)
		}
		p.place(getenv)
	}
	for _, name := range slices.Sorted(maps.Keys(providers)) {
		if _, ok := c.Provider(name); !ok {
			p := Provider{Name: name}
			p.merge(providers[name])
			c.providers = append(c.providers, p)
		}
	}
	return c
}

// merge takes over what a person configured.
func (p *Provider) merge(own Provider) {
	p.Protocol, p.Said = cmp.Or(own.Protocol, p.Protocol), own.Protocol != ""
	if own.BaseURL != "" && strings.TrimRight(own.BaseURL, "/") != strings.TrimRight(p.own(), "/") {
		p.BaseURL, p.From = own.BaseURL, "the configuration"
	}
	if own.KeyEnv != "" {
		p.KeyEnv, p.KeyCmd = own.KeyEnv, nil
	}
	if len(own.KeyCmd) > 0 {
		p.KeyEnv, p.KeyCmd = "", own.KeyCmd
	}
	p.AllowHTTP = own.AllowHTTP
	p.standIn()
}

// standIn takes what answers in OpenAI's stead for a server of Chat Completions, since few speak
// Responses; the configuration may say otherwise.
func (p *Provider) standIn() {
	if p.Name == "openai" && p.From != "" && !p.Said {
		p.Protocol = Chat
	}
}

// place takes over where the environment says that the provider is.
func (p *Provider) place(getenv func(string) string) {
	at := ""
	if p.URLEnv != "" {
		at = strings.TrimSpace(getenv(p.URLEnv))
	}
	if at == "" {
		return
	}
	if p.Name == "ollama" {
		at = ollamaURL(at)
	}
	if strings.TrimRight(at, "/") == strings.TrimRight(p.own(), "/") {
		return
	}
	p.BaseURL, p.From = at, p.URLEnv
	p.standIn()
}

// own is the address that the provider has by itself.
func (p *Provider) own() string {
	for _, b := range builtin() {
		if b.Name == p.Name {
			return b.BaseURL
		}
	}
	return ""
}

// At is the provider at another address.
func (p Provider) At(baseURL string) Provider {
	p.BaseURL, p.From = baseURL, "--base-url"
	p.standIn()
	return p
}

// Exposed reports that a request would carry the provider's key over plain HTTP to another machine,
// which the configuration does not allow. An address that cannot be read counts as exposed.
func (p Provider) Exposed() bool {
	if p.AllowHTTP || p.KeyEnv == "" && len(p.KeyCmd) == 0 || Loopback(p.BaseURL) {
		return false
	}
	u, err := url.Parse(p.BaseURL) // it lowers the scheme
	return err != nil || u.Scheme != "https"
}

// HasKey says whether the provider's key can be had: its variable is set, or a command prints it. A
// provider that needs none has it.
func (c *Catalog) HasKey(p Provider) bool {
	return len(p.KeyCmd) > 0 || p.KeyEnv == "" || c.getenv(p.KeyEnv) != ""
}

// Providers lists the providers: those known by name in the order in which their keys are looked
// for, then a person's own by name.
func (c *Catalog) Providers() []Provider { return slices.Clone(c.providers) }

// Provider finds a provider by its name.
func (c *Catalog) Provider(name string) (Provider, bool) {
	for _, p := range c.providers {
		if p.Name == name {
			return p, true
		}
	}
	return Provider{}, false
}

// Parse splits the name of a model into its provider and the provider's name for it. runbook and
// replay:FILE have no provider; the model is the whole name.
func (c *Catalog) Parse(name string) (provider, model string, err error) {
	if name == runbook.Name || strings.HasPrefix(name, Replay) && name != Replay {
		return "", name, nil
	}
	if p, m, ok := strings.Cut(name, "/"); ok && m != "" {
		if _, known := c.Provider(p); !known {
			return "", "", fmt.Errorf("there is no provider %q for model %s; known are %s; define it with [providers.%s] in config.toml", p, name, c.names(), p)
		}
		return p, m, nil
	}
	if p := owner(name); p != "" {
		return p, name, nil
	}
	return "", "", fmt.Errorf("there is no model %q; write provider/model, such as anthropic/%s (providers: %s), runbook, or replay:FILE",
		name, sonnet, c.names())
}

func (c *Catalog) names() string {
	var all []string
	for _, p := range c.providers {
		all = append(all, p.Name)
	}
	return strings.Join(all, ", ")
}

// owner is the provider whose models are called so.
func owner(name string) string {
	switch {
	case strings.HasPrefix(name, "claude-"):
		return "anthropic"
	case strings.HasPrefix(name, "gpt-"), strings.HasPrefix(name, "chatgpt-"), strings.HasPrefix(name, "codex-"),
		len(name) > 1 && name[0] == 'o' && name[1] >= '1' && name[1] <= '9':
		return "openai"
	}
	return ""
}

// Model is what is known about a provider's model: what a person configured, and from the table
// what that leaves open. A price of the table holds only at the provider's own address.
func (c *Catalog) Model(p Provider, model string) Model {
	m := known(p.Name, model)
	if p.From != "" {
		m.Price = nil
	}
	if p.free(model) {
		m.Price = &journal.Price{}
	}
	own := c.models[p.Name+"/"+model]
	if own.Window > 0 {
		m.Window, m.MaxOutput = own.Window, min(m.MaxOutput, own.Window/2)
	}
	m.MaxOutput = cmp.Or(own.MaxOutput, m.MaxOutput)
	if own.Price != nil {
		m.Price = own.Price
	}
	return m
}

// ListPrice is what a model costs at its provider's own address; nil when that is not known.
func ListPrice(provider, model string) *journal.Price { return known(provider, model).Price }

// Setup is what a provider's model is asked with.
func (c *Catalog) Setup(p Provider, model string) journal.Setup {
	m := c.Model(p, model)
	return journal.Setup{Provider: p.Protocol, Window: m.Window, MaxOutput: m.MaxOutput, Price: m.Price}
}
