// Package process names processes so that a number which was given to another process since is
// never mistaken for the first: by the kernel's boot, the number, and the time at which the process
// started. Where the system does not give that time, a process that has the number may be the one.
package process

// Boot is the kernel's name for this boot; empty where there is none: a reboot is then taken for a
// crash.
func Boot() string {
	id, err := BootID()
	if err != nil {
		return "" // it has no name
	}
	return id
}
