package config

import "cmp"

// Serve is what a person says about runs that go on without being asked for. Zero is not said.
type Serve struct {
	Recover string // which: background, all or none
	Drivers int    // how many at a time
}

// Or fills in what is not said: background, and 4.
func (s Serve) Or() Serve {
	return Serve{Recover: cmp.Or(s.Recover, RecoverBackground), Drivers: cmp.Or(s.Drivers, 4)}
}

// What goes on by itself.
const (
	RecoverBackground = "background" // what was handed over, and what the machine went down under
	RecoverAll        = "all"        // also what was driven in a terminal and crashed
	RecoverNone       = "none"
)

// mostDrivers bounds the drivers that a person may ask for: each is a process, and its commands.
const mostDrivers = 64

type serveKeys struct {
	Recover *string `toml:"recover"`
	Drivers *int64  `toml:"drivers"`
}

// serve reads what goes on by itself.
func (c *checker) serve(k *serveKeys) Serve {
	var s Serve
	if k == nil {
		return s
	}
	if k.Recover != nil {
		switch *k.Recover {
		case RecoverBackground, RecoverAll, RecoverNone:
			s.Recover = *k.Recover
		default:
			c.wrong([]string{"serve", "recover"}, `there is no recover = %q; choose "background", "all" or "none"`, *k.Recover)
		}
	}
	if k.Drivers != nil {
		if *k.Drivers < 1 || *k.Drivers > mostDrivers {
			c.wrong([]string{"serve", "drivers"}, "drivers: %d is no count from 1 to %d", *k.Drivers, mostDrivers)
		}
		s.Drivers = int(*k.Drivers)
	}
	return s
}
