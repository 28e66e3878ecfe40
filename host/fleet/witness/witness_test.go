package witness_test

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"agent/fleet/log/fake"
	"agent/fleet/log/replay"
	"agent/fleet/log/replay/replaytest"
	"agent/fleet/seal"
	"agent/fleet/witness"
	"agent/host/pack"
	"agent/host/witness/line"
)

const patience = 20 * time.Second // for what takes milliseconds

// bench is a witness with its log.
type bench struct {
	*testing.T
	log  *fake.Log
	key  seal.Key
	path string
}

// begin serves a log of memory.
func begin(t *testing.T, o witness.Options) *bench {
	t.Helper()
	return (&bench{T: t, log: fake.New(), key: seal.NewKey()}).serve(o)
}

// serve serves the log of a bench, as another witness beside those there are.
func (b *bench) serve(o witness.Options) *bench {
	b.Helper()
	out := *b
	out.path = filepath.Join(b.TempDir(), "s", "w")
	l, err := witness.Listen(out.path)
	if err != nil {
		b.Fatal(err)
	}
	if o.By == "" {
		o.By = "h-05"
	}
	o.Namespace = "ns"
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- witness.Serve(ctx, l, out.log, b.key, o) }()
	b.Cleanup(func() {
		stop()
		select {
		case err := <-ended:
			if err != nil {
				b.Error(err)
			}
		case <-time.After(patience):
			b.Error("the witness does not end")
		}
	})
	return &out
}

// driver is one connection.
type driver struct {
	*testing.T
	conn net.Conn
	in   *bufio.Reader
}

func (b *bench) driver() *driver {
	b.Helper()
	c, err := net.Dial("unix", b.path)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = c.Close() })
	if err := c.SetDeadline(time.Now().Add(patience)); err != nil {
		b.Fatal(err)
	}
	return &driver{b.T, c, bufio.NewReader(c)}
}

// say sends a line and gives the answer.
func (d *driver) say(text string) line.Reply {
	d.Helper()
	if _, err := io.WriteString(d.conn, text+"\n"); err != nil {
		d.Fatal(err)
	}
	return d.hear()
}

func (d *driver) hear() (r line.Reply) {
	d.Helper()
	text, err := d.in.ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(text, &r)
	}
	if err != nil {
		d.Fatalf("%v: %q", err, text)
	}
	if r.V != line.Version || answers(r) != 1 {
		d.Fatalf("the answer is not one: %s", text)
	}
	return r
}

func answers(r line.Reply) (n int) {
	for _, is := range []bool{r.OK != nil, r.Fenced != nil, r.Later != "", r.Refused != ""} {
		if is {
			n++
		}
	}
	return n
}

func (d *driver) ask(q line.Request) line.Reply {
	d.Helper()
	q.V = line.Version
	text, err := json.Marshal(q)
	if err != nil {
		d.Fatal(err)
	}
	return d.say(string(text))
}

func (d *driver) hello() line.Reply {
	d.Helper()
	return d.ask(line.Request{Op: line.Hello, Root: "r-root", Agent: "0.1.0"})
}

func (d *driver) append(place, epoch int64, records []pack.Record) line.Reply {
	d.Helper()
	return d.ask(line.Request{Op: line.Append, Root: "r-root", Place: place, Epoch: epoch, Why: "claim", Records: records})
}

// wantOK wants the log to end with a place.
func (d *driver) wantOK(r line.Reply, place int64) {
	d.Helper()
	if r.OK == nil || r.OK.Place != place {
		d.Fatalf("%s, and not ok with place %d", show(r), place)
	}
}

func (d *driver) wantFenced(r line.Reply, place int64, by string) {
	d.Helper()
	if r.Fenced == nil || r.Fenced.Place != place || r.Fenced.By != by {
		d.Fatalf("%s, and not fenced by %s at %d", show(r), by, place)
	}
}

func (d *driver) wantRefused(r line.Reply, why string) {
	d.Helper()
	if !strings.Contains(r.Refused, why) {
		d.Fatalf("%s, and not refused: %s", show(r), why)
	}
}

