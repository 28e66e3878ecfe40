package seal_test

import (
	"bytes"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"agent/fleet/seal"
	"agent/host/pack"
)

func anEntry() seal.Entry {
	return seal.Entry{
		By: "h-05", Epoch: 3, At: time.Unix(1, 5).UTC(), Why: "start of call 3.1 shell",
		Records: []pack.Record{
			{Thread: &pack.Thread{ID: "t-1", Created: time.Unix(2, 0).UTC()}},
			{Body: bytes.Repeat([]byte("canary "), 1000)},
			{Run: &pack.Run{ID: "r-1", Thread: "t-1", Facts: 1}},
			{Fact: &pack.Fact{Kind: 1, Body: `{"canary":"<&>"}`}},
		},
	}
}

func TestEntryComesBack(t *testing.T) {
	s := seal.NewKey().Sealer("ns", "r-1")
	for _, e := range []seal.Entry{anEntry(), {By: "h", Epoch: 1, Why: "fence"}} {
		data, err := s.Seal(7, e)
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(data, []byte("canary")) || bytes.Contains(data, []byte("h-05")) || bytes.Contains(data, []byte("shell")) {
			t.Error("content stands in the clear")
		}
		back, err := s.Open(7, data)
		if err != nil {
			t.Fatal(err)
		}
		e.V, e.Digest = back.V, back.Digest
		if !reflect.DeepEqual(back, e) || back.Fence() != (e.Records == nil) {
			t.Errorf("%+v came back as %+v", e, back)
		}
	}
	if data, err := s.Seal(7, anEntry()); err != nil || len(data) > 1000 {
		t.Errorf("7 kB that repeat have %d bytes: %v", len(data), err)
	}
}

// Whatever is changed, cut off, added or put elsewhere is found, and the error says where.
func TestEntryIsWhole(t *testing.T) {
	k := seal.NewKey()
	s := k.Sealer("ns", "r-1")
	data, err := s.Seal(7, anEntry())
	if err != nil {
		t.Fatal(err)
	}
	for i := range data {
		bad := bytes.Clone(data)
		bad[i] ^= 1
		if _, err := s.Open(7, bad); err == nil {
			t.Fatalf("byte %d was changed, and nobody noticed", i)
		}
		if _, err := s.Open(7, data[:i]); err == nil {
			t.Fatalf("it was cut off at %d, and nobody noticed", i)
		}
	}
	for name, open := range map[string]func() (seal.Entry, error){
		"longer":            func() (seal.Entry, error) { return s.Open(7, append(bytes.Clone(data), 'x')) },
		"another place":     func() (seal.Entry, error) { return s.Open(8, data) },
		"another run":       func() (seal.Entry, error) { return k.Sealer("ns", "r-2").Open(7, data) },
		"another namespace": func() (seal.Entry, error) { return k.Sealer("ns2", "r-1").Open(7, data) },
		"empty":             func() (seal.Entry, error) { return s.Open(7, nil) },
		"a newer form": func() (seal.Entry, error) {
			return s.Open(7, bytes.Replace(data, []byte(`"agent_fleet_log":1`), []byte(`"agent_fleet_log":2`), 1))
		},
	} {
		_, err := open()
		var damage *seal.DamageError
		if !errors.As(err, &damage) || !strings.Contains(err.Error(), "place ") || !strings.Contains(err.Error(), "of the log of run r-") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Another fleet's key is known as such.
func TestEntryOfAnotherFleet(t *testing.T) {
	mine, theirs := seal.NewKey(), seal.NewKey()
	data, err := theirs.Sealer("ns", "r-1").Seal(1, anEntry())
	if err != nil {
		t.Fatal(err)
	}
	_, err = mine.Sealer("ns", "r-1").Open(1, data)
	var foreign *seal.ForeignError
	if !errors.As(err, &foreign) || !strings.Contains(err.Error(), "it belongs to another fleet") ||
		!strings.Contains(err.Error(), theirs.Fleet()) || !strings.Contains(err.Error(), mine.Fleet()) {
		t.Errorf("%v", err)
	}
	nasty := bytes.Replace(data, []byte(theirs.Fleet()), []byte(`\u001b[31m`), 1)
	if _, err := mine.Sealer("ns", "r-1").Open(1, nasty); err == nil || strings.Contains(err.Error(), "\x1b") {
		t.Errorf("what a stranger wrote reaches the terminal: %q", err)
	}
}

// FuzzOpen has no data open that was not sealed, and none end the process.
func FuzzOpen(f *testing.F) {
	k, err := seal.ParseKey("MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=")
	if err != nil {
		f.Fatal(err)
	}
	s := k.Sealer("ns", "r-1")
	good, err := s.Seal(1, anEntry())
	if err != nil {
		f.Fatal(err)
	}
	f.Add(good)
	f.Add(good[:60])
	f.Add([]byte("{\"agent_fleet_log\":1,\"fleet\":\"" + k.Fleet() + "\"}\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		e, err := s.Open(1, data)
		if err != nil {
			return
		}
		want := anEntry() // the seal of another process is another one
		want.V, want.Digest = e.V, e.Digest
		if !reflect.DeepEqual(e, want) {
			t.Errorf("%q opens", data)
		}
	})
}
