package replay

import (
	"context"
	"errors"
	"fmt"

	"agent/fleet/log"
	"agent/fleet/seal"
)

// ahead is how many places are read at once.
const ahead = 8

// Each reads the entries of the places from..to, in order. A place without an entry is damage.
func Each(ctx context.Context, l log.Log, open *seal.Sealer, from, to int64, each func(place int64, e seal.Entry) error) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	type answer struct {
		entry seal.Entry
		err   error
	}
	read := func(place int64) chan answer {
		c := make(chan answer, 1)
		go func() {
			e, err := One(ctx, l, open, place)
			c <- answer{e, err}
		}()
		return c
	}
	var waiting []chan answer
	next := from
	for place := from; place <= to; place++ {
		for ; next <= to && next < place+ahead; next++ {
			waiting = append(waiting, read(next))
		}
		a := <-waiting[0]
		waiting = waiting[1:]
		if a.err != nil {
			return a.err
		}
		if err := each(place, a.entry); err != nil {
			return err
		}
	}
	return nil
}

// One reads the entry of a place that has one.
func One(ctx context.Context, l log.Log, open *seal.Sealer, place int64) (seal.Entry, error) {
	data, err := l.Read(ctx, open.Root(), place)
	if errors.Is(err, log.ErrNone) {
		return seal.Entry{}, &seal.DamageError{Root: open.Root(), Place: place, What: "it is missing, and later ones are there"}
	}
	if err != nil {
		return seal.Entry{}, fmt.Errorf("read place %d of the log of run %s: %w", place, open.Root(), err)
	}
	return open.Open(place, data)
}
