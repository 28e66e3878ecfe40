package builtin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"agent/recovery/journal"
	"agent/tools"
	"agent/tools/excerpt"
)

// Outputs finds the whole output of a call, of which its result shows only a part.
type Outputs interface {
	// Output finds a call of the run's thread by its id. The reader is used before the context
	// ends, and closed if it can be.
	Output(ctx context.Context, run, callID string) (io.ReaderAt, int64, error)
}

// readOutput pages through the output of an earlier call.
type readOutput struct{ outputs Outputs }

type outputArgs struct {
	Call   string `json:"call"`
	Offset int64  `json:"offset"`
	Limit  int64  `json:"limit"`
}

// Spec describes the tool.
func (readOutput) Spec() tools.Spec {
	return tools.Spec{
		Name: "read_output",
		Description: "Read the whole output of an earlier call, or the whole of what was piped in, of which only the beginning and the end were shown. " +
			"Up to 64 KiB come back at once, with the offset to read on from.",
		Schema: json.RawMessage(`{
			"type": "object",
			"properties": {
				"call": {"type": "string", "minLength": 1, "description": "the call's id, as its result names it: c-…; or the run's, as the stdin block names it: r-…"},
				"offset": {"type": "integer", "minimum": 0, "description": "first byte to read, from 0"},
				"limit": {"type": "integer", "minimum": 1, "description": "how many bytes to read"}
			},
			"required": ["call"],
			"additionalProperties": false
		}`),
	}
}

// Describe says that it only reads.
func (readOutput) Describe(string, json.RawMessage) tools.Traits {
	return tools.Traits{Effect: journal.EffectRead}
}

// Call reads a part of the output.
func (t readOutput) Call(ctx context.Context, c tools.Call) (journal.Result, error) {
	a, err := tools.Decode[outputArgs](c.Args)
	if err != nil {
		return tools.Failed(journal.AppliedNo, err)
	}
	r, size, err := t.outputs.Output(ctx, c.Run, a.Call)
	if err != nil {
		return tools.Failed(journal.AppliedNo, fmt.Errorf("find output of call %s: %w", a.Call, err))
	}
	if closer, ok := r.(io.Closer); ok {
		defer closer.Close() // it was only read from; nothing can be lost
	}
	if a.Offset >= size {
		return tools.Done(journal.AppliedNo, fmt.Sprintf("[the output has %d bytes; none from %d on]", size, a.Offset)), nil
	}
	want := min(size-a.Offset, excerpt.MaxContent)
	if a.Limit > 0 {
		want = min(want, a.Limit)
	}
	b := make([]byte, want)
	n, err := r.ReadAt(b, a.Offset)
	if err != nil && !(errors.Is(err, io.EOF) && int64(n) == want) {
		return tools.Failed(journal.AppliedNo, fmt.Errorf("read output of call %s: %w", a.Call, err))
	}
	end := a.Offset + want
	if end < size {
		b = excerpt.WholeRunes(b) // a rune at the cut comes whole with the next page
		end = a.Offset + int64(len(b))
	}
	text := excerpt.Valid(string(b))
	if end < size {
		text += fmt.Sprintf("\n[bytes %d to %d of %d; read on with offset %d]", a.Offset, end-1, size, end)
	} else if a.Offset > 0 {
		text += fmt.Sprintf("\n[bytes %d to %d, the end of the output]", a.Offset, size-1)
	}
	return tools.Done(journal.AppliedNo, text), nil
}
