package drive

import (
	"encoding/json"

	"agent/host/model"
	"agent/recovery/journal"
	"agent/tools"
)

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
		p.Invalid, fp = err.Error(), "none:"+Digest(p.Args)
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
	p.Effect, p.RetrySafe = is.Effect, is.RetrySafe
	if spec, _ := pol.env.Tools.Spec(p.Tool); !spec.Asks {
		pol.permission(p, is)
	} else if p.Question = is.Question; p.Question == nil {
		p.Invalid = "the arguments of " + p.Tool + " make no question"
	}
}
