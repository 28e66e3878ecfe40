package undo

import (
	"agent/host/drive"
	"agent/host/workspace"
	"agent/tools"
	"agent/tools/restore"
)

// Env is the environment of a run that takes back: its one tool, and no rule that could stand for
// later ones.
func Env(p *drive.Process, env drive.Env, folder string) (drive.Env, error) {
	contents, err := workspace.NewContents(p, folder)
	if err == nil {
		env.Tools, err = tools.LazyRegistry([]tools.Tool{restore.New(contents)})
	}
	env.Stand = nil
	return env, err
}
