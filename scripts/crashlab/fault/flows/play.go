//go:build linux

package flows

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"agent/scripts/crashlab/judge"
	"agent/scripts/crashlab/lab"
	"agent/scripts/crashlab/machine"
	"agent/scripts/crashlab/plan"
	"agent/scripts/crashlab/story"
	"agent/scripts/crashlab/trial"
	"agent/scripts/crashlab/world"
)

// attempt is a script on its way.
type attempt struct {
	*trial.Trial
	script  script
	rng     *rand.Rand // chooses moments at which commands are killed; nil for none
	left    int        // of those moments
	kills   int
	harmed  harmed
	mended  bool
	moved   bool                // what lay in the place of an artifact
	disk    *machine.Volume     // that is filled; nil for none
	met     bool                // its point was reached
	said    string              // the question that was answered with the family's words
	answers map[string][]string // phases about which a person was asked, by the answers
	is      judge.End
}

// file is the flow's.
const file = "flow.md"

// carryOut carries out a script. change alters how; nil for nothing. The caller judges it and
// closes its world.
func carryOut(ctx context.Context, l *lab.Lab, s script, change func(*attempt)) (*attempt, error) {
	f := families()[s.family]
	arms := s.arms
	if s.harm == full {
		arms = nil // nobody is killed there
	}
	var disk *machine.Volume
	t, err := l.Begin(plan.Job{Tool: "shell", Situation: "first", Shape: "anthropic", Victim: s.victim, Arms: arms, Change: func(st *story.Story) {
		var number int
		if _, err := fmt.Sscanf(st.Mark, "mark-%d-", &number); err != nil {
			panic(err) // the form of a mark is a constant
		}
		st.Turns, st.Files[file] = nil, f.text(number)
		st.Files["items.json"] = `["` + strings.Join(strings.Split(items, ""), `","`) + `"]`
	}}, s.small(&disk))
	if err != nil {
		return nil, err
	}
	t.Brief = t.Brief && s.moment == 0
	x := &attempt{Trial: t, script: s, disk: disk, answers: map[string][]string{}}
	t.MostTimes = 3
	if err := x.prepare(f, change); err != nil {
		return nil, errors.Join(err, t.World.Close(false))
	}
	x.is, err = l.Conclude(ctx, t, x.proceed(ctx))
	if err != nil {
		return nil, err
	}
	slices.Sort(x.is.Reads)
	if root := x.root(); root != nil {
		x.is.Status, x.is.Answer = root.Run.Status, root.Answer
	}
	return x, nil
}

func (x *attempt) prepare(f *family, change func(*attempt)) error {
	says, err := f.says(x.World.Number)
	if err != nil {
		return err
	}
	for prompt, turns := range says {
		x.World.Model.Add(prompt, turns)
	}
	if x.script.moment > 0 {
		x.rng, x.left = rand.New(rand.NewPCG(x.script.moment, 0)), 4
	}
	if change != nil {
		change(x)
	}
	if x.script.harm == "unreadable" {
		return x.asOrdinaryUser()
	}
	return nil
}

// start is the command that begins the flow.
func (x *attempt) start() []string {
	return append(x.Story.RunArgs("", x.World.URL())[:5], "-f", file)
}

