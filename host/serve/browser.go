package serve

import (
	"errors"
	"fmt"
	"os/exec"
	"runtime"
)

// Browse opens a link in the browser of whoever sits at this machine.
func Browse(env func(string) string, link string) error {
	opener := "xdg-open"
	switch {
	case runtime.GOOS == "darwin":
		opener = "open"
	case env("DISPLAY") == "" && env("WAYLAND_DISPLAY") == "":
		return errors.New("there is no display here")
	}
	path, err := exec.LookPath(opener)
	if err != nil {
		return fmt.Errorf("there is no program %s", opener)
	}
	c := exec.Command(path, link)
	apart(c)
	if err := c.Start(); err != nil {
		return fmt.Errorf("start %s: %w", opener, err)
	}
	go func() { _ = c.Wait() }() // it may be the browser itself, which stays
	return nil
}
