package follow

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"hash"

	"agent/host/stream"
	"agent/host/watch"
	"agent/recovery/journal"
)

// followedCall is a call whose output was shown while it ran.
type followedCall struct {
	shown  int64     // bytes of the output that were shown, from its beginning if nothing was missed
	missed bool      // some of it was too much for the live file
	sum    hash.Hash // of what was shown
}

// mostRest is how large a whole output may be to have its end taken from the record, bytes.
const mostRest = 4 << 20

// output shows a piece of a call's output, once, and says where some is missing.
func (f *Follower) output(l *watch.Frame) {
	c := f.calls[l.Call]
	if c == nil {
		c = &followedCall{sum: sha256.New()}
		f.calls[l.Call] = c
	}
	f.piece(c, l.Call, l.Offset, l.Data)
}

func (f *Follower) piece(c *followedCall, p journal.Place, at int64, data []byte) {
	if again := c.shown - at; again > 0 {
		data = data[min(again, int64(len(data))):]
		at += again
	}
	if len(data) == 0 {
		return
	}
	if at > c.shown {
		c.missed = true
		f.r.Take(stream.Event{Run: f.run, Call: &p})
	}
	c.shown = at + int64(len(data))
	c.sum.Write(data) // a hash returns no error
	f.r.Take(stream.Event{Run: f.run, Call: &p, At: at, Output: data})
}

// finishOutput shows what is missing at the end of an output whose call has its result: the live
// file comes later than facts. It is taken from the record, where the output is there whole and
// begins with what was shown.
func (f *Follower) finishOutput(ctx context.Context, b journal.CallSettled) {
	c := f.calls[b.Place]
	delete(f.calls, b.Place)
	var printed struct {
		Bytes, Kept int64
	}
	if c == nil || c.shown == 0 || c.missed || json.Unmarshal(b.Result.Data, &printed) != nil ||
		printed.Bytes > mostRest || printed.Kept != printed.Bytes {
		return // nothing is missing, or nothing whole is there: the result shows what is
	}
	whole, ok := f.recorded(ctx, b.Place)
	if !ok || int64(len(whole)) <= c.shown {
		return
	}
	begins := sha256.Sum256(whole[:c.shown])
	if string(begins[:]) == string(c.sum.Sum(nil)) {
		f.piece(c, b.Place, c.shown, whole[c.shown:])
	}
}

// recorded is a call's whole output as it is stored, which is what the live file has: with
// placeholders for secrets. To clean the output anew would show what only the process that drove
// the run knew to be secret.
func (f *Follower) recorded(ctx context.Context, p journal.Place) ([]byte, bool) {
	r, n, err := f.s.Store.Output(ctx, f.r.Known(f.run, p).ID)
	if err != nil || n > mostRest {
		return nil, false // the result shows what there is
	}
	text := make([]byte, n)
	if n, err := r.ReadAt(text, 0); n < len(text) && err != nil {
		return nil, false // as above
	}
	return text, true
}
