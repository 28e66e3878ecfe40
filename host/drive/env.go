package drive

import (
	"context"
	"encoding/json"

	"agent/host/model"
	"agent/host/permit"
	"agent/recovery"
	"agent/tools"
)

// Env is what one run is driven with. It belongs to that run: other runs of the process may have other tools, servers, rules and
// models, and begin and end meanwhile.
type Env struct {
	Tools   *tools.Registry      // all of the run's tools
	Servers []recovery.ServerPin // what MCP servers said of theirs
	Notes   []string             // what is to be said of them; the journal of the run has them
	Model   func(recovery.RunCreated, *tools.Registry) (model.Model, error)
	// Ask puts a question to the person at the terminal and returns the answer; nil when there is no terminal. It returns
	// ErrLeftOpen when the person left the question open.
	Ask func(ctx context.Context, run string, r recovery.Request) (json.RawMessage, error)
	// Rules reads the rules of permission that hold in a workspace; nil for none.
	Rules func(folder string) ([]permit.Rule, error)
	// Stand adds rules, as they stand in a configuration, to that of the person of this process, and says where; nil where answers
	// that stand cannot be kept.
	Stand func(run string, r recovery.Request, rules string) (string, error)
	// Close ends the run's use of what it shares with other runs, such as servers; nil where it shares nothing. It may be called again.
	Close func()
}

// Release ends the use of the environment.
func (e Env) Release() {
	if e.Close != nil {
		e.Close()
	}
}

// EnvFor makes the environment of a run before it is created or claimed. Whoever asked for it releases it.
func (p *Process) EnvFor(ctx context.Context, c recovery.RunCreated) (Env, error) {
	if p.EnvOf == nil {
		return p.Env, nil
	}
	return p.EnvOf(ctx, c)
}

// envToLook is envOf for a look at a run. Only a run that was started with other tools than those that every run has needs its own.
func (p *Process) envToLook(ctx context.Context, s *recovery.State) (Env, error) {
	if s.Created.ToolsHash == p.Env.Tools.Digest() {
		return p.Env, nil
	}
	return p.EnvFor(ctx, s.Created)
}
