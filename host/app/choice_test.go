package app

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"agent/host/model/catalog"
	"agent/recovery/journal"
)

// someone is an app of a person with an own home folder, this environment and this config.toml.
func someone(t *testing.T, conf string, env ...string) *App {
	t.Helper()
	home := t.TempDir()
	vars := map[string]string{"HOME": home, "OLLAMA_HOST": "http://127.0.0.1:1"} // nothing listens at port 1
	for _, e := range env {
		name, value, _ := strings.Cut(e, "=")
		vars[name] = value
	}
	if conf != "" {
		path := filepath.Join(home, ".config", "agent", "config.toml")
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(conf), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return &App{Env: func(name string) string { return vars[name] }}
}

const work = `
model = "work/qwen3"
effort = "high"
[providers.work]
kind = "chat"
base_url = "https://10.0.0.1/v1"
api_key_env = "WORK_KEY"
[models."work/qwen3"]
window = 1000
max_output = 100
`

// What is chosen comes with all that the requests of the run will need, and where it is asked only
// when a flag names a place.
func TestChooseSetup(t *testing.T) {
	sonnet := &journal.Price{Input: 2_000_000, Cached: 100_000, Written: 2_500_000, Output: 10_000_000}
	for _, tt := range []struct {
		name   string
		conf   string
		env    []string
		flags  Wish
		before Previous
		want   Choice
	}{
		{"configured", work, []string{"WORK_KEY=k"}, Wish{NoCompact: true}, Previous{}, Choice{
			"work/qwen3", "the configuration's",
			journal.Setup{Provider: "chat", Window: 1000, MaxOutput: 100, Effort: journal.EffortHigh, NoCompact: true},
		}},
		{"a key", "", []string{"ANTHROPIC_API_KEY=k"}, Wish{Effort: journal.EffortLow}, Previous{}, Choice{
			"anthropic/claude-sonnet-5-5", "ANTHROPIC_API_KEY is set",
			journal.Setup{Provider: "anthropic", Window: 1_000_000, MaxOutput: 128_000, Price: sonnet, Effort: journal.EffortLow},
		}},
		{"a runbook", "effort = \"high\"\n", nil, Wish{Runbook: "--runbook"}, Previous{}, Choice{"runbook", "--runbook", journal.Setup{}}},
		{"a runbook in a model's thread", work, []string{"WORK_KEY=k"}, Wish{Runbook: "its front matter"}, Previous{"openai/x", "http://127.0.0.1:9/v1", ""}, Choice{
			"runbook", "its front matter", journal.Setup{},
		}},
		{"another address", "", []string{"OPENAI_API_KEY=k"}, Wish{Model: "openai/x", BaseURL: "https://10.0.0.9/v1"}, Previous{}, Choice{
			"openai/x", "--model", journal.Setup{Provider: "chat", BaseURL: "https://10.0.0.9/v1"},
		}},
		{"an address here needs no key", "", nil, Wish{Model: "openai/x", BaseURL: "http://127.0.0.1:9/v1"}, Previous{}, Choice{
			"openai/x", "--model", journal.Setup{Provider: "chat", BaseURL: "http://127.0.0.1:9/v1"},
		}},
		{"a thread goes on where it was", work, nil, Wish{}, Previous{"openai/x", "http://127.0.0.1:9/v1", journal.EffortLow}, Choice{
			"openai/x", "the thread's", journal.Setup{Provider: "chat", BaseURL: "http://127.0.0.1:9/v1", Effort: journal.EffortLow},
		}},
		{"another model in a thread", "", nil, Wish{Model: "ollama/q"}, Previous{"openai/x", "http://127.0.0.1:9/v1", ""}, Choice{
			"ollama/q", "--model", journal.Setup{Provider: "chat", Price: &journal.Price{}},
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a := someone(t, tt.conf, tt.env...)
			// Where Ollama is said to be elsewhere, it is not free; here it is where it always is.
			if tt.name == "another model in a thread" {
				a = someone(t, tt.conf, "OLLAMA_HOST=127.0.0.1")
			}
			conf, err := a.Settings("")
			if err != nil {
				t.Fatal(err)
			}
			got, err := a.Choose(t.Context(), conf, tt.flags, tt.before)
			if diff := cmp.Diff(tt.want, got); err != nil || diff != "" {
				t.Error(err, diff)
			}
		})
	}
}

// What cannot be asked is refused before anything is recorded, with what fixes it.
func TestChooseRefused(t *testing.T) {
	for _, tt := range []struct {
		name  string
		conf  string
		env   []string
		flags Wish
		want  string
	}{
		{"no key", "", nil, Wish{Model: "claude-sonnet-5-5"}, `use model anthropic/claude-sonnet-5-5: ANTHROPIC_API_KEY is not set; set it to the key, or name a command that prints it in CONF:
           [providers.anthropic]
           api_key_cmd = ["pass", "show", "anthropic"]`},
		{"no key of one's own", work, nil, Wish{}, `use model work/qwen3: WORK_KEY is not set; set it to the key, or name a command that prints it in CONF:
           [providers.work]
           api_key_cmd = ["pass", "show", "work"]`},
		{"no such model", "", nil, Wish{Model: "wrok/x"}, `use the model that --model names: there is no provider "wrok" for model wrok/x; known are anthropic, openai, openrouter, ollama, llamacpp, vllm, lmstudio; define it with [providers.wrok] in config.toml`},
		{"nothing", "", nil, Wish{}, "no model is configured: set ANTHROPIC_API_KEY, OPENAI_API_KEY or OPENROUTER_API_KEY, start Ollama, or name one with --model or with model in config.toml"},
		{"an address for nothing", "", nil, Wish{BaseURL: "http://127.0.0.1:9"}, "no model is configured: name the one at http://127.0.0.1:9 with --model, such as openai/<model>"},
		{"an address for runbook", "", nil, Wish{Runbook: "--runbook", BaseURL: "http://127.0.0.1:9"}, `--base-url http://127.0.0.1:9: runbook is not asked over a network; name the model with --model, such as openai/<model>`},
		{"pictures for runbook", "", nil, Wish{Runbook: "--runbook", Images: []journal.Image{{}}}, `show pictures to runbook: it sees none; name another model with --model`},
		{"no recording", "", nil, Wish{Model: "replay:/nowhere/x"}, `replay /nowhere/x: open the recording: no such file or directory`},
		{"an address in a variable", "", []string{"OPENAI_BASE_URL=https://me:secret@host"}, Wish{}, `OPENAI_BASE_URL: a name or password in an address would be kept and shown; use api_key_env or api_key_cmd`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a := someone(t, tt.conf, tt.env...)
			conf, err := a.Settings("")
			if err == nil {
				_, err = a.Choose(t.Context(), conf, tt.flags, Previous{})
			}
			var got string
			if err != nil {
				got = strings.ReplaceAll(err.Error(), filepath.Join(a.Env("HOME"), ".config", "agent", "config.toml"), "CONF")
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// A limit of cost holds only where the price is known.
func TestPriced(t *testing.T) {
	a := someone(t, work, "WORK_KEY=k", "ANTHROPIC_API_KEY=k")
	conf, err := a.Settings("")
	if err != nil {
		t.Fatal(err)
	}
	for name, refused := range map[string]bool{"work/qwen3": true, "claude-sonnet-5-5": false, "runbook": false} {
		ch, err := a.Choose(t.Context(), conf, Wish{Model: name}, Previous{})
		if err != nil {
			t.Fatal(err)
		}
		err = CheckPriced(conf, ch, journal.Limits{MaxCost: 2_500_000})
		if (err != nil) != refused {
			t.Errorf("%s: %v", name, err)
		}
		want := "limit the cost to $2.50: what work/qwen3 costs is not known; say it in " + conf.Path + ":\n" +
			"           [models.\"work/qwen3\"]\n           input_price = \"0.50\"    # US dollars for a million tokens\n           output_price = \"1.50\""
		if refused && err.Error() != want {
			t.Errorf("%v", err)
		}
		if err := CheckPriced(conf, ch, journal.Limits{}); err != nil {
			t.Errorf("%s without a limit: %v", name, err)
		}
	}
}

// An Ollama is asked what it has and what each can do; whatever else listens there has no models.
func TestAskOllama(t *testing.T) {
	ollama := http.NewServeMux()
	ollama.HandleFunc("GET /api/tags", func(w http.ResponseWriter, _ *http.Request) {
		// A client that is gone fails the test by itself; so below.
		_, _ = w.Write([]byte(`{"models":[{"name":"embed"},{"name":"qwen3:8b"},{"name":"later"}]}`))
	})
	ollama.HandleFunc("POST /api/show", func(w http.ResponseWriter, r *http.Request) {
		b := make([]byte, 100)
		n, _ := r.Body.Read(b)
		if strings.Contains(string(b[:n]), "embed") {
			_, _ = w.Write([]byte(`{"capabilities":["embedding"]}`))
			return
		}
		_, _ = w.Write([]byte(`{"capabilities":["completion","tools"]}`))
	})
	for name, tt := range map[string]struct {
		handler http.Handler
		want    []catalog.LocalModel
	}{
		"Ollama": {ollama, []catalog.LocalModel{
			{Name: "embed", Capabilities: []string{"embedding"}}, {Name: "qwen3:8b", Capabilities: []string{"completion", "tools"}}, {Name: "later"},
		}},
		"a page": {http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("<html>")) }), nil},
		"nobody": {http.NotFoundHandler(), nil},
	} {
		s := httptest.NewServer(tt.handler)
		a := someone(t, "", "OLLAMA_HOST="+s.URL)
		conf, err := a.Settings("")
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(tt.want, askOllama(t.Context(), conf.Catalog)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		ch, err := a.Choose(t.Context(), conf, Wish{}, Previous{})
		if want := map[bool]string{true: "ollama/qwen3:8b"}[tt.want != nil]; (err != nil) != (want == "") || ch.Name != want {
			t.Errorf("%s: %+v, %v", name, ch, err)
		}
		s.Close()
	}
}

// A key comes from its variable, or once from its command until it is refused, and is in no error.
func TestKeys(t *testing.T) {
	dir := t.TempDir()
	script := func(text string) []string { return []string{"/bin/sh", "-c", "cd " + dir + "; " + text} }
	var complaints bytes.Buffer
	const address = "https://p.test"
	get := func(p catalog.Provider, env ...string) (string, error) {
		p.BaseURL = address
		k := (&keyring{}).of(p, someone(t, "", env...).Env, &complaints)
		return k.get(t.Context())
	}
	if key, err := get(catalog.Provider{Name: "p", KeyEnv: "K"}, "K= k1\n"); key != "k1" || err != nil {
		t.Errorf("%q, %v", key, err)
	}
	if key, err := get(catalog.Provider{Name: "p"}); key != "" || err != nil {
		t.Errorf("none needed: %q, %v", key, err)
	}
	for want, p := range map[string]catalog.Provider{
		"there is no key for p: K is not set": {Name: "p", KeyEnv: "K"},
		"it printed nothing":                  {Name: "p", KeyCmd: script("echo")},
		"get the key of p with /bin/sh …: exit status 3; run the command yourself to see why": {Name: "p", KeyCmd: script("echo secret; echo the vault is locked >&2; exit 3")},
		"with /bin/sh …: it printed more than 4 KiB; ":                                        {Name: "p", KeyCmd: script("printf %04097d 0")},
		"p with /bin/false: exit status 1; ":                                                  {Name: "p", KeyCmd: []string{"/bin/false"}},
		"executable file not found":                                                           {Name: "p", KeyCmd: []string{"no-such-command-here"}},
		"the key for p holds spaces or letters that no key has":                               {Name: "p", KeyCmd: script("echo secret with spaces")},
	} {
		_, err := get(p)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret") || strings.Contains(err.Error(), "vault") {
			t.Errorf("%v, want %s", err, want)
		}
	}
	if got := complaints.String(); !strings.HasPrefix(got, "the vault is locked\n") && !strings.HasSuffix(got, "the vault is locked\n") {
		t.Errorf("the command's own words were not passed on: %q", got)
	}
	ring := &keyring{}
	p := catalog.Provider{Name: "p", BaseURL: address, KeyCmd: script("echo x >> calls; wc -l < calls | tr -d ' ' | sed 's/^/key-/'; echo more")}
	for i, want := range []string{"key-1", "key-1", "key-2"} {
		k := ring.of(p, nil, nil)
		if i == 2 {
			k.forget()
		}
		if key, err := k.get(t.Context()); key != want || err != nil {
			t.Errorf("%d: %q, %v; want %s", i, key, err, want)
		}
	}
	if got := ring.of(p, nil, nil).secrets(); !slices.Equal(got, []string{"key-1", "key-2"}) {
		t.Errorf("secrets: %v", got)
	}
}

func TestProviderRemedy(t *testing.T) {
	a := someone(t, work+"[providers.openai]\napi_key_cmd = [\"pass\", \"show\", \"openai\"]\n", "OLLAMA_HOST=127.0.0.1")
	conf, err := a.Settings("")
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		model string
		fault journal.Fault
		want  string
	}{
		{"claude-sonnet-5-5", journal.FaultKey, "set ANTHROPIC_API_KEY to a key that is accepted"},
		{"gpt-6.1-sol", journal.FaultKey, "see to the command that prints the key: api_key_cmd of [providers.openai] in config.toml (pass …)"},
		{"gpt-6.1-sol", journal.FaultNoKey, "see to the command that prints the key: api_key_cmd of [providers.openai] in config.toml (pass …)"},
		{"ollama/q", journal.FaultKey, "name the variable of the key in config.toml: api_key_env of [providers.ollama]"},
		{"claude-sonnet-5-5", journal.FaultCredit, "add credit at https://platform.claude.com/settings/billing"},
		{"work/q", journal.FaultCredit, "see to what is paid for at 10.0.0.1"},
		{"ollama/q", journal.FaultNoModel, "get it with: ollama pull q"},
		{"gpt-6.1-sol", journal.FaultNoModel, "see which models are known with: agent models; and ask one with: agent models --check MODEL"},
		{"ollama/q", journal.FaultNetwork, "start it with: ollama serve"},
		{"work/q", journal.FaultNetwork, "see to it that 10.0.0.1 can be reached from here"},
		{"work/q", journal.FaultGarbage, "see to it that https://10.0.0.1/v1 is the base address of an API of kind chat (the configuration says so)"},
		{"work/q", journal.FaultContext, `say how much it takes in config.toml: window of [models."work/q"]`},
		{"work/q", journal.FaultStalled, "give it longer with --idle, or idle in config.toml"},
		{"work/q", journal.FaultOverloaded, ""},
	} {
		name, of, err := conf.Catalog.Parse(tt.model)
		if err != nil {
			t.Fatal(err)
		}
		p, _ := conf.Catalog.Provider(name)
		if got := providerRemedy(p, of, tt.fault); got != tt.want {
			t.Errorf("%s, %s: %s", tt.model, tt.fault, got)
		}
	}
}
