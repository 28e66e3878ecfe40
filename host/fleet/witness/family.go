package witness

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	"agent/fleet/log"
	"agent/fleet/log/replay"
	"agent/fleet/seal"
	"agent/host/witness/line"
)

// family is a log with who asks for it. One request of it is answered at a time.
type family struct {
	*server
	root string
	held int // connections; for server.mu
	seal *seal.Sealer

	turn  chan struct{} // has one token, for whoever may use what is below
	state *replay.State // as far as it was read
}

func newFamily(s *server, root string) *family {
	f := &family{server: s, root: root, seal: s.key.Sealer(s.Namespace, root).With(&s.packers), turn: make(chan struct{}, 1), state: replay.NewState(root)}
	f.turn <- struct{}{}
	return f
}

// answer answers a request; false where the server ends.
func (f *family) answer(ctx context.Context, q line.Request) (line.Reply, bool) {
	select {
	case <-f.turn:
	case <-ctx.Done():
		return line.Reply{}, false
	}
	defer func() { f.turn <- struct{}{} }()
	begun := f.Now()
	r := f.decide(ctx, q)
	if f.On != nil {
		f.On(Event{
			Op: q.Op, Root: q.Root, Agent: q.Agent, Place: q.Place, Why: q.Why, Epoch: q.Epoch, Reply: r, Took: f.Now().Sub(begun),
		})
	}
	return r, ctx.Err() == nil
}

func (f *family) decide(ctx context.Context, q line.Request) line.Reply {
	if f.Allow != nil {
		if err := f.Allow(q.Root); err != nil {
			return line.Reply{Refused: err.Error()}
		}
	}
	if f.Hold != nil {
		if why := f.Hold(q); why != "" {
			return line.Reply{Later: why}
		}
	}
	if err := f.catchUp(ctx); err != nil {
		return f.failed(err)
	}
	if q.Op == line.Hello {
		f.reached(true)
		return line.Reply{OK: &line.OK{Place: f.state.Place, By: f.state.By, Runs: maps.Clone(f.state.Runs)}}
	}
	if len(q.Records) == 0 { // that would be a fence
		return line.Reply{Refused: "an append brings no fact"}
	}
	e := seal.Entry{By: f.By, Epoch: q.Epoch, At: f.Now().UTC(), Why: q.Why, Records: q.Records}
	if q.Place <= f.state.Place {
		f.reached(true)
		return f.taken(q.Place, e)
	}
	c, err := f.state.Check(q.Place, e)
	if err != nil {
		return f.unfit(err)
	}
	return f.create(ctx, c)
}

// within gives a request to the log its time.
func (f *family) within(ctx context.Context, do func(context.Context) error) error {
	ctx, stop := context.WithTimeoutCause(ctx, f.Timeout, fmt.Errorf("no answer within %s", f.Timeout))
	defer stop()
	err := do(ctx)
	if err != nil && errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("%w (%w)", context.Cause(ctx), err)
	}
	return err
}

func (f *family) catchUp(ctx context.Context) error {
	return f.within(ctx, func(ctx context.Context) error { return f.state.CatchUp(ctx, f.log, f.seal, nil) })
}

// create puts an entry into the log, at the place behind the last that was read.
func (f *family) create(ctx context.Context, c *replay.Change) line.Reply {
	place, e := c.Place, c.Entry
	data, err := f.seal.Seal(place, e)
	if err != nil {
		return line.Reply{Refused: err.Error()}
	}
	unknown := f.within(ctx, func(ctx context.Context) error { return f.log.Create(ctx, f.root, place, data) })
	if unknown == nil {
		f.reached(true)
		c.Apply(f.state)
		return line.Reply{OK: &line.OK{Place: place}}
	}
	// Whatever the error, what stands there now decides.
	if err := f.catchUp(ctx); err != nil {
		if errors.Is(unknown, log.ErrTaken) {
			return f.failed(err)
		}
		return f.failed(unknown)
	}
	if f.state.Place < place {
		return f.failed(unknown)
	}
	f.reached(true)
	return f.taken(place, e)
}

// taken answers where a place has an entry: it may be this one, whose answer got lost.
func (f *family) taken(place int64, e seal.Entry) line.Reply {
	if place == f.state.Place && f.state.Mine(e) {
		return line.Reply{OK: &line.OK{Place: place}}
	}
	return line.Reply{Fenced: f.state.Fenced()}
}

// unfit answers what cannot take the next place.
func (f *family) unfit(err error) line.Reply {
	if over := (*replay.EpochError)(nil); errors.As(err, &over) && f.state.Place > 0 && over.Epoch > 0 {
		return line.Reply{Fenced: f.state.Fenced()}
	}
	return line.Reply{Refused: err.Error()}
}

// failed answers where the log did not: what is damaged stays so.
func (f *family) failed(err error) line.Reply {
	var damage *seal.DamageError
	var foreign *seal.ForeignError
	if errors.As(err, &damage) || errors.As(err, &foreign) {
		return line.Reply{Refused: err.Error()}
	}
	since := f.reached(false)
	return line.Reply{Later: fmt.Sprintf("the log cannot be reached since %s: %v", since.UTC().Format(time.RFC3339), err)}
}
