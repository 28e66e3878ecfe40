package model_test

import (
	"bufio"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"agent/host/model"
)

// arrivals is a body that comes a part at a time, and says when the next one is asked for.
type arrivals struct {
	parts []string
	asked func()
}

func (a *arrivals) Read(p []byte) (int, error) {
	a.asked()
	if len(a.parts) == 0 {
		return 0, io.EOF
	}
	n := copy(p, a.parts[0])
	a.parts = a.parts[1:]
	return n, nil
}

// Lines that came together are shown together, in their order, and none waits for the network:
// before more is asked for, all that came is shown. A line that begins with ? is reasoning.
func TestPiecesThatCameTogetherAreShownTogether(t *testing.T) {
	var shown []model.Delta
	came, seen := 0, 0
	g := &model.Gather{
		Body: &arrivals{parts: []string{"a\nb\n?c\n", "?d\n", "e", "f\ng\n?h\ni\n", "j\n"}, asked: func() {
			if seen != came {
				t.Errorf("%d bytes are held back while the network is asked for more", came-seen)
			}
		}},
		Show: func(d model.Delta) bool {
			shown, seen = append(shown, d), seen+len(d.Text)+len(d.Reasoning)
			return true
		},
	}
	for lines := bufio.NewScanner(g); lines.Scan(); {
		var d model.Delta
		var thought bool
		if d.Reasoning, thought = strings.CutPrefix(lines.Text(), "?"); !thought {
			d = model.Delta{Text: lines.Text()}
		}
		came += len(d.Text) + len(d.Reasoning)
		g.Add(d)
	}
	g.Add(model.Delta{Reasoning: "first", Text: "then"})
	for range 2 {
		if !g.Flush() {
			t.Error("it says that nobody reads on")
		}
	}
	want := []model.Delta{{Text: "ab", Joined: 1}, {Reasoning: "c"}, {Reasoning: "d"}, {Text: "efg", Joined: 1}, {Reasoning: "h"}, {Text: "i"}, {Text: "j"},
		{Reasoning: "first"}, {Text: "then"}}
	if !slices.Equal(shown, want) {
		t.Errorf("shown: %+v, want %+v", shown, want)
	}
}

// Who left is shown nothing more, and the body is not read on.
func TestNothingIsShownToWhoLeft(t *testing.T) {
	shows := 0
	g := &model.Gather{
		Body: &arrivals{asked: func() { t.Error("the body is read on") }},
		Show: func(model.Delta) bool { shows++; return false },
	}
	if !g.Add(model.Delta{Text: "a"}) || g.Add(model.Delta{Reasoning: "b"}) || g.Add(model.Delta{Text: "c"}) || g.Flush() || shows != 1 {
		t.Errorf("shown %d times, want once; or it does not say that nobody reads on", shows)
	}
	if _, err := g.Read(make([]byte, 1)); !errors.Is(err, model.ErrLeft) {
		t.Errorf("reading on: %v, want %v", err, model.ErrLeft)
	}
}
