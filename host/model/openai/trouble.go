package openai

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"agent/host/model/transport"
	"agent/recovery/journal"
)

// trouble is an error inside a stream that began as a success: an object as in a refusal, or a bare
// text. Its code may be a word or the HTTP status as a number.
type trouble struct{ raw json.RawMessage }

// UnmarshalJSON reads null, and what says nothing, as no error.
func (t *trouble) UnmarshalJSON(data []byte) error {
	t.raw = nil
	switch string(data) {
	case "null", "{}", `""`, "false":
	default:
		t.raw = bytes.Clone(data)
	}
	return nil
}

func (t *trouble) there() bool { return t.raw != nil }

func (t *trouble) Error() string { return string(t.raw) }

// filtered says whether the provider will not answer because of what was said, which no retry
// fixes.
func (t *trouble) filtered() bool {
	var o struct {
		Code string `json:"code"`
	}
	return decode(t.raw, &o) == nil && (strings.HasSuffix(o.Code, "_policy") || strings.HasSuffix(o.Code, "_policy_violation"))
}

// broken is the error of an answer that began, with the provider's own words.
func (c *client) broken(err error, header http.Header) error {
	e := transport.Explain(err, true)
	if t, ok := errors.AsType[*trouble](err); ok {
		e = transport.Status(http.StatusOK, header, fmt.Appendf(nil, `{"error":%s}`, t.raw), c.secrets())
		if t.filtered() {
			e.Fault = journal.FaultFiltered
		}
		e.Began = true
	}
	return e
}

func (c *client) secrets() []string {
	if c.o.Secrets == nil {
		return nil
	}
	return c.o.Secrets()
}

// told is the error as it is handed on: ctx's own where it ended, else with what a person can do.
func (c *client) told(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	e := transport.Explain(err, false)
	if e.Remedy == "" && c.o.Remedy != nil {
		e.Remedy = c.o.Remedy(e.Fault)
	}
	return e
}
