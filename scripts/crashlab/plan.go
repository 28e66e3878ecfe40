//go:build linux

package main

import (
	"fmt"
	"hash/fnv"
	"slices"
	"strconv"
	"strings"

	"agent/recovery/fault"
)

// job is one story with what is to be killed in it.
type job struct {
	tool, situation, shape string
	victim                 string
	leave                  bool
	arms                   []arm
	change                 func(s *story) // what a fault's story has otherwise; no part of the key
}

// key names a job; -only takes it.
func (j job) key() string {
	word := "run"
	if j.leave {
		word = "leave"
	}
	parts := []string{j.tool, j.situation, j.shape, j.victim, word}
	var arms []string
	for _, a := range j.arms {
		arms = append(arms, a.String())
	}
	return strings.Join(append(parts, strings.Join(arms, "+")), "/")
}

func parseKey(text string) (job, error) {
	parts := strings.SplitN(text, "/", 6)
	if len(parts) != 6 {
		return job{}, fmt.Errorf("%q is no key: it has %d of 6 parts", text, len(parts))
	}
	j := job{tool: parts[0], situation: parts[1], shape: parts[2], victim: parts[3], leave: parts[4] == "leave"}
	if !slices.Contains(situations(), j.situation) || !slices.Contains(shapes(), j.shape) || !slices.Contains(victims(), j.victim) {
		return job{}, fmt.Errorf("%q is no key: it names a situation, a shape or a victim that there is not", text)
	}
	for _, a := range strings.Split(parts[5], "+") {
		if a == "" {
			continue
		}
		f := strings.Split(a, ":")
		if len(f) != 3 {
			return job{}, fmt.Errorf("%q is no arm: command:point:pass", a)
		}
		cmd, err := strconv.Atoi(f[0])
		n, err2 := strconv.Atoi(f[2])
		if err != nil || err2 != nil || cmd < 0 || n < 1 || !slices.Contains(fault.All(), fault.Point(f[1])) {
			return job{}, fmt.Errorf("%q is no arm: command:point:pass", a)
		}
		j.arms = append(j.arms, arm{cmd, f[1], n})
	}
	return j, nil
}

func victims() []string { return []string{"host", "runner", "both"} }

// pick is a choice that depends on nothing but the words.
func pick(n int, words ...string) int {
	h := fnv.New32a()
	for _, w := range words {
		_, _ = h.Write([]byte(w + "\x00")) // a hash takes everything
	}
	return int(h.Sum32() % uint32(n))
}

// family is all that a fault point means for a story: it is killed at every pass, or at the first that is met.
type family struct {
	job   // without the arm that is swept
	point string
	sweep bool
	first int   // command at which the point can be met
	tries []arm // without a sweep: the first that fires is the one
}

// plan is what is to be done, and what is left out with the reason.
type plan struct {
	families []family
	skipped  map[string]int // by reason
	left     int            // by -short
}

type choice struct {
	short      bool
	everyShape bool
	seed       uint64
	tools      []string
}

// generate lists point x tool x situation (x shape), and then the stories that are killed twice and three times.
func generate(c choice) *plan {
	p := &plan{skipped: map[string]int{}}
	used := map[string]int{} // point in a situation
	for i, tool := range c.tools {
		for k, situation := range situations() {
			possible := p.possible(tool, situation)
			if len(possible) == 0 {
				continue
			}
			from := (i + k + int(c.seed)) % len(possible)
			possible = append(possible[from:], possible[:from]...)
			if c.short {
				p.few(c, tool, situation, possible, used)
				continue
			}
			p.all(c, tool, situation, possible)
		}
	}
	p.again(c)
	return p
}

// possible are the shapes that can tell a story.
func (p *plan) possible(tool, situation string) []string {
	var out []string
	for _, shape := range shapes() {
		if _, why := tell(tool, situation, shape, 0, "127.0.0.1:1"); why != "" {
			p.skipped[why] += len(fault.All())
			continue
		}
		out = append(out, shape)
	}
	return out
}

// all takes every point. Without everyShape the shape goes round.
func (p *plan) all(c choice, tool, situation string, possible []string) {
	for n, point := range fault.All() {
		take := possible
		if !c.everyShape {
			take = nil
			for k := range possible { // the first that passes the point, from the n-th on
				shape := possible[(n+k)%len(possible)]
				if s, _ := tell(tool, situation, shape, 0, "127.0.0.1:1"); len(take) == 0 && s.passes(string(point)) == "" {
					take = []string{shape}
				}
			}
			if len(take) == 0 {
				take = possible[:1]
			}
		}
		for _, shape := range take {
			s, _ := tell(tool, situation, shape, 0, "127.0.0.1:1")
			if why := s.passes(string(point)); why != "" {
				p.skipped[why]++
				continue
			}
			p.families = append(p.families, newFamily(tool, situation, shape, string(point), true))
		}
	}
}

