package db

import (
	"fmt"

	"agent/recovery/journal"
)

// kindNames says under which number a kind of fact is stored. A number is never changed and never
// used again. It is read only.
var kindNames = [...]journal.Kind{
	1:  journal.KindRunCreated,
	2:  journal.KindRunClaimed,
	3:  journal.KindRunInterrupted,
	4:  journal.KindRunNoted,
	5:  journal.KindRunStopping,
	6:  journal.KindRunCompleted,
	7:  journal.KindRunFailed,
	8:  journal.KindRunCancelled,
	9:  journal.KindModelRequested,
	10: journal.KindModelAnswered,
	11: journal.KindCallJudged,
	12: journal.KindCallStarted,
	13: journal.KindCallSettled,
	14: journal.KindCallResolved,
	15: journal.KindApprovalVoided,
	16: journal.KindRequestOpened,
	17: journal.KindRequestAnswered,
	18: journal.KindRequestClosed,
	19: journal.KindTurnSettled,
	20: journal.KindModelFailed,
	21: journal.KindCompacted,
	22: journal.KindMessageAdded,
	23: journal.KindPhaseStarted,
	24: journal.KindPhaseEnded,
	25: journal.KindArtifactsChecked,
	26: journal.KindArtifactRestored,
	27: journal.KindPhaseRewound,
	28: journal.KindRunParked,
	29: journal.KindFilesBase,
	30: journal.KindFilesChanged,
	31: journal.KindCommitSeen,
	32: journal.KindRunRestored,
	33: journal.KindRunExported,
	34: journal.KindWorkspaceBehind,
}

func numberOf(k journal.Kind) (int64, error) {
	for n, name := range kindNames {
		if name == k && name != "" {
			return int64(n), nil
		}
	}
	return 0, fmt.Errorf("kind %q has no number in the journal", k)
}

// KindOf is the kind that is stored under a number.
func KindOf(number int64) (journal.Kind, error) {
	if number < 1 || number >= int64(len(kindNames)) || kindNames[number] == "" {
		return "", &journal.UnknownFactError{What: fmt.Sprintf("a fact of kind number %d is not known to this binary", number)}
	}
	return kindNames[number], nil
}
