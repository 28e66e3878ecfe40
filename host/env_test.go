//go:build unix

package host_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"agent/host"
	"agent/host/drive"
	"agent/host/model"
	"agent/recovery"
	"agent/recovery/journal"
	"agent/scripts/testkit/testbin"
	"agent/tools"
	"agent/tools/mcp"
	"agent/tools/toolstest"
)

// crowd is how many runs are driven at once. Two neighbours work in one folder and need the same
// MCP server.
const crowd = 16

// caller is a model that calls the tool of its run's own, then that of its MCP server, and gives
// back what they said. It sees which tools it was shown.
type caller struct {
	own   string
	shown func([]string)
}

func (m caller) Stream(_ context.Context, req model.Request) iter.Seq2[model.Delta, error] {
	var names []string
	for _, t := range req.Tools {
		names = append(names, t.Name)
	}
	m.shown(names)
	return func(yield func(model.Delta, error) bool) {
		a := &model.Answer{Stop: journal.AnswerCalls}
		switch results := len(req.Messages) / 2; results {
		case 0:
			a.Blocks = []journal.Block{{Kind: journal.BlockCall, Call: &journal.CallBlock{Tool: m.own, Args: json.RawMessage(`{}`)}}}
		case 1:
			a.Blocks = []journal.Block{{Kind: journal.BlockCall, Call: &journal.CallBlock{
				Tool: "mcp__srv__echo", Args: json.RawMessage(fmt.Sprintf(`{"text":%q}`, m.own)),
			}}}
		default:
			var said []string
			for _, message := range req.Messages {
				for _, b := range message.Blocks {
					if b.Result != nil {
						said = append(said, b.Result.Text)
					}
				}
			}
			a.Stop, a.Blocks = journal.AnswerEnd, []journal.Block{{Kind: journal.BlockText, Text: strings.Join(said, " ")}}
		}
		yield(model.Delta{Answer: a}, nil)
	}
}

// Sixteen runs in one process, with different tools, models and MCP servers: each keeps its own. A
// server that two runs share is started once and ends with the last of them. A question to one
// run's person, however long nobody answers it, holds up no other run; a run that was left waiting
// gets its own environment again from whoever answers.
func TestEveryRunHasItsOwnEnvironment(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	c := &crowded{t: t, pool: mcp.NewPool(), answer: make(chan struct{}), shown: map[string][]string{}, fixture: testbin.Fake(t, "mcptest")}
	c.together.Add(crowd - 2) // the two that are asked about stand at their questions meanwhile
	h := newHost(t, nil)
	h.EnvOf = c.env
	for range crowd / 2 {
		c.folders = append(c.folders, t.TempDir())
	}
	outcomes := make([]drive.Outcome, crowd)
	var others, asked sync.WaitGroup
	for i := range crowd {
		wait, mode := &others, journal.ModeYolo
		switch i {
		case asksHere:
			wait, mode = &asked, journal.ModeAsk
		case asksLater:
			mode = journal.ModeAsk
		}
		wait.Go(func() {
			var err error
			outcomes[i], err = h.Start(ctx, host.StartRequest{
				Prompt: "go", Folder: c.folders[i/2], Model: strconv.Itoa(i), Mode: mode, Limits: journal.Limits{MaxTurns: 10},
			})
			if err != nil {
				t.Errorf("run %d: %v", i, err)
			}
		})
	}
	others.Wait()
	if left := outcomes[asksLater]; left.Status != recovery.StatusWaiting || left.Request == nil {
		t.Fatalf("the run that nobody is there to ask about: %+v", left)
	}
	c.onlyFirstServerLives()
	taken, err := h.Answer(ctx, outcomes[asksLater].Request.ID, json.RawMessage(`"yes"`), h.GoOnHere)
	if err != nil {
		t.Fatal(err)
	}
	outcomes[asksLater] = taken.Outcome
	close(c.answer)
	asked.Wait()
	for i, out := range outcomes {
		own := ownTool(i)
		if want := "I am " + own + " " + own; out.Status != recovery.StatusCompleted || out.Text != want {
			t.Errorf("run %d is %s with %q, want %q (%s)", i, out.Status, out.Text, want, out.Detail)
		}
		if names := c.shown[own]; !slices.Contains(names, "mcp__srv__echo") || len(names) < 2 || strings.Count(strings.Join(names, " "), "own_") != 1 {
			t.Errorf("the model of run %d was shown %q", i, names)
		}
	}
	c.everyServerEnded()
}

// The runs whose calls need a yes: one is asked about in this process, the other one waits for
// somebody.
const asksHere, asksLater = 0, 3

type crowded struct {
	t        *testing.T
	fixture  string
	pool     *mcp.Pool
	folders  []string
	together sync.WaitGroup // until every run is under way
	answer   chan struct{}  // closed when the person answers
	mu       sync.Mutex     // guards shown
	shown    map[string][]string
}

func ownTool(i int) string { return fmt.Sprintf("own_%d", i) }

// env is host.Host.EnvOf.
func (c *crowded) env(ctx context.Context, r journal.RunCreated) (drive.Env, error) {
	i, err := strconv.Atoi(r.Model)
	if err != nil {
		return drive.Env{}, err
	}
	def := mcp.Server{
		Name: "srv", From: mcp.FromPerson, Trusted: true, Command: c.fixture, Args: []string{"-marker", filepath.Join(r.Folder, "servers")},
		Call: time.Minute, Start: time.Minute,
	}
	set := c.pool.Start(ctx, []mcp.Server{def}, mcp.Options{Folder: r.Folder, Level: "none", Pinned: r.Setup.Servers}, func(s mcp.Started) {
		err = s.Err
	})
	own := fake{name: ownTool(i), effect: journal.EffectWriteLocal, act: func(context.Context) (journal.Result, error) {
		if i != asksHere && i != asksLater {
			c.together.Done()
			c.together.Wait()
		}
		return journal.Result{Outcome: journal.OutcomeOK, Content: "I am " + ownTool(i)}, nil
	}}
	reg, regErr := tools.NewRegistry(append(set.Tools(), own)...)
	e := drive.Env{Tools: reg, Servers: set.Pins(), Close: set.Close}
	e.Model = func(journal.RunCreated, *tools.Registry) (model.Model, error) {
		return caller{own.name, func(names []string) {
			c.mu.Lock()
			defer c.mu.Unlock()
			c.shown[own.name] = names
		}}, nil
	}
	if i == asksHere {
		e.Ask = func(ctx context.Context, _ string, _ journal.Request) (json.RawMessage, error) {
			select {
			case <-c.answer:
				return json.RawMessage(`"yes"`), nil
			case <-ctx.Done():
				return nil, drive.ErrLeftOpen
			}
		}
	}
	return e, errors.Join(err, regErr)
}

// onlyFirstServerLives looks at the servers while one run still stands at its question.
func (c *crowded) onlyFirstServerLives() {
	c.t.Helper()
	for i, folder := range c.folders {
		servers := toolstest.ServersOf(c.t, folder)
		if len(servers) != 1 {
			c.t.Errorf("the server of folder %d was started %d times for two runs", i, len(servers))
			continue
		}
		if live := servers[0].Alive(); live != (i == asksHere/2) {
			c.t.Errorf("the server of folder %d lives: %v", i, live)
		}
	}
}

func (c *crowded) everyServerEnded() {
	c.t.Helper()
	for i, folder := range c.folders {
		for _, server := range toolstest.ServersOf(c.t, folder) {
			if server.Alive() {
				c.t.Errorf("the server of folder %d, %s, lives on after its last run", i, server)
			}
		}
	}
}