func show(r line.Reply) string {
	text, err := json.Marshal(r)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// A driver says hello, claims, and goes on; the log has it all; who comes later hears how far it
// is.
func TestHelloAndAppend(t *testing.T) {
	b := begin(t, witness.Options{})
	f := replaytest.New("r-root")
	d := b.driver()
	d.wantOK(d.hello(), 0)
	d.wantOK(d.append(1, 1, f.Does("r-root", "created", "claimed")), 1)
	d.wantOK(d.append(2, 1, append(replaytest.Named(1), f.Does("r-root", "started")...)), 2)
	d.wantOK(d.append(3, 1, append(f.Does("r-child", "created"), f.Does("r-root", "x")...)), 3)
	d.wantOK(d.append(4, 1, f.DoesLong("r-child", strings.Repeat("long ", 100_000))), 4)
	r := b.driver().hello()
	d.wantOK(r, 4)
	s := replay.NewState("r-root")
	if err := s.CatchUp(t.Context(), b.log, b.key.Sealer("ns", "r-root"), nil); err != nil {
		t.Fatal(err)
	}
	if len(r.OK.Runs) != 2 || r.OK.Runs["r-root"].Facts != 4 || r.OK.Runs["r-child"].Facts != 2 || s.By != "h-05" || s.Why != "claim" {
		t.Errorf("%s", show(r))
	}
	for id, stand := range s.Runs {
		if string(stand.Digest) != string(r.OK.Runs[id].Digest) {
			t.Errorf("run %s has another digest", id)
		}
	}
}

// The same append again is answered as the first one; another one for its place is fenced.
func TestAppendAgain(t *testing.T) {
	b := begin(t, witness.Options{})
	f := replaytest.New("r-root")
	d := b.driver()
	first := f.Does("r-root", "created", "claimed")
	other := f.Clone().Does("r-root", "one")
	second := f.Does("r-root", "started")
	for range 3 {
		d.wantOK(d.append(1, 1, first), 1)
	}
	d.wantOK(b.driver().append(1, 1, first), 1) // on another connection
	d.wantOK(d.append(2, 1, second), 2)
	d.wantOK(d.append(2, 1, second), 2)
	d.wantFenced(d.append(2, 1, other), 2, "h-05")
	d.wantFenced(d.append(2, 2, second), 2, "h-05") // another epoch is another driver
	d.wantFenced(d.append(1, 1, first), 2, "h-05")  // the log went on
	d.wantFenced(d.append(1, 1, second), 2, "h-05") // it is at another place
	again := b.serve(witness.Options{})             // the witness was started anew
	d.wantOK(again.driver().append(2, 1, second), 2)
}

// Two hosts with one log: who is later is fenced, and hears of whom; the claim needs a new epoch.
func TestTwoHosts(t *testing.T) {
	one := begin(t, witness.Options{By: "h-05"})
	two := one.serve(witness.Options{By: "h-07"})
	f := replaytest.New("r-root")
	d, e := one.driver(), two.driver()
	d.wantOK(d.append(1, 1, f.Does("r-root", "created", "claimed")), 1)
	old := f.Clone()
	e.wantOK(e.hello(), 1)
	e.wantFenced(e.append(2, 1, f.Clone().Does("r-root", "no claim")), 1, "h-05")
	e.wantOK(e.append(2, 2, f.Does("r-root", "claimed again")), 2)
	r := d.append(2, 1, old.Clone().Does("r-root", "started"))
	d.wantFenced(r, 2, "h-07")
	if r.Fenced.Epoch != 2 || r.Fenced.At.IsZero() {
		t.Errorf("%s", show(r))
	}
	d.wantOK(d.hello(), 2) // who asks how far the log is may not go on all the same
	d.wantFenced(d.append(3, 1, f.Clone().Does("r-root", "started")), 2, "h-07")
}

// After a fence nobody goes on who did not claim anew, whoever it is by.
func TestFence(t *testing.T) {
	for _, by := range []string{"lead", "h-05"} {
		t.Run(by, func(t *testing.T) { testFence(t, by) })
	}
}

func testFence(t *testing.T, by string) {
	b := begin(t, witness.Options{})
	f := replaytest.New("r-root")
	d := b.driver()
	d.wantOK(d.append(1, 1, f.Does("r-root", "created", "claimed")), 1)
	if _, err := replay.Fence(t.Context(), b.log, b.key, "ns", "r-root", by, "gone"); err != nil {
		t.Fatal(err)
	}
	d.wantFenced(d.append(2, 1, f.Clone().Does("r-root", "started")), 2, by)
	d.wantOK(d.hello(), 2)
	d.wantFenced(d.append(3, 1, f.Clone().Does("r-root", "started")), 2, by)
	d.wantOK(d.append(3, 2, f.Does("r-root", "claimed again")), 3)
}

// After an end by a fence nobody goes on, whatever epoch it claims, and hears why.
func TestEnd(t *testing.T) {
	b := begin(t, witness.Options{})
	f := replaytest.New("r-root")
	d := b.driver()
	d.wantOK(d.append(1, 1, f.Does("r-root", "created", "claimed")), 1)
	if _, err := replay.End(t.Context(), b.log, b.key, "ns", "r-root", "lead", "cancelled by Ada"); err != nil {
		t.Fatal(err)
	}
	d.wantFenced(d.append(2, 1, f.Clone().Does("r-root", "started")), 2, "lead")
	d.wantOK(d.hello(), 2)
	d.wantRefused(d.append(3, 9, f.Clone().Does("r-root", "claimed again")), "run r-root was ended by lead at ")
	if _, err := replay.Fence(t.Context(), b.log, b.key, "ns", "r-root", "h-05", "again"); err != nil {
		t.Fatal(err)
	}
	d.wantRefused(d.append(4, 9, f.Clone().Does("r-root", "claimed again")), "was ended by lead at ")
}

// Of many who claim at once, on two hosts, one has it.
func TestClaimsRace(t *testing.T) {
	one := begin(t, witness.Options{By: "h-05"})
	two := one.serve(witness.Options{By: "h-07"})
	f := replaytest.New("r-root")
	first := one.driver()
	first.wantOK(first.append(1, 1, f.Does("r-root", "created", "claimed")), 1)
	for place := int64(2); place < 40; place++ {
		var replies [6]line.Reply
		var drivers [6]*driver
		var records [6][]pack.Record
		var clones [6]*replaytest.Family
		for i := range drivers {
			drivers[i] = []*bench{one, two}[i%2].driver()
			clones[i] = f.Clone()
			records[i] = clones[i].Does("r-root", "claim of "+string(rune('a'+i)))
		}
		var all sync.WaitGroup
		for i, d := range drivers {
			all.Go(func() { replies[i] = d.append(place, place, records[i]) })
		}
		all.Wait()
		won := 0
		for i, r := range replies {
			if r.OK != nil {
				won++
				f = clones[i]
			} else if r.Fenced == nil {
				t.Fatal(show(r))
			}
			_ = drivers[i].conn.Close()
		}
		if won != 1 {
			t.Fatalf("place %d: %d have it", place, won)
		}
	}
}
