package recovery

import (
	"agent/recovery/journal"
	"time"
)

// Patience bounds how long a provider may be waited for before its next request; a longer wait is
// left to a person.
const Patience = 5 * time.Minute

// Retry says whether the same request is sent again after so many failures in a row, and after
// which wait. after is what the provider asked for, 0 when it did not. chance, from 0 up to 1,
// spreads the requests of many runs; the wait doubles from one second up to a minute, of which
// chance takes off up to a quarter.
func Retry(f journal.Fault, tries int, after time.Duration, chance float64) (wait time.Duration, again bool) {
	most := 0
	switch f {
	case journal.FaultRateLimit, journal.FaultOverloaded, journal.FaultServer:
		most = 8
	case journal.FaultNetwork, journal.FaultStalled, journal.FaultCut:
		most = 5
	case journal.FaultGarbage, journal.FaultTooLarge:
		most = 2
	}
	if tries >= most || after > Patience {
		return 0, false
	}
	wait = min(time.Minute, time.Second<<min(tries-1, 6))
	wait -= time.Duration(chance * float64(wait) / 4)
	return max(wait, after), true
}
