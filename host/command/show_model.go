package command

import (
	"fmt"

	"agent/host/terminal"
	"agent/host/view"
	"agent/recovery/journal"
)

// setup prints what the model is asked with at every request of a run.
func (s showing) setup(t *terminal.Printer, b journal.RunCreated) {
	m := b.Setup
	if m.Provider == "" {
		return
	}
	if m.BaseURL != "" {
		t.Pair("asked at", m.BaseURL)
	}
	if words := view.WindowText(m); words != "" {
		t.Pair("window", words)
	}
	if p := m.Price; p != nil {
		t.Pair("price", view.PriceText(*p))
	}
	if n := len(m.Images); n > 0 {
		t.Pair("images", fmt.Sprint(n))
	}
	if m.System != "" {
		t.Pair("system", fmt.Sprintf("%s, %s: agent show %s --json", m.SystemName, view.Bytes(int64(len(m.System))), b.Run))
	}
	for _, f := range m.Instructions {
		t.Pair("shown", fmt.Sprintf("%s, %s, SHA-256 %s…", s.app.Tilde(f.Path), view.Bytes(f.Bytes), view.ShortDigest(f.Digest)))
	}
}
