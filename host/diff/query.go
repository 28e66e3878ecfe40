package diff

import (
	"context"
	"fmt"
	"math"
	"net/url"
	"strconv"

	"agent/host/drive"
	"agent/host/undo"
	"agent/host/view"
)

// ParameterError says that a part of a question cannot be taken.
type ParameterError struct{ Name, Why string }

func (e *ParameterError) Error() string { return fmt.Sprintf("parameter %q: %s", e.Name, e.Why) }

// Answer is the diff that is asked for with the parameters from, to, path, all and stat.
func Answer(ctx context.Context, p *drive.Process, run string, values url.Values) (v view.Diff, err error) {
	r, b, err := asked(run, values)
	if err != nil {
		return v, err
	}
	d, err := Read(ctx, p, r)
	if err != nil {
		return v, err
	}
	return d.Bounded(ctx, b)
}

// asked is the request that the parameters make, with its bounds.
func asked(run string, values url.Values) (r Request, b Bounds, err error) {
	r = Request{Run: run, To: undo.ToEnd, Paths: values["path"]}
	b = Bounds{Files: 1000, File: 512 << 10, Bytes: 2 << 20}
	for name, to := range map[string]*int{"from": &r.From, "to": &r.To} {
		if text := values.Get(name); text != "" {
			n, err := strconv.Atoi(text)
			if err != nil || n < 0 || n > math.MaxInt32 {
				return r, b, &ParameterError{name, "it is the number of a turn, or 0, which is before the run"}
			}
			*to = n
		}
	}
	if r.To < r.From {
		return r, b, &ParameterError{"to", "it is before from"}
	}
	for name, to := range map[string]*bool{"all": &r.All, "stat": &b.Stat} {
		text := values.Get(name)
		if *to = text == "true"; text != "" && text != "true" && text != "false" {
			return r, b, &ParameterError{name, "it is true or false"}
		}
	}
	return r, b, nil
}
