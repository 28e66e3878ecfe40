package undo

import (
	"cmp"
	"context"
	"math"
	"slices"
	"strings"

	"agent/db"
	"agent/host/drive"
	"agent/host/view"
	"agent/recovery/workspace"
)

// PhaseOf is the phase, or the branch of one, that a run right below a flow is a part of, by what
// it is there for: build#2 is the second attempt of build.
func PhaseOf(role string) string {
	if i := strings.LastIndexByte(role, '#'); i >= 0 {
		return role[:i]
	}
	return role
}

// phase notes which phase of a flow a run below it is a part of.
func (r *reading) phase(b db.RunRow) {
	if !r.run.Flow {
		return
	}
	if r.run.Phases == nil {
		r.run.Phases = map[string]string{}
	}
	name, known := r.run.Phases[b.Parent]
	if !known {
		name = PhaseOf(b.Role)
	}
	r.run.Phases[b.ID] = name
}

// Seen is a change with the number of the look that found it.
type Seen struct {
	workspace.Step
	Look int64
}

// SeenOf reads what looks found of one run alone.
func SeenOf(ctx context.Context, p *drive.Process, run string) ([]Seen, error) {
	r := reading{History: &History{}, run: Run{ID: run, Work: map[int]Work{}}, until: math.MaxInt, turns: map[string]int{}}
	if err := r.take(ctx, p, run, 0); err != nil {
		return nil, err
	}
	all := make([]Seen, 0, len(r.steps))
	for _, s := range r.steps {
		all = append(all, Seen{s.Step, s.look})
	}
	return all, nil
}

// Count counts the paths that were changed in the end; nil for none.
func Count(all []Seen) *view.FileCounts {
	slices.SortStableFunc(all, func(a, b Seen) int { return cmp.Compare(a.Look, b.Look) })
	steps := make([]workspace.Step, 0, len(all))
	for _, s := range all {
		steps = append(steps, s.Step)
	}
	return counts(steps)
}
