package host

// Owner is the process that drives a run now; false when there is none. It looks and takes nothing.
func (h *Host) Owner(run string) (Identity, bool, error) {
	busy, err := h.Held(run)
	if err != nil || !busy {
		return Identity{}, false, err
	}
	holder, err := readHolder(h.LockPath(run))
	if err != nil {
		return Identity{}, true, nil // it holds the lock and has not written its name yet: messages say "another process"
	}
	return holder, true, nil
}
