//go:build linux

package main

import (
	"errors"
	"testing"
)

// A count is tried again where strace failed, and where anything else did it is not.
func TestCounted(t *testing.T) {
	lost := errors.New("drive a flow: exit status 1\nstrace: ptrace(PTRACE_LISTEN,pid:7,sig:0): Input/output error")
	for _, c := range []struct {
		fails []error
		tries int
		err   bool
	}{
		{nil, 1, false},
		{[]error{lost, lost}, 3, false},
		{[]error{lost, lost, lost}, 3, true},
		{[]error{errors.New("drive a flow: exit status 1")}, 1, true},
	} {
		tries := 0
		n, err := counted(func() (int, error) {
			tries++
			if tries <= len(c.fails) {
				return 0, c.fails[tries-1]
			}
			return 5, nil
		})
		if tries != c.tries || (err != nil) != c.err || err == nil && n != 5 {
			t.Errorf("%v: %d after %d tries, %v", c.fails, n, tries, err)
		}
	}
}
