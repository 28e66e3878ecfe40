package host

import (
	"time"

	"agent/db"
	"agent/recovery"
	"agent/recovery/journal"
)

// Carry says which interrupted runs go on without being asked for.
type Carry string

// What goes on.
const (
	CarryBackground Carry = "background" // what was handed over, and what the machine went down under
	CarryAll        Carry = "all"        // also what crashed in a terminal
	CarryNone       Carry = "none"
)

// carryFor is how old a run may be: what nobody missed for so long is not brought back.
const carryFor = 7 * 24 * time.Hour

// CarriesOn decides whether an interrupted run goes on by itself, and why. boot names the start of
// the machine, last is when the run was last driven. What a person stopped never does, nor what
// would stop again for the same reason: a key, a disk, a damaged record, resumes that bring nothing
// forward.
func CarriesOn(r db.RunRow, c Carry, boot string, last, now time.Time) (why string, ok bool) {
	if c == CarryNone || r.Status != recovery.StatusInterrupted || r.Fruitless >= MaxFruitless || now.Sub(last) > carryFor {
		return "", false
	}
	restarted := r.Boot != "" && boot != "" && r.Boot != boot
	switch r.Cause {
	case journal.CauseReboot:
		return "the machine was started again", true
	case journal.CauseCrash:
		return "its process died", r.Detached || c == CarryAll
	case journal.CauseShutdown:
		return "the machine was shut down", r.Detached && restarted
	case journal.CauseAnswered:
		return "its question was answered", r.Detached
	case journal.CauseExpired:
		return "nobody answered its question in time", r.Detached
	case journal.CauseWithdrawn:
		return "its question was withdrawn", r.Detached
	}
	return "", false
}

// Carried is a run that goes on by itself.
type Carried struct {
	db.RunRow
	Why string
}
