package moves

import (
	"context"
	"errors"
	"fmt"

	"agent/db"
	"agent/db/moves"
	"agent/host"
	"agent/host/app"
	"agent/host/owner"
	"agent/host/pack"
	"agent/host/view"
	"agent/recovery"
	"agent/recovery/journal"
	"agent/tools/ofd"
)

// leaving is a thread that goes, whose runs nobody drives meanwhile.
type leaving struct {
	sel    moves.Selection
	header pack.Header
	locks  []*ofd.File
	flying []view.CallAt // calls without a result
}

func (m *leaving) close() error {
	var err error
	for _, l := range m.locks {
		err = errors.Join(err, l.Close())
	}
	m.locks = nil
	return err
}

// leave marks the runs of a selection as gone to another store. Those that had gone there before
// stay as they are, and so does the id of their pack.
func leave(ctx context.Context, s *app.Folder, sel moves.Selection, h pack.Header, to *pack.Address) (m *leaving, err error) {
	m = &leaving{sel: sel, header: h}
	defer func() {
		if err != nil {
			err = errors.Join(err, m.close())
		}
	}()
	if err := s.Store.MayDrive(ctx); err != nil {
		return m, fmt.Errorf("export thread %s: %w", sel.Thread, err)
	}
	if to.Store == h.From {
		return m, fmt.Errorf("export thread %s: it is in this store, and cannot move to where it is", sel.Thread)
	}
	if err := m.lock(s); err != nil {
		return m, err
	}
	states, err := m.states(ctx, s)
	if err != nil {
		return m, err
	}
	if err := m.mayGo(ctx, s, states, to); err != nil {
		return m, err
	}
	before, err := db.CustodyOf(ctx, s.Store, sel.Thread)
	if err != nil {
		return m, err
	}
	if err := db.SetCustody(ctx, s.Store, sel.Thread, db.Custody{Word: db.Moved, Store: to.Store, At: s.Host.Now()}); err != nil {
		return m, err
	}
	now, err := moves.Select(ctx, s.Store, sel.Runs[len(sel.Runs)-1].ID)
	if err == nil && len(now.Runs) != len(sel.Runs) { // it would be asked before it acts, which nobody wants
		err = errors.Join(fmt.Errorf("export thread %s: another run has just begun in it; try again when that has ended", sel.Thread), db.SetCustody(ctx, s.Store, sel.Thread, before))
	}
	if err != nil {
		return m, err
	}
	for i, r := range sel.Runs {
		if states[i] == nil {
			continue
		}
		if err := m.mark(ctx, s, r.ID, states[i], to); err != nil {
			return m, err
		}
	}
	m.sel, err = moves.Select(ctx, s.Store, sel.Runs[len(sel.Runs)-1].ID)
	return m, err
}

// goes says whether a run has to be marked.
func goes(r moves.Run) bool { return !r.Source && !r.Status.Terminal() }

// lock takes the locks of the roots that have not ended: without it nobody drives any run below.
func (m *leaving) lock(s *app.Folder) error {
	for _, r := range m.sel.Runs {
		if !goes(r) || r.Root != "" {
			continue
		}
		lock, err := s.Locks().Take(r.ID)
		var held *owner.HeldError
		if errors.As(err, &held) {
			return fmt.Errorf("export run %s: %s drives it now; stop that first (Ctrl-C in its terminal, or kill %d: it can be resumed), then export it again", r.ID, held.Holder, held.Holder.PID)
		}
		if err != nil {
			return err
		}
		m.locks = append(m.locks, lock)
	}
	return nil
}

// states folds the runs that have to be marked; nil for the others.
func (m *leaving) states(ctx context.Context, s *app.Folder) ([]*recovery.State, error) {
	out := make([]*recovery.State, len(m.sel.Runs))
	for i, r := range m.sel.Runs {
		if !goes(r) {
			continue
		}
		var err error
		if out[i], err = s.Reader().Alone(r.ID, s.Reader().Shown(ctx)); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// mayGo refuses what cannot go, before anything is marked.
func (m *leaving) mayGo(ctx context.Context, s *app.Folder, states []*recovery.State, to *pack.Address) error {
	for i, r := range m.sel.Runs {
		if r.Source && !r.Status.Terminal() {
			return fmt.Errorf("export thread %s: it was forked from thread %s, whose run %s has not ended and would go along; end that first: agent resume %s, agent cancel %s",
				m.sel.Thread, r.Thread, r.ID, r.ID, r.ID)
		}
		st := states[i]
		if st == nil {
			continue
		}
		if st.Moved != nil {
			if st.Moved.To != to.String() {
				return fmt.Errorf("export run %s: it went to another store before (%s); take it back first: agent resume --reclaim %s", r.ID, st.Moved.Store(), r.ID)
			}
			m.header.ID = st.Moved.Pack
			continue
		}
		for _, c := range st.InFlight() {
			m.flying = append(m.flying, view.CallAt{Run: r.ID, Call: c.Place.String(), Tool: c.Tool})
		}
		if err := host.InCustody(ctx, s.Host, r.ID); err != nil {
			return fmt.Errorf("export run %s: %w", r.ID, err)
		}
		what, err := moves.InTheWay(ctx, s.Store, r.No)
		if err != nil {
			return err
		}
		if what != "" {
			return fmt.Errorf("export run %s: %s was not taken up yet; have it taken up first: agent resume %s", r.ID, what, r.ID)
		}
	}
	return nil
}

// mark records that a run went.
func (m *leaving) mark(ctx context.Context, s *app.Folder, run string, st *recovery.State, to *pack.Address) error {
	if st.Moved != nil {
		return nil
	}
	head, err := s.Store.Head(ctx, run)
	if err != nil {
		return err
	}
	if head.Seq != st.Seq {
		return fmt.Errorf("export run %s: its journal changed while it was read: %w", run, db.ErrLostRace)
	}
	var bodies []journal.Body
	if st.Status != recovery.StatusInterrupted {
		bodies = append(bodies, journal.RunInterrupted{Cause: journal.CauseMoved, Detail: "to " + to.Store})
	}
	if st.Open != nil {
		bodies = append(bodies, journal.RequestClosed{ID: st.Open.ID, Status: db.RequestCancelled, Reason: "the run went to another store, where it is asked again", Again: true})
	}
	bodies = append(bodies, journal.RunExported{To: to.String(), Pack: m.header.ID, By: s.Who})
	var events []journal.Event
	for _, b := range bodies {
		e := journal.Event{Seq: st.Seq + 1, Turn: len(st.Turns), Time: s.Host.Now(), Body: b}
		if err := st.Apply(e); err != nil {
			return err
		}
		events = append(events, e)
	}
	_, err = s.Store.Append(ctx, head, events, db.AppendOptions{State: st})
	return err
}
