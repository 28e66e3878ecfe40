package drive

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"agent/db"
	"agent/db/family"
	"agent/host/drive/bind"
	"agent/host/guard"
	"agent/host/model"
	"agent/host/permission"
	"agent/recovery"
	"agent/recovery/journal"
	"agent/tools"
)

// policy says what may run: the rules that hold in the run's folder, as they were when this process
// took the run, and what a yes is bound to.
type policy struct {
	*recorder
	rules permission.Policy
	stale bool               // an answer added rules since: they are read again
	lost  []db.Unrecoverable // secrets of the run that cannot be given back
}

// setRules reads the rules that hold in the run's folder. What cannot be read stops the run before
// anything is decided.
func (pol *policy) setRules(folder string) error {
	if pol.env.Rules == nil {
		return nil
	}
	rules, err := pol.env.Rules(folder)
	if err != nil {
		return err
	}
	if text := pol.state.Created.Rules; text != "" {
		given, err := pol.env.ReadRules(text)
		if err != nil {
			return err
		}
		rules = append(rules, given...)
	}
	pol.rules = permission.New(rules...)
	return nil
}

// decide says what is to be done about a call now, by which rules, and why. Answers that hold until
// the run ends are looked for only where a person would be asked: that is rare, and they may have
// been given to any run of the family meanwhile.
func (pol *policy) decide(q permission.Request) (permission.Policy, permission.Verdict) {
	v := once(pol.state, q, pol.rules.Decide(q))
	if v.Decision != journal.DecisionAsk && v.Access == "" || pol.p.Store == nil {
		return pol.rules, v
	}
	run := pol.state.Created.Run
	texts, err := family.Standing(context.Background(), pol.p.Store, run) // a read of this process's own database
	with := pol.rules
	for _, text := range texts {
		rules, bad := pol.env.ReadRules(text)
		with, err = with.With(rules...), errors.Join(err, bad)
	}
	if err != nil {
		pol.p.Warn(run, "read what holds until this run ends: %v", err) // and ask, as without it
	}
	return with, once(pol.state, q, with.Decide(q))
}

// once has a person asked about a command that got less than it requested earlier in the run, and
// requests all of it again: otherwise it could fail again and again, and nobody would see it.
func once(s *recovery.State, q permission.Request, v permission.Verdict) permission.Verdict {
	if v.Access == "" {
		return v
	}
	for _, t := range slices.Backward(s.Turns) {
		for _, c := range slices.Backward(t.Calls) {
			if c.Access == "" || c.Tool != q.Tool || !ran(c) || !permission.SameScript(c.Args, q.Args) {
				continue
			}
			v.Why = fmt.Sprintf("it ran with access %s in call %s%s; %s", c.Access, c.ID, exitStatus(c.Result), v.Why)
			v.Decision, v.Access = journal.DecisionAsk, ""
			return v
		}
	}
	return v
}

// ran reports whether a call acted and came to an end that is known.
func ran(c *recovery.Call) bool {
	return c.Result != nil && c.Result.Applied == journal.AppliedYes && c.Result.Outcome != journal.OutcomeUnknown
}

// exitStatus describes how a command ended; "" where that is not known.
func exitStatus(r *journal.Result) string {
	var ran struct {
		Status *int `json:"status"`
	}
	if json.Unmarshal(r.Data, &ran) != nil || ran.Status == nil {
		return ""
	}
	return fmt.Sprintf(" (exit status %d)", *ran.Status)
}

// query is a call as the rules see it, now. The paths that it works on are looked up only for
// rules: that takes a look at every folder on the way, and more time than all else that is decided
// about a call.
func (pol *policy) query(is tools.Traits, name string, args json.RawMessage) permission.Request {
	q := permission.Request{
		Mode: pol.state.Mode, Authored: pol.state.Created.Authored, Tool: name, Args: args, Effect: is.Effect,
		Inner: is.Inner, Outward: is.Outward, Folder: pol.state.Created.Folder, Bounded: is.Lower != nil,
	}
	if pol.rules.Concerns(q) || len(pol.state.Created.Dirs) > 0 {
		q.Paths = is.Within(q.Folder, args)
	}
	return q
}

// acting is what of a call acts, for the twin guard. It is worked out only where an earlier call of
// the tool is in doubt.
func (j judge) acting(tool string, args json.RawMessage, folder string) recovery.Acts {
	c := guard.Call{Tool: tool, Args: args, Folder: folder, Follow: func(p string) string { return tools.Followed(folder, p) }}
	if t, err := j.tools.Get(tool); err == nil { // of a tool that is not here, its arguments as they stand
		spec, _ := j.tools.Spec(tool)
		_, foreign := t.(tools.Foreign)
		c.Schema, c.Files = spec.Schema, !foreign
		if b, ok := t.(tools.Bounded); ok {
			c.Bounds = b.Bounds()
		}
		if s, ok := t.(tools.Spelled); ok {
			c.Args = s.OneSpelling(args)
		}
	}
	return guard.Acts(c)
}

