package replay

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"agent/fleet/log"
	"agent/fleet/seal"
	"agent/host/witness/line"
)

// Fence takes the next place of a log with an entry without records, so that whoever drives the
// run can start nothing more. It gives that place. After an error nobody knows whether the host is
// fenced: fence again, which does no harm where it was.
func Fence(ctx context.Context, l log.Log, k seal.Key, namespace, root, by, why string) (line.Fenced, error) {
	f, err := fence(ctx, l, k.Sealer(namespace, root), seal.Entry{By: by, Why: why})
	if err != nil {
		return f, fmt.Errorf("fence run %s: %w", root, err)
	}
	return f, nil
}

// End fences a run for good: no host goes on with it any more, whatever epoch it claims.
func End(ctx context.Context, l log.Log, k seal.Key, namespace, root, by, why string) (line.Fenced, error) {
	f, err := fence(ctx, l, k.Sealer(namespace, root), seal.Entry{By: by, Why: why, Over: true})
	if err != nil {
		return f, fmt.Errorf("end run %s in its log: %w", root, err)
	}
	return f, nil
}

// fence appends an entry without records.
func fence(ctx context.Context, l log.Log, s *seal.Sealer, e seal.Entry) (f line.Fenced, err error) {
	for {
		place, err := l.Last(ctx, s.Root())
		if err != nil {
			return f, err
		}
		epoch := int64(0)
		if place > 0 {
			last, err := One(ctx, l, s, place)
			if err != nil {
				return f, err
			}
			epoch = last.Epoch
		}
		e.Epoch, e.At = epoch+1, time.Now().UTC()
		f = line.Fenced{Place: place + 1, By: e.By, Epoch: e.Epoch, At: e.At}
		data, err := s.Seal(f.Place, e)
		if err != nil {
			return f, err
		}
		err = l.Create(ctx, s.Root(), f.Place, data)
		if err == nil {
			return f, nil
		}
		there, unread := l.Read(ctx, s.Root(), f.Place)
		switch {
		case unread == nil && bytes.Equal(there, data): // the seal is unlike any other
			return f, nil
		case unread == nil: // somebody was faster
		case !errors.Is(unread, log.ErrNone):
			return f, errors.Join(err, unread)
		default:
			return f, err
		}
	}
}
