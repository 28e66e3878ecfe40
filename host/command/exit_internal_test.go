package command

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"agent/host"
	"agent/host/terminal"
	"agent/host/view"
)

// A signal that ends a command on its way is said as such, whatever layer noticed it; an error of
// another kind is kept.
func TestStoppedBySignal(t *testing.T) {
	signalled := fmt.Errorf("%w by terminated", host.ErrShutdown)
	for _, c := range []struct {
		name string
		told error
		err  error
		want string
	}{
		{"as a value", signalled, fmt.Errorf("read runs: %w", context.Canceled), "agent: stopped by signal before it was done (asked to stop by terminated)\n"},
		{"as a text", signalled, fmt.Errorf("read runs: %v", context.Canceled), "agent: stopped by signal before it was done (asked to stop by terminated)\n"},
		{"another error", signalled, errors.New("the disk is full"), "agent: the disk is full\n"},
		{"no signal", nil, fmt.Errorf("ask model m: %w", context.Canceled), "agent: ask model m: context canceled\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var out strings.Builder
			a := newCommandLine(IO{Terminal: terminal.Terminal{Err: &out}})
			a.told = func() error { return c.told }
			if code := a.exit(c.err); code != view.ExitFailed || out.String() != c.want {
				t.Errorf("exit %d: %s", code, out.String())
			}
		})
	}
}
