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
	f, err := fence(ctx, l, k.Sealer(namespace, root), by, why)
	if err != nil {
		return f, fmt.Errorf("fence run %s: %w", root, err)
	}
	return f, nil
}

func fence(ctx context.Context, l log.Log, s *seal.Sealer, by, why string) (f line.Fenced, err error) {
	for {
		place, err := l.Last(ctx, s.Root())
		if err != nil {
			return f, err
		}
		epoch := int64(0)
		if place > 0 {
			e, err := One(ctx, l, s, place)
			if err != nil {
				return f, err
			}
			epoch = e.Epoch
		}
		f = line.Fenced{Place: place + 1, By: by, Epoch: epoch + 1, At: time.Now().UTC()}
		data, err := s.Seal(f.Place, seal.Entry{By: by, Epoch: f.Epoch, At: f.At, Why: why})
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
