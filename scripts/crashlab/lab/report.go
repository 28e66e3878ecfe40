//go:build linux

package lab

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"agent/recovery/fault"
	"agent/scripts/crashlab/judge"
	"agent/scripts/crashlab/plan"
	"agent/scripts/crashlab/trial"
)

// Report is what is counted. Its parts are written as one JSON object, in this order.
type Report struct {
	mu      sync.Mutex
	Out     io.Writer `json:"-"`
	earlier heading   // of the parts before this one
	part

	heading
	counts
	counted
	Controls []string  `json:"controls"`
	Failures []Failure `json:"failures"`
}

// part is what is under way.
type part struct {
	begun  int // pieces of it
	of     int
	pieces string
	first  time.Time // when it began
	spoke  time.Time
}

// heading says what was done, and what it took.
type heading struct {
	Version int     `json:"version"`
	Mode    string  `json:"mode"`
	Seed    uint64  `json:"seed"`
	Seconds float64 `json:"seconds"`
	Own     float64 `json:"cpu_seconds_of_the_lab"`
	Theirs  float64 `json:"cpu_seconds_of_the_commands"`
}

// counts are the figures that everything is about.
type counts struct {
	Stories  int `json:"stories"`
	Commands int `json:"commands"`
	Kills    int `json:"kills"`
	Twice    int `json:"effects_done_twice"`
	Lost     int `json:"results_lost"`
	Stuck    int `json:"runs_stuck"`
	Silent   int `json:"silent_decisions"`
	Other    int `json:"other_findings"`
	Unknown  int `json:"outcomes_unknown"`
	Avoid    int `json:"outcomes_unknown_with_the_runner_alive"`
}

// counted is what was done of each kind, and what was left out.
type counted struct {
	Points   map[string]int    `json:"kills_by_point"`
	Tools    map[string]int    `json:"stories_by_tool"`
	Shapes   map[string]int    `json:"stories_by_shape"`
	Places   map[string]int    `json:"stories_by_situation"`
	Faults   map[string]int    `json:"stories_by_fault"`
	Figures  map[string]int    `json:"figures"`
	NotTried map[string]string `json:"not_tried"`
	Skipped  map[string]int    `json:"skipped"`
	Left     int               `json:"left_out"`
	Unmet    []string          `json:"points_not_met"`
}

type Failure struct {
	Key      string         `json:"key"`
	Repeat   string         `json:"repeat"`
	Folder   string         `json:"folder"`
	Findings judge.Findings `json:"findings"`
}

func NewReport(out io.Writer, mode string, seed uint64) *Report {
	return &Report{
		Out: out, heading: heading{Version: 1, Mode: mode, Seed: seed},
		counted: counted{
			Points: map[string]int{}, Tools: map[string]int{}, Shapes: map[string]int{}, Places: map[string]int{}, Faults: map[string]int{},
			Figures: map[string]int{}, NotTried: map[string]string{}, Skipped: map[string]int{}, Unmet: []string{},
		},
		Controls: []string{}, Failures: []Failure{},
	}
}

// count adds a story that came to its end.
func (r *Report) count(t *trial.Trial, hurt bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.Stories++
	r.Commands += t.Commands
	r.Kills += len(t.Fired)
	r.Unknown += t.Unknown
	if !hurt {
		r.Avoid += t.Unknown
	}
	for _, a := range t.Fired {
		r.Points[a.Point]++
	}
	r.Tools[t.Story.Tool]++
	r.Shapes[t.Story.Shape]++
	r.Places[t.Story.Situation]++
}

// CountFault adds a story of a fault, however it ended. kills are those that the fault's story made
// on top of its arms.
func (r *Report) CountFault(kind string, t *trial.Trial, kills int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.Stories++
	r.Commands += t.Commands
	r.Kills += len(t.Fired) + kills
	r.Unknown += t.Unknown
	r.Faults[kind]++
	r.Tools[t.Story.Tool]++
	r.Shapes[t.Story.Shape]++
}

// CountCase adds a story of a fault that is carried out in no world of the lab.
func (r *Report) CountCase(kind string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.Stories++
	r.Faults[kind]++
}

