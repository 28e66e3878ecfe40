package app

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"agent/db"
	"agent/db/family"
	"agent/host"
	"agent/host/undo"
	"agent/host/view"
	"agent/recovery"
	"agent/recovery/fault"
)

// List reads the rows and completes them with what only the locks know: who drives a run, and which
// runs nobody does. left counts what a plain list leaves out.
func (s *Folder) List(ctx context.Context, f Filter) (list []view.Run, left int, err error) {
	rows, left, err := s.RunsIn(ctx, f)
	if err != nil {
		return nil, 0, err
	}
	marks, err := lostMarks(ctx, s)
	if err == nil {
		rows, err = s.unmarked(ctx, f, rows, marks)
	}
	if err == nil {
		list, err = completed(ctx, s, rows, marks)
	}
	return list, left, err
}

// Listed completes rows that were found otherwise in the same way.
func Listed(ctx context.Context, s *Folder, rows []RunRow) ([]view.Run, error) {
	marks, err := lostMarks(ctx, s)
	if err != nil {
		return nil, err
	}
	list, err := completed(ctx, s, rows, marks)
	for i, v := range list { // a newer run of its thread may not be among those that were found
		newest := false
		if err == nil && v.Continues(true) {
			newest, err = isNewest(ctx, s, v)
			list[i].Next = view.Next(v, newest, fault.Now())
		}
	}
	return list, err
}

// isNewest says whether a run is the newest of its thread.
func isNewest(ctx context.Context, s *Folder, v view.Run) (bool, error) {
	rows, err := s.Store.ThreadRuns(ctx, v.Thread)
	return err == nil && rows[len(rows)-1].ID == v.ID, err
}

// lostMarks are of the runs that lost their owner and could not be marked, which is only shown.
func lostMarks(ctx context.Context, s *Folder) (map[string]host.Mark, error) {
	marks := map[string]host.Mark{}
	if s.CanWrite() && len(s.Lost) == 0 {
		return marks, nil
	}
	found, err := s.Reconcile(ctx, false)
	for _, m := range found {
		marks[m.Run] = m
	}
	return marks, err
}

func completed(ctx context.Context, s *Folder, rows []RunRow, marks map[string]host.Mark) ([]view.Run, error) {
	grown, err := s.families(ctx, rows)
	if err != nil {
		return nil, err
	}
	out := make([]view.Run, 0, len(rows))
	later := map[string]bool{} // threads of which a newer run was listed
	for _, row := range rows {
		v := view.NewRun(row, fault.Now())
		grown(&v)
		if m, ok := marks[row.ID]; ok {
			v.Status, v.Cause, v.Detail, v.Unmarked = recovery.StatusInterrupted, m.Cause, m.Detail, true
		}
		if err := s.owned(&v); err != nil {
			return nil, err
		}
		v.Unknown = s.Undecided(ctx, row.Undecided)
		v.Next = view.Next(v, !later[v.Thread], fault.Now())
		later[v.Thread] = true
		out = append(out, v)
	}
	return out, undo.Mark(ctx, &s.Process, rows, out)
}

// families looks for the runs that others have made. What it gives completes one of them with their
// number, and a root with what nobody has decided below it.
func (s *Folder) families(ctx context.Context, rows []RunRow) (complete func(*view.Run), err error) {
	sizes, err := family.Sizes(ctx, s.Store, rows)
	if err != nil {
		return nil, err
	}
	roots := map[string]RunRow{}
	for _, row := range rows {
		if sizes[row.ID].Children > 0 && row.Root == "" {
			roots[row.ID] = row
		}
	}
	undecided, err := family.UndecidedBelow(ctx, s.Store, roots)
	if err != nil {
		return nil, err
	}
	return func(v *view.Run) {
		v.NumChildren, v.NumEnded = sizes[v.ID].Children, sizes[v.ID].Ended
		if calls := undecided[v.ID]; len(calls) > 0 {
			v.UnknownBelow = s.Undecided(ctx, calls)
		}
	}, nil
}

// unmarked adds the runs that lost their owner to a list in which they belong.
func (s *Folder) unmarked(ctx context.Context, f Filter, rows []RunRow, marks map[string]host.Mark) ([]RunRow, error) {
	for _, m := range marks {
		there := slices.ContainsFunc(rows, func(r RunRow) bool { return r.ID == m.Run })
		if there || (f.Waiting && !f.Interrupted) {
			continue
		}
		row, err := s.Store.Run(ctx, m.Run)
		if err != nil {
			return nil, err
		}
		if s.Only == "" || row.Folder == s.Store.Redact(s.Only) {
			rows = append(rows, row)
		}
	}
	slices.SortFunc(rows, func(a, b RunRow) int { return int(b.No - a.No) })
	return rows, nil
}

