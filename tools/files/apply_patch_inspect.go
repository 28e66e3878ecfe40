package files

import (
	"context"
	"fmt"
	"strings"

	"agent/recovery"
	"agent/recovery/journal"
	"agent/tools"
)

// changeState is what is to be seen of one change.
type changeState int

const (
	stateOdd changeState = iota // neither, or it cannot be determined
	stateOld                    // untouched
	stateNew                    // as it is to be
)

// stateOf compares what is there with what was there and what is to be there.
func (ch change) stateOf(now seen) (changeState, string) {
	was := ch.Before
	untouched := was.Exists && now.Exists && now.Hash == was.Hash && now.Inode == was.Inode && now.Ctime == was.Ctime && was.Inode != 0
	switch {
	case untouched:
		return stateOld, ch.Path + " is exactly as it was before"
	case ch.Gone && !now.Exists:
		return stateNew, ch.Path + " is gone"
	case !ch.Gone && !was.Exists && !now.Exists:
		return stateOld, ch.Path + " is still not there"
	case !ch.Gone && now.Exists && now.Hash == ch.After && now.Mode&0o100 != 0 == ch.Exec:
		return stateNew, ch.Path + " is as the patch makes it"
	case !now.Exists:
		return stateOdd, ch.Path + " was there and is gone"
	case was.Exists && now.Hash == was.Hash:
		return stateOdd, ch.Path + " holds its old content, but was touched since: it may have been put back"
	}
	return stateOdd, ch.Path + " is neither as it was before nor as the patch makes it"
}

// survey is what is to be seen of a patch.
type survey struct {
	changes []change
	states  []changeState
	whys    []string
}

// survey looks at every path of a patch and changes nothing.
func (w *Workspace) survey(changes []change) survey {
	v := survey{changes: changes}
	for _, ch := range changes {
		state, why := w.lookAt(ch)
		v.states, v.whys = append(v.states, state), append(v.whys, why)
	}
	return v
}

func (w *Workspace) lookAt(ch change) (changeState, string) {
	s, err := w.Find(ch.Path)
	if err != nil {
		return stateOdd, err.Error()
	}
	defer s.Close()
	if s.Rel != ch.Path {
		return stateOdd, fmt.Sprintf("%s leads to %s now", ch.Path, s.Rel)
	}
	now, _, err := s.look(0)
	if err != nil {
		return stateOdd, err.Error()
	}
	state, why := ch.stateOf(now)
	if !now.Exists && state != stateOdd {
		if err := w.sameFolder(ch.evidence); err != nil {
			return stateOdd, err.Error()
		}
	}
	return state, why
}

func (v survey) count(want changeState) int {
	n := 0
	for _, s := range v.states {
		if s == want {
			n++
		}
	}
	return n
}

// provable says whether each path is as it was before or as it is to be, in an order that this tool
// leaves: nothing is deleted before everything else is in place.
func (v survey) provable() bool {
	if len(v.states) == 0 || v.count(stateOdd) > 0 {
		return false
	}
	waits := false
	for i, ch := range v.changes {
		waits = waits || !ch.Gone && v.states[i] == stateOld
	}
	for i, ch := range v.changes {
		if waits && ch.Gone && v.states[i] == stateNew {
			return false
		}
	}
	return true
}

// Inspect looks at each file of an unsettled patch.
func (t applyPatch) Inspect(_ context.Context, c tools.Call) recovery.Inspection {
	unclear := func(why string) recovery.Inspection {
		return recovery.Inspection{Answer: recovery.InspectionUnclear, Why: why}
	}
	changes, err := tools.Decode[[]change](c.Before)
	if err != nil || len(changes) == 0 {
		return unclear("nothing is recorded of what was there before")
	}
	w, err := OpenWorkspace(c.Folder, t.denied)
	if err != nil {
		return unclear(err.Error())
	}
	defer w.Close()
	v := w.survey(changes)
	all := strings.Join(v.whys, "; ")
	switch {
	case !v.provable():
		return unclear(all)
	case v.count(stateOld) == 0:
		r := patchResult(changes, journal.HowVerified)
		return recovery.Inspection{Answer: recovery.InspectionHappened, Result: &r, Why: all}
	case v.count(stateNew) == 0:
		return recovery.Inspection{Answer: recovery.InspectionNotHappened, Why: all}
	}
	return recovery.Inspection{
		Answer: recovery.InspectionNotHappened,
		Why:    fmt.Sprintf("%d of %d changes are done and the others are not begun, so only those are left to do: %s", v.count(stateNew), len(changes), all),
	}
}
