// Package objects describes what agent prints for programs as a JSON Schema (draft 2020-12,
// https://json-schema.org): the objects of --json and the lines of --output-format stream-json.
// The schemas follow the Go types that are printed, so they say what is and not what was meant.
package objects

import (
	"reflect"

	"agent/host/flow/outline"
	"agent/host/flow/table"
	"agent/host/fork"
	"agent/host/githook"
	"agent/host/stats"
	"agent/host/view"
)

// Object is one kind of object on stdout.
type Object struct {
	Name string // of its schema in $defs
	Of   string // the commands that print it, and when
	as   reflect.Type
}

// Refused is the name of what every command prints in the place of its own object when it is
// refused.
const Refused = "refused"

// All lists the objects of --json.
func All() []Object {
	return []Object{
		{"run", "agent run, resume and answer: how far a run came", reflect.TypeFor[view.Outcome]()},
		{"detached", "agent run, resume, answer and fork: a run that goes on in a process of its own", reflect.TypeFor[view.Detached]()},
		{"fork", "agent fork --worktree: the outcome of the run, with the worktree made for it", reflect.TypeFor[fork.Outcome]()},
		{"answered", "agent answer: where no run is driven for it", reflect.TypeFor[view.Answered]()},
		{"told", "agent tell", reflect.TypeFor[view.Told]()},
		{"resumed", "agent resume --all", reflect.TypeFor[view.Resumed]()},
		{"plan", "agent resume --dry-run: of one run", reflect.TypeFor[view.Plan]()},
		{"plans", "agent resume --all --dry-run", reflect.TypeFor[view.Plans]()},
		{"cancelled", "agent cancel", reflect.TypeFor[view.Cancelled]()},
		{"runs", "agent ls", reflect.TypeFor[view.Runs]()},
		{"requests", "agent pending", reflect.TypeFor[view.Requests]()},
		{"stats", "agent stats", reflect.TypeFor[stats.Stats]()},
		{"record", "agent show: a run", reflect.TypeFor[view.Record]()},
		{"call", "agent show: a call", reflect.TypeFor[view.OneCall]()},
		{"checkpoints", "agent checkpoints", reflect.TypeFor[view.Checkpoints]()},
		{"diff", "agent diff", reflect.TypeFor[view.Diff]()},
		{"commits", "agent log, and agent show: a commit", reflect.TypeFor[view.Commits]()},
		{"why", "agent why", reflect.TypeFor[view.Why]()},
		{"rewind", "agent rewind and undo: what is to be done, or nothing is", reflect.TypeFor[view.Rewind]()},
		{"git", "agent git", reflect.TypeFor[githook.View]()},
		{"flow", "agent flow check", reflect.TypeFor[outline.View]()},
		{"transcript", "agent export --format json", reflect.TypeFor[view.Export]()},
		{"pack", "agent export: a file that another state folder takes", reflect.TypeFor[view.Exported]()},
		{"imported", "agent import", reflect.TypeFor[view.Imported]()},
		{"address", "agent import --id", reflect.TypeFor[view.StoreAddress]()},
		{"backup", "agent backup", reflect.TypeFor[view.Backup]()},
		{"keys", "agent backup --new-key", reflect.TypeFor[view.KeyPair]()},
		{"restored", "agent restore: a backup", reflect.TypeFor[view.RestoredFrom]()},
		{"decided", "agent restore --here", reflect.TypeFor[view.Restored]()},
		{"prune", "agent prune and rm", reflect.TypeFor[view.Prune]()},
		{"doctor", "agent doctor", reflect.TypeFor[view.Doctor]()},
		{"models", "agent models", reflect.TypeFor[view.Models]()},
		{"check", "agent models --check", reflect.TypeFor[view.Check]()},
		{"tools", "agent tools", reflect.TypeFor[view.Tools]()},
		{"version", "agent version", reflect.TypeFor[view.Version]()},
		{Refused, "any command that is refused", reflect.TypeFor[view.Refusal]()},
	}
}

// part is what objects hold of its own kind, so that its description has to be named.
type part struct {
	name   string
	of, as reflect.Type // as has the fields of of
}

type (
	listedRun   view.Run
	exportedRun view.ExportedRun
	phase       table.Phase
)

func parts() []part {
	return []part{
		{"listed-run", reflect.TypeFor[view.Run](), reflect.TypeFor[listedRun]()},
		{"exported-run", reflect.TypeFor[view.ExportedRun](), reflect.TypeFor[exportedRun]()},
		{"phase", reflect.TypeFor[table.Phase](), reflect.TypeFor[phase]()},
	}
}
