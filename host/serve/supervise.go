package serve

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"agent/host"
	"agent/host/app"
	"agent/host/carry"
	"agent/host/view"
	"agent/recovery/journal"
)

// supervisor has runs go on in processes of their own, at the server's start and while it is up. It
// never drives one itself.
type supervisor struct {
	*Server
	first bool                 // nothing was looked at yet: what is interrupted was so before
	rests func() time.Duration // since the disk was seen to be full; nil where it was not

	mu    sync.Mutex
	tried map[string]attempt
	named map[string]string // where a run stood when the person was informed that it is left as it is, by run
}

// attempt is how often a run was started without a result, and from when on it is tried again.
type attempt struct {
	at     int64 // where the run stood: the number of its last fact
	failed int
	again  time.Time
	busy   bool
}

// backoff is how long a run whose process died is left alone, by how often it was started without
// progress.
func backoff(tries int) time.Duration {
	waits := []time.Duration{time.Second, 5 * time.Second, 25 * time.Second}
	return waits[min(tries, len(waits)-1)]
}

// look has runs go on that are due, and tells of those that are left as they are.
func (s *supervisor) look(ctx context.Context) error {
	if s.o.Carrier == nil {
		return nil
	}
	all, err := s.o.Folder.CarryOn(ctx, s.o.Recover, s.busy(), s.waits)
	if err != nil {
		return err
	}
	for _, r := range all.On {
		s.take(r.RunRow)
		came := make(chan carry.Result, 1)
		go func() { came <- s.o.Carrier.One(ctx, r) }()
		s.running.Go(func() {
			select {
			case got := <-came:
				s.came(r, got)
			case <-ctx.Done(): // that process goes on without this one, which waits for no answer of it
			}
		})
	}
	for _, r := range all.Left {
		s.tell(r)
	}
	s.first = false
	return nil
}

// came notes what came of having a run go on, and tells of it.
func (s *supervisor) came(r host.Carried, got carry.Result) {
	if s.done(r.ID, got.Failed) {
		s.o.Folder.Hooks.LeftAlone(r.RunRow, got.Failed)
	}
	if line := got.Line(); line != "" {
		s.o.Say("%s", line)
		s.log.Info("run carried on", "run", r.ID, "why", r.Why, "goes", got.Goes)
	}
}

// busy is how many processes were started that have not claimed their run, as far as is known.
func (s *supervisor) busy() (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, a := range s.tried {
		if a.busy {
			n++
		}
	}
	return n
}

// waits says that it is too early to have a run go on, or too late.
func (s *supervisor) waits(r app.RunRow) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	now, a := s.o.Folder.Host.Now(), s.tried[r.ID]
	if a.busy || s.starting.has(r.ID) { // as for its answer
		return true
	}
	if a.at == r.LastSeq && (a.failed >= host.MaxFruitless || now.Before(a.again)) {
		return true
	}
	fresh := r.Cause == journal.CauseCrash && !s.first && r.Fruitless < host.MaxFruitless
	ago := now.Sub(r.Updated) // less than nothing where the clock was set back: that says nothing
	return fresh && ago >= 0 && ago < backoff(r.Fruitless)
}

// take notes that a run is being started. What came of it when it stood elsewhere counts no more.
func (s *supervisor) take(r app.RunRow) {
	s.mu.Lock()
	defer s.mu.Unlock()
	a := s.tried[r.ID]
	if a.at != r.LastSeq {
		a = attempt{at: r.LastSeq}
	}
	a.busy = true
	s.tried[r.ID] = a
}

// done notes what came of an attempt. It says whether that was the last one.
func (s *supervisor) done(run, failed string) (last bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	a := s.tried[run]
	a.busy = false
	if failed != "" {
		a.again = s.o.Folder.Host.Now().Add(backoff(a.failed))
		a.failed++
	} else {
		a.failed = 0
	}
	s.tried[run] = a
	return a.failed >= host.MaxFruitless
}

// tell tells of a run that is left as it is, once for each time that it was interrupted.
func (s *supervisor) tell(r app.RunRow) {
	s.mu.Lock()
	defer s.mu.Unlock()
	at := fmt.Sprint(r.LastSeq)
	if s.named[r.ID] == at {
		return
	}
	s.named[r.ID] = at
	s.o.Folder.Hooks.LeftAlone(r, "")
	if left := view.LeftAlone(r); left != nil {
		s.o.Say("%v", left)
		return
	}
	s.o.Say("run %s is left as it is (%s): agent resume %s", r.ID, view.CauseText(r.Cause, r.Detail), r.ID)
}

// ErrRoom ends a server whose disk was full, once there is room on it. What could not be written
// then is decided by a folder that is opened again: a commit that failed may have been kept, and a
// folder that was opened full can only be read. The next server begins with what After says.
var ErrRoom = errors.New("there is room on the disk again")

// mostRoomWait is how long a server waits at most before it looks whether there is room. A disk may
// show room and take nothing, as with a quota, so it waits longer each time that it was deceived.
const mostRoomWait = 10 * time.Minute

// full says that nothing new can be recorded until there is room on the disk.
func (s *supervisor) full() bool {
	return s.o.Folder.Store.DiskFull() || errors.Is(s.o.Folder.MustWrite("record a run"), app.ErrDiskFull)
}

// restUntilRoom says that the disk is full, once, and whether there is room by now.
func (s *supervisor) restUntilRoom() (room bool) {
	if s.rests == nil {
		s.rests = elapsed()
		s.o.Say("the disk is full: no run is carried on until %d MiB are free on it: agent doctor", app.RoomNeeded>>20)
		s.log.Warn("the disk is full", "needs", app.RoomNeeded)
	}
	wait := min(lookEvery<<(2*min(s.o.restarts, 6)), mostRoomWait)
	return s.rests() >= wait && app.HasRoom(s.o.Folder.Home)
}

// After is what the server after one begins with that ErrRoom ended: it shows the page where that
// one did, to those who are logged in. Its folder is still to be opened.
func After(s *Server) Options {
	o := s.o
	o.Folder, o.Carrier, o.Link, o.desk, o.restarts = nil, nil, nil, s.desk, o.restarts+1
	if port := s.door.at(); port != 0 {
		o.Web, o.Port = true, port
	}
	return o
}