// readRules reads the rules again once an answer of this run added some. Where that fails, those of
// before hold.
func (pol *policy) readRules() {
	if !pol.stale {
		return
	}
	if err := pol.setRules(pol.state.Created.Folder); err != nil {
		pol.p.Warn(pol.state.Created.Run, "read the rules of permission again: %v", err)
	}
}

// permission decides about a call of the answer, and what an answer that stands would add.
func (pol *policy) permission(p *journal.Proposal, is tools.Traits) {
	q := pol.query(is, p.Tool, p.Args)
	p.Sandbox = is.Confinement
	rules, v := pol.decide(q)
	p.Decision, p.Why, p.Access = v.Decision, v.Why, v.Access
	if p.Access != "" {
		p.Effect, p.RetrySafe, p.Sandbox = is.Lower.Effect, is.Lower.RetrySafe || pol.state.Created.Repeat, is.Lower.Confinement
	}
	if p.Decision == journal.DecisionAsk && pol.env.ReadRules != nil {
		q.Paths = is.Within(q.Folder, p.Args)
		p.Offers = slices.DeleteFunc(rules.Offers(q), func(o journal.Offer) bool {
			return pol.env.Stand == nil && o.Answer != journal.AnswerRun
		})
	}
	p.Named = p.Decision == journal.DecisionAllow && pol.state.Stands() && rules.Names(q)
}

// void is the fact that what let a call run no longer does: what a yes was bound to has changed, or
// the rules of now are stricter than those of when it was recorded. Nil when it may start.
func (pol *policy) void(c *recovery.Call) journal.Body {
	fact := journal.ApprovalVoided{Place: c.Place}
	t, err := pol.env.Tools.Get(c.Tool)
	if err != nil || c.Question != nil {
		return nil // it gets that as its result, or the answer
	}
	_, v := pol.decide(pol.query(t.Describe(pol.state.Created.Folder, c.Args), c.Tool, c.Args))
	now, why := v.Decision, v.Why
	if v.Access != "" && c.Access == "" {
		now = journal.DecisionAsk // what was let do everything was recorded as that
	}
	changed := ""
	if c.Approved != "" {
		changed = bind.Changes(c.Approved, pol.binding(c))
	}
	if now.StricterThan(c.Decision) {
		fact.Decision, fact.Reason = now, "the rules or what it does are others now: "+why
	}
	switch {
	case changed != "" && now != journal.DecisionDeny:
		fact.Reason = "it was given for something else: " + changed
	case fact.Decision == "", c.Approved != "" && now == journal.DecisionAsk: // a person was asked
		return nil
	}
	return fact
}

// denied is the fact that whoever looks at calls before they act denies this one; nil when nobody
// does. It is looked for before a person is asked, and again before the call starts: what it
// depends on may have changed meanwhile. The error is that of ctx, where that ends first.
func (pol *policy) denied(ctx context.Context, c *recovery.Call) (l looked) {
	if pol.env.Before == nil || c.Question != nil || c.Decision == journal.DecisionDeny {
		return l
	}
	why, took, err := pol.env.Before(ctx, pol.state.Created, pol.state.Mode, c)
	l.took, l.err = took, err
	if why != "" && err == nil {
		l.fact = journal.ApprovalVoided{Place: c.Place, Decision: journal.DecisionDeny, Reason: why}
	}
	return l
}

// looked is what came of a look at a call.
type looked struct {
	fact journal.Body // that denies it
	took bool         // time went by
	err  error
}

// deniedFirst is denied for the call that a person is about to be asked about.
func (pol *policy) deniedFirst(ctx context.Context, facts []journal.Body) (journal.Body, error) {
	o, ok := facts[len(facts)-1].(journal.RequestOpened)
	if !ok || o.Request.Call == nil {
		return nil, nil
	}
	c, err := pol.state.Call(*o.Request.Call)
	if err != nil || c.Phase != journal.PhaseProposed {
		return nil, nil //nolint:nilerr // the question is refused where it is recorded
	}
	l := pol.denied(ctx, c)
	return l.fact, l.err
}

// deniedOf is denied for calls that are to start together: they are looked at side by side, so that
// all of it takes no longer than the slowest.
func (pol *policy) deniedOf(ctx context.Context, calls []*recovery.Call) (first looked) {
	all := make([]looked, len(calls))
	var busy sync.WaitGroup
	for i, c := range calls {
		busy.Go(func() { all[i] = pol.denied(ctx, c) })
	}
	busy.Wait()
	for _, l := range all {
		if first.took = first.took || l.took; l.fact != nil || l.err != nil {
			return l
		}
	}
	return first
}

