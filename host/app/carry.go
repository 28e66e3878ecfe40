package app

import (
	"context"
	"slices"
	"time"

	"agent/host"
	"agent/recovery"
	"agent/recovery/fault"
)

// CarryOn lists the runs that go on without being asked for, the newest first, as many as may be
// driven beside those that are driven in the background now. more is how many others could.
// Runs that except names are left to whoever asks for them.
func (s *Folder) CarryOn(ctx context.Context, except func(RunRow) bool) (list []host.Carried, more int, err error) {
	if !s.CanWrite() || s.Store.DiskFull() || s.Store.Behind() != nil {
		return nil, 0, nil
	}
	conf, _, err := s.app.config("")
	if err != nil {
		return nil, 0, err
	}
	serve := conf.Serve.Or()
	rows, err := s.Store.Runs(ctx, Filter{Interrupted: true})
	if err != nil {
		return nil, 0, err
	}
	for _, row := range rows {
		if except(row) {
			continue
		}
		last, err := s.lastDriven(ctx, row)
		if err != nil {
			continue // a journal that cannot be read is nothing to go on with; doctor names it
		}
		if why, ok := host.CarriesOn(row, host.Carry(serve.Recover), s.Self.Boot, last, fault.Now()); ok {
			list = append(list, host.Carried{RunRow: row, Why: why})
		}
	}
	if len(list) == 0 {
		return nil, 0, nil
	}
	free, err := s.freeDrivers(ctx, serve.Drivers)
	if err != nil || len(list) <= free {
		return list, 0, err
	}
	return list[:free], len(list) - free, nil
}

// lastDriven is when the last fact before the run's interruption was recorded: the interruption
// itself may be found long after.
func (s *Folder) lastDriven(ctx context.Context, row RunRow) (time.Time, error) {
	for e, err := range s.Store.Load(ctx, row.ID, max(0, row.LastSeq-2)) {
		return e.Time, err
	}
	return row.Updated, nil
}

// freeDrivers is how many more runs may be driven in the background.
func (s *Folder) freeDrivers(ctx context.Context, most int) (int, error) {
	rows, err := s.Store.Alive(ctx)
	if err != nil {
		return 0, err
	}
	driven := slices.DeleteFunc(rows, func(r RunRow) bool { return !r.Detached || r.Status != recovery.StatusRunning })
	return max(0, most-len(driven)), nil
}
