package moves

import (
	"context"
	"errors"
	"fmt"

	"agent/db"
	"agent/db/moves"
	"agent/host/app"
	"agent/recovery/journal"
)

// Reclaim takes a run back that went to another store, with the runs below it. It may have gone on
// there, so each call that acts asks first.
func Reclaim(ctx context.Context, s *app.Folder, run string) error {
	sel, err := moves.Select(ctx, s.Store, run)
	if err != nil {
		return err
	}
	m := &leaving{sel: sel}
	err = m.lock(s)
	if err == nil {
		err = m.back(ctx, s, run)
	}
	return errors.Join(err, m.close())
}

func (m *leaving) back(ctx context.Context, s *app.Folder, run string) error {
	states, err := m.states(ctx, s)
	if err != nil {
		return err
	}
	n := 0
	for i, r := range m.sel.Runs {
		st := states[i]
		if st == nil || st.Moved == nil {
			continue
		}
		head, err := s.Store.Head(ctx, r.ID)
		if err != nil {
			return err
		}
		fact := journal.RunRestored{Reason: "it was taken back from " + st.Moved.Store(), By: s.Who, Pack: st.Moved.Pack}
		e := journal.Event{Seq: st.Seq + 1, Turn: len(st.Turns), Time: s.Host.Now(), Body: fact}
		if err := st.Apply(e); err != nil {
			return err
		}
		if _, err := s.Store.Append(ctx, head, []journal.Event{e}, db.AppendOptions{State: st}); err != nil {
			return err
		}
		n++
	}
	if n == 0 {
		return fmt.Errorf("take run %s back: it is here, and not in another store", run)
	}
	return nil
}
