package replay_test

import (
	"bytes"
	"context"
	"crypto/ecdh"
	"crypto/rand"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"agent/fleet/log"
	"agent/fleet/log/fake"
	"agent/fleet/log/replay"
	"agent/fleet/log/replay/replaytest"
	"agent/fleet/seal"
	"agent/host/pack"
)

// write puts entries into a log.
func write(t *testing.T, l log.Log, k seal.Key, root string, entries ...seal.Entry) {
	t.Helper()
	s := k.Sealer("ns", root)
	for i, e := range entries {
		data, err := s.Seal(int64(i+1), e)
		if err != nil {
			t.Fatal(err)
		}
		if err := l.Create(t.Context(), root, int64(i+1), data); err != nil {
			t.Fatal(err)
		}
	}
}

func aFamily() (*replaytest.Family, []seal.Entry) {
	f := replaytest.New("r-root")
	return f, []seal.Entry{
		{By: "h-05", Epoch: 1, Why: "claim", Records: f.Does("r-root", "created", "claimed")},
		{By: "h-05", Epoch: 1, Why: "start of call 1.0", Records: append(replaytest.Named(1), f.Does("r-root", "started")...)},
		{By: "h-05", Epoch: 1, Why: "child", Records: append(replaytest.Named(1), f.Does("r-child", "created", "claimed")...)},
		{By: "h-07", Epoch: 2, Why: "claim", Records: append(replaytest.Named(2), f.Does("r-root", "claimed again")...)},
		{By: "h-07", Epoch: 2, Why: "long", Records: f.DoesLong("r-child", strings.Repeat("long ", 10_000))},
		{By: "lead", Epoch: 3, Why: "h-07 is gone"},
	}
}

func TestPack(t *testing.T) {
	l, k := fake.New(), seal.NewKey()
	f, entries := aFamily()
	write(t, l, k, "r-root", entries...)
	private, err := ecdh.X25519().GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	sum, err := replay.Pack(t.Context(), l, k, "ns", "r-root", pack.NewAddress("s-B", 1, private), &b)
	if err != nil {
		t.Fatal(err)
	}
	if sum.Place != 6 || sum.Epoch != 3 || sum.By != "lead" || !sum.Fence || sum.Why != "h-07 is gone" || sum.Facts != 7 || len(sum.Runs) != 2 {
		t.Errorf("%+v", sum)
	}
	kinds, facts, h := unpack(t, &b, private)
	if !h.Move || h.From != k.Fleet() || h.ID != sum.ID || !strings.HasPrefix(h.ID, "m-") {
		t.Errorf("%+v", h)
	}
	want := "about thread thread environment secret kept:file-1 environment secret kept:file-2 body kept:list-1 kept:list-2 " +
		"run:r-root fact fact fact fact run:r-child fact fact fact end"
	if got := strings.Join(kinds, " "); got != want {
		t.Errorf("the pack has\n%s, and not\n%s", got, want)
	}
	if int64(facts["r-root"]) != f.Facts("r-root") || int64(facts["r-child"]) != f.Facts("r-child") {
		t.Errorf("%v", facts)
	}
}

// unpack reads a pack as whoever it is sealed to does, and proves the facts.
func unpack(t *testing.T, in io.Reader, private *ecdh.PrivateKey) (kinds []string, facts map[string]int, h pack.Header) {
	t.Helper()
	r, err := pack.NewReader(in)
	if err == nil {
		err = r.Open(private)
	}
	if err != nil {
		t.Fatal(err)
	}
	facts = map[string]int{}
	var run *pack.Run
	var digest []byte
	proved := func() {
		if run != nil && (int64(facts[run.ID]) != run.Facts || !bytes.Equal(digest, run.Digest)) {
			t.Errorf("run %s has other facts than it says", run.ID)
		}
	}
	for {
		one, err := r.Next()
		if err == io.EOF {
			return kinds, facts, r.Header
		}
		if err != nil {
			t.Fatal(err)
		}
		kinds = append(kinds, kind(one))
		switch {
		case one.Run != nil:
			proved()
			run, digest = one.Run, nil
		case one.Fact != nil:
			facts[run.ID]++
			digest = pack.Chain(digest, one.Fact)
		case one.End != nil:
			proved()
		}
	}
}

