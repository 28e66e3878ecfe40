package command

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"hash"

	"agent/host/stream"
	"agent/recovery"
)

// followedCall is a call whose output comes from the live file, while its facts come from the journal. The two travel apart:
// output may come before the fact that started its call and after the one that settled it.
type followedCall struct {
	started bool
	settled bool
	early   []stream.Event // came before the start was shown
	size    int            // bytes of early
	shown   int64          // bytes of the output that were shown, from its beginning if nothing was missed
	missed  bool
	sum     hash.Hash // of what was shown
}

const (
	// mostEarly is how much output waits for the fact that starts its call, bytes.
	mostEarly = 1 << 20
	// mostRest is how large a whole output may be to have its end taken from the record, bytes.
	mostRest = 4 << 20
)

func (f *follower) call(p recovery.Place) *followedCall {
	c := f.calls[p]
	if c == nil {
		c = &followedCall{sum: sha256.New()}
		f.calls[p] = c
	}
	return c
}

// output shows a piece of a call's output, once: the process that resumes a run writes the output of a call that went on from
// its beginning.
func (f *follower) output(e stream.Event) {
	f.mu.Lock()
	defer f.mu.Unlock()
	c := f.call(*e.Call)
	switch {
	case c.settled:
	case c.started:
		f.piece(c, e)
	default:
		c.early, c.size = append(c.early, e), c.size+len(e.Output)
		for c.size > mostEarly && len(c.early) > 1 {
			c.size -= len(c.early[0].Output)
			c.early = c.early[1:]
		}
	}
}

// piece wants f.mu.
func (f *follower) piece(c *followedCall, e stream.Event) {
	if again := c.shown - e.At; again > 0 {
		e.Output = e.Output[min(again, int64(len(e.Output))):]
		e.At += again
	}
	if len(e.Output) == 0 {
		return
	}
	if e.At > c.shown {
		c.missed = true
		f.r.Take(stream.Event{Run: f.run, Call: e.Call})
	}
	c.shown = e.At + int64(len(e.Output))
	c.sum.Write(e.Output) // a hash returns no error
	f.r.Take(e)
}

// note takes in a fact that was shown: from its start on a call's output is shown, and behind its result no more.
func (f *follower) note(e recovery.Event) {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch b := e.Body.(type) {
	case recovery.CallStarted:
		c := f.call(b.Place)
		c.started = true
		for _, early := range c.early {
			f.piece(c, early)
		}
		c.early = nil
	case recovery.CallSettled:
		c := f.call(b.Place)
		c.settled, c.early = true, nil
	}
}

// finishOutput shows what is missing at the end of an output whose call has its result: the live file comes later than facts.
// It is taken from the record, where the output is there whole and begins with what was shown.
func (f *follower) finishOutput(ctx context.Context, b recovery.CallSettled) {
	f.mu.Lock()
	defer f.mu.Unlock()
	c := f.call(b.Place)
	var printed struct {
		Bytes, Kept int64
	}
	if c.settled || c.shown == 0 || c.missed || json.Unmarshal(b.Result.Data, &printed) != nil ||
		printed.Bytes > mostRest || printed.Kept != printed.Bytes {
		return // nothing is missing, or nothing whole is there: the result shows what is
	}
	whole, ok := f.recorded(ctx, b.Place, printed.Bytes)
	if !ok || int64(len(whole)) <= c.shown {
		return
	}
	begins := sha256.Sum256(whole[:c.shown])
	if string(begins[:]) == string(c.sum.Sum(nil)) {
		f.piece(c, stream.Event{Run: f.run, Call: &b.Place, At: c.shown, Output: whole[c.shown:]})
	}
}

// recorded is a call's whole output as the live file would have it: redacted as a stream.
func (f *follower) recorded(ctx context.Context, p recovery.Place, size int64) ([]byte, bool) {
	r, n, err := f.s.Store.TrueOutput(ctx, f.r.Known(f.run, p).ID)
	if err != nil || n < size {
		return nil, false // the result shows what there is
	}
	text := make([]byte, size)
	if n, err := r.ReadAt(text, 0); n < len(text) && err != nil {
		return nil, false // as above
	}
	clean := f.s.Store.NewCleaner()
	return append(clean.Piece(text), clean.Rest()...), true
}