// owned fills in who drives the run.
func (s *Folder) owned(v *view.Run) error {
	if v.Status.Terminal() {
		return nil
	}
	who, ok, err := s.Owner(v.ID)
	if err == nil && ok {
		v.Owner = &view.Owner{PID: who.PID, Host: who.Host}
	}
	return err
}

// Now is a run's row, completed with what only the locks know.
func (s *Folder) Now(ctx context.Context, run string) (view.Run, error) {
	row, err := s.Store.Run(ctx, run)
	if err != nil {
		return view.Run{}, err
	}
	v, err := now(ctx, s, row)
	if err == nil {
		err = undo.MarkOne(ctx, &s.Process, &v)
	}
	return v, err
}

func now(ctx context.Context, s *Folder, row RunRow) (view.Run, error) {
	v := view.NewRun(row, fault.Now())
	grown, err := s.families(ctx, []RunRow{row})
	if err != nil {
		return v, err
	}
	grown(&v)
	if !s.CanWrite() { // the state folder cannot be written: a lost owner is seen, and not marked
		marks, err := s.Reconcile(ctx, false)
		if err != nil {
			return v, err
		}
		for _, m := range marks {
			if m.Run == v.ID || slices.Contains(m.Below, v.ID) {
				v.Status, v.Cause, v.Detail, v.Unmarked = recovery.StatusInterrupted, m.Cause, m.Detail, true
			}
		}
	}
	if err := s.owned(&v); err != nil {
		return v, err
	}
	v.Unknown = s.Undecided(ctx, row.Undecided)
	newest := false
	if v.Continues(true) {
		if newest, err = isNewest(ctx, s, v); err != nil {
			return v, err
		}
	}
	v.Next = view.Next(v, newest, fault.Now())
	return v, nil
}

// AddChildren completes runs with those that they have made, and so on down, with what each cost
// where that is asked for: it takes a look into their journals.
func AddChildren(ctx context.Context, s *Folder, runs []view.Run, costs bool) error {
	for i := range runs {
		v := &runs[i]
		if v.NumChildren == 0 {
			continue
		}
		rows, err := family.Children(ctx, s.Store, v.ID)
		if err != nil {
			return err
		}
		v.Children = make([]view.Run, len(rows))
		for k, row := range rows {
			c := &v.Children[k]
			if *c, err = now(ctx, s, row); err != nil {
				return err
			}
			if !costs {
				continue
			}
			if st, err := s.State(ctx, row.ID); err == nil { // one that cannot be read is named by doctor
				c.CostUSD = view.Spent(s.Finished(st)).Dollars()
			}
		}
		if err := AddChildren(ctx, s, v.Children, costs); err != nil {
			return err
		}
	}
	return nil
}

// Page lists a page of runs, the newest first, with the number that the next page is before; 0 at
// the end.
func (s *Folder) Page(ctx context.Context, f Filter) (list []view.Run, next int64, err error) {
	most := f.Limit
	f.Limit++ // whether there is another page
	rows, err := s.Store.Runs(ctx, f)
	if err != nil {
		return nil, 0, err
	}
	if len(rows) > most {
		rows = rows[:most]
		next = rows[most-1].No
	}
	list = make([]view.Run, len(rows))
	for i, row := range rows {
		if list[i], err = now(ctx, s, row); err != nil {
			return nil, 0, err
		}
	}
	return list, next, undo.Mark(ctx, &s.Process, rows, list)
}

// Undecided completes rows of undecided calls with what their arguments say. A list must stand
// where the journal is damaged.
func (s *Folder) Undecided(ctx context.Context, rows []CallRow) []view.Unknown {
	out := []view.Unknown{}
	for _, row := range rows {
		summary := ""
		if call, err := s.Store.Call(ctx, row.ID); err == nil { // doctor reports what cannot be read
			summary = host.Words(call.Tool, call.Proposal.Args)
		}
		out = append(out, view.NewUnknown(row.ID, row.Tool, summary, row.Started))
	}
	return out
}

