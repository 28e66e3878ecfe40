//go:build !unix

package command

import (
	"fmt"
	"runtime"
)

// fits refuses to start where nothing holds that a run is promised: files are locked, and processes
// found and ended, in ways that this system does not have.
func fits() error {
	return fmt.Errorf("%s is not supported; on Windows, use WSL (wsl --install) and the program for Linux there", runtime.GOOS)
}
