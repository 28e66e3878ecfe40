package journal

// Disk is what could be read of the state folder's file system when a run was claimed. A zero field
// could not be read, or the file system does not offer it; it proves nothing then.
type Disk struct {
	Kind      string `json:"kind,omitempty"`       // of the file system, such as ext4
	Counts    bool   `json:"counts,omitempty"`     // Errors and LastError could be read
	Errors    int64  `json:"errors,omitempty"`     // counted by the file system since it was made or last repaired
	LastError int64  `json:"last_error,omitempty"` // when the last of them was, in seconds since 1970
	Mount     uint64 `json:"mount,omitempty"`      // names what is mounted, until it is unmounted everywhere; within one boot
	Checked   int64  `json:"checked,omitempty"`    // when it was last checked or repaired, in seconds since 1970
	ReadOnly  bool   `json:"read_only,omitempty"`
	Noted     int64  `json:"noted,omitempty"` // errors of the state folder that processes of this program noted
}