func kind(r pack.Record) string {
	switch {
	case r.About != nil:
		return "about"
	case r.Thread != nil:
		return "thread"
	case r.Kept != nil:
		return "kept:" + r.Kept.Name
	case r.Body != nil:
		return "body"
	case r.Secret != nil:
		return "secret"
	case r.Environ != nil:
		return "environment"
	case r.Run != nil:
		return "run:" + r.Run.ID
	case r.Fact != nil:
		return "fact"
	}
	return "end"
}

// A log that is empty, has a gap, is damaged or of another fleet makes no pack.
func TestPackRefuses(t *testing.T) {
	private, err := ecdh.X25519().GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	to := pack.NewAddress("s-B", 1, private)
	k := seal.NewKey()
	_, entries := aFamily()
	for name, c := range map[string]struct {
		log  func(t *testing.T) log.Log
		key  seal.Key
		want string
	}{
		"empty":   {func(*testing.T) log.Log { return fake.New() }, k, "no fact"},
		"foreign": {func(t *testing.T) log.Log { l := fake.New(); write(t, l, k, "r-root", entries...); return l }, seal.NewKey(), "another fleet"},
		"gap": {func(t *testing.T) log.Log {
			l := fake.New()
			write(t, l, k, "r-root", entries[0])
			if err := l.Create(t.Context(), "r-root", 3, []byte("x")); err != nil {
				t.Fatal(err)
			}
			return l
		}, k, "place 2 of the log of run r-root: it is missing"},
		"nonsense": {func(t *testing.T) log.Log {
			l := fake.New()
			write(t, l, k, "r-root", entries[:2]...)
			if err := l.Create(t.Context(), "r-root", 3, []byte("nonsense")); err != nil {
				t.Fatal(err)
			}
			return l
		}, k, "place 3 of the log of run r-root: it is no entry"},
		"two histories": {func(t *testing.T) log.Log {
			l := fake.New()
			write(t, l, k, "r-root", entries[0], entries[3])
			return l
		}, k, "place 2 of the log of run r-root"},
		"only a fence": {func(t *testing.T) log.Log { l := fake.New(); write(t, l, k, "r-root", entries[5]); return l }, k, "no fact"},
	} {
		var b bytes.Buffer
		if _, err := replay.Pack(t.Context(), c.log(t), c.key, "ns", "r-root", to, &b); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A fence takes the next place whatever is lost on the way, and is taken once.
func TestFence(t *testing.T) {
	k := seal.NewKey()
	_, entries := aFamily()
	for name, disturb := range map[string]func(*fake.Log){
		"":            func(*fake.Log) {},
		"lost answer": func(l *fake.Log) { l.LoseAfter(1) },
	} {
		l := fake.New()
		write(t, l, k, "r-root", entries[:5]...)
		disturb(l)
		f, err := replay.Fence(t.Context(), l, k, "ns", "r-root", "lead", "gone")
		if err != nil || f.Place != 6 || f.Epoch != 3 || f.By != "lead" {
			t.Errorf("%s: %+v, %v", name, f, err)
		}
		if last, err := l.Last(t.Context(), "r-root"); err != nil || last != 6 {
			t.Errorf("%s: the log ends with %d: %v", name, last, err)
		}
	}
	l := fake.New()
	l.LoseBefore(1)
	if _, err := replay.Fence(t.Context(), l, k, "ns", "r-new", "lead", "gone"); !errors.Is(err, fake.ErrLost) {
		t.Errorf("nothing was stored: %v", err)
	}
	if f, err := replay.Fence(t.Context(), l, k, "ns", "r-new", "lead", "gone"); err != nil || f.Place != 1 || f.Epoch != 1 {
		t.Errorf("a run of which nothing is known: %+v, %v", f, err)
	}
}

// overtaken has somebody else take the place that is to be taken, some times.
type overtaken struct {
	log.Log
	times int
	take  func(place int64) []byte
}

func (o *overtaken) Create(ctx context.Context, root string, place int64, data []byte) error {
	if o.times > 0 {
		o.times--
		if err := o.Log.Create(ctx, root, place, o.take(place)); err != nil {
			return err
		}
	}
	return o.Log.Create(ctx, root, place, data)
}

func TestFenceIsOvertaken(t *testing.T) {
	l, k := fake.New(), seal.NewKey()
	f := replaytest.New("r-root")
	o := &overtaken{l, 3, func(place int64) []byte {
		data, err := k.Sealer("ns", "r-root").Seal(place, seal.Entry{By: "h-05", Epoch: 1, Records: f.Does("r-root", "x")})
		if err != nil {
			t.Error(err)
		}
		return data
	}}
	if fence, err := replay.Fence(t.Context(), o, k, "ns", "r-root", "lead", "gone"); err != nil || fence.Place != 4 || fence.Epoch != 2 {
		t.Errorf("%+v, %v", fence, err)
	}
}

// Check refuses what does not go on from the log, each thing by name.
func TestCheck(t *testing.T) {
	f, entries := aFamily()
	s := replay.NewState("r-root")
	for i, e := range entries[:5] {
		if err := s.Add(int64(i+1), e); err != nil {
			t.Fatal(err)
		}
	}
	change := func(records []pack.Record, c func([]pack.Record)) []pack.Record { c(records); return records }
	for want, records := range map[string][]pack.Record{
		"brings no fact":                 replaytest.Named(3),
		"before its run":                 f.Clone().Does("r-root", "x")[1:],
		"has no new fact":                f.Clone().Does("r-root"),
		"no place in a log":              {{About: &pack.About{}}},
		"stands behind a run":            append(f.Clone().Does("r-root", "x"), replaytest.Named(3)...),
		"not one member":                 {{}},
		"facts, and 5 are in the log":    change(f.Clone().Does("r-root", "x"), func(r []pack.Record) { r[0].Run.Facts++ }),
		"do not go on from":              change(f.Clone().Does("r-root", "x"), func(r []pack.Record) { r[1].Fact.Body = "y" }),
		"is no id of a run":              f.Clone().Does("R-1", "x"),
		"which no entry brought":         f.Clone().Does("r-other", "x")[1:],
		"changed its thread":             change(f.Clone().Does("r-root", "x"), func(r []pack.Record) { r[0].Run.Thread = "t-child" }),
		"stands in it twice":             slices.Concat(f.Clone().Does("r-root", "x"), f.Clone().Does("r-root", "x")),
		"a body that no entry brought":   f.Clone().DoesLong("r-root", "unknown")[1:],
		"record 2 has not one member":    change(f.Clone().Does("r-root", "x"), func(r []pack.Record) { r[1].Body = []byte("x") }),
		"facts of the log have to be th": nil, // below
	} {
		if records == nil {
			_, err := replay.NewState("r-root").Check(1, seal.Entry{By: "h", Epoch: 1, Records: replaytest.New("r-root").Does("r-child", "x")})
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v", want, err)
			}
			continue
		}
		_, err := s.Check(6, seal.Entry{By: "h-07", Epoch: 2, Records: records})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
	for _, place := range []int64{5, 7} {
		if _, err := s.Check(place, seal.Entry{By: "h-07", Epoch: 2, Records: f.Clone().Does("r-root", "x")}); err == nil {
			t.Errorf("place %d is the next one of five", place)
		}
	}
	if _, err := s.Check(6, seal.Entry{By: "h-07", Epoch: 2, Records: f.Clone().Does("r-root", "x")}); err != nil {
		t.Error(err)
	}
}

// An epoch belongs to one host, and ends with a fence.
func TestEpochs(t *testing.T) {
	f, entries := aFamily()
	s := replay.NewState("r-root")
	for i, e := range entries {
		if err := s.Add(int64(i+1), e); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		by    string
		epoch int64
		ok    bool
	}{{"h-07", 1, false}, {"h-07", 2, false}, {"h-07", 0, false}, {"h-05", 2, false}, {"h-07", 3, true}, {"h-05", 3, true}, {"h-05", 4, true}} {
		_, err := s.Check(7, seal.Entry{By: c.by, Epoch: c.epoch, Records: f.Clone().Does("r-root", "x")})
		var over *replay.EpochError
		if (err == nil) != c.ok || err != nil && !errors.As(err, &over) {
			t.Errorf("%s with epoch %d: %v", c.by, c.epoch, err)
		}
	}
}
