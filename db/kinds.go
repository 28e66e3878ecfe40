package db

import (
	"fmt"

	"agent/recovery"
)

// kindNames says under which number a kind of fact is stored. A number is never changed and never used again.
// It is read only.
var kindNames = [...]recovery.Kind{
	1:  recovery.KindRunCreated,
	2:  recovery.KindRunClaimed,
	3:  recovery.KindRunInterrupted,
	4:  recovery.KindRunNoted,
	5:  recovery.KindRunStopping,
	6:  recovery.KindRunCompleted,
	7:  recovery.KindRunFailed,
	8:  recovery.KindRunCancelled,
	9:  recovery.KindModelRequested,
	10: recovery.KindModelAnswered,
	11: recovery.KindCallJudged,
	12: recovery.KindCallStarted,
	13: recovery.KindCallSettled,
	14: recovery.KindCallResolved,
	15: recovery.KindApprovalVoided,
	16: recovery.KindRequestOpened,
	17: recovery.KindRequestAnswered,
	18: recovery.KindRequestClosed,
	19: recovery.KindTurnSettled,
	20: recovery.KindModelFailed,
	21: recovery.KindCompacted,
	22: recovery.KindMessageAdded,
	32: recovery.KindRunRestored,
}

func numberOf(k recovery.Kind) (int64, error) {
	for n, name := range kindNames {
		if name == k && name != "" {
			return int64(n), nil
		}
	}
	return 0, fmt.Errorf("kind %q has no number in the journal", k)
}

func kindOf(number int64) (recovery.Kind, error) {
	if number < 1 || number >= int64(len(kindNames)) || kindNames[number] == "" {
		return "", &recovery.UnknownFactError{What: fmt.Sprintf("a fact of kind number %d is not known to this binary", number)}
	}
	return kindNames[number], nil
}
