package catalog

import (
	"cmp"
	"fmt"
	"strings"

	"agent/host/model/runbook"
)

// Wish is what may say which model is used, from the strongest to the weakest. Then come the first
// key that is found, and what answers on this machine. The model runbook is used only where it is
// named.
type Wish struct {
	Runbook string // what names the prompt a runbook, such as --runbook; "" where nothing does
	Flag    string // --model
	Thread  string // the model of the thread's last run
	Config  string // the configuration's
	// Local asks an Ollama on this machine for its models; it is called only when nothing else
	// decides. nil asks nobody.
	Local func() []LocalModel
}

// LocalModel is a model that an Ollama has.
type LocalModel struct {
	Name         string
	Capabilities []string // such as completion, tools, embedding; nil when it does not say
}

// Choice is a model and what decided for it.
type Choice struct {
	Name string
	Why  string
}

// NoModelError says that nothing decides which model is used.
type NoModelError struct {
	Remedy string // what a person can do
}

func (e *NoModelError) Error() string { return "no model is configured: " + e.Remedy }

// Choose decides which model is used. The error says what is wrong with the name that was wished,
// or is a *NoModelError.
func (c *Catalog) Choose(w Wish) (Choice, error) {
	if w.Runbook != "" {
		return Choice{runbook.Name, w.Runbook}, nil
	}
	for _, said := range []Choice{{w.Flag, "--model"}, {w.Thread, "the thread's"}, {w.Config, "the configuration's"}} {
		if said.Name == "" {
			continue
		}
		provider, model, err := c.Parse(said.Name)
		if err != nil {
			return Choice{}, fmt.Errorf("use the model that %s: %v", map[string]string{
				"--model": "--model names", "the thread's": "the thread used", "the configuration's": "config.toml names",
			}[said.Why], err)
		}
		if provider != "" {
			model = provider + "/" + model
		}
		return Choice{model, said.Why}, nil
	}
	unnamed := ""
	for _, p := range c.providers {
		if p.Default == "" || !c.HasKey(p) {
			continue
		}
		if p.Name == "openai" && p.From != "" {
			// Where something else answers in OpenAI's stead, nobody knows which models it has.
			unnamed = p.setBy() + ", so name its model: --model openai/NAME"
			continue
		}
		why := p.KeyEnv + " is set"
		if len(p.KeyCmd) > 0 {
			why = "the configuration has a key for " + p.Name
		}
		return Choice{p.Name + "/" + p.Default, why}, nil
	}
	return c.chooseLocal(w, unnamed)
}

// setBy says what set another address than the provider's own.
func (p Provider) setBy() string {
	if p.From == p.URLEnv {
		return p.From + " is set"
	}
	return "config.toml sets another base_url for " + p.Name
}

// anyModel is what makes a model known.
const anyModel = "set ANTHROPIC_API_KEY, OPENAI_API_KEY or OPENROUTER_API_KEY, start Ollama, or name one with --model or with model in config.toml"

// chooseLocal takes what runs on this machine. unnamed says why a provider with a key was passed
// over; "" when none was.
func (c *Catalog) chooseLocal(w Wish, unnamed string) (Choice, error) {
	var models []LocalModel
	if w.Local != nil {
		models = w.Local()
	}
	switch name := UsableLocal(models); {
	case name != "":
		return Choice{"ollama/" + name, cmp.Or(unnamed, "no key is set, and the Ollama here has it")}, nil
	case unnamed != "":
		return Choice{}, &NoModelError{unnamed}
	case len(models) > 0:
		return Choice{}, &NoModelError{"the Ollama here has no model that can use tools; " + anyModel}
	}
	return Choice{}, &NoModelError{anyModel}
}

// UsableLocal is the first model that says that it can use tools, else the first that does not say
// what it can do and is not named as one for embeddings; "" when there is none.
func UsableLocal(models []LocalModel) string {
	silent := ""
	for _, m := range models {
		for _, can := range m.Capabilities {
			if can == "tools" {
				return m.Name
			}
		}
		if silent == "" && m.Capabilities == nil && !strings.Contains(m.Name, "embed") {
			silent = m.Name
		}
	}
	return silent
}
