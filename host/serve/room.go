package serve

import (
	"errors"
	"time"

	"agent/host/app"
)

// ErrRoom ends a server whose disk was full, once there is room on it. What could not be written
// then is decided by a folder that is opened anew: a commit that failed may have been kept, and a
// folder that was opened full can only be read. The next server begins with Again.
var ErrRoom = errors.New("there is room on the disk again")

// mostRoomWait is how long a server waits at most before it looks whether there is room. A disk may
// show room and take nothing, as with a quota, so it waits longer each time that it was deceived.
const mostRoomWait = 10 * time.Minute

// full says that nothing new can be recorded until there is room on the disk.
func (s *Server) full() bool {
	return s.o.Folder.Store.DiskFull() || errors.Is(s.o.Folder.MustWrite("record a run"), app.ErrDiskFull)
}

// restUntilRoom says that the disk is full, once, and whether there is room by now.
func (s *supervisor) restUntilRoom() (room bool) {
	if s.rests == nil {
		s.rests = elapsed()
		s.o.Say("the disk is full: no run is carried on until %d MiB are free on it: agent doctor", app.RoomNeeded>>20)
		s.log.Warn("the disk is full", "needs", app.RoomNeeded)
	}
	wait := min(lookEvery<<(2*min(s.o.anew, 6)), mostRoomWait)
	return s.rests() >= wait && app.HasRoom(s.o.Folder.Home)
}

// Again is what the server after this one begins with: it shows the page where this one did, to
// those who are logged in. Its folder is still to be opened.
func (s *Server) Again() Options {
	o := s.o
	o.Folder, o.Carrier, o.Link, o.desk, o.anew = nil, nil, nil, s.desk, o.anew+1
	if port := s.door.at(); port != 0 {
		o.Web, o.Port = true, port
	}
	return o
}
