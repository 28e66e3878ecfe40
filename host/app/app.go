package app

import (
	"errors"
	"io"
	"runtime"
	"runtime/debug"
	"time"

	"agent/host/model/transport"
	"agent/host/view"
)

// App is what a front door runs with: settings of one process that no run records, and where
// notices go.
type App struct {
	Env        func(string) string // variables of the environment
	Version    string
	Notice     func(line string) // shows a person what they should know
	Complaints io.Writer         // gets what a command that prints a key complains of, and the log where Verbose is set
	Verbose    bool
	Idle       time.Duration // how long a model may be silent; 0: as the configuration says
	Record     string        // file in which provider traffic is recorded; "" for none

	recording *transport.Recorder
	keys      keyring
	enforces  enforced            // what commands and servers can be confined to
	redact    func(string) string // takes secrets out of an error; nil until it is needed
}

// tilde shortens a path below the person's home folder.
func (a *App) tilde(path string) string { return view.Tilde(a.Env("HOME"), path) }

// UsageError is wrong usage: exit code 2.
type UsageError struct{ error }

// Unwrap is what is wrong.
func (e *UsageError) Unwrap() error { return e.error }

// Usage makes an error one of wrong usage.
func Usage(err error) error {
	var u *UsageError
	if err == nil || errors.As(err, &u) {
		return err
	}
	return &UsageError{err}
}

// CollectLater has the collector begin at a heap of 8 MB instead of 4, and go on as always from
// there: most runs act before that, and what they wait for on two processors is processor time.
func CollectLater() {
	const usual = 100
	if was := debug.SetGCPercent(2 * usual); was != usual {
		debug.SetGCPercent(was) // a person chose it with GOGC
		return
	}
	runtime.AddCleanup(new([64]byte), func(p int) { debug.SetGCPercent(p) }, usual)
}