// NoteCaught notes a control that found what was done on purpose.
func (r *Report) NoteCaught(control string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !slices.Contains(r.Controls, control) { // each part of a pass has its controls
		r.Controls = append(r.Controls, control)
	}
}

// AddFigure adds to something that is counted inside of stories.
func (r *Report) AddFigure(name string, n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.Figures[name] += n
}

// NoteNotTried notes a fault that this machine cannot have.
func (r *Report) NoteNotTried(kind string, why error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.NotTried[kind] = why.Error()
	fmt.Fprintf(r.Out, "not tried: %s: %v\n", kind, why)
}

// CountRuns adds the stories of a world of random kills, which are runs of one shape.
func (r *Report) CountRuns(stories, commands, kills int, shape string, all []*judge.History) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.Stories += stories
	r.Commands += commands
	r.Kills += kills
	r.Shapes[shape] += stories
	for _, h := range all {
		for _, k := range h.Calls {
			r.Tools[k.Tool]++
			if len(k.Results) > 0 && k.Results[0].Result.Outcome == "unknown" {
				r.Unknown++
			}
		}
	}
}

// Fail keeps what was found in a story, and says how to see it again.
func (r *Report) Fail(j plan.Job, t *trial.Trial) {
	r.AddFailure(Failure{
		Key: j.Key(), Repeat: "go run ./scripts/crashlab -only " + j.Key(), Folder: t.World.Root, Findings: t.Found,
	})
}

func (r *Report) AddFailure(f Failure) {
	r.mu.Lock()
	defer r.mu.Unlock()
	slices.SortFunc(f.Findings, func(a, b judge.Finding) int { return strings.Compare(a.Kind+a.Text, b.Kind+b.Text) })
	f.Findings = slices.Compact(f.Findings)
	r.Failures = append(r.Failures, f)
	fmt.Fprintf(r.Out, "\nFAILED %s\n", f.Key)
	for _, x := range f.Findings {
		switch x.Kind {
		case judge.Twice:
			r.Twice++
		case judge.Lost:
			r.Lost++
		case judge.Stuck:
			r.Stuck++
		case judge.Silent:
			r.Silent++
		default:
			r.Other++
		}
		fmt.Fprintf(r.Out, "  %s: %s\n", x.Kind, x.Text)
	}
	fmt.Fprintf(r.Out, "  seed %d, kept in %s\n  again: %s\n", r.Seed, f.Folder, f.Repeat)
}

// BeginPart begins a part of so many pieces, which Progress then counts.
func (r *Report) BeginPart(of int, pieces string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.begun, r.of, r.pieces = 0, of, pieces
	r.first, r.spoke = time.Now(), time.Now()
}

// Progress counts a piece, and says now and then how far the part is and how long its rest will
// take, as it looks.
func (r *Report) Progress() {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := time.Now()
	r.begun++
	if now.Sub(r.spoke) < time.Minute {
		return
	}
	r.spoke = now
	rest := time.Duration(float64(now.Sub(r.first)) / float64(r.begun) * float64(r.of-r.begun))
	fmt.Fprintf(r.Out, "%d of %d %s, %d stories, %d kills; the rest takes about %s\n", r.begun, r.of, r.pieces, r.Stories, r.Kills, rest.Round(time.Second))
}

// noteUnmet notes a story that did not reach the point that the plan expected of it.
func (r *Report) noteUnmet(f plan.Family) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.Unmet = append(r.Unmet, f.Point+" in "+f.Tool+"/"+f.Situation+"/"+f.Shape)
}

// unreached are the points that no story reached.
func (r *Report) unreached() []string {
	var out []string
	for _, p := range fault.Driving() {
		if r.Points[string(p)] == 0 {
			out = append(out, string(p))
		}
	}
	return out
}

// Used notes the processor's time: on a busy machine it says more than the clock does.
func (r *Report) Used() {
	seconds := func(who int) float64 {
		var u syscall.Rusage
		if syscall.Getrusage(who, &u) != nil {
			return 0 // it is for people
		}
		return float64(u.Utime.Nano()+u.Stime.Nano()) / 1e9
	}
	r.Own, r.Theirs = r.earlier.Own+seconds(syscall.RUSAGE_SELF), r.earlier.Theirs+seconds(syscall.RUSAGE_CHILDREN)
}

