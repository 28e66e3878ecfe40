// Package outline shows what a flow file says before anything is run: what runs after what and side
// by side, how each phase is carried out, who makes and who uses each artifact, and every mistake.
package outline

import (
	"cmp"
	"slices"

	"agent/host/flow/file"
	"agent/host/view"
	"agent/recovery/flow"
)

// View is what agent flow check prints with --json. Fields are only ever added.
type View struct {
	Version     int            `json:"version"`
	File        string         `json:"file"`
	Name        string         `json:"name"`
	Digest      string         `json:"digest"` // SHA-256 of the file, hex
	OK          bool           `json:"ok"`
	ExitCode    int            `json:"exit_code"`
	Title       string         `json:"title,omitempty"`
	Task        flow.TaskMode  `json:"task"`
	Parallel    int            `json:"parallel"` // branches of one phase at once
	OnFail      flow.OnFail    `json:"on_fail"`
	Limits      view.Limits    `json:"limits"` // of the whole flow
	Order       [][]string     `json:"order"`  // phases that may start at the same time stand together; empty where there is no order
	Phases      []Phase        `json:"phases"`
	Artifacts   []Artifact     `json:"artifacts"`
	MissingKeys []Key          `json:"missing_keys"` // of providers that phases name: needed before the flow is run
	Mistakes    []file.Mistake `json:"mistakes"`

	def *flow.Definition
}

// Key is a provider's key that is not there.
type Key struct {
	Provider string   `json:"provider"`
	Variable string   `json:"variable"`
	Phases   []string `json:"phases"`
}

// Phase is one phase. Empty model, effort and mode are those of the run.
type Phase struct {
	Name     string      `json:"name"`
	Title    string      `json:"title,omitempty"`
	Line     int         `json:"line"` // of its heading
	After    []string    `json:"after"`
	Beside   []string    `json:"beside"` // phases that may be at work at the same time
	Model    string      `json:"model,omitempty"`
	Effort   string      `json:"effort,omitempty"`
	Mode     string      `json:"mode,omitempty"`
	Tools    *[]string   `json:"tools,omitempty"` // absent: all of the run's
	Inputs   []string    `json:"inputs"`          // paths, and names of phases for all that they make
	Outputs  []string    `json:"outputs"`
	Answer   string      `json:"answer,omitempty"` // the output that holds the last answer
	Checks   []Command   `json:"checks"`
	SkipIf   *Command    `json:"skip_if,omitempty"`
	Tries    int         `json:"tries"`
	Pass     string      `json:"pass,omitempty"`
	OnFail   flow.OnFail `json:"on_fail"`
	Back     string      `json:"back,omitempty"` // phase to go back to
	Rounds   int         `json:"rounds"`
	Ask      string      `json:"ask,omitempty"`
	Each     string      `json:"each,omitempty"`
	Parallel int         `json:"parallel,omitempty"` // branches at once, where the phase says
	Redo     flow.Redo   `json:"redo"`
	Limits   view.Limits `json:"limits"`

	phase *flow.Phase
}

// Command is a command of the flow's author.
type Command struct {
	Command   string `json:"command"`
	Access    string `json:"access"`
	TimeoutMS int64  `json:"timeout_ms"`
}

// Artifact is a file or a folder that phases make or read.
type Artifact struct {
	Path   string   `json:"path"`
	MadeBy []string `json:"made_by"` // empty: it has to be in the folder
	UsedBy []string `json:"used_by"`

	holds string
}

