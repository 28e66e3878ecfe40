package file

import (
	"crypto/sha256"
	"encoding/hex"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"agent/host/markdown"
	"agent/recovery/flow"
	"agent/recovery/journal"
)

// Known is what a file is checked against. What is nil is not checked.
type Known struct {
	// Named says that the file is a flow, so that its front matter need not.
	Named bool
	// Model says what is wrong with the name of a model.
	Model func(name string) error
	// Tools are the tools that a phase may name, those of MCP servers apart.
	Tools []string
	// Runbook counts the steps of a runbook and reports what is wrong with its lines.
	Runbook func(text string, wrong func(line int, what string)) int
	// Folder is the workspace: what no phase makes has to be there.
	Folder fs.FS
}

// Parsed is what a file says. Where it has mistakes, the definition is what could be read of it,
// and Graph is nil where the phases have no order.
type Parsed struct {
	Definition flow.Definition
	Graph      *flow.Graph
	Lines      []int // of the phases' headings
	mistakes   Mistakes
}

// Err names the mistakes; nil where there are none.
func (p *Parsed) Err() error {
	if len(p.mistakes.All) == 0 {
		return nil
	}
	return &p.mistakes
}

// Mistakes are all mistakes by line and column.
func (p *Parsed) Mistakes() []Mistake { return p.mistakes.All }

// reader reads one file.
type reader struct {
	lines    []string
	known    Known
	def      *flow.Definition
	phases   []*phase
	mistakes []Mistake

	// defaults of the flow fence for phases
	model  string
	effort journal.Effort
	mode   journal.Mode
}

// Parse reads a flow file. name is how the person named it.
func Parse(name, text string, known Known) *Parsed {
	sum := sha256.Sum256([]byte(text))
	out := &Parsed{Definition: flow.Definition{
		Name: filepath.Base(name), Task: flow.TaskOptional, Parallel: flow.DefaultParallel, OnFail: flow.FailStop, Digest: hex.EncodeToString(sum[:]),
	}}
	r := &reader{lines: markdown.Lines(text), known: known, def: &out.Definition}
	from := r.frontMatter()
	s := &scanner{reader: r}
	s.scan(from)
	r.def.Title, r.def.Preamble = s.first, s.preamble(from)
	if s.flow != nil {
		if t := r.tree(*s.flow); t != nil {
			r.defaults(t)
		}
	}
	if len(s.sections) == 0 {
		r.wrong(place{max(1, min(from+1, len(r.lines))), 1}, "write a heading such as ## build, and directly below it a fence tagged phase", "there is no phase")
	}
	for i, sec := range s.sections {
		if i == flow.MaxPhases {
			r.wrong(sec.heading, "put steps that belong together into one phase, or use each", "there are %d phases, at most %d are possible",
				len(s.sections), flow.MaxPhases)
			break
		}
		r.phase(sec)
		out.Lines = append(out.Lines, sec.heading.line)
	}
	for _, p := range r.phases {
		r.def.Phases = append(r.def.Phases, p.Phase)
	}
	out.Graph = r.order()
	out.mistakes = Mistakes{name, sorted(r.mistakes)}
	return out
}

// frontMatter counts the lines of the front matter, which has to name the file a flow.
func (r *reader) frontMatter() int {
	n, fields := markdown.FrontMatter(r.lines)
	named := r.known.Named
	var others []markdown.Field
	for _, f := range fields {
		switch {
		case f.Name != "agent":
			others = append(others, f)
		case f.Value == flowTag:
			named = true
		default:
			r.wrong(place{f.Line, 1}, "write agent: flow", "the file says that it is something else: agent: %s", brief(f.Value))
			named = true
		}
	}
	switch {
	case named:
		misplaced(r, others)
	case n > 0:
		r.wrong(place{1, 1}, "add the line agent: flow to its front matter", "the file does not say that it is a flow")
	default:
		r.wrong(place{1, 1}, "begin it with three lines: ---, agent: flow and ---", "the file does not say that it is a flow")
	}
	return n
}

// misplaced refuses keys of front matter, which have no meaning there.
func misplaced(r *reader, fields []markdown.Field) {
	for _, f := range fields {
		fix := "the only key here is agent"
		switch {
		case slices.Contains(flowKeys(), f.Name):
			fix = "it stands in the flow fence: " + example(f.Name)
		case slices.Contains(phaseKeys(), f.Name):
			fix = "it stands in the fence of a phase: " + example(f.Name)
		}
		r.wrong(place{f.Line, 1}, fix, "there is no key %q in front matter", brief(f.Name))
	}
}

// defaults reads the flow fence.
func (r *reader) defaults(t *table) {
	r.stray(t, flowKeys(), "a flow fence")
	d := r.def
	d.Task = word(r, t, "task", []flow.TaskMode{flow.TaskRequired, flow.TaskOptional, flow.TaskNone}, flow.TaskOptional)
	d.Parallel = int(r.count(t, "parallel", 1, maxParallel, flow.DefaultParallel))
	d.OnFail = word(r, t, "on-fail", []flow.OnFail{flow.FailStop, flow.FailAsk, flow.FailContinue}, flow.FailStop)
	d.Limits = journal.Limits{Timeout: r.duration(t, "timeout", 0), MaxTokens: r.count(t, "max-tokens", 1, 1<<40, 0), MaxCost: r.dollars(t, "max-cost")}
	r.model = r.modelName(t)
	r.effort = word(r, t, "effort", journal.Efforts(), "")
	r.mode = word(r, t, "mode", journal.Modes(), "")
}

// modelName reads the name of a model.
func (r *reader) modelName(t *table) string {
	s := r.line(t, "model")
	if s.text == "" || r.known.Model == nil {
		return s.text
	}
	if err := r.known.Model(s.text); err != nil {
		what, fix, ok := strings.Cut(err.Error(), "; ")
		if !ok {
			fix = "agent models lists what there is"
		}
		r.wrong(s.at, fix, "%s", what)
		return ""
	}
	return s.text
}
