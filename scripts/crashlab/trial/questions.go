//go:build linux

package trial

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"agent/scripts/crashlab/judge"
	"agent/scripts/crashlab/world"
)

// Attend waits for a command. Where calls ask in the middle, their questions are answered
// meanwhile, by a command of its own.
func (t *Trial) Attend(c *world.Command) (judge.Output, bool, error) {
	asks := t.World.Witness.Counter.Questions(t.World.Number)
	late := time.After(world.Limit)
	for {
		select {
		case <-asks:
			if err := t.answerOpen(c); err != nil {
				return judge.Output{}, true, err
			}
			continue
		case <-c.Ended:
		case <-late:
		}
		o, ok := c.Wait()
		return o, ok, nil
	}
}

// answerOpen answers the question that was announced, until it is no longer open: who answers may
// be killed too.
func (t *Trial) answerOpen(c *world.Command) error {
	last := ""
	for {
		id, err := t.asking(c, last == "")
		if err != nil || id == "" || id == last && t.Commands >= MostCommands {
			return err
		}
		last = id
		if err := t.run([]string{"answer", id, "blue"}); err != nil {
			return err
		}
	}
}

// asking is the question of a call that is under way; "" where none is open, after waiting for it
// until the command ended.
func (t *Trial) asking(c *world.Command, wait bool) (string, error) {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		o, err := t.World.Run(context.Background(), "pending", "--json")
		if err != nil {
			return "", err
		}
		var v struct {
			Requests []struct{ ID, Kind, Status string }
		}
		if i := strings.Index(o.Text, "{\""); i >= 0 {
			if err := json.NewDecoder(strings.NewReader(o.Text[i:])).Decode(&v); err != nil {
				return "", fmt.Errorf("agent pending --json: %v: %s", err, o.Text)
			}
		}
		for _, r := range v.Requests {
			if r.Kind == "elicitation" && r.Status == "open" {
				return r.ID, nil
			}
		}
		if !wait {
			return "", nil
		}
		select {
		case <-c.Ended:
			return "", nil
		case <-tick.C:
		}
	}
}
