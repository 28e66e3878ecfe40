//go:build linux

// Package plan says what is tried: which fault point is met in which story, who is killed there,
// and how often. It is pure, and what it chooses follows from a seed, so that a key names the same
// job again.
package plan

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"agent/recovery/fault"
	"agent/scripts/crashlab/story"
)

// Job is one story with what is to be killed in it.
type Job struct {
	Tool, Situation, Shape string
	Victim                 string
	Leave                  bool
	Arms                   []Arm
	Change                 func(s *story.Story) // changes the story of a fault; no part of the key
}

// Key names a job; -only takes it.
func (j Job) Key() string {
	word := "run"
	if j.Leave {
		word = "leave"
	}
	parts := []string{j.Tool, j.Situation, j.Shape, j.Victim, word}
	var arms []string
	for _, a := range j.Arms {
		arms = append(arms, a.String())
	}
	return strings.Join(append(parts, strings.Join(arms, "+")), "/")
}

func ParseKey(text string) (Job, error) {
	parts := strings.SplitN(text, "/", 6)
	if len(parts) != 6 {
		return Job{}, fmt.Errorf("%q is no key: it has %d of 6 parts", text, len(parts))
	}
	j := Job{Tool: parts[0], Situation: parts[1], Shape: parts[2], Victim: parts[3], Leave: parts[4] == "leave"}
	if !slices.Contains(story.Situations(), j.Situation) || !slices.Contains(story.Shapes(), j.Shape) || !slices.Contains(victims(), j.Victim) {
		return Job{}, fmt.Errorf("%q is no key: it names a situation, a shape or a victim that there is not", text)
	}
	for _, a := range strings.Split(parts[5], "+") {
		if a == "" {
			continue
		}
		f := strings.Split(a, ":")
		if len(f) != 3 {
			return Job{}, fmt.Errorf("%q is no arm: command:point:pass", a)
		}
		cmd, err := strconv.Atoi(f[0])
		n, err2 := strconv.Atoi(f[2])
		if err != nil || err2 != nil || cmd < 0 || n < 1 || !slices.Contains(fault.All(), fault.Point(f[1])) {
			return Job{}, fmt.Errorf("%q is no arm: command:point:pass", a)
		}
		j.Arms = append(j.Arms, Arm{cmd, f[1], n})
	}
	return j, nil
}

func victims() []string { return []string{"host", "runner", "both"} }

// Family is one fault point in one story. In a sweep the story is killed at every time that it
// reaches the point, else at the first.
type Family struct {
	Job   // without the arm that is swept
	Point string
	Sweep bool
	First int   // command at which the point can be met
	Tries []Arm // without a sweep: the first that fires is the one
}

// Plan is what is to be done, and what is left out with the reason.
type Plan struct {
	Families []Family
	Skipped  map[string]int // by reason
	LeftOut  int            // by -short
}

type Choice struct {
	Short      bool
	EveryShape bool
	Seed       uint64
	Tools      []string
}

// Generate lists point x tool x situation (x shape), and then the stories that are killed twice and
// three times.
func Generate(c Choice) *Plan {
	p := &Plan{Skipped: map[string]int{}}
	used := map[string]int{} // point in a situation
	for i, tool := range c.Tools {
		for k, situation := range story.Situations() {
			possible := p.possible(tool, situation)
			if len(possible) == 0 {
				continue
			}
			from := (i + k + int(c.Seed)) % len(possible)
			possible = append(possible[from:], possible[:from]...)
			if c.Short {
				p.addFew(c, tool, situation, possible, used)
				continue
			}
			p.addAll(c, tool, situation, possible)
		}
	}
	p.addRepeatedKills(c)
	return p
}

// possible lists the shapes in which the story exists.
func (p *Plan) possible(tool, situation string) []string {
	var out []string
	for _, shape := range story.Shapes() {
		if _, why := story.New(tool, situation, shape, 0, "127.0.0.1:1"); why != "" {
			p.Skipped[why] += len(fault.Driving())
			continue
		}
		out = append(out, shape)
	}
	return out
}

// addAll takes every point. Without EveryShape the shapes take turns.
func (p *Plan) addAll(c Choice, tool, situation string, possible []string) {
	for n, point := range fault.Driving() {
		take := possible
		if !c.EveryShape {
			take = nil
			for k := range possible { // the first that passes the point, from the n-th on
				shape := possible[(n+k)%len(possible)]
				if s, _ := story.New(tool, situation, shape, 0, "127.0.0.1:1"); len(take) == 0 && s.Misses(string(point)) == "" {
					take = []string{shape}
				}
			}
			if len(take) == 0 {
				take = possible[:1]
			}
		}
		for _, shape := range take {
			s, _ := story.New(tool, situation, shape, 0, "127.0.0.1:1")
			if why := s.Misses(string(point)); why != "" {
				p.Skipped[why]++
				continue
			}
			p.Families = append(p.Families, NewFamily(tool, situation, shape, string(point), true))
		}
	}
}

// perStory is how many points -short takes of each tool in each situation.
const perStory = 2

