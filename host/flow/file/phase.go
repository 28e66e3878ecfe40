package file

import (
	"slices"
	"strings"

	"agent/recovery/flow"
	"agent/recovery/journal"
)

// Bounds of what a phase may ask for.
const (
	maxParallel = 64
	maxTries    = 20
	maxRounds   = 100
)

// toolOfServer is what the name of an MCP server's tool begins with: which there are is known when
// the server runs.
const toolOfServer = "mcp__"

// phase is a phase with the places of what other phases have to fit.
type phase struct {
	flow.Phase
	section section
	keys    *table
	inputs  []place // of Inputs
	outputs []place // of Phase.All
	after   []place // of After, where the file has them
	back    place
	failed  bool // the fence could not be read
}

// at is the place of a key, or of the heading where the key is not given.
func (p *phase) at(key string) place {
	if e := p.keys.get(key); e != nil {
		return e.at
	}
	return p.section.heading
}

func (p *phase) has(key string) bool { return p.keys.get(key) != nil }

// phase reads a section.
func (r *reader) phase(sec section) {
	p := &phase{section: sec, keys: r.tree(sec.fence)}
	if p.failed = p.keys == nil; p.failed {
		p.keys = &table{}
	}
	p.Name, p.Title, p.Prompt = sec.name, sec.title, r.body(sec)
	r.named(p)
	t := p.keys
	r.stray(t, phaseKeys(), "a phase")
	p.Model = r.model
	if p.has("model") {
		p.Model = r.modelName(t)
	}
	p.Mode = word(r, t, "mode", journal.Modes(), r.mode)
	r.asks(p)
	r.tools(p)
	p.After = r.above(p)
	r.artifacts(p)
	p.Checks = r.commands(t, "check")
	if skip := r.commands(t, "skip-if"); len(skip) > 1 {
		r.wrong(p.at("skip-if"), "join them with &&", "skip-if is one command")
	} else if len(skip) == 1 {
		p.SkipIf = &skip[0]
	}
	r.repeats(p)
	p.Ask = r.text(t, "ask").text
	p.Parallel = int(r.count(t, "parallel", 1, maxParallel, 0))
	if p.has("parallel") && !p.has("each") {
		r.wrong(p.at("parallel"), "leave it out: phases that are ready at once run side by side by themselves", "parallel is about the branches of each, which this phase has not")
	}
	p.Limits = journal.Limits{
		MaxTurns: int(r.count(t, "max-turns", 1, 1<<30, 0)), Timeout: r.duration(t, "timeout", 0),
		MaxTokens: r.count(t, "max-tokens", 1, 1<<40, 0), MaxCost: r.dollars(t, "max-cost"),
	}
	r.prompt(p)
	r.phases = append(r.phases, p)
}

// named sees to it that the phase's name is its own.
func (r *reader) named(p *phase) {
	if slices.Contains([]string{string(flow.FailStop), string(flow.FailAsk), string(flow.FailContinue)}, p.Name) {
		r.wrong(p.section.heading, "choose another name", "a phase cannot be called %s: on-fail = %q means something else", p.Name, p.Name)
	}
	for _, other := range r.phases {
		if other.Name == p.Name {
			r.wrong(p.section.heading, "give one of them another name", "the name %s stands at line %d already", p.Name, other.section.heading.line)
			p.Name += " " // so that the rest can be checked
		}
	}
}

// asks reads how the phase's model is asked.
func (r *reader) asks(p *phase) {
	if p.Model != flow.Runbook {
		p.Effort = word(r, p.keys, "effort", journal.Efforts(), r.effort)
		return
	}
	for _, key := range []string{"effort", "max-cost", "max-tokens"} {
		if p.has(key) {
			r.wrong(p.at(key), "leave it out", "%s is about a model, and a runbook asks none", key)
		}
	}
}

// tools reads the subset of tools.
func (r *reader) tools(p *phase) {
	if !p.has("tools") {
		return
	}
	names := []string{}
	for _, s := range r.texts(p.keys, "tools") {
		if len(r.known.Tools) > 0 && !strings.HasPrefix(s.text, toolOfServer) && !slices.Contains(r.known.Tools, s.text) {
			fix := "agent tools lists them"
			if near := nearest(r.known.Tools, s.text); near != "" {
				fix = "did you mean " + near + "?"
			}
			r.wrong(s.at, fix, "there is no tool %q", brief(s.text))
			continue
		}
		names = append(names, s.text)
	}
	p.Tools = &names
}

