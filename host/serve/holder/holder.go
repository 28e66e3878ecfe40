// Package holder says which process has a port, as far as the kernel shows that to this user. It is
// for messages alone: the process may be another one by the time that it is named.
package holder

import (
	"fmt"
	"strconv"
	"strings"
)

// Holder is who listens on a port. What is not known is zero.
type Holder struct {
	PID   int
	Name  string // of its program
	User  string // number of the user whose process it is, where that is another one
	State string // the state folder that it serves, where it is an agent that does
}

// String names the process in the middle of a sentence.
func (h Holder) String() string {
	switch {
	case h.State != "":
		return fmt.Sprintf("process %d, which serves the state folder %s,", h.PID, h.State)
	case h.PID != 0:
		return fmt.Sprintf("process %d (%s)", h.PID, plain(h.Name))
	case h.User != "":
		return "a process of user " + h.User
	}
	return "another process"
}

// plain is a name without what a terminal would obey: a process names itself.
func plain(name string) string {
	return strings.Map(func(r rune) rune {
		if strconv.IsPrint(r) {
			return r
		}
		return '?'
	}, name)
}
