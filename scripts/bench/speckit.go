//go:build linux

package main

import (
	"context"
	"encoding/json"
	"fmt"
)

// What spec-kit's engine did, at 27f50f7 (after 1.0.1) on 2026-11-24: measured so, with -speckit.
const specKitSeen = "github/spec-kit 27f50f7, on 2026-11-24: its own resume refuses (\"Cannot resume run 'bench' with status 'running'.\"); with the status " +
	"set to paused by hand the killed step begins a second time, and the artifact of the first step, deleted meanwhile, is missing in a flow that says completed"

// speckit kills a flow in its second step, here and on the workflow engine of github/spec-kit, and
// has it go on, with the same witness.
func speckit(ctx context.Context, b *bench) ([]row, error) {
	exe, err := b.program(ctx, "speckit")
	if err != nil {
		return nil, err
	}
	var rows []row
	for _, args := range [][2]string{{"-agent", b.exe}, {"-checkout", b.speckit}} {
		if args[1] == "" {
			rows = append(rows, plain("not measured here, for want of -speckit FOLDER: how often the killed step began, spec-kit", 2, "times").because(specKitSeen))
			continue
		}
		dir, err := b.folder("speckit")
		if err != nil {
			return rows, err
		}
		out, err := output(ctx, dir, []string{exe, "-dir", dir, args[0], args[1]})
		if err != nil {
			return rows, err
		}
		var saw struct {
			Who, Refused    string
			Second          float64
			Artifact, Ended bool
		}
		if err := json.Unmarshal(out, &saw); err != nil {
			return rows, fmt.Errorf("read what the witness saw: %v", err)
		}
		rows = append(rows, cost("how often the killed step began, "+saw.Who, saw.Second, "times", 1, "without a kill").because(fmt.Sprintf(
			"resume refused: %q; an artifact that was deleted meanwhile is there again: %t; the flow says that it is done: %t", saw.Refused, saw.Artifact, saw.Ended)))
	}
	return rows, nil
}
