package lab_test

import (
	"strings"
	"sync"
	"testing"
	"time"

	"agent/fleet/lab"
)

// The host dies with the answer on its disk and nowhere else: the next one gets it from the engine.
func TestAnAnswerWhoseHostDies(t *testing.T) {
	t.Parallel()
	l := lab.New(t)
	l.StartEngine()
	h := l.Host("h-01", "--agent", l.FaultyAgent())
	id := l.Begin("dies", []string{"true", "?Publish", "true"}, "--away", "0")
	r := l.Until(id, "waiting", time.Minute, lab.Run.Asks)
	h.UntilLeft(id)
	l.ArmCommand("answer.recorded:1:stop")
	l.Do("answer", r.Asked.ID, "yes")
	if !lab.Wait(time.Minute, func() bool { return l.Armed() == 0 }) {
		t.Fatal("nobody brought the answer")
	}
	h.Lose()
	l.Host("h-02")
	r = l.Until(id, "ended, or asking", 3*time.Minute, lab.Run.Rests)
	if r.Status != "completed" || r.Exit != 0 || r.Host != "h-02" {
		t.Errorf("it ended as %+v", r)
	}
	l.Once("dies", 1, 3)
}

// On its host a run of the fleet is not decided on past the fleet.
func TestAnAnswerOnTheHostIsRefused(t *testing.T) {
	t.Parallel()
	l, h := lab.OneHost(t)
	id := l.Begin("onhost", []string{"true", "?Publish", "true"})
	r := l.Until(id, "waiting", time.Minute, lab.Run.Asks)
	h.UntilLeft(id)
	for _, args := range [][]string{{"answer", r.Asked.ID, "yes"}, {"resume", id}, {"cancel", id}} {
		if text, code := h.AgentFails(args...); code == 0 || !strings.Contains(text, "cancel it with agent-fleet") {
			t.Errorf("agent %s: exit %d: %s", args[0], code, text)
		}
	}
	l.Do("answer", r.Asked.ID, "yes")
	if r = l.Until(id, "ended", time.Minute, lab.Run.Ended); r.Status != "completed" {
		t.Errorf("it ended as %+v", r)
	}
	l.Once("onhost", 1, 3)
}

// What many ask of the engine at once arrives, and each of them loses its first replies.
func TestLostReplies(t *testing.T) {
	t.Parallel()
	l, _ := lab.OneHost(t)
	p := l.Proxy()
	const clients = 50
	p.Lose("StartWorkflowExecution", clients/2)
	file := l.Book("lossy", lab.Runbook+"# lossy\n\n```sh\necho lossy.1 >> "+l.Dir+"/effects/lossy\n```\n\n- confirm_action \"Publish\"\n\n```sh\necho lossy.2 >> "+l.Dir+"/effects/lossy\n```\n")
	var all sync.WaitGroup
	ids := make([]string, clients)
	for i := range clients {
		all.Go(func() {
			for range 5 { // one whose reply was lost may ask again, under its key
				r, errs, code := p.Ask(file, "--key", "lossy")
				if ids[i] = r.ID; code == 0 {
					return
				}
				t.Logf("start: exit %d: %s", code, errs)
			}
		})
	}
	all.Wait()
	for _, id := range ids {
		if id == "" || id != ids[0] {
			t.Fatalf("one key began %v", ids)
		}
	}
	r := l.Until(ids[0], "waiting", time.Minute, lab.Run.Asks)
	p.Lose("UpdateWorkflowExecution", clients/2)
	var mu sync.Mutex
	taken := map[string]int{}
	for i := range clients {
		all.Go(func() {
			text := []string{"yes", "no"}[i%2]
			errs, code := p.Try("answer", r.Asked.ID, text)
			if code != 0 && !strings.Contains(errs, "was answered") { // its reply was lost
				errs, code = p.Try("answer", r.Asked.ID, text)
			}
			mu.Lock()
			defer mu.Unlock()
			if code == 0 {
				taken[text]++
			} else if !strings.Contains(errs, "yours was not taken") {
				t.Errorf("answer: exit %d: %s", code, errs)
			}
		})
	}
	all.Wait()
	if len(taken) != 1 || taken["yes"]+taken["no"] != clients/2 {
		t.Errorf("taken: %v", taken)
	}
	if n := p.Lost(); n != clients {
		t.Errorf("%d replies were lost", n)
	}
	done := []int{1}
	if taken["yes"] > 0 {
		done = []int{1, 2}
	}
	l.Until(ids[0], "ended", time.Minute, lab.Run.Ended)
	l.Once("lossy", done...)
}