// RunsIn lists runs as the store does, those of one folder alone where Only names it. left counts
// what a plain list leaves out.
func (s *Folder) RunsIn(ctx context.Context, f Filter) (rows []RunRow, left int, err error) {
	if s.Only == "" {
		rows, err = s.Store.Runs(ctx, f)
		if len(rows) > 0 && f == (Filter{}) {
			roots, countErr := family.Roots(ctx, s.Store)
			left, err = roots-len(rows), errors.Join(err, countErr)
		}
		return rows, left, err
	}
	all, err := s.Store.Runs(ctx, Filter{Folder: s.Only})
	for i, row := range all {
		interrupted, waiting := row.Status == recovery.StatusInterrupted, row.Status == recovery.StatusWaiting
		plain := f == (Filter{}) && (i < NewestShown || interrupted || waiting)
		if f.All || plain || f.Interrupted && interrupted || f.Waiting && waiting {
			rows = append(rows, row)
		}
	}
	if f == (Filter{}) {
		left = len(all) - len(rows)
	}
	return rows, left, err
}

// PendingIn lists questions, those of runs in one folder alone where Only names it.
func (s *Folder) PendingIn(ctx context.Context, all bool) ([]PendingRow, error) {
	rows, err := s.Store.Pending(ctx, all)
	if err != nil || s.Only == "" {
		return rows, err
	}
	var errs []error
	rows = slices.DeleteFunc(rows, func(p PendingRow) bool {
		run, err := s.Store.Run(ctx, p.Run)
		errs = append(errs, err)
		return run.Folder != s.Store.Redact(s.Only)
	})
	return rows, errors.Join(errs...)
}

// Request is a question as people see it: of a run below another also what that is there for.
func Request(ctx context.Context, s *Folder, row PendingRow) (view.Request, error) {
	v := view.NewRequest(row, fault.Now())
	run, err := s.Store.Run(ctx, row.Run)
	v.Role, v.Root, v.Task = run.Role, run.Root, run.Prompt
	return v, err
}

// LostIn lists the runs that were found without their owner and not marked, those of one folder
// alone where Only names it.
func (s *Folder) LostIn(ctx context.Context) ([]string, error) {
	if s.Only == "" {
		return s.Lost, nil
	}
	var lost []string
	for _, id := range s.Lost {
		row, err := s.Store.Run(ctx, id)
		if err != nil {
			return nil, err
		}
		if row.Folder == s.Store.Redact(s.Only) {
			lost = append(lost, id)
		}
	}
	return lost, nil
}

// Carry is what becomes of the interrupted runs, the newest first.
type Carry struct {
	On   []host.Carried // they go on without being asked for
	More int            // others that could, once some of those that are driven have ended
	Left []RunRow       // they wait for a person
}

// CarryOn decides which interrupted runs go on without being asked for: as many as may be driven
// beside those that are driven in the background now, and those whose processes are starting, which
// have not claimed them yet. Runs that except names are left out of all of it. An empty how is that
// of the configuration.
func (s *Folder) CarryOn(ctx context.Context, how host.Carry, starting int, except func(RunRow) bool) (c Carry, err error) {
	if !s.CanWrite() || s.Store.DiskFull() || s.Store.Behind() != nil {
		return c, nil
	}
	conf, _, err := s.app.config("")
	if err != nil {
		return c, err
	}
	serve := conf.Serve.Or()
	how = cmp.Or(how, host.Carry(serve.Recover))
	rows, err := s.Store.Runs(ctx, Filter{Interrupted: true})
	if err != nil {
		return c, err
	}
	for _, row := range rows {
		if except(row) {
			continue
		}
		why, ok := host.CarriesOn(row, how, s.Self.Boot, row.Updated, fault.Now())
		if ok { // but for when it was driven, which takes a look into its journal
			last, err := family.LastDriven(ctx, s.Store, row)
			// A journal that cannot be read is nothing to go on with; doctor names it.
			why, ok = host.CarriesOn(row, how, s.Self.Boot, last, fault.Now())
			ok = ok && err == nil && host.InCustody(ctx, s.Host, row.ID) == nil
		}
		if ok {
			c.On = append(c.On, host.Carried{RunRow: row, Why: why})
		} else {
			c.Left = append(c.Left, row)
		}
	}
	if len(c.On) == 0 {
		return c, nil
	}
	free, err := freeDrivers(ctx, s.Store, serve.Drivers-starting)
	if err == nil && len(c.On) > free {
		c.On, c.More = c.On[:free], len(c.On)-free
	}
	return c, err
}

// freeDrivers is how many more runs may be driven in the background.
func freeDrivers(ctx context.Context, store *db.Store, most int) (int, error) {
	rows, err := store.Alive(ctx)
	if err != nil {
		return 0, err
	}
	driven := slices.DeleteFunc(rows, func(r RunRow) bool { return r.Root != "" || !r.Detached || r.Status != recovery.StatusRunning })
	return max(0, most-len(driven)), nil
}
