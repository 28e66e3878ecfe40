package app

import (
	"context"
	"errors"
	"iter"
	"strings"
	"testing"

	"agent/host/model"
	"agent/host/model/catalog"
	"agent/recovery/journal"
)

// echo is a server that gives the key back where a name belongs.
type echo struct{ key string }

func (e echo) Stream(context.Context, model.Request) iter.Seq2[model.Delta, error] {
	return func(yield func(model.Delta, error) bool) {
		if yield(model.Delta{Answer: &model.Answer{Served: "model-" + e.key, Origin: e.key}}, nil) {
			yield(model.Delta{}, &model.Error{Fault: journal.FaultServer, Message: "m", Origin: "req-" + e.key})
		}
	}
}

// Names that a server gives hold no key when they reach whoever records or prints them.
func TestNamesHoldNoKey(t *testing.T) {
	const key = "odd-key-0123456789"
	k := &keySource{p: catalog.Provider{Name: "p"}, key: key}
	var names []string
	for d, err := range (remedied{Model: echo{key}, p: k.p, key: k}).Stream(t.Context(), model.Request{}) {
		if d.Answer != nil {
			names = append(names, d.Answer.Served, d.Answer.Origin)
		}
		var fault *model.Error
		if errors.As(err, &fault) {
			names = append(names, fault.Origin)
		}
	}
	if got := strings.Join(names, " "); got != "model-[secret] [secret] req-[secret]" {
		t.Errorf("%s", got)
	}
}
