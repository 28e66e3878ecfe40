package fold

import (
	"iter"
	"math"
	"slices"

	"agent/recovery"
	"agent/recovery/journal"
)

// whole is the turn of a position behind all that a run said.
const whole = math.MaxInt

// Conversation is what was said up to a position: in its run and in those before it.
func (r Reader) Conversation(at journal.Position, read Reading) ([]journal.Message, error) {
	return r.upTo(&at, read)
}

// Line lists the positions that the conversation before a run goes through, the newest first: of
// each run its last turn that belongs to it. Runs that take others back are none of them.
func (r Reader) Line(c journal.RunCreated, read Reading) ([]journal.Position, error) {
	var out []journal.Position
	err := r.back(previous(c, recovery.StatusNone, whole), read, func(at journal.Position, s *recovery.State) bool {
		if at.Turn > 0 && s.Created.Rewind == nil {
			out = append(out, at)
		}
		return true
	})
	return out, err
}

// before is what was said before a run.
func (r Reader) before(c journal.RunCreated, read Reading) ([]journal.Message, error) {
	return r.upTo(previous(c, recovery.StatusNone, whole), read)
}

// upTo goes back from a position, run by run.
func (r Reader) upTo(at *journal.Position, read Reading) ([]journal.Message, error) {
	var parts [][]journal.Message
	err := r.back(at, read, func(at journal.Position, s *recovery.State) bool {
		if at.Turn == 0 || s.Created.Rewind != nil { // what a rewind does is nothing that was said
			return true
		}
		said, alone := s.Transcript()
		parts = append(parts, said)
		return !alone
	})
	if err != nil {
		return nil, err
	}
	slices.Reverse(parts)
	return slices.Concat(parts...), nil
}

// back goes back from a position, run by run, as long as it is wanted.
func (r Reader) back(at *journal.Position, read Reading, wanted func(journal.Position, *recovery.State) bool) error {
	for at != nil {
		s, err := r.through(*at, read)
		if err != nil {
			return err
		}
		if !wanted(*at, s) {
			break
		}
		at = previous(s.Created, s.Status, at.Turn)
	}
	return nil
}

// previous is where the conversation of a run goes on from, seen from one of its turns; nil where
// it begins. A rewind moves it once it has completed.
func previous(c journal.RunCreated, status recovery.Status, turn int) *journal.Position {
	if c.From != nil && (c.Rewind == nil || turn > 0 && status == recovery.StatusCompleted) {
		return c.From
	}
	if c.Previous == "" {
		return nil
	}
	return &journal.Position{Run: c.Previous, Turn: whole}
}

// through folds a run up to the end of a turn.
func (r Reader) through(at journal.Position, read Reading) (*recovery.State, error) {
	if at.Turn == whole {
		return r.Alone(at.Run, read)
	}
	return r.fold(at.Run, func(run string) iter.Seq2[journal.Event, error] {
		return func(yield func(journal.Event, error) bool) {
			for e, err := range read(run) {
				_, settled := e.Body.(journal.TurnSettled)
				if !yield(e, err) || err != nil || at.Turn == 0 || settled && e.Turn == at.Turn {
					return
				}
			}
		}
	}, nil)
}
