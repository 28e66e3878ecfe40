package host

// Host is the service of one state folder.
type Host struct {
	Process
}
