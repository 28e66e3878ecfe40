//go:build linux

package interfere

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"agent/host/model/modeltest"
	"agent/recovery/fault"
	"agent/scripts/crashlab/journal"
	"agent/scripts/crashlab/judge"
	"agent/scripts/crashlab/lab"
	"agent/scripts/crashlab/marks"
	"agent/scripts/crashlab/story"
	"agent/scripts/crashlab/trial"
)

// Tell leaves a message for the model of a run: while it is driven ("live"), and after its driver
// was killed ("dead"). The process that leaves it is killed at its own points too, and a person
// then leaves another message. What was acknowledged comes to the model once, what was not at most
// once, and nothing happens that does not happen without it.
func Tell() lab.Fault {
	return kind{
		name: "tell", what: "a message is left for the model of a run by another process, which may be killed while it does that", short: 8,
		all: tells, act: toldBy, judge: judgeTold, control: tellControl,
	}.fault()
}

// message is one that was left, or was to be.
type message struct {
	text string
	kept bool // that was acknowledged
}

// tells lists each fault point of a run that asks a model, and each at which the process that
// leaves the message is killed itself.
func tells() []*interference {
	var out []*interference
	for _, way := range []string{"live", "dead"} {
		for n, point := range fault.Driving() {
			if tool, situation, shape, ok := asksAt(string(point), n); ok {
				out = append(out, newInterference(way, "", tool, situation, shape, string(point)))
			}
		}
		for _, own := range commonPoints() {
			for _, at := range []fault.Point{fault.AfterStarted, fault.BeforeModel, fault.AfterTurn} {
				out = append(out, newInterference(way, own, "write_file", "first", "anthropic", string(at)))
			}
		}
	}
	return out
}

// asksAt is a story with a model that passes a point.
func asksAt(point string, n int) (tool, situation, shape string, ok bool) {
	for m := range interferingTools() {
		tool := interferingTools()[(n+m)%len(interferingTools())]
		for _, situation := range story.Situations() {
			for k := range 3 {
				shape := story.Shapes()[(n+k)%3] // the last one asks no model
				s, why := story.New(tool, situation, shape, 0, "127.0.0.1:1")
				if why == "" && s.Misses(point) == "" {
					return tool, situation, shape, true
				}
			}
		}
	}
	return "", "", "", false
}

// toldBy leaves a message for the run of a command that is stopped.
func toldBy(b *interfered, s *trial.Halted) error {
	if b.run == "" {
		_, err := b.release(s)
		return err
	}
	if b.way == "dead" {
		s.Kill()
		if _, err := b.await(s.Command); err != nil {
			return err
		}
	}
	killed, err := b.tell(b.own)
	if err == nil && killed {
		b.otherKilled = true
		b.kills++
		_, err = b.tell("")
	}
	if err != nil || b.way == "dead" {
		return err
	}
	_, err = b.release(s)
	return err
}

// tell leaves one message, and has the model say something to it, and nothing else.
func (b *interfered) tell(own string) (killed bool, err error) {
	text := fmt.Sprintf("note-%s-%d", marks.In(b.World.Number, ""), len(b.told))
	b.World.Model.Add(text, []modeltest.Turn{{Text: "Noted."}})
	b.Commands++
	arm := ""
	if own != "" {
		arm = own + ":1"
	}
	c, err := b.World.Start(arm, "tell", b.run, text)
	if err != nil {
		return false, err
	}
	o, err := b.await(c)
	b.told = append(b.told, message{text, err == nil && !o.Killed && o.Code == 0})
	return o.Killed, err
}

// judgeTold judges the end of a story for whose model messages were left.
func judgeTold(b *interfered, was, is judge.End) judge.Findings {
	if b.run == "" {
		return judgeUnharmed(b, was, is)
	}
	f := findMore(was, is)
	var asked []string // what the model was asked with
	for _, e := range b.World.Model.Exchanges() {
		asked = append(asked, e.Body)
	}
	for _, m := range b.told {
		facts, most := b.facts(m.text), 0
		for _, body := range asked {
			most = max(most, strings.Count(body, m.text))
		}
		switch {
		case facts > 1 || most > 1:
			f.Add(judge.Twice, "the message %s is %d times on record, and %d times in a request", m.text, facts, most)
		case m.kept && facts == 0:
			f.Add(judge.Lost, "the message %s was acknowledged, and is not on record; the run is %s", m.text, is.Status)
		case facts == 1 && most == 0 && is.Status == "completed":
			f.Add(judge.Lost, "the message %s is on record, and no request has it", m.text)
		}
	}
	return f
}

// facts is how many facts of the record add a message.
func (b *interfered) facts(text string) int {
	n := 0
	for _, facts := range b.Record.Facts {
		for _, at := range facts {
			if at.Kind == journal.Added && strings.Contains(string(at.Body), text) {
				n++
			}
		}
	}
	return n
}

// tellControl loses a message that was kept, and has one come twice.
func tellControl(ctx context.Context, l *lab.Lab, k kind) error {
	i, err := k.find("dead", "", fault.AfterTurn)
	if err != nil {
		return err
	}
	b, is, err := interfere(ctx, l, k, i)
	if err != nil {
		return fmt.Errorf("the control of the messages: %w", err)
	}
	if f := judgeTold(b, b.was, is); len(b.Found) > 0 || len(f) > 0 || len(b.told) != 1 || !b.told[0].kept {
		return fmt.Errorf("the story of the control of the messages ends %q: %v %v %v, kept in %s", is.Status, b.Found, f, b.told, b.World.Root)
	}
	for no, facts := range b.Record.Facts {
		at := slices.IndexFunc(facts, func(f journal.Fact) bool { return f.Kind == journal.Added })
		if at < 0 {
			continue
		}
		b.Record.Facts[no] = append(slices.Clone(facts), facts[at])
		l.Control("a message comes twice", judge.Twice, judgeTold(b, b.was, is))
		b.Record.Facts[no] = slices.Delete(slices.Clone(facts), at, at+1)
		l.Control("a message is lost that was acknowledged", judge.Lost, judgeTold(b, b.was, is))
	}
	return b.World.Close(false)
}
