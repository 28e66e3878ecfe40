package app

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"agent/host/config"
	"agent/host/model/catalog"
	"agent/host/model/runbook"
	"agent/host/permission"
	"agent/recovery/fault"
	"agent/recovery/journal"
)

// config reads the configuration: the person's file, whose path is returned, and the workspace's
// where a folder is given.
func (a *App) config(folder string) (config.Config, string, error) {
	user, workspace := config.UserPath(a.Env), ""
	if folder != "" {
		workspace = config.WorkspacePath(folder)
	}
	conf, err := config.Load(user, workspace, knownNames())
	if err != nil {
		return config.Config{}, "", Usage(err)
	}
	return conf, user, nil
}

// hooks are the commands that the person has called when something happens to a run.
func (a *App) hooks() ([]config.Hook, error) {
	conf, _, err := a.config("")
	return conf.Hooks, err
}

// knownNames are the names that a configuration may use without defining them.
func knownNames() config.Known {
	return config.Known{Providers: catalog.Names(), Reserved: []string{runbook.Name, strings.TrimSuffix(catalog.Replay, ":")}}
}

// permitted gives the host the rules of permission, and a way to add to those of the person at this
// process.
func (s *Folder) permitted() {
	s.Env.Rules, s.Env.ReadRules = s.rulesIn, config.Rules
	if config.UserPath(s.app.Env) != "" {
		s.Env.Stand = s.stand
	}
}

// rulesIn are the rules that hold in a workspace: the person's, and its own, which can only
// restrict.
func (s *Folder) rulesIn(folder string) ([]permission.Rule, error) {
	conf, _, err := s.app.config(folder)
	if err != nil {
		return nil, err
	}
	for i := range conf.Rules {
		conf.Rules[i].Where = s.app.tilde(conf.Rules[i].Where)
	}
	return conf.Rules, nil
}

// powers are the notes at the beginning of a run, and when it continues: what may act with full
// powers unasked and, where nobody can be asked, which rules grant less than they once did.
func (s *Folder) powers(c journal.RunCreated) (notes []string, err error) {
	var own []permission.Rule
	if c.Rules != "" {
		if own, err = config.Rules(c.Rules); err != nil {
			return nil, err
		}
	}
	if c.Mode != journal.ModePlan { // in which nothing has them
		notes = permission.FullPowers(own)
	}
	if s.Env.Ask != nil || c.Mode == journal.ModeYolo || c.Model == runbook.Name { // no rule has to allow
		return notes, nil
	}

	kept, err := s.rulesIn(c.Folder)
	if err != nil {
		return nil, err
	}
	kept = slices.DeleteFunc(kept, func(r permission.Rule) bool { return r.Folder != "" && r.Folder != c.Folder })
	return append(permission.CutDown(append(own, kept...)), notes...), nil
}

// stand adds what an answer adds to the person's configuration, and says where it stands. Its rules
// hold in the run's workspace alone: anything else did not come from the question.
func (s *Folder) stand(run string, r journal.Request, text string) (string, error) {
	path := config.UserPath(s.app.Env)
	if strings.Contains(text, "[secret:") {
		return "", fmt.Errorf("add to %s: the rule would hold a secret, which is written nowhere", s.app.tilde(path))
	}
	row, err := s.Store.Run(context.Background(), run)
	if err != nil {
		return "", err
	}
	rules, err := config.Rules(text)
	if err != nil {
		return "", err
	}
	for _, rule := range rules {
		if rule.Folder != row.Folder {
			return "", fmt.Errorf("add to %s: a rule is not about the folder %s of the run", s.app.tilde(path), row.Folder)
		}
	}
	comment := fmt.Sprintf("added %s by an answer to %s of run %s", fault.Now().Format(time.DateTime), r.ID, run)
	line, err := config.Add(path, text, comment, knownNames())
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("from now on, in %s: %s:%d (take it out to be asked again)", s.app.tilde(row.Folder), s.app.tilde(path), line), nil
}