// addFew takes the points that were taken least in the situation so far.
func (p *Plan) addFew(c Choice, tool, situation string, possible []string, used map[string]int) {
	shape := possible[0]
	s, _ := story.New(tool, situation, shape, 0, "127.0.0.1:1")
	var points []string
	for _, point := range fault.Driving() {
		if why := s.Misses(string(point)); why != "" {
			p.Skipped[why]++
			continue
		}
		points = append(points, string(point))
	}
	slices.SortStableFunc(points, func(a, b string) int {
		return used[a+situation]*100 + used[a] - used[b+situation]*100 - used[b]
	})
	n := min(perStory, len(points))
	p.LeftOut += len(points) - n + (len(possible)-1)*len(fault.Driving())
	for _, point := range points[:n] {
		used[point+situation]++
		used[point]++
		p.Families = append(p.Families, NewFamily(tool, situation, shape, point, false))
	}
}

// MostTries is how many commands a story has until the last of its turns, at most.
const MostTries = 5

// NewFamily says at which commands and passes a point can be met.
func NewFamily(tool, situation, shape, point string, sweep bool) Family {
	f := Family{Job: Job{Tool: tool, Situation: situation, Shape: shape, Victim: "host"}, Point: point, Sweep: sweep}
	f.Victim = victims()[Pick(3, tool, situation, shape, point)]
	f.Leave = Pick(2, tool, situation, point) == 0
	first := 0
	if situation == "recovery" {
		f.Arms = []Arm{FirstKill(tool, point)}
		first = 1
	}
	if point == "answer.recorded" || point == "request.after_answered" && !story.Subjects()[tool].Elicits {
		first = 1 // of a call that asks, the run's own process takes the answer
	}
	f.Tries = []Arm{{first, point, 1 + Pick(3, tool, situation, point)}}
	for cmd := first; cmd < first+MostTries; cmd++ {
		if a := (Arm{cmd, point, 1}); a != f.Tries[0] {
			f.Tries = append(f.Tries, a)
		}
	}
	f.First = first
	return f
}

// FirstKill is the first kill of a story that is killed again while it recovers: in the middle of
// its call.
func FirstKill(tool, point string) Arm {
	s := story.Subjects()[tool]
	if s.Class == story.Asks {
		return Arm{0, "request.after_opened", 1}
	}
	kinds := []string{"call.after_started", "call.after_effect", "call.after_prepare"}
	switch {
	case strings.HasPrefix(point, "recovery."), !s.Runs && !s.Moves:
		kinds = kinds[:2] // a call that was not started leaves nothing to decide, and some look at nothing before they start
	case strings.HasPrefix(point, "write."):
		kinds = []string{kinds[0], kinds[2]} // a file that was written is not written again
	}
	a := Arm{0, kinds[Pick(len(kinds), tool, point)], 1}
	if s.Before != nil {
		a.Pass = 2
	}
	return a
}

// addRepeatedKills adds stories that are killed twice and three times in a row, at the same point
// and at different ones.
func (p *Plan) addRepeatedKills(c Choice) {
	points := fault.Driving()
	for i, first := range points {
		for k, tool := range c.Tools {
			if c.Short && k != i%len(c.Tools) {
				p.LeftOut += 4
				continue
			}
			situation, shape, ok := StoryPassing(tool, string(first), i+k)
			if !ok {
				p.Skipped["no story of the tool passes the point"]++
				continue
			}
			second, third := string(points[(i+k*7+3)%len(points)]), string(points[(i+k*5+11)%len(points)])
			rows := [][]string{{string(first)}, {second, third}, {second}, {string(first), string(first)}}
			if c.Short {
				p.LeftOut += 2
				rows = rows[(i % 2 * 2):][:2]
			}
			for _, others := range rows {
				f := NewFamily(tool, situation, shape, string(first), false)
				from := f.First
				f.Tries = f.Tries[len(f.Tries)-MostTries:]
				for n := range f.Tries {
					f.Tries[n] = Arm{from + n, string(first), 1}
				}
				if f.Arms = nil; situation == "recovery" {
					f.Arms = []Arm{FirstKill(tool, string(first))}
				}
				for n, o := range others {
					f.Arms = append(f.Arms, Arm{from + 1 + n, o, 1})
				}
				p.Families = append(p.Families, f)
			}
		}
	}
}

// StoryPassing finds a story of the tool that reaches the point. It begins to look at the n-th
// situation and shape.
func StoryPassing(tool, point string, n int) (situation, shape string, ok bool) {
	all := story.Situations()
	for i := range all {
		situation := all[(n+i)%len(all)]
		if situation == "recovery" && !strings.HasPrefix(point, "recovery.") && !strings.HasPrefix(point, "look.") {
			continue
		}
		for k := range story.Shapes() {
			shape := story.Shapes()[(n+k)%len(story.Shapes())]
			s, why := story.New(tool, situation, shape, 0, "127.0.0.1:1")
			if why == "" && s.Misses(point) == "" {
				return situation, shape, true
			}
		}
	}
	return "", "", false
}

// Piece names the family among all of a plan.
func (f Family) Piece() string {
	text := f.Point + " " + f.Key()
	for _, a := range f.Tries {
		text += " " + a.String()
	}
	return text
}
