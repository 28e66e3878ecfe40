package host

import "agent/host/drive"

// Host is the service of one state folder.
type Host struct {
	drive.Process
}
