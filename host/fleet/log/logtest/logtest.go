// Package logtest says what a store of logs has to do, as checks that every store is run against.
package logtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"agent/fleet/log"
)

// Open opens the store that is checked as another host would: each call gives one that knows
// nothing of the others. What is opened is closed by the check.
type Open func(ctx context.Context, namespace string) (log.Log, error)

// Check is one thing that a store has to do.
type Check struct {
	Name string
	Run  func(ctx context.Context, open Open) error
}

// Run runs every check: writers race for so many places.
func Run(t *testing.T, places int, open Open) {
	t.Helper()
	for _, c := range Checks(places) {
		t.Run(c.Name, func(t *testing.T) {
			if err := c.Run(t.Context(), open); err != nil {
				t.Error(err)
			}
		})
	}
}

// Checks are all of them.
func Checks(places int) []Check {
	return []Check{
		{"one winner a place", func(ctx context.Context, open Open) error { return race(ctx, open, places) }},
		{"the first writers of a root", first},
		{"opened by many at once", opened},
		{"an entry stays", stays},
		{"what is not there", absent},
		{"places in order", order},
		{"roots", roots},
		{"namespaces", namespaces},
		{"nasty names", nasty},
		{"unknown is not taken", unknown},
	}
}

// with opens a store for a check.
func with(ctx context.Context, open Open, namespace string, do func(l log.Log) error) error {
	l, err := open(ctx, namespace)
	if err != nil {
		return err
	}
	return errors.Join(do(l), l.Close())
}

const writers = 4

// race has writers create the same places at the same moments.
func race(ctx context.Context, open Open, places int) error {
	var logs []log.Log
	for range writers {
		l, err := open(ctx, "race")
		if err != nil {
			return err
		}
		defer l.Close() // what it holds is read before
		logs = append(logs, l)
	}
	for place := int64(1); place <= int64(places); place++ {
		if err := raceFor(ctx, logs, "r-race", place); err != nil {
			return err
		}
	}
	last, err := logs[0].Last(ctx, "r-race")
	if err == nil && last != int64(places) {
		err = fmt.Errorf("the log ends with place %d, and %d were written", last, places)
	}
	return err
}

// raceFor has every writer create one place, and finds exactly one winner, whose entry is there.
func raceFor(ctx context.Context, logs []log.Log, root string, place int64) error {
	errs := make([]error, len(logs))
	start := make(chan struct{})
	var all sync.WaitGroup
	for i, l := range logs {
		all.Go(func() {
			<-start
			errs[i] = l.Create(ctx, root, place, entry(i, place))
		})
	}
	close(start)
	all.Wait()
	winner := -1
	for i, err := range errs {
		switch {
		case err == nil && winner >= 0:
			return fmt.Errorf("place %d: writers %d and %d both have it", place, winner, i)
		case err == nil:
			winner = i
		case !errors.Is(err, log.ErrTaken):
			return fmt.Errorf("place %d: writer %d: %w", place, i, err)
		}
	}
	if winner < 0 {
		return fmt.Errorf("place %d: nobody has it", place)
	}
	loser := logs[(winner+1)%len(logs)]
	return holds(ctx, loser, root, place, entry(winner, place))
}

func entry(writer int, place int64) []byte {
	return fmt.Appendf(nil, "writer %d, place %d, %s", writer, place, strings.Repeat("x", int(place%700)))
}

func holds(ctx context.Context, l log.Log, root string, place int64, want []byte) error {
	got, err := l.Read(ctx, root, place)
	if err == nil && !bytes.Equal(got, want) {
		err = fmt.Errorf("it holds %.60q and not %.60q", got, want)
	}
	if err != nil {
		return fmt.Errorf("root %s, place %d: %w", root, place, err)
	}
	return nil
}

