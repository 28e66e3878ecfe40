//go:build linux

package main

import (
	"agent/scripts/streams/stage"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"time"
)

// size is how much of the proof is done.
type size struct {
	turns, text, kills int
	clients            map[string]int
	most               time.Duration
}

func (w *world) size() size {
	if w.short {
		return size{turns: 40, text: 40 << 10, kills: 5, clients: map[string]int{"own": 2, "eventsource": 2, "curl": 2}, most: 3 * time.Minute}
	}
	return size{turns: 400, text: 200 << 10, kills: 50, clients: map[string]int{"own": 8, "eventsource": 6, "curl": 6}, most: 20 * time.Minute}
}

// once is a run of many facts and much text, clients that are cut at any byte, and a server that is
// killed again and again while the run goes on: each client sees each fact once and in order, and
// no text but that of the answer.
func once(ctx context.Context, w *world) (f findings, err error) {
	ctx, stop := context.WithTimeout(ctx, w.size().most)
	defer stop()
	size := w.size()
	killer := newKiller(size)
	w.Model.Says(killer.turn)
	run, _, err := w.Paced()
	if err != nil {
		return f, err
	}
	if err := w.Serve(); err != nil {
		return f, err
	}
	all, cuts, err := w.watchers(ctx, run, killer.full, size)
	if err != nil {
		return f, err
	}
	if err := killer.work(ctx, w, all.list); err != nil {
		return f, err
	}
	all.wait()
	if ctx.Err() != nil {
		for _, s := range all.list {
			f.must(s.done, "%s has %d facts up to %s after %d connections: %v", s.kind, len(s.datas), s.last, s.starts, s.problem)
		}
		return f, nil
	}
	want, err := w.journal(ctx, run)
	if err != nil {
		return f, err
	}
	text, twice, gaps := killer.full(size.turns+1), 0, 0
	for _, s := range all.list {
		t, g, err := s.judge(want, text)
		twice, gaps = twice+t, gaps+g
		f.must(err == nil && t == 0 && g == 0, "%s: %d facts twice, %d missing, %v", s.kind, t, g, err)
	}
	f.must(len(want) >= 5*size.turns, "the run has %d facts", len(want))
	f.must(all.texts() > len(text), "%d bytes of live text were seen", all.texts())
	f.add("facts", len(want))
	f.add("text_bytes", len(text))
	f.add("clients", len(all.list))
	f.add("connections", all.connections())
	f.add("cut", cuts())
	f.add("server_killed", size.kills)
	f.add("live_text_bytes_seen", all.texts())
	f.add("twice", twice)
	f.add("gaps", gaps)
	return f, w.controls(ctx, &f, run, want, killer.full)
}

// controls show the same clients a server that is broken: each must see it.
func (w *world) controls(ctx context.Context, f *findings, run string, want []string, full func(int) string) error {
	for _, broken := range []string{forgetful, repeating} {
		for _, kind := range []string{"own", "eventsource", "curl"} {
			p := &proxy{w: w, broken: broken, dice: rand.New(rand.NewPCG(w.seed, 99))}
			s := newSeen(kind, full)
			if err := w.through(ctx, p, s, kind, run); err != nil {
				return err
			}
			twice, gaps, err := s.judge(want, full(w.size().turns+1))
			f.controls++
			if err == nil && twice+gaps > 0 {
				f.caught++
			} else {
				f.must(false, "the control %s was not seen by %s: %v", broken, kind, err)
			}
		}
	}
	return nil
}

// through has one client observe the run through a proxy of its own.
func (w *world) through(ctx context.Context, p *proxy, s *seen, kind, run string) error {
	token, err := w.Token()
	if err != nil {
		return err
	}
	url, stop, err := p.open()
	if err != nil {
		return err
	}
	defer stop()
	switch kind {
	case "eventsource":
		w.eventsourceClient(ctx, s, run, token, url)
	case "curl":
		w.curl(ctx, s, run, token, url)
	default:
		w.direct(ctx, s, run, token, url)
	}
	return nil
}

// watchers are clients at work.
type watchers struct {
	list []*seen
	wait func()
}

func (a *watchers) connections() (n int) {
	for _, s := range a.list {
		n += s.connections()
	}
	return n
}

func (a *watchers) texts() (n int) {
	for _, s := range a.list {
		n += s.texts
	}
	return n
}