// binding is what a yes to the call is bound to now.
func (pol *policy) binding(c *recovery.Call) string {
	s := pol.state
	level := ""
	if t, err := pol.env.Tools.Get(c.Tool); err == nil {
		level = t.Describe("", c.Args).Confinement // what lies in the workspace does not count for it
	}
	return bind.To{
		Call: []string{c.Tool, c.Fingerprint}, Folder: s.Created.Folder, Mode: s.Mode, Variables: pol.env.Variables, Level: level,
		Rules: pol.rules.Digest(), Tools: pol.env.Tools.Digest(),
	}.String()
}

// SaveRules hands a standing answer to whoever keeps the person's configuration, once it is on
// record. The answer stands, whatever becomes of its rules.
func SaveRules(p *Process, e Env, run string, r journal.Request, answer json.RawMessage) {
	word := journal.Text(answer)
	rules := r.Rules[word]
	if rules == "" || word == journal.AnswerRun || e.Stand == nil { // what holds for the run is read from its answer
		return
	}
	note, err := e.Stand(run, r, rules)
	if err != nil {
		p.Warn(run, "%v\nadd it yourself:\n%s", err, strings.TrimRight(rules, "\n"))
		return
	}
	p.Note(run, "%s", note)
}

// addsRules says whether an answer adds rules to the configuration.
func addsRules(r journal.Request, answer json.RawMessage) bool {
	word := journal.Text(answer)
	return r.Rules[word] != "" && word != journal.AnswerRun
}

// entire refuses a call whose arguments hold a secret that cannot be given back: its placeholder is
// not what was asked for.
func (pol *policy) entire(c *recovery.Call) error {
	if len(pol.lost) == 0 {
		return nil
	}
	if fp, err := pol.p.Store.Fingerprint(pol.state.Created.Thread, c.Tool, c.Args); err != nil || fp != c.Fingerprint {
		return errors.New("not executed: its arguments hold a secret that cannot be given back")
	}
	return nil
}

// answered turns the model's answer into the fact of commit A: every call with its fingerprint, its
// effect and what the permission rules say. Before step 4.
func (pol *policy) answered(a *model.Answer) journal.ModelAnswered {
	pol.readRules()
	fact := journal.ModelAnswered{Stop: a.Stop, Usage: a.Usage, Served: a.Served, Origin: a.Origin}
	for _, b := range a.Blocks {
		if b.Kind == journal.BlockCall {
			fact.Calls = append(fact.Calls, pol.proposed(a, b.Call))
			continue
		}
		fact.Blocks = append(fact.Blocks, b)
	}
	return fact
}

// proposed is a call of the answer. What a model asks for while it refuses to answer is not carried
// out.
func (pol *policy) proposed(a *model.Answer, c *journal.CallBlock) journal.Proposal {
	p := pol.propose(c)
	if a.Stop == journal.AnswerRefuse && p.Invalid == "" {
		p.Invalid, p.Question = "the answer that holds it was refused", nil
	}
	if a.Stop == journal.AnswerLength && !json.Valid(c.Args) {
		p.Invalid = "the answer reached its length limit in the middle of its arguments; ask for less at once"
	}
	return p
}

func (pol *policy) propose(c *journal.CallBlock) journal.Proposal {
	p := journal.Proposal{
		ID: NewID("c"), Provider: c.Provider, Tool: c.Tool, Args: c.Args,
		Effect: journal.EffectWriteExternal, Decision: journal.DecisionAllow,
	}
	if !json.Valid(p.Args) {
		text, err := json.Marshal(string(c.Args))
		if err != nil {
			panic(err) // a string always encodes
		}
		p.Args, p.Invalid = text, "its arguments are not JSON"
	}
	fp, err := pol.p.Store.Fingerprint(pol.state.Created.Thread, p.Tool, p.Args)
	if err != nil {
		p.Invalid, fp = err.Error(), "none:"+bind.Digest(p.Args)
	}
	p.Fingerprint = fp
	t, err := pol.env.Tools.Get(p.Tool)
	if err != nil {
		p.Invalid = err.Error()
	}
	if p.Invalid == "" {
		if err := pol.env.Tools.Read(p.Tool, p.Args); err != nil {
			p.Invalid = err.Error()
		}
	}
	if p.Invalid == "" {
		pol.classify(&p, t)
	}
	return p
}

func (pol *policy) classify(p *journal.Proposal, t tools.Tool) {
	is := t.Describe(pol.state.Created.Folder, p.Args)
	p.Effect, p.RetrySafe = is.Effect, is.RetrySafe || pol.state.Created.Repeat
	if err := is.Outside(pol.state.Created.Folder, pol.state.Created.Dirs, p.Args); err != nil {
		p.Invalid = err.Error() // nobody is asked about what cannot be
		return
	}
	if spec, _ := pol.env.Tools.Spec(p.Tool); !spec.Asks {
		pol.permission(p, is)
	} else if p.Question = is.Question; p.Question == nil {
		p.Invalid = "the arguments of " + p.Tool + " make no question"
	}
}