// first has writers begin many logs at once: the root itself is new.
func first(ctx context.Context, open Open) error {
	for i := range 50 {
		var logs []log.Log
		for range writers {
			l, err := open(ctx, "first")
			if err != nil {
				return err
			}
			defer l.Close() // fifty times four are few
			logs = append(logs, l)
		}
		if err := raceFor(ctx, logs, fmt.Sprintf("r-%08d", i), 1); err != nil {
			return err
		}
		for _, l := range logs {
			if err := l.Close(); err != nil {
				return err
			}
		}
	}
	return nil
}

// opened has many hosts open a namespace that nobody has used, and write to it.
func opened(ctx context.Context, open Open) error {
	errs := make([]error, 8)
	var all sync.WaitGroup
	for i := range errs {
		all.Go(func() {
			errs[i] = with(ctx, open, "opened", func(l log.Log) error {
				return l.Create(ctx, fmt.Sprintf("r-opened%d", i), 1, []byte("x"))
			})
		})
	}
	all.Wait()
	return errors.Join(errs...)
}

// stays writes an entry twice: the second time it is taken, whatever it holds, and reads as before,
// also for who opens the store later.
func stays(ctx context.Context, open Open) error {
	large := bytes.Repeat([]byte{0, 1, 254, 255, '\n', '\\'}, 1<<20)
	for i, content := range [][]byte{[]byte("one"), {}, {0}, large} {
		root := fmt.Sprintf("r-stays%d", i)
		err := with(ctx, open, "stays", func(l log.Log) error {
			if err := l.Create(ctx, root, 1, content); err != nil {
				return err
			}
			for _, again := range [][]byte{content, []byte("other"), nil} {
				if err := l.Create(ctx, root, 1, again); !errors.Is(err, log.ErrTaken) {
					return fmt.Errorf("the place was taken, and creating it again gave: %v", err)
				}
			}
			return holds(ctx, l, root, 1, content)
		})
		if err == nil {
			err = with(ctx, open, "stays", func(l log.Log) error { return holds(ctx, l, root, 1, content) })
		}
		if err != nil {
			return fmt.Errorf("content %d: %w", i, err)
		}
	}
	return nil
}

func absent(ctx context.Context, open Open) error {
	return with(ctx, open, "absent", func(l log.Log) error {
		if last, err := l.Last(ctx, "r-none"); err != nil || last != 0 {
			return fmt.Errorf("the last place of what is not there is %d: %w", last, err)
		}
		if _, err := l.Read(ctx, "r-none", 1); !errors.Is(err, log.ErrNone) {
			return fmt.Errorf("reading what is not there gave: %v", err)
		}
		if err := l.Create(ctx, "r-some", 1, []byte("x")); err != nil {
			return err
		}
		if _, err := l.Read(ctx, "r-some", 2); !errors.Is(err, log.ErrNone) {
			return fmt.Errorf("reading behind the end gave: %v", err)
		}
		for _, place := range []int64{0, -1} {
			if err := l.Create(ctx, "r-some", place, []byte("x")); err == nil || errors.Is(err, log.ErrTaken) {
				return fmt.Errorf("creating place %d gave: %v", place, err)
			}
		}
		return nil
	})
}

// order has numbers counted as numbers.
func order(ctx context.Context, open Open) error {
	return with(ctx, open, "order", func(l log.Log) error {
		for _, place := range []int64{1, 2, 9, 10, 11, 100, 99_999_999, 100_000_000, 1 << 40} {
			if err := l.Create(ctx, "r-order", place, entry(1, place)); err != nil {
				return err
			}
			if last, err := l.Last(ctx, "r-order"); err != nil || last != place {
				return fmt.Errorf("the last place is %d and not %d: %w", last, place, err)
			}
			if err := holds(ctx, l, "r-order", place, entry(1, place)); err != nil {
				return err
			}
		}
		return nil
	})
}