// Of makes the view of a file. path is how the person named the file, and missing are the keys that
// its models lack.
func Of(path string, p *file.Parsed, missing []Key) View {
	d := &p.Definition
	v := View{
		Version: 1, File: path, Name: d.Name, Digest: d.Digest, OK: p.Err() == nil, Title: d.Title, Task: d.Task, Parallel: d.Parallel, OnFail: d.OnFail,
		Limits: view.NewLimits(d.Limits), Order: [][]string{}, Phases: []Phase{}, Artifacts: []Artifact{}, Mistakes: append([]file.Mistake{}, p.Mistakes()...),
		MissingKeys: append([]Key{}, missing...), def: d,
	}
	if !v.OK {
		v.ExitCode = view.ExitUsage
	}
	for i := range d.Phases {
		v.Phases = append(v.Phases, phaseOf(&d.Phases[i], p.Lines[i]))
	}
	if p.Graph == nil {
		return v
	}
	v.Order = waves(p.Graph)
	for i := range v.Phases {
		for _, other := range v.Phases {
			a, b := v.Phases[i].Name, other.Name
			if a != b && !p.Graph.Before(a, b) && !p.Graph.Before(b, a) {
				v.Phases[i].Beside = append(v.Phases[i].Beside, b)
			}
		}
	}
	v.Artifacts = artifacts(p.Graph, d)
	return v
}

func phaseOf(p *flow.Phase, line int) Phase {
	v := Phase{
		Name: p.Name, Title: p.Title, Line: line, After: append([]string{}, p.After...), Beside: []string{}, Model: p.Model, Effort: string(p.Effort),
		Mode: string(p.Mode), Tools: p.Tools, Inputs: []string{}, Outputs: []string{}, Checks: []Command{},
		Tries: p.Tries, Pass: p.Pass, OnFail: p.OnFail, Back: p.Back, Rounds: p.Rounds, Ask: p.Ask, Each: p.Each, Parallel: p.Parallel, Redo: p.Redo,
		Limits: view.NewLimits(p.Limits), phase: p,
	}
	for _, c := range p.Checks {
		v.Checks = append(v.Checks, commandOf(c))
	}
	if p.SkipIf != nil {
		c := commandOf(*p.SkipIf)
		v.SkipIf = &c
	}
	for _, in := range p.Inputs {
		v.Inputs = append(v.Inputs, cmp.Or(in.Path, in.Phase))
	}
	for _, o := range p.All() {
		v.Outputs = append(v.Outputs, o.Path)
	}
	if p.Answer != nil {
		v.Answer = p.Answer.Path
	}
	return v
}

func commandOf(c flow.Command) Command { return Command{c.Run, c.Access, c.Timeout.Milliseconds()} }

// waves puts phases together that could start at the same time, if all took equally long.
func waves(g *flow.Graph) [][]string {
	var all [][]string
	at := map[string]int{}
	for _, p := range g.Order() {
		n := 0
		for _, name := range p.After {
			n = max(n, at[name]+1)
		}
		if at[p.Name] = n; n == len(all) {
			all = append(all, nil)
		}
		all[n] = append(all[n], p.Name)
	}
	return all
}

// artifacts lists what phases make and read, in the order in which it is first needed.
func artifacts(g *flow.Graph, d *flow.Definition) []Artifact {
	all := []Artifact{}
	find := func(path string) *Artifact {
		i := slices.IndexFunc(all, func(a Artifact) bool { return a.Path == path })
		if i < 0 {
			i, all = len(all), append(all, Artifact{Path: path, MadeBy: makers(g, path), UsedBy: []string{}})
		}
		return &all[i]
	}
	for _, p := range g.Order() {
		for _, in := range p.Inputs {
			paths := []string{in.Path}
			if in.Phase != "" {
				paths = nil
				for _, o := range d.Phase(in.Phase).All() {
					paths = append(paths, o.Path)
				}
			}
			for _, path := range paths {
				if a := find(path); !slices.Contains(a.UsedBy, p.Name) {
					a.UsedBy = append(a.UsedBy, p.Name)
				}
			}
		}
		for _, o := range p.All() {
			find(o.Path).holds = holds(o)
		}
	}
	return all
}

// makers are the phases that name a path among their outputs, else those that make it with an
// item's name or in a folder.
func makers(g *flow.Graph, path string) []string {
	byName := []string{}
	for _, p := range g.Order() {
		if slices.ContainsFunc(p.All(), func(o flow.Output) bool { return o.Path == path }) {
			byName = append(byName, p.Name)
		}
	}
	if len(byName) > 0 {
		return byName
	}
	return append(byName, g.Makers(path)...)
}