// perStory is how many points -short takes of each tool in each situation.
const perStory = 2

// few takes the points that were taken least in the situation so far.
func (p *plan) few(c choice, tool, situation string, possible []string, used map[string]int) {
	shape := possible[0]
	s, _ := tell(tool, situation, shape, 0, "127.0.0.1:1")
	var points []string
	for _, point := range fault.All() {
		if why := s.passes(string(point)); why != "" {
			p.skipped[why]++
			continue
		}
		points = append(points, string(point))
	}
	slices.SortStableFunc(points, func(a, b string) int {
		return used[a+situation]*100 + used[a] - used[b+situation]*100 - used[b]
	})
	n := min(perStory, len(points))
	p.left += len(points) - n + (len(possible)-1)*len(fault.All())
	for _, point := range points[:n] {
		used[point+situation]++
		used[point]++
		p.families = append(p.families, newFamily(tool, situation, shape, point, false))
	}
}

// mostTries is how many commands a story has until the last of its turns, at most.
const mostTries = 5

// newFamily says at which commands and passes a point can be met.
func newFamily(tool, situation, shape, point string, sweep bool) family {
	f := family{job: job{tool: tool, situation: situation, shape: shape, victim: "host"}, point: point, sweep: sweep}
	f.victim = victims()[pick(3, tool, situation, shape, point)]
	f.leave = pick(2, tool, situation, point) == 0
	first := 0
	if situation == "recovery" {
		f.arms = []arm{before(tool, point)}
		first = 1
	}
	if point == "answer.recorded" || point == "request.after_answered" && !subjects()[tool].elicits {
		first = 1 // of a call that asks, the run's own process takes the answer
	}
	f.tries = []arm{{first, point, 1 + pick(3, tool, situation, point)}}
	for cmd := first; cmd < first+mostTries; cmd++ {
		if a := (arm{cmd, point, 1}); a != f.tries[0] {
			f.tries = append(f.tries, a)
		}
	}
	f.first = first
	return f
}

// before is the first kill of a story that is killed again while it recovers: in the middle of its call.
func before(tool, point string) arm {
	s := subjects()[tool]
	if s.class == asks {
		return arm{0, "request.after_opened", 1}
	}
	kinds := []string{"call.after_started", "call.after_effect", "call.after_prepare"}
	switch {
	case strings.HasPrefix(point, "recovery."), !s.runs && !s.moves:
		kinds = kinds[:2] // a call that was not started leaves nothing to decide, and some look at nothing before they start
	case strings.HasPrefix(point, "write."):
		kinds = []string{kinds[0], kinds[2]} // a file that was written is not written again
	}
	a := arm{0, kinds[pick(len(kinds), tool, point)], 1}
	if s.before != nil {
		a.n = 2
	}
	return a
}

// again adds stories that are killed twice and three times in a row, at the same point and at different ones.
func (p *plan) again(c choice) {
	points := fault.All()
	for i, first := range points {
		for k, tool := range c.tools {
			if c.short && k != i%len(c.tools) {
				p.left += 4
				continue
			}
			situation, shape, ok := teller(tool, string(first), i+k)
			if !ok {
				p.skipped["no story of the tool passes the point"]++
				continue
			}
			second, third := string(points[(i+k*7+3)%len(points)]), string(points[(i+k*5+11)%len(points)])
			rows := [][]string{{string(first)}, {second, third}, {second}, {string(first), string(first)}}
			if c.short {
				p.left += 2
				rows = rows[(i % 2 * 2):][:2]
			}
			for _, others := range rows {
				f := newFamily(tool, situation, shape, string(first), false)
				from := f.first
				f.tries = f.tries[len(f.tries)-mostTries:]
				for n := range f.tries {
					f.tries[n] = arm{from + n, string(first), 1}
				}
				if f.arms = nil; situation == "recovery" {
					f.arms = []arm{before(tool, string(first))}
				}
				for n, o := range others {
					f.arms = append(f.arms, arm{from + 1 + n, o, 1})
				}
				p.families = append(p.families, f)
			}
		}
	}
}

// teller finds a story of the tool that passes the point, from the n-th on.
func teller(tool, point string, n int) (situation, shape string, ok bool) {
	all := situations()
	for i := range all {
		situation := all[(n+i)%len(all)]
		if situation == "recovery" && !strings.HasPrefix(point, "recovery.") && !strings.HasPrefix(point, "look.") {
			continue
		}
		for k := range shapes() {
			shape := shapes()[(n+k)%len(shapes())]
			s, why := tell(tool, situation, shape, 0, "127.0.0.1:1")
			if why == "" && s.passes(point) == "" {
				return situation, shape, true
			}
		}
	}
	return "", "", false
}
