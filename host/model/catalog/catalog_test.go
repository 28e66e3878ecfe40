package catalog_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"agent/host/model/catalog"
	"agent/recovery/journal"
)

// from is a catalog in an environment of NAME=value pairs.
func from(providers map[string]catalog.Provider, models map[string]catalog.Model, env ...string) *catalog.Catalog {
	vars := map[string]string{}
	for _, e := range env {
		name, value, _ := strings.Cut(e, "=")
		vars[name] = value
	}
	return catalog.New(func(name string) string { return vars[name] }, providers, models)
}

var work = map[string]catalog.Provider{"work": {Protocol: catalog.Chat, BaseURL: "http://10.0.0.1/v1", KeyEnv: "WORK_KEY"}}

func TestParse(t *testing.T) {
	c := from(work, nil)
	for name, want := range map[string][2]string{
		"anthropic/claude-sonnet-5-5":            {"anthropic", "claude-sonnet-5-5"},
		"claude-opus-5-5":                        {"anthropic", "claude-opus-5-5"},
		"gpt-6.1-sol":                            {"openai", "gpt-6.1-sol"},
		"o3":                                     {"openai", "o3"},
		"openrouter/anthropic/claude-sonnet-5.5": {"openrouter", "anthropic/claude-sonnet-5.5"},
		"ollama/qwen3:8b":                        {"ollama", "qwen3:8b"},
		"work/qwen3":                             {"work", "qwen3"},
		"runbook":                                {"", "runbook"},
		"replay:a/b.jsonl":                       {"", "replay:a/b.jsonl"},
	} {
		provider, model, err := c.Parse(name)
		if got := [2]string{provider, model}; err != nil || got != want {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
	for _, name := range []string{"", "/", "anthropic/", "wrok/x", "qwen3", "replay:", "o", "openai"} {
		if _, _, err := c.Parse(name); err == nil {
			t.Errorf("%q was taken", name)
		}
	}
}

// The choice of issue 3: --model, the thread's, the configuration's, the first key, a local Ollama,
// runbook.
func TestChoose(t *testing.T) {
	all := catalog.Wish{Flag: "gpt-6-luna", Thread: "ollama/a", Config: "work/b"}
	local := func(models ...catalog.LocalModel) func() []catalog.LocalModel {
		return func() []catalog.LocalModel { return models }
	}
	nobody := func() []catalog.LocalModel {
		t.Error("the Ollama was asked although something else decided")
		return nil
	}
	all.Local = nobody
	tools := catalog.LocalModel{Name: "qwen3:8b", Capabilities: []string{"completion", "tools"}}
	tests := []struct {
		name string
		wish catalog.Wish
		own  map[string]catalog.Provider
		env  []string
		want catalog.Choice
	}{
		{"flag", all, work, nil, catalog.Choice{"openai/gpt-6-luna", "--model"}},
		{"thread", catalog.Wish{Thread: "ollama/a", Config: "work/b", Local: nobody}, work, nil, catalog.Choice{"ollama/a", "the thread's"}},
		{"config", catalog.Wish{Config: "work/b", Local: nobody}, work, []string{"ANTHROPIC_API_KEY=k"}, catalog.Choice{"work/b", "the configuration's"}},
		{"a runbook's thread", catalog.Wish{Thread: "runbook"}, nil, []string{"ANTHROPIC_API_KEY=k"}, catalog.Choice{"runbook", "the thread's"}},
		{
			"first key", catalog.Wish{Local: nobody}, nil, []string{"OPENAI_API_KEY=k", "ANTHROPIC_API_KEY=k"},
			catalog.Choice{"anthropic/claude-sonnet-5-5", "ANTHROPIC_API_KEY is set"},
		},
		{"second key", catalog.Wish{}, nil, []string{"OPENAI_API_KEY=k"}, catalog.Choice{"openai/gpt-6.1-sol", "OPENAI_API_KEY is set"}},
		{
			"key by a command", catalog.Wish{}, map[string]catalog.Provider{"openai": {KeyCmd: []string{"pass"}}}, nil,
			catalog.Choice{"openai/gpt-6.1-sol", "the configuration has a key for openai"},
		},
		{
			"Ollama", catalog.Wish{Local: local(catalog.LocalModel{Name: "llama"}, tools)}, nil, nil,
			catalog.Choice{"ollama/qwen3:8b", "no key is set, and the Ollama here has it"},
		},
		{
			"Ollama that does not say", catalog.Wish{Local: local(catalog.LocalModel{Name: "nomic-embed-text"}, catalog.LocalModel{Name: "llama"})}, nil, nil,
			catalog.Choice{"ollama/llama", "no key is set, and the Ollama here has it"},
		},
		{
			"a runbook, whatever else is named", catalog.Wish{Runbook: "its front matter", Thread: "ollama/a", Config: "work/b", Local: nobody}, work,
			[]string{"ANTHROPIC_API_KEY=k"}, catalog.Choice{"runbook", "its front matter"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := from(tt.own, nil, tt.env...).Choose(tt.wish)
			if err != nil || got != tt.want {
				t.Errorf("%+v, %v; want %+v", got, err, tt.want)
			}
		})
	}
	_, err := from(nil, nil).Choose(catalog.Wish{Thread: "gone/x"})
	if err == nil || !strings.HasPrefix(err.Error(), `use the model that the thread used: there is no provider "gone"`) {
		t.Error(err)
	}
}

// Where nothing names a model, none is used: a prompt never becomes a runbook because a key is
// missing.
func TestChooseNone(t *testing.T) {
	const name = "set ANTHROPIC_API_KEY, OPENAI_API_KEY or OPENROUTER_API_KEY, start Ollama, or name one with --model or with model in config.toml"
	for _, tt := range []struct {
		what   string
		local  []catalog.LocalModel
		own    map[string]catalog.Provider
		env    []string
		remedy string
	}{
		{"nothing", nil, nil, nil, name},
		{"Ollama without tools", []catalog.LocalModel{{Name: "bert", Capabilities: []string{"embedding"}}}, nil, nil,
			"the Ollama here has no model that can use tools; " + name},
		{"a key for something else in OpenAI's stead", nil, nil, []string{"OPENAI_API_KEY=k", "OPENAI_BASE_URL=http://10.0.0.2/v1"},
			"OPENAI_BASE_URL is set, so name its model: --model openai/NAME"},
		{"configured in OpenAI's stead", nil, map[string]catalog.Provider{"openai": {BaseURL: "http://10.0.0.2/v1"}}, []string{"OPENAI_API_KEY=k"},
			"config.toml sets another base_url for openai, so name its model: --model openai/NAME"},
	} {
		got, err := from(tt.own, nil, tt.env...).Choose(catalog.Wish{Local: func() []catalog.LocalModel { return tt.local }})
		var none *catalog.NoModelError
		if !errors.As(err, &none) || none.Remedy != tt.remedy || got != (catalog.Choice{}) {
			t.Errorf("%s: %+v, %v", tt.what, got, err)
		}
	}
}

// Where something else answers in a provider's stead, its prices do not hold, and OpenAI's stand-in
// speaks Chat Completions.
func TestAddresses(t *testing.T) {
	type want struct {
		protocol, url, from string
		priced              bool
	}
	tests := []struct {
		name, model string
		own         map[string]catalog.Provider
		env         []string
		want        want
	}{
		{"OpenAI itself", "openai/gpt-6.1-sol", nil, nil, want{catalog.Responses, "https://api.openai.com/v1", "", true}},
		{"OpenAI's own, said", "openai/gpt-6.1-sol", nil, []string{"OPENAI_BASE_URL=https://api.openai.com/v1/"},
			want{catalog.Responses, "https://api.openai.com/v1", "", true}},
		{"in OpenAI's stead", "openai/gpt-6.1-sol", nil, []string{"OPENAI_BASE_URL=http://10.0.0.2/v1"},
			want{catalog.Chat, "http://10.0.0.2/v1", "OPENAI_BASE_URL", false}},
		{"configured in OpenAI's stead", "openai/gpt-6.1-sol", map[string]catalog.Provider{"openai": {BaseURL: "http://10.0.0.3"}}, nil,
			want{catalog.Chat, "http://10.0.0.3", "the configuration", false}},
		{"configured with its protocol", "openai/x", map[string]catalog.Provider{"openai": {BaseURL: "http://10.0.0.3", Protocol: catalog.Responses}}, nil,
			want{catalog.Responses, "http://10.0.0.3", "the configuration", false}},
		{"a variable, configured with its protocol", "openai/x", map[string]catalog.Provider{"openai": {Protocol: catalog.Responses}},
			[]string{"OPENAI_BASE_URL=http://10.0.0.2/v1"}, want{catalog.Responses, "http://10.0.0.2/v1", "OPENAI_BASE_URL", false}},
		{"Anthropic behind a gateway", "claude-sonnet-5-5", nil, []string{"ANTHROPIC_BASE_URL=https://gateway"},
			want{catalog.Anthropic, "https://gateway", "ANTHROPIC_BASE_URL", false}},
		{"local", "ollama/qwen3", nil, nil, want{catalog.Chat, "http://127.0.0.1:11434/v1", "", true}},
		{"local, handed on", "ollama/gpt-oss:120b-cloud", nil, nil, want{catalog.Chat, "http://127.0.0.1:11434/v1", "", false}},
		{"Ollama elsewhere", "ollama/qwen3", nil, []string{"OLLAMA_HOST=gpu:8000"}, want{catalog.Chat, "http://gpu:8000/v1", "OLLAMA_HOST", false}},
		{"own", "work/x", work, nil, want{catalog.Chat, "http://10.0.0.1/v1", "the configuration", false}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := from(tt.own, nil, tt.env...)
			name, model, err := c.Parse(tt.model)
			if err != nil {
				t.Fatal(err)
			}
			p, _ := c.Provider(name)
			if got := (want{p.Protocol, p.BaseURL, p.From, c.Setup(p, model).Price != nil}); got != tt.want {
				t.Errorf("%+v, want %+v", got, tt.want)
			}
		})
	}
}

// A flag moves a provider as a variable does.
func TestAt(t *testing.T) {
	for protocol, own := range map[string]map[string]catalog.Provider{
		catalog.Chat: nil, catalog.Responses: {"openai": {Protocol: catalog.Responses}},
	} {
		p, _ := from(own, nil).Provider("openai")
		if p = p.At("http://10.0.0.2/v1"); p.Protocol != protocol || p.BaseURL != "http://10.0.0.2/v1" || p.From != "--base-url" {
			t.Errorf("%+v, want %s", p, protocol)
		}
	}
}

func TestOllamaHost(t *testing.T) {
	for host, want := range map[string]string{
		"gpu": "http://gpu:11434/v1", ":8080": "http://127.0.0.1:8080/v1", "0.0.0.0": "http://127.0.0.1:11434/v1",
		"https://gpu": "https://gpu:443/v1", "http://gpu": "http://gpu:80/v1", "http://gpu:1/ollama/": "http://gpu:1/ollama/v1",
		"[::1]:9": "http://[::1]:9/v1", "[::]": "http://[::1]:11434/v1", "127.0.0.1:11434": "http://127.0.0.1:11434/v1",
	} {
		p, _ := from(nil, nil, "OLLAMA_HOST="+host).Provider("ollama")
		if p.BaseURL != want {
			t.Errorf("%s: %s, want %s", host, p.BaseURL, want)
		}
	}
}

// A model is found by its name, or by its name with a date, and by nothing that only resembles it.
func TestModel(t *testing.T) {
	c := from(nil, map[string]catalog.Model{
		"anthropic/claude-haiku-5-5": {Window: 50_000},
		"ollama/qwen3":               {Window: 40_000, MaxOutput: 8_000, Price: &journal.Price{Input: 1, Output: 2}},
	})
	price := func(input, cached, written, output int64) *journal.Price {
		return &journal.Price{Input: input, Cached: cached, Written: written, Output: output}
	}
	for name, want := range map[string]catalog.Model{
		"claude-sonnet-5-5":          {1_000_000, 128_000, price(2_000_000, 100_000, 2_500_000, 10_000_000)},
		"claude-sonnet-4-5-20250929": {200_000, 64_000, price(3_000_000, 300_000, 3_750_000, 15_000_000)},
		"gpt-5-2025-08-07":           {400_000, 128_000, price(1_250_000, 125_000, 1_250_000, 10_000_000)},
		"claude-opus-5-9":            {},
		"gpt-5-codex":                {},
		"gpt-5-20250":                {},
		"claude-haiku-5-5":           {50_000, 25_000, price(100_000, 10_000, 125_000, 500_000)},
		"ollama/qwen3":               {40_000, 8_000, price(1, 0, 0, 2)},
		"ollama/other":               {0, 0, &journal.Price{}},
		"openrouter/x":               {},
	} {
		provider, model, err := c.Parse(name)
		if err != nil {
			t.Fatal(err)
		}
		p, _ := c.Provider(provider)
		if diff := cmp.Diff(want, c.Model(p, model)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// The table says nothing that cannot be: an answer shares the window, a cached token is not dearer
// than a fresh one.
func TestTable(t *testing.T) {
	c := from(nil, nil)
	for _, m := range catalog.Known() {
		if m.MaxOutput >= m.Window || m.Price.Cached > m.Price.Input || m.Price.Output < m.Price.Input || m.Price.Written < m.Price.Input {
			t.Errorf("%s: %+v, %+v", m.Name, m.Model, *m.Price)
		}
	}
	for _, p := range c.Providers() {
		if _, ok := c.Provider(p.Name); !ok || p.Protocol == "" || p.BaseURL == "" {
			t.Errorf("%+v", p)
		}
		if d := c.Model(p, p.Default); (p.Name == "anthropic" || p.Name == "openai") && d.Price == nil {
			t.Errorf("the default of %s has no price", p.Name)
		}
	}
}

// A key goes over plain HTTP to this machine only, however the address is spelled, unless the
// person allowed it.
func TestExposed(t *testing.T) {
	for address, want := range map[string]bool{
		"https://10.0.0.1/v1": false, "HTTPS://10.0.0.1/v1": false, "http://127.0.0.1:8000/v1": false, "HTTP://127.9.9.9/v1": false,
		"http://[::1]:80/v1": false, "http://localhost:80/v1": false,
		"http://10.0.0.1/v1": true, "HTTP://10.0.0.1/v1": true, "hTTp://api.openai.com/v1": true, "http://localhost.example.com/v1": true,
		"http://127.0.0.1.example.com/v1": true, "http://127.0.0.1@10.0.0.1/v1": true, "http://0.0.0.0/v1": true, "ftp://10.0.0.1": true,
		"http://LOCALHOST/v1": true, "http://[::1%25eth0]/v1": true, "http://%": true,
	} {
		for _, p := range []catalog.Provider{{KeyEnv: "K"}, {KeyCmd: []string{"pass"}}} {
			p.BaseURL = address
			if got := p.Exposed(); got != want {
				t.Errorf("%s: %t", address, got)
			}
			if p.AllowHTTP = true; p.Exposed() {
				t.Errorf("%s is refused although it is allowed", address)
			}
		}
		if (catalog.Provider{BaseURL: address}).Exposed() {
			t.Errorf("%s is refused although there is no key", address)
		}
	}
}
