package catalog

import (
	"net"
	"net/netip"
	"net/url"
	"strings"
)

// The models that are used when nothing but a key is known: current, able, and not the most
// expensive.
const (
	sonnet = "claude-sonnet-5-5"
	sol    = "gpt-6.1-sol"
)

// builtin are the providers known by name, in the order in which their keys are looked for. The
// local ones listen where their documentation says they do by default.
func builtin() []Provider {
	return []Provider{
		{
			Name: "anthropic", Protocol: Anthropic, BaseURL: "https://api.anthropic.com", URLEnv: "ANTHROPIC_BASE_URL",
			KeyEnv: "ANTHROPIC_API_KEY", Default: sonnet, Billing: "https://platform.claude.com/settings/billing",
		},
		{
			Name: "openai", Protocol: Responses, BaseURL: "https://api.openai.com/v1", URLEnv: "OPENAI_BASE_URL",
			KeyEnv: "OPENAI_API_KEY", Default: sol, Billing: "https://platform.openai.com/settings/organization/billing",
		},
		{
			Name: "openrouter", Protocol: Chat, BaseURL: "https://openrouter.ai/api/v1",
			KeyEnv: "OPENROUTER_API_KEY", Default: "anthropic/claude-sonnet-5.5", Billing: "https://openrouter.ai/settings/credits",
		},
		{Name: "ollama", Protocol: Chat, BaseURL: "http://127.0.0.1:11434/v1", URLEnv: "OLLAMA_HOST", Start: "ollama serve"},
		{Name: "llamacpp", Protocol: Chat, BaseURL: "http://127.0.0.1:8080/v1", Start: "llama-server --jinja -m MODEL.gguf"},
		{Name: "vllm", Protocol: Chat, BaseURL: "http://127.0.0.1:8000/v1", Start: "vllm serve MODEL --enable-auto-tool-choice --tool-call-parser PARSER"},
		{Name: "lmstudio", Protocol: Chat, BaseURL: "http://127.0.0.1:1234/v1", Start: "lms server start"},
	}
}

// Names lists the providers known by name.
func Names() []string {
	var all []string
	for _, p := range builtin() {
		all = append(all, p.Name)
	}
	return all
}

// free says whether a model costs nothing: it runs on this machine. Ollama hands models with cloud
// in their tag on to a service that is paid.
func (p Provider) free(model string) bool {
	return p.Start != "" && Loopback(p.BaseURL) && !strings.HasSuffix(model, ":cloud") && !strings.HasSuffix(model, "-cloud")
}

// Loopback says whether an address is on this machine. It takes the spellings that net/http also
// asks without a proxy: localhost in small letters, 127.0.0.0/8 and ::1 without a zone.
func Loopback(address string) bool {
	u, err := url.Parse(address)
	if err != nil {
		return false
	}
	if u.Hostname() == "localhost" {
		return true
	}
	ip, err := netip.ParseAddr(u.Hostname())
	return err == nil && ip.IsLoopback() && ip.Zone() == ""
}

// ollamaURL makes an address of OLLAMA_HOST, as Ollama reads it: a host, a port or an address, the
// scheme and the port left out or not (https://docs.ollama.com/faq). All interfaces, which a server
// listens on, are asked for on this machine.
func ollamaURL(host string) string {
	scheme, rest, ok := strings.Cut(host, "://")
	scheme = strings.ToLower(scheme)
	port := map[string]string{"http": "80", "https": "443"}[scheme]
	if !ok {
		scheme, rest, port = "http", host, "11434"
	}
	at, path, _ := strings.Cut(rest, "/")
	name := strings.Trim(at, "[]")
	if h, p, err := net.SplitHostPort(at); err == nil {
		name, port = h, p
	}
	switch name {
	case "", "0.0.0.0":
		name = "127.0.0.1"
	case "::":
		name = "::1"
	}
	u := scheme + "://" + net.JoinHostPort(name, port)
	if path = strings.Trim(path, "/"); path != "" {
		u += "/" + path
	}
	return u + "/v1"
}