// proceed gives one command after the other until the flow is at its end.
func (x *attempt) proceed(ctx context.Context) error {
	args := x.start()
	for args != nil {
		if x.Commands >= trial.MostCommands {
			return fmt.Errorf("%w: %d commands, the next is agent %s", world.ErrStuck, x.Commands, strings.Join(args, " "))
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := x.step(args); err != nil {
			return err
		}
		found, err := x.onRecord()
		if err != nil {
			return err
		}
		dark, err := x.readable()
		if err != nil {
			return err
		}
		if found = append(found, dark...); len(found) > 0 {
			x.Found = append(x.Found, found...)
			return trial.ErrFound
		}
		if err := errors.Join(x.hurt(), x.moveAway()); err != nil {
			return err
		}
		if args, err = x.next(); err != nil {
			return err
		}
	}
	return nil
}

// step carries out a command, and kills it where chance says so.
func (x *attempt) step(args []string) error {
	if x.disk != nil {
		return x.StepHalting(args, x.script.arms, &x.met, x.starve)
	}
	if x.rng == nil || x.left == 0 {
		return x.Step(args)
	}
	x.left--
	killed, err := x.StepKilling(args, time.Duration(30_000+x.rng.IntN(700_000))*time.Microsecond)
	if killed {
		x.kills++
	}
	return err
}

// roots are the runs of flows, the first begun first.
func (x *attempt) roots() (all []*judge.History) {
	for _, h := range x.Histories {
		if h.Parent == "" {
			all = append(all, h)
		}
	}
	return all
}

// root is the run of the newest flow; nil before one is on record.
func (x *attempt) root() *judge.History {
	all := x.roots()
	if len(all) == 0 {
		return nil
	}
	return all[len(all)-1]
}

// goesOn says that the flow has failed as it is to, and that a person has the thread go on.
func (x *attempt) goesOn() bool {
	all := x.roots()
	return families()[x.script.family].again && len(all) == 1 && all[0].Run.Status == "failed" && !x.failedUnknown()
}

// next is what a person would do now; nil at the end. Some name a run of a phase where they resume,
// and some leave it to another command to take their answer.
func (x *attempt) next() ([]string, error) {
	root := x.root()
	if root == nil {
		return x.start(), nil
	}
	turn := fmt.Sprint(x.Commands)
	for _, q := range x.Record.Requests {
		if q.Status != "open" {
			continue
		}
		i := slices.IndexFunc(x.Histories, func(h *judge.History) bool { return h.Run.No == q.Run })
		h := x.Histories[i] // the record holds the run of each question
		word, err := x.word(h, q.ID)
		if plan.Pick(4, x.script.key(), turn) == 0 && q.Kind == "ask_user" {
			return []string{"answer", "--no-resume", q.ID, word}, err
		}
		return []string{"answer", q.ID, word}, err
	}
	if x.goesOn() {
		return append(slices.Clone(x.start()[:5]), "-c", "continue"), nil
	}
	if ended(root) {
		return nil, nil
	}
	if plan.Pick(4, x.script.key(), turn) == 1 {
		for _, h := range x.Histories {
			if h.Parent == root.Run.ID && h.Run.Status == "interrupted" {
				return []string{"resume", h.Run.ID}, nil
			}
		}
	}
	return []string{"resume", root.Run.ID}, nil
}

// word is a person's answer.
func (x *attempt) word(h *judge.History, id string) (string, error) {
	b := h.Asked[id]
	q := b.Request
	if who, ok := strings.CutPrefix(q.Message, question); ok {
		return "blue for " + who, nil
	}
	if q.Phase == nil {
		return x.Reply(h, b)
	}
	f := families()[x.script.family]
	if q.Phase.About == "start" {
		if f.say != "" && (x.said == "" || x.said == id) {
			x.said = id
			return f.say, nil
		}
		return "yes", nil
	}
	word := "restore"
	if w := harms()[x.script.harm]; w != nil && slices.Contains(q.Choices, w.word) {
		word = w.word
	}
	if !slices.Contains(q.Choices, word) {
		word = q.Choices[0]
	}
	about := q.Phase.Phase
	if q.Phase.Item != nil {
		about += q.Phase.Item.Name
	}
	x.answers[id] = []string{word, about}
	if word == "again" {
		return word, x.putRight()
	}
	return word, nil
}

// answered lists the phases about which a person was asked, by the answers.
func (x *attempt) answered() map[string][]string {
	out := map[string][]string{}
	for _, a := range x.answers {
		out[a[0]] = append(out[a[0]], a[1])
	}
	return out
}
