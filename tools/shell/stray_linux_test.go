//go:build !portable

package shell

// stray is a command that leaves its script's process group, and is found all the same.
const stray = "setsid sleep 600"
