package command

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"

	"github.com/urfave/cli/v3"

	"agent/host"
	"agent/host/app"
	"agent/host/config"
	"agent/host/flags"
	"agent/host/model/rewind"
	"agent/host/prompt"
	"agent/host/view"
	"agent/recovery/journal"
)

// starting is a run on its way to its first fact.
type starting struct {
	*session
	c *cli.Command
}

// complete fills in what the flags leave open: the thread to go on with, the model and how it is
// asked, what bounds the run.
func (s starting) complete(ctx context.Context, given flags.Run, req *host.StartRequest) error {
	thread, err := s.chooseThread(ctx, req)
	if err != nil {
		return err
	}
	return s.completeBehind(ctx, given, req, thread)
}

// completeBehind is complete for a run that goes on behind another; nil for none.
func (s starting) completeBehind(ctx context.Context, given flags.Run, req *host.StartRequest, thread *app.RunRow) error {
	conf, err := s.app.Settings(req.Folder)
	if err = errors.Join(flags.Apart(req.Folder, s.Home, req.Dirs), err); err != nil {
		return err
	}
	if again, err := s.continueFlow(ctx, given, req, thread, conf); again || err != nil {
		return err
	}
	if given.Flow {
		return s.completeFlow(ctx, given, req, thread, conf)
	}
	wish := given.Wish
	wish.Prompt = req.Prompt
	ch, err := s.ChooseModel(ctx, wish, thread, conf)
	if err != nil {
		return flags.NoModel(s.c, req.Prompt, err)
	}
	if text := flags.SentAsPrompt(s.c, req.Prompt, ch.Name); text != "" {
		s.app.Say(s.app.Err, "agent: %s", text)
	}
	if err := given.Vain(ch); err != nil {
		return err
	}
	if err := s.app.FetchKey(ctx, conf, ch); err != nil {
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
	if err := app.CheckPriced(conf, ch, req.Limits); err != nil {
		return err
	}
	req.Model, req.ModelWhy, req.Setup = ch.Name, ch.Why, ch.Setup
	req.AskPlan = s.asksPlan(*req)
	if err := s.systemPrompt(req); err != nil {
		return err
	}
	req.Input, err = s.app.piped(ctx, s.c, ch)
	return err
}

// asksPlan says whether the run ends with a question about its plan. What no model planned, and
// what a program reads, has none.
func (s starting) asksPlan(req host.StartRequest) bool {
	asked := s.Env.Ask != nil
	if s.c.IsSet("ask-plan") {
		asked = s.c.Bool("ask-plan")
	}
	return asked && req.Mode == journal.ModePlan && req.Setup.Provider != "" && req.OutputSchema == nil
}

// systemPrompt writes the system prompt of a model that has one. A runbook's author needs none.
func (s starting) systemPrompt(req *host.StartRequest) error {
	if req.Setup.Provider == "" {
		return nil
	}
	p, err := prompt.Read(req.Folder, s.Home, config.UserPath(s.app.Getenv))
	if err != nil {
		return err
	}
	for _, note := range p.Notes {
		s.app.Say(s.app.Err, "agent: %s", note)
	}
	req.Setup.System, req.Setup.SystemName, req.Setup.Instructions = p.Text, p.Name, p.Files
	return nil
}

// chooseThread finds the thread to go on with, and its last run; nil when the run begins a new one.
func (s starting) chooseThread(ctx context.Context, req *host.StartRequest) (*app.RunRow, error) {
	named := s.c.String("thread")
	if named != "" && s.c.Bool("continue") {
		return nil, app.Usage(errors.New("give -c or --thread, not both"))
	}
	if named == "" && !s.c.Bool("continue") {
		return nil, nil
	}
	last, err := s.lastRun(ctx, named, req.Folder)
	if err != nil {
		return nil, err
	}
	req.Thread = last.Thread
	if !s.c.IsSet("dir") {
		if err := s.sameFolder(ctx, last, req); err != nil {
			return nil, err
		}
	}
	if last.Model == rewind.Name { // nobody is asked in it
		last, err = s.spoken(ctx, last)
	}
	return &last, err
}

// sameFolder has the run work where another one did.
func (s starting) sameFolder(ctx context.Context, last app.RunRow, req *host.StartRequest) (err error) {
	if req.Folder, err = s.Store.RestoreText(ctx, last.Folder); err != nil {
		return err
	}
	if info, err := os.Stat(req.Folder); err != nil || !info.IsDir() {
		return &view.FolderError{Thread: last.Thread, Folder: req.Folder}
	}
	return nil
}

// spoken is the newest run of the thread of a rewind that is none itself: its model and mode are
// the thread's.
func (s starting) spoken(ctx context.Context, last app.RunRow) (app.RunRow, error) {
	rows, err := s.Store.ThreadRuns(ctx, last.Thread)
	if err != nil {
		return last, err
	}
	for _, row := range slices.Backward(rows) {
		if row.Model != rewind.Name {
			return row, nil
		}
	}
	return last, nil
}

// again looks for the run of the start key, before anything is worked out that may be different by
// now, and carries it on. It says false where there is none.
func (s starting) again(ctx context.Context, given flags.Run, req *host.StartRequest) (out host.Outcome, found bool, err error) {
	if s.app.driver == nil {
		req.Run = s.c.String("run-id")
	}
	if req.StartKey = s.c.String("start-key"); req.StartKey == "" {
		return out, false, nil
	}
	if given.Runbook == "" {
		req.Input, err = s.app.piped(ctx, s.c, app.Choice{})
	}
	if req.Input != "" {
		s.app.In = strings.NewReader(req.Input) // it is read once more when the model is chosen
	}
	req.Shown, req.StartDigest = s.showPlan, app.Asked(*req, given.Wish, given.Limits, s.c.String("thread"), s.c.Bool("continue")).Digest()
	if err == nil {
		out, found, err = s.Reuse(ctx, *req)
	}
	return out, found, err
}
