package builtin

import (
	"context"
	"errors"
	"io"
	"path/filepath"
	"strings"
	"testing"

	"agent/tools/sandbox"
	"agent/tools/toolstest"
)

// bench is a workspace with the built-in tools.
type bench struct {
	*toolstest.Bench
	outputs outputs
}

type outputs map[string]string

func (o outputs) Output(_ context.Context, run, id string) (io.ReaderAt, int64, error) {
	text, ok := o[run+"/"+id]
	if !ok {
		return nil, 0, errors.New("there is no such call")
	}
	return strings.NewReader(text), int64(len(text)), nil
}

type args = toolstest.Args

func newBench(t *testing.T) *bench {
	t.Helper()
	b := &bench{Bench: toolstest.New(t), outputs: outputs{}}
	b.build(nil)
	return b
}

// build makes the tools for the bench's folders as they are now.
func (b *bench) build(box *sandbox.System) {
	b.T.Helper()
	list, err := Tools(Options{
		State: b.State, Calls: filepath.Join(b.State, "calls"), Exe: b.Executable(), Outputs: b.outputs, Environ: toolstest.Environ(), Sandbox: box,
	})
	if err != nil {
		b.T.Fatal(err)
	}
	b.Use(list...)
}
