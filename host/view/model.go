package view

import (
	"time"

	"agent/recovery/journal"
)

// Models is what models prints with --json. Fields are only ever added.
type Models struct {
	Version   int        `json:"version"`
	Files     []string   `json:"config_files"`
	Use       Use        `json:"would_use"`
	Providers []Provider `json:"providers"`
	Models    []Model    `json:"models"`
}

// Use is the model of a new run.
type Use struct {
	Model string `json:"model"`
	Why   string `json:"why"`
	Error string `json:"error,omitempty"` // why it could not be used
}

// Provider is where models are asked.
type Provider struct {
	Name    string   `json:"name"`
	Kind    string   `json:"kind"`
	BaseURL string   `json:"base_url"`
	From    string   `json:"base_url_from,omitempty"` // where it comes from, where it is not the provider's own
	KeyEnv  string   `json:"key_variable,omitempty"`
	KeyCmd  []string `json:"key_command,omitempty"` // its first word: an argument may be a secret
	HasKey  bool     `json:"has_key"`               // the variable is set; a command is not run; true where none is needed
	Start   string   `json:"start,omitempty"`
}

// Model is what is known of a model.
type Model struct {
	Name      string         `json:"name"`
	Window    int64          `json:"window,omitempty"` // absent: not known
	MaxOutput int64          `json:"max_output,omitempty"`
	Price     *journal.Price `json:"price,omitempty"` // millionths of a US dollar for a million tokens; absent: not known
	Usable    bool           `json:"usable"`          // its provider's key is there
}

// KeyText says where a key comes from and whether it is there.
func KeyText(p Provider) string {
	switch {
	case len(p.KeyCmd) > 0:
		return "from " + p.KeyCmd[0]
	case p.KeyEnv == "":
		return "none needed"
	case p.HasKey:
		return p.KeyEnv + " is set"
	}
	return p.KeyEnv + " is not set"
}

// Check is what models --check prints with --json. Fields are only ever added.
type Check struct {
	Version   int            `json:"version"`
	Model     string         `json:"model"`
	Why       string         `json:"why"`
	Kind      string         `json:"kind,omitempty"`
	BaseURL   string         `json:"base_url,omitempty"`
	Served    string         `json:"served,omitempty"` // the model that answered, by the provider's own name
	FirstByte int64          `json:"first_byte_ms,omitempty"`
	FirstWord int64          `json:"first_word_ms,omitempty"`
	Whole     int64          `json:"whole_ms,omitempty"`
	Pieces    int            `json:"pieces"`
	Streams   bool           `json:"streams"`
	Tools     bool           `json:"tools"`
	Usage     *journal.Usage `json:"usage,omitempty"`
	Cost      *int64         `json:"cost_micros,omitempty"` // millionths of a US dollar; absent: not known
	OK        bool           `json:"ok"`
	Fault     journal.Fault  `json:"fault,omitempty"`
	Error     string         `json:"error,omitempty"`
	Remedy    string         `json:"remedy,omitempty"`
}

// CostText is a cost in millionths of a US dollar as the end of a line; nil is not known.
func CostText(cost *int64) string {
	if cost == nil {
		return "; the price is not known"
	}
	return ", " + journal.Dollars(*cost)
}

// Milliseconds writes a span of so many milliseconds.
func Milliseconds(n int64) string { return Duration(time.Duration(n) * time.Millisecond) }