// Print prints the counts. It reports whether all is as promised.
func (r *Report) Print(began time.Time, systematic bool) bool {
	r.Seconds = r.earlier.Seconds + time.Since(began).Seconds()
	slices.Sort(r.Unmet)
	fmt.Fprintf(r.Out, "\n%s, seed %d: %d stories, %d commands, %d kills in %.0f s (processor: lab %.0f s, commands %.0f s)\n",
		r.Mode, r.Seed, r.Stories, r.Commands, r.Kills, r.Seconds, r.Own, r.Theirs)
	fmt.Fprintf(r.Out, "  effects done twice  %d\n  results lost        %d\n  runs stuck          %d\n  silent decisions    %d\n", r.Twice, r.Lost, r.Stuck, r.Silent)
	fmt.Fprintf(r.Out, "  other findings      %d\n  outcomes unknown    %d (%d of them with the runner alive)\n", r.Other, r.Unknown, r.Avoid)
	fmt.Fprintf(r.Out, "  controls            %d found what was done on purpose\n", len(r.Controls))
	r.machine()
	ok := len(r.Failures) == 0
	if systematic {
		ok = r.coverage() && ok
	}
	for _, f := range r.Failures {
		fmt.Fprintf(r.Out, "  failed: %s\n", f.Repeat)
	}
	return ok
}

// machine prints what the machine was made to do.
func (r *Report) machine() {
	for _, kind := range slices.Sorted(maps.Keys(r.Faults)) {
		fmt.Fprintf(r.Out, "  fault %-14s%d stories\n", kind, r.Faults[kind])
	}
	for _, name := range slices.Sorted(maps.Keys(r.Figures)) {
		fmt.Fprintf(r.Out, "  %-19s %d\n", name, r.Figures[name])
	}
	for _, kind := range slices.Sorted(maps.Keys(r.NotTried)) {
		fmt.Fprintf(r.Out, "  not tried: %s: %s\n", kind, r.NotTried[kind])
	}
}

func (r *Report) coverage() bool {
	for _, why := range slices.Sorted(maps.Keys(r.Skipped)) {
		fmt.Fprintf(r.Out, "  skipped  %6d: %s\n", r.Skipped[why], why)
	}
	if r.Left > 0 {
		fmt.Fprintf(r.Out, "  left out %6d combinations that the whole pass holds\n", r.Left)
	}
	if len(r.Unmet) > 0 {
		fmt.Fprintf(r.Out, "  not met  %6d: %s\n", len(r.Unmet), judge.Clip(strings.Join(r.Unmet, ", ")))
	}
	missing := r.unreached()
	for _, p := range missing {
		fmt.Fprintf(r.Out, "  ERROR: no story came by the fault point %s\n", p)
	}
	return len(missing) == 0
}

// snapshot is the report so far.
func (r *Report) snapshot(began time.Time) (json.RawMessage, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.Used()
	r.Seconds = r.earlier.Seconds + time.Since(began).Seconds()
	return json.Marshal(r)
}

// goOn counts on from an earlier report. What could not be tried then is asked anew.
func (r *Report) goOn(from json.RawMessage) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.NotTried
	r.NotTried = nil
	if err := json.Unmarshal(from, r); err != nil {
		return err
	}
	maps.DeleteFunc(r.NotTried, func(key, _ string) bool { return !strings.Contains(key, "/") }) // of a kind and not of a story
	maps.Copy(now, r.NotTried)
	r.earlier, r.NotTried = r.heading, now
	return nil
}

// missed counts controls that did not find what was done on purpose.
func (r *Report) missed() int {
	n := 0
	for _, f := range r.Failures {
		if strings.HasPrefix(f.Key, controlKey) {
			n++
		}
	}
	return n
}

// Write writes the report as JSON; nothing where no path is given.
func (r *Report) Write(path string) error {
	if path == "" {
		return nil
	}
	b, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return fmt.Errorf("write the counts: %v", err)
	}
	if err := os.WriteFile(path, append(b, '\n'), 0o644); err != nil {
		return fmt.Errorf("write the counts: %v", err)
	}
	return nil
}
