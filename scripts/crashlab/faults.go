//go:build linux

package main

import (
	"agent/scripts/crashlab/fault/attack"
	"agent/scripts/crashlab/fault/boot"
	"agent/scripts/crashlab/fault/clock"
	"agent/scripts/crashlab/fault/commits"
	"agent/scripts/crashlab/fault/copies"
	"agent/scripts/crashlab/fault/delegate"
	"agent/scripts/crashlab/fault/disk"
	"agent/scripts/crashlab/fault/flows"
	"agent/scripts/crashlab/fault/interfere"
	"agent/scripts/crashlab/fault/power"
	"agent/scripts/crashlab/fault/rewinds"
	"agent/scripts/crashlab/fault/server"
	"agent/scripts/crashlab/fault/witness"
	"agent/scripts/crashlab/lab"
)

// faults lists every kind: faults of the machine, and after them what people and other processes
// do. The order is that of the run. A kind of its own is a line here and a file or a package below
// fault.
func faults() []lab.Fault {
	return []lab.Fault{
		clock.Fault(),
		disk.Full(),
		disk.IO(),
		power.Fault(),
		disk.ReadOnly(),
		disk.Slow(),
		boot.Fault(),
		interfere.Signal(),
		interfere.Cancel(),
		interfere.Tell(),
		interfere.Takeover(),
		interfere.Background(),
		server.Fault(),
		delegate.Fault(),
		flows.Fault(),
		rewinds.Fault(),
		commits.Fault(),
		copies.Fault(),
		witness.Fault(),
		interfere.Panic(),
		interfere.Twin(),
		interfere.Decision(),
		interfere.Older(),
		interfere.Gone(),
		attack.Fault(),
	}
}
