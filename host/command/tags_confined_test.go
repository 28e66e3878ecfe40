//go:build linux && !portable

package command_test

// confines is whether the binary that is tried confines commands.
const confines = true
