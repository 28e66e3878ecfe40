package command

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/urfave/cli/v3"

	"agent/host"
	"agent/host/app"
	"agent/host/flags"
	hostflow "agent/host/flow"
	"agent/host/flow/file"
	"agent/host/model/runbook"
	"agent/host/view"
	"agent/recovery/flow"
	"agent/recovery/journal"
)

// completeFlow reads the flow and fills in what its phases are carried out with. Whatever is wrong
// with it is said here, before there is a run.
func (s starting) completeFlow(ctx context.Context, given flags.Run, req *host.StartRequest, thread *app.RunRow, conf *app.Settings) error {
	name := s.c.String("file")
	p, err := parseFlow(conf, name, req.Prompt, req.Folder, given.Flow)
	if err == nil {
		err = p.Err()
	}
	if err != nil {
		return app.Usage(err)
	}
	if req.OutputSchema != nil {
		return app.Usage(errors.New("--output-schema: a flow has no answer of a model; give an output of a phase a schema (agent help flows)"))
	}
	def := &p.Definition
	if err := checkTask(def, name, req.Task); err != nil {
		return err
	}
	if err := s.app.nothingPiped(ctx, "a flow"); err != nil {
		return err
	}
	var mode journal.Mode
	if thread != nil {
		mode = thread.Mode
	}
	var said []string
	req.Mode, req.Limits, said = flags.Bound(given.Limits, mode, conf.Config)
	for _, line := range said {
		s.app.Say(s.app.Err, "agent: %s", line)
	}
	own := def.Limits
	own.MaxTurns = 0
	req.Limits = req.Limits.Tighten(own)
	if err := hostflow.Free(ctx, s.Store, req.Folder, def); err != nil {
		return err
	}
	if err := s.flowModels(ctx, given, req, thread, conf, p); err != nil {
		return err
	}
	if req.Flow, err = json.Marshal(def); err != nil {
		return fmt.Errorf("record the flow %s: %v", name, err)
	}
	req.Digest, req.Prompt = def.Digest, def.Name
	if req.Task != "" {
		req.Prompt += ": " + req.Task
	}
	return nil
}

// dryRun prints what a flow would do. Nothing is opened and nothing asked.
func (a runCommand) dryRun(c *cli.Command, given flags.Run, req host.StartRequest) error {
	if !given.Flow {
		return app.Usage(errors.New("--dry-run: only what a flow would do is known before it is done; of a run that was interrupted: agent resume --dry-run"))
	}
	return a.outline(c, c.String("file"), req.Prompt, req.Folder, true)
}

// continueFlow goes on with a flow of the thread that has ended, as it was recorded: what is
// finished and unchanged is not done again. It says false of a thread whose last run is none.
func (s starting) continueFlow(ctx context.Context, given flags.Run, req *host.StartRequest, thread *app.RunRow, conf *app.Settings) (bool, error) {
	if thread == nil || req.Source != "" || !runbook.New().Continues(req.Prompt) {
		return false, nil
	}
	c, err := hostflow.Recorded(ctx, s.Store, thread.ID)
	if err != nil || c == nil {
		return false, err
	}
	var said []string
	req.Mode, req.Limits, said = flags.Bound(given.Limits, thread.Mode, conf.Config)
	for _, line := range said {
		s.app.Say(s.app.Err, "agent: %s", line)
	}
	def, err := flow.Defined(*c)
	if err != nil {
		return false, err
	}
	own := def.Limits
	own.MaxTurns = 0
	req.Limits = req.Limits.Tighten(own)
	req.Flow, req.Task, req.Prompt, req.Source, req.Digest = c.Flow, c.Task, c.Prompt, c.Source, c.Digest
	req.Model, req.ModelWhy, req.Setup = c.Model, "the thread's", c.Setup
	return true, hostflow.Free(ctx, s.Store, req.Folder, def)
}

// checkTask compares the task with what the flow wants.
func checkTask(def *flow.Definition, name, task string) error {
	switch {
	case def.Task == flow.TaskRequired && task == "":
		return app.Usage(fmt.Errorf("%s needs a task\n       name it: agent run -f %s \"what to do\"", name, view.ShellWord(name)))
	case def.Task == flow.TaskNone && task != "":
		return app.Usage(fmt.Errorf("%s takes no task, and %q is one\n       leave it out: agent run -f %s", name, task, view.ShellWord(name)))
	}
	return nil
}

// flowModels chooses the models of the phases, each once, with how it is asked. The run's own is
// that of phases which name none.
func (s starting) flowModels(ctx context.Context, given flags.Run, req *host.StartRequest, thread *app.RunRow, conf *app.Settings, parsed *file.Parsed) error {
	def := &parsed.Definition
	def.Setups = map[string]journal.Setup{}
	req.Model, req.ModelWhy = runbook.Name, "no phase asks a model that it does not name"
	if slices.ContainsFunc(def.Phases, func(p flow.Phase) bool { return p.Model == "" }) {
		ch, err := s.flowModel(ctx, given.Wish, thread, conf, req)
		if err != nil {
			return err
		}
		req.Model, req.ModelWhy, req.Setup = ch.Name, ch.Why, ch.Setup
	}
	chosen := map[string]string{}
	for i := range def.Phases {
		p := &def.Phases[i]
		if p.Model == "" || p.Model == runbook.Name {
			continue
		}
		if chosen[p.Model] == "" {
			ch, err := s.flowModel(ctx, app.Wish{Model: p.Model, NoCompact: given.NoCompact}, nil, conf, req)
			if err != nil {
				return fmt.Errorf("%s:%d: phase %s: %w", def.Name, parsed.Lines[i], p.Name, err)
			}
			chosen[p.Model], def.Setups[ch.Name] = ch.Name, ch.Setup
		}
		p.Model = chosen[p.Model]
	}
	return nil
}

// flowModel chooses one model, and refuses one that cannot be asked.
func (s starting) flowModel(ctx context.Context, w app.Wish, thread *app.RunRow, conf *app.Settings, req *host.StartRequest) (app.Choice, error) {
	ch, err := s.ChooseModel(ctx, w, thread, conf)
	if err == nil {
		err = s.app.FetchKey(ctx, conf, ch)
	}
	if err == nil {
		err = app.CheckPriced(conf, ch, req.Limits)
	}
	if err != nil || ch.Setup.Provider == "" {
		return ch, err
	}
	with := host.StartRequest{Folder: req.Folder, Setup: ch.Setup}
	err = s.systemPrompt(&with)
	ch.Setup = with.Setup
	return ch, err
}