func roots(ctx context.Context, open Open) error {
	want := []string{"r-0", "r-00", "r-0z", "r-9", "r-a", "r-a-b", "r-zz"}
	return with(ctx, open, "roots", func(l log.Log) error {
		none := l.Roots(ctx, func(root string) error { return fmt.Errorf("there is none, and %s was named", root) })
		if none != nil {
			return none
		}
		for _, root := range []string{"r-zz", "r-00", "r-a-b", "r-0", "r-a", "r-9", "r-0z"} {
			for place := int64(1); place <= 3; place++ {
				if err := l.Create(ctx, root, place, []byte("x")); err != nil {
					return err
				}
			}
		}
		var got []string
		err := l.Roots(ctx, func(root string) error {
			got = append(got, root)
			return nil
		})
		if err != nil || !slices.Equal(got, want) {
			return fmt.Errorf("the roots are %q and not %q: %w", got, want, err)
		}
		stop := errors.New("stop")
		if err := l.Roots(ctx, func(string) error { return stop }); !errors.Is(err, stop) {
			return fmt.Errorf("the error of who hears of roots became: %v", err)
		}
		return nil
	})
}

// namespaces do not see each other.
func namespaces(ctx context.Context, open Open) error {
	for _, name := range []string{"one", "two", "o", "One.2"} {
		err := with(ctx, open, name, func(l log.Log) error {
			if err := l.Create(ctx, "r-same", 1, []byte(name)); err != nil {
				return err
			}
			return holds(ctx, l, "r-same", 1, []byte(name))
		})
		if err != nil {
			return fmt.Errorf("namespace %s: %w", name, err)
		}
	}
	return nil
}

// nasty names are refused, and reach nothing.
func nasty(ctx context.Context, open Open) error {
	names := []string{
		"", ".", "..", "r-", "r-A", "r-a/b", "r-a/../../x", "../r-a", "/r-a", "r-a\x00", "r-a\n", "r-a ", "r-é", `r-a\b`, "r-'; drop table x; --",
		"r-" + strings.Repeat("a", 65), "t-abc", "r--",
	}
	return with(ctx, open, "nasty", func(l log.Log) error {
		for _, name := range names {
			err := l.Create(ctx, name, 1, []byte("x"))
			_, unread := l.Read(ctx, name, 1)
			_, unknown := l.Last(ctx, name)
			if err == nil || errors.Is(err, log.ErrTaken) || unread == nil || errors.Is(unread, log.ErrNone) || unknown == nil {
				return fmt.Errorf("root %q: create gave %v, read %v, last %v", name, err, unread, unknown)
			}
		}
		return l.Roots(ctx, func(root string) error { return fmt.Errorf("root %q is there", root) })
	})
}

// unknown has creations end in the middle: the answer is never that somebody else has the place,
// where nobody else wrote; and what was stored is there whole, or not at all.
func unknown(ctx context.Context, open Open) error {
	return with(ctx, open, "unknown", func(l log.Log) error {
		var stored atomic.Int64
		for i := range 200 {
			root := fmt.Sprintf("r-unknown%d", i)
			within, stop := context.WithTimeout(ctx, time.Duration(i)*20*time.Microsecond) // time: it ends anywhere, which is right wherever
			err := l.Create(within, root, 1, entry(i, 1))
			stop()
			if errors.Is(err, log.ErrTaken) {
				return fmt.Errorf("nobody else wrote, and the place is taken (round %d)", i)
			}
			unread := holds(ctx, l, root, 1, entry(i, 1))
			switch {
			case unread == nil:
				stored.Add(1)
			case err == nil || !errors.Is(unread, log.ErrNone):
				return fmt.Errorf("round %d: create gave %v, and then: %w", i, err, unread)
			}
			again := l.Create(ctx, root, 1, entry(i, 1))
			if unread == nil && !errors.Is(again, log.ErrTaken) {
				return fmt.Errorf("round %d: the entry was there, and creating it again gave: %v", i, again)
			}
			if again != nil && !errors.Is(again, log.ErrTaken) {
				return again
			}
			if err := holds(ctx, l, root, 1, entry(i, 1)); err != nil {
				return err
			}
		}
		return nil
	})
}