// watchers starts all clients. cuts says how many connections were cut on purpose.
func (w *world) watchers(ctx context.Context, run string, full func(int) string, size size) (*watchers, func() int, error) {
	token, err := w.Token()
	if err != nil {
		return nil, nil, err
	}
	var working sync.WaitGroup
	var stops []func()
	var proxies []*proxy
	all := &watchers{}
	for _, kind := range []string{"own", "eventsource", "curl"} {
		for n := range size.clients[kind] {
			s := newSeen(name(kind, n+1), full)
			all.list = append(all.list, s)
			dice := rand.New(rand.NewPCG(w.seed, uint64(len(all.list))))
			if kind == "own" {
				working.Go(func() { w.own(ctx, s, run, token, dice) })
				continue
			}
			p := &proxy{w: w, dice: dice, rarely: kind == "eventsource"} // which waits a second after each cut
			url, stop, err := p.open()
			if err != nil {
				return nil, nil, err
			}
			stops, proxies = append(stops, stop), append(proxies, p)
			if kind == "curl" {
				working.Go(func() { w.curl(ctx, s, run, token, url) })
			} else {
				working.Go(func() { w.eventsourceClient(ctx, s, run, token, url) })
			}
		}
	}
	all.wait = func() {
		working.Wait()
		for _, stop := range stops {
			stop()
		}
	}
	return all, func() (n int) {
		for _, s := range all.list {
			n += s.cuts
		}
		for _, p := range proxies {
			n += p.cuts
		}
		return n
	}, nil
}

// journal waits for the end of the run, and reads its facts: as the server has them, compared with
// what the command line has.
func (w *world) journal(ctx context.Context, run string) ([]string, error) {
	want, err := w.facts(ctx, run)
	if err != nil {
		return nil, err
	}
	out, err := w.Command("show", "--json", run).Output()
	if err != nil {
		return nil, fmt.Errorf("show the run: %v", err)
	}
	var v struct {
		Run   struct{ Status string }
		Facts []struct {
			Seq  int
			Kind string
		}
	}
	if err := json.Unmarshal(out, &v); err != nil {
		return nil, err
	}
	if v.Run.Status != "completed" || len(v.Facts) != len(want) {
		return nil, fmt.Errorf("the run is %s with %d facts; the server has %d", v.Run.Status, len(v.Facts), len(want))
	}
	for i, f := range v.Facts {
		if f.Seq != i+1 || !strings.Contains(want[i], fmt.Sprintf(`"type":%q`, f.Kind)) || !strings.Contains(want[i], fmt.Sprintf(`"seq":%d,`, f.Seq)) {
			return nil, fmt.Errorf("fact %d is %s in the journal, and the server has %.200s", f.Seq, f.Kind, want[i])
		}
	}
	return want, nil
}

// killer holds the model up at so many places, and kills the server at each.
type killer struct {
	size
	reached chan struct{}
	goOn    chan struct{}
}

func newKiller(s size) *killer {
	return &killer{size: s, reached: make(chan struct{}), goOn: make(chan struct{})}
}

// A fifth of the kills fall into the long text.
func (k *killer) inText() int { return max(1, k.kills/5) }

func (k *killer) full(turn int) string { return k.turn(turn).Text() }

func (k *killer) turn(n int) stage.Answer {
	if n <= k.turns {
		a := stage.Answer{Tokens: strings.SplitAfter(fmt.Sprintf("Turn %d reads the file, once more. ", n), " ")}
		if each := k.turns / (k.kills - k.inText()); n%each == 0 && n/each <= k.kills-k.inText() {
			a.Before = func(token int) bool { return token > 0 || k.hold() }
		}
		return a
	}
	word := "ein längeres Wort, 日本語 und 😀 auch; "
	a := stage.Answer{Last: true, Pace: time.Millisecond}
	for n := 0; n < k.text; n += len(word) {
		a.Tokens = append(a.Tokens, word)
	}
	each := len(a.Tokens) / (k.inText() + 1)
	a.Before = func(token int) bool { return token%each != 0 || token/each > k.inText() || k.hold() }
	return a
}

func (k *killer) hold() bool {
	k.reached <- struct{}{}
	<-k.goOn
	return true
}

// work kills the server at each place, and lets the model go on once clients are connected again.
// The long text begins when all of them have come as far.
func (k *killer) work(ctx context.Context, w *world, list []*seen) error {
	for n := range k.kills + 1 {
		select {
		case <-k.reached:
		case <-ctx.Done():
			return ctx.Err()
		}
		if n == k.kills-k.inText() {
			if err := stage.Wait(ctx, 5*time.Minute, "clients have come to the long text", func() (bool, error) {
				least := k.turns * 5
				for _, s := range list {
					least = min(least, s.facts())
				}
				return least == k.turns*5, going(list)
			}); err != nil {
				return err
			}
			k.goOn <- struct{}{}
			continue
		}
		before := (&watchers{list: list}).connections()
		k.goOn <- struct{}{}
		w.Kill()
		if err := w.Serve(); err != nil {
			return err
		}
		if err := stage.Wait(ctx, time.Minute, "clients connect again", func() (bool, error) {
			return (&watchers{list: list}).connections() >= before+3, going(list)
		}); err != nil {
			return err
		}
	}
	return nil
}

// going says which client has ended before the run.
func going(list []*seen) error {
	for _, s := range list {
		if done, _ := s.ended(); done {
			return fmt.Errorf("%s ended: %w", s.kind, s.problem)
		}
	}
	return nil
}
