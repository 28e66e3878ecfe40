//go:build linux

package flows

import (
	"errors"
	"path/filepath"

	"agent/recovery/fault"
	"agent/scripts/crashlab/machine"
	"agent/scripts/crashlab/plan"
	"agent/scripts/crashlab/trial"
	"agent/scripts/crashlab/world"
)

// full is the harm of a script in which nobody is killed: at its point the disk under the state has
// no room, and there is room again before the next command.
const full = "full"

// starved lists such scripts: where an artifact is taken, copied and recorded, and where a run of a
// phase begins.
func starved() (out []script) {
	for _, f := range []string{"sequence", "side", "each", "models", "redo"} {
		for _, p := range []fault.Point{fault.ArtifactSynced, fault.ArtifactCopied, fault.ArtifactTemp, fault.PhaseStarted, fault.PhaseEnded, fault.ChildRecorded, fault.ChildEnded, fault.BeforeCommit} {
			for pass := 1; pass <= 3 && misses(f, p) == ""; pass++ {
				out = append(out, script{family: f, victim: "host", arms: []plan.Arm{at(0, p, pass)}, harm: full})
			}
		}
	}
	return out
}

// small puts the state on a disk that can be filled.
func (s script) small(disk **machine.Volume) world.Layer {
	if s.harm != full {
		return nil
	}
	return func(root string) (func(bool) error, error) {
		v, err := machine.NewVolume(filepath.Join(root, "home"), machine.VolumeOptions{MiB: 96, Block: 4096})
		if err != nil {
			return nil, err
		}
		*disk = v
		return v.Close, nil
	}
}

// starve takes the room away from a command that is stopped at its point, lets it go on to its end,
// and gives the room back.
func (x *attempt) starve(s *trial.Halted) error {
	if err := errors.Join(x.disk.Fill(), s.Release("")); err != nil {
		return errors.Join(err, trial.Abort(s.Command))
	}
	if _, err := x.WaitEnd(s.Command); err != nil {
		return err
	}
	x.World.WaitRunners()
	return x.disk.Free()
}
