package command_test

import (
	"encoding/json"
	"strings"
	"sync"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/rogpeppe/go-internal/testscript"

	"agent/host/objects"
)

// published is a resolved schema of what agent help scripting --json prints, by its name.
func published(name string) (*jsonschema.Resolved, error) {
	if known, ok := resolved.Load(name); ok {
		return known.(*jsonschema.Resolved), nil
	}
	d, err := objects.Document()
	if err != nil {
		return nil, err
	}
	d.AnyOf, d.Ref = nil, "#/$defs/"+name
	r, err := d.Resolve(nil)
	if err == nil {
		resolved.Store(name, r)
	}
	return r, err
}

var resolved sync.Map // *jsonschema.Resolved by name

// cmdFits compares what agent printed with what it publishes:
//
//	fits NAME [FILE]  expects one object that fits the schema NAME, on stdout or in a file;
//	                  for the schema line, one on each line
func cmdFits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 1 || len(args) > 2 {
		ts.Fatalf("usage: fits NAME [FILE]")
	}
	file := "stdout"
	if len(args) == 2 {
		file = args[1]
	}
	text := ts.ReadFile(file)
	r, err := published(args[0])
	ts.Check(err)
	if args[0] != objects.Line {
		fits(ts, r, text)
		return
	}
	for line := range strings.Lines(text) {
		fits(ts, r, line)
	}
}

func fits(ts *testscript.TestScript, r *jsonschema.Resolved, text string) {
	var v any
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		ts.Fatalf("%v in %s", err, text)
	}
	if err := r.Validate(v); err != nil {
		ts.Fatalf("%v in %s", err, text)
	}
}
