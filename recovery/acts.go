package recovery

import (
	"agent/recovery/journal"
	"encoding/json"
	"slices"
)

// Acts is what of a call acts, in a form in which two calls of a tool can be compared although
// their arguments are spelled differently. Whoever knows the tools makes it (State.Acting); the
// zero value is like no other.
type Acts struct {
	Text     string    // the arguments with defaults filled in, without limits, in one spelling
	Commands []Command // of a shell call: its simple commands; none where the script cannot be read
	// Opaque is why it cannot be seen what a shell call runs, which may then do again what any
	// other did; "" where it can.
	Opaque string
}

// Command is one simple command of a script.
type Command struct {
	Names []string // each form that it may be known by: two commands with a form in common are alike
	Idle  bool     // it changes nothing by itself, such as echo or a cd
}

// Repeats says whether a call that acts like a does again what the first one does: the same, or all
// of its commands among others.
func (a Acts) Repeats(first Acts) bool {
	if a.Text != "" && a.Text == first.Text {
		return true
	}
	commands := slices.DeleteFunc(slices.Clone(first.Commands), func(c Command) bool { return c.Idle })
	if len(commands) == 0 {
		commands = first.Commands
	}
	for _, c := range commands {
		if !slices.ContainsFunc(a.Commands, c.like) {
			return false
		}
	}
	return len(commands) > 0
}

func (c Command) like(d Command) bool {
	return slices.ContainsFunc(c.Names, func(name string) bool { return slices.Contains(d.Names, name) })
}

// comparison says whether a call would do again what an earlier one may have done.
type comparison func(first *journal.Unknown) bool

// exactly compares a call by its fingerprint, and with what nobody resolved only: what a journal
// may hold is decided by the journal alone, also by a binary that knows other tools or other
// spellings than the one that wrote it.
func exactly(c *Call) comparison {
	return func(u *journal.Unknown) bool {
		return u.Resolved != journal.WordHappened && u.Tool == c.Tool && u.Fingerprint == c.Fingerprint
	}
}

// acting compares a call by what acts. Without an earlier call of the same tool it costs nothing.
func (s guard) acting(c *Call) comparison {
	var mine *Acts
	return func(u *journal.Unknown) bool {
		switch {
		case u.Tool != c.Tool:
			return false
		case u.Fingerprint == c.Fingerprint:
			return true
		case s.Acting == nil:
			return false
		}
		if mine == nil {
			a := s.acts(c.Tool, c.Args)
			mine = &a
		}
		return mine.Opaque != "" && c.Effect != journal.EffectRead || mine.Repeats(s.acts(u.Tool, u.Args))
	}
}

func (s guard) acts(tool string, args json.RawMessage) Acts {
	return s.Acting(tool, args, s.Created.Folder)
}

// covers says whether the earlier call did all that the call would do, and not only a part of it.
func (s guard) covers(u journal.Unknown, c *Call) bool {
	if u.Fingerprint == c.Fingerprint || s.Acting == nil {
		return true
	}
	return s.acts(u.Tool, u.Args).Repeats(s.acts(c.Tool, c.Args))
}
