//go:build dragonfly || freebsd || netbsd || openbsd || (linux && portable)

package process

import "errors"

// BootID is Boot for who has to know that there is one: this system is not asked for it.
func BootID() (string, error) { return "", errors.New("the name of this boot is not known here") }

// startTime is not known here.
func startTime(int) string { return "" }

// Started is not known here: 0 of every process.
func Started(int) (uint64, error) { return 0, nil }
