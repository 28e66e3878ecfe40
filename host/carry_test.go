package host

import (
	"testing"
	"time"

	"agent/db"
	"agent/recovery"
	"agent/recovery/journal"
)

// Which interrupted runs go on by themselves: each row of the policy, with what decides it changed
// one by one. // windows 7, promises 11 and 12
func TestCarriesOn(t *testing.T) {
	now := time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
	const hour = time.Hour
	type run struct {
		detached bool
		cause    journal.Cause
		boot     string
		tries    int
		ago      time.Duration
	}
	for name, c := range map[string]struct {
		run  run
		want map[Carry]bool
	}{
		"background, crash":               {run{true, journal.CauseCrash, "now", 0, hour}, map[Carry]bool{CarryBackground: true, CarryAll: true}},
		"background, SIGTERM":             {run{true, journal.CauseShutdown, "now", 0, hour}, nil},
		"background, machine shut down":   {run{true, journal.CauseShutdown, "before", 0, hour}, map[Carry]bool{CarryBackground: true, CarryAll: true}},
		"background, answered":            {run{true, journal.CauseAnswered, "now", 0, hour}, map[Carry]bool{CarryBackground: true, CarryAll: true}},
		"background, expired":             {run{true, journal.CauseExpired, "now", 0, hour}, map[Carry]bool{CarryBackground: true, CarryAll: true}},
		"background, withdrawn":           {run{true, journal.CauseWithdrawn, "now", 0, hour}, map[Carry]bool{CarryBackground: true, CarryAll: true}},
		"background, reboot":              {run{true, journal.CauseReboot, "before", 0, hour}, map[Carry]bool{CarryBackground: true, CarryAll: true}},
		"terminal, reboot":                {run{false, journal.CauseReboot, "before", 0, hour}, map[Carry]bool{CarryBackground: true, CarryAll: true}},
		"terminal, crash":                 {run{false, journal.CauseCrash, "now", 0, hour}, map[Carry]bool{CarryAll: true}},
		"terminal, Ctrl-C":                {run{false, journal.CauseShutdown, "now", 0, hour}, nil},
		"terminal, Ctrl-C before a boot":  {run{false, journal.CauseShutdown, "before", 0, hour}, nil},
		"terminal, answered":              {run{false, journal.CauseAnswered, "now", 0, hour}, nil},
		"background, model":               {run{true, journal.CauseModel, "now", 0, hour}, nil},
		"background, store":               {run{true, journal.CauseFailing, "now", 0, hour}, nil},
		"background, corrupt":             {run{true, journal.CauseCorrupt, "now", 0, hour}, nil},
		"background, takeover":            {run{true, journal.CauseTakeover, "now", 0, hour}, nil},
		"background, restored":            {run{true, journal.CauseRestored, "now", 0, hour}, nil},
		"background, two without success": {run{true, journal.CauseCrash, "now", MaxFruitless - 1, hour}, map[Carry]bool{CarryBackground: true, CarryAll: true}},
		"background, left alone":          {run{true, journal.CauseCrash, "now", MaxFruitless, hour}, nil},
		"background, of last week":        {run{true, journal.CauseReboot, "before", 0, 7*24*hour + 1}, nil},
		"background, nearly":              {run{true, journal.CauseReboot, "before", 0, 7 * 24 * hour}, map[Carry]bool{CarryBackground: true, CarryAll: true}},
	} {
		row := db.RunRow{Status: recovery.StatusInterrupted, Detached: c.run.detached, Cause: c.run.cause, Boot: c.run.boot, Fruitless: c.run.tries}
		for _, how := range []Carry{CarryBackground, CarryAll, CarryNone} {
			why, ok := CarriesOn(row, how, "now", now.Add(-c.run.ago), now)
			if ok != c.want[how] || ok && why == "" {
				t.Errorf("%s, %s: %v (%q)", name, how, ok, why)
			}
		}
		for _, s := range []recovery.Status{recovery.StatusRunning, recovery.StatusWaiting, recovery.StatusCompleted, recovery.StatusFailed, recovery.StatusCancelled} {
			row.Status = s
			if _, ok := CarriesOn(row, CarryAll, "now", now, now); ok {
				t.Errorf("%s, %s: it goes on", name, s)
			}
		}
	}
}