// above reads what the phase comes after: the phase above it, where it does not say.
func (r *reader) above(p *phase) []string {
	if !p.has("after") {
		if n := len(r.phases); n > 0 {
			return []string{r.phases[n-1].Name}
		}
		return nil
	}
	var names []string
	for _, s := range r.texts(p.keys, "after") {
		if slices.Contains(names, s.text) {
			continue
		}
		names, p.after = append(names, s.text), append(p.after, s.at)
	}
	return names
}

// repeats reads how often the phase may be done, and what happens when it fails.
func (r *reader) repeats(p *phase) {
	t := p.keys
	p.Redo = word(r, t, "redo", []flow.Redo{flow.RedoAsk, flow.RedoSafe, flow.RedoNever}, flow.RedoAsk)
	tries := int64(flow.DefaultTries)
	if p.Model == flow.Runbook {
		tries = flow.RunbookTries
	}
	p.Tries = int(r.count(t, "tries", 1, maxTries, tries))
	if p.Model == flow.Runbook && p.Tries > 1 && p.Redo != flow.RedoSafe {
		r.wrong(p.at("tries"), `add redo = "safe" if all its steps may be done again, or leave tries out`,
			"a runbook is tried once: another try does its steps again")
	}
	p.Pass = r.line(t, "pass").text
	if p.Pass != "" && len(p.All()) == 0 && !p.failed {
		r.wrong(p.at("pass"), "add answer or outputs", "pass is a line of the phase's first output, and it has none")
	}
	r.onFail(p)
	p.Rounds = int(r.count(t, "rounds", 1, maxRounds, flow.DefaultRounds))
	if p.has("rounds") && p.OnFail != flow.FailBack && !p.has("ask") {
		r.wrong(p.at("rounds"), `add on-fail = "PHASE", an earlier phase to go back to, or leave rounds out`, "rounds counts how often the flow goes back, which this phase never has it do")
	}
}

// onFail reads what happens when the phase has failed. Whether a phase to go back to fits is seen
// when all are known.
func (r *reader) onFail(p *phase) {
	s := r.text(p.keys, "on-fail")
	switch flow.OnFail(s.text) {
	case "":
		p.OnFail = r.def.OnFail
	case flow.FailStop, flow.FailAsk, flow.FailContinue:
		p.OnFail = flow.OnFail(s.text)
	default:
		p.OnFail, p.Back, p.back = flow.FailBack, s.text, s.at
	}
}

// commands reads commands: texts, or tables that say more.
func (r *reader) commands(t *table, key string) []flow.Command {
	var all []flow.Command
	for _, v := range items(t, key) {
		c := flow.Command{Access: flow.DefaultAccess, Timeout: flow.DefaultTimeout}
		if v.table == nil {
			c.Run = r.oneText(key, v).text
		} else {
			r.stray(v.table, commandKeys(), "a command")
			c.Run = r.text(v.table, "run").text
			c.Access = word(r, v.table, "access", []string{"read", "write"}, flow.DefaultAccess)
			c.Timeout = r.duration(v.table, "timeout", flow.DefaultTimeout)
			if v.table.get("run") == nil {
				r.wrong(v.at, "add "+example("run"), "the command is missing")
			}
		}
		if c.Run != "" {
			all = append(all, c)
		}
	}
	if e := t.get(key); e != nil && e.value.kind == kindList && len(e.value.list) == 0 {
		r.wrong(e.at, "write it as in "+example(key)+", or leave it out", "%s is empty", key)
	}
	return all
}

// prompt checks the text of the phase: a prompt, or a runbook.
func (r *reader) prompt(p *phase) {
	if p.Model != flow.Runbook {
		if strings.TrimSpace(p.Prompt) == "" {
			r.wrong(p.section.heading, "write below the fence what is to be done", "the phase %s has no prompt", strings.TrimSpace(p.Name))
		}
		return
	}
	if r.known.Runbook == nil {
		return
	}
	wrong := false
	padded := strings.Repeat("\n", p.section.from) + strings.Join(r.lines[p.section.from:max(p.section.from, p.section.to)], "\n")
	steps := r.known.Runbook(padded, func(line int, what string) {
		wrong = true
		r.wrong(place{line, 1}, "agent help runbooks says how steps are written", "%s", what)
	})
	if steps == 0 && !wrong {
		r.wrong(p.section.heading, "add a fenced sh block below its fence", "the phase %s is a runbook without a step", strings.TrimSpace(p.Name))
	}
}
