package model

import (
	"errors"
	"io"
)

// ErrLeft says that nobody reads the answer any more.
var ErrLeft = errors.New("nobody reads on")

// Gather joins the pieces of an answer that came over the network together, so that whoever shows
// them is called once for all. No piece waits: a parser reads the body through Gather, which shows
// what it has before it asks the network for more.
type Gather struct {
	Body io.Reader
	Show func(Delta) bool // false when nobody reads on

	pending   []byte
	reasoning bool // pending is what the model thinks
	pieces    int  // of which pending consists
	left      bool
}

// Read reads on in the body, behind what was gathered.
func (g *Gather) Read(p []byte) (int, error) {
	if !g.Flush() {
		return 0, ErrLeft
	}
	return g.Body.Read(p)
}

// Add takes what one event shows. False means that nobody reads on.
func (g *Gather) Add(d Delta) bool {
	return g.add(d.Reasoning, true) && g.add(d.Text, false)
}

func (g *Gather) add(text string, reasoning bool) bool {
	if text == "" {
		return !g.left
	}
	if g.reasoning != reasoning && !g.Flush() {
		return false
	}
	g.pending, g.reasoning = append(g.pending, text...), reasoning
	g.pieces++
	return !g.left
}

// Flush shows what was gathered. False means that nobody reads on.
func (g *Gather) Flush() bool {
	if len(g.pending) == 0 || g.left {
		return !g.left
	}
	d := Delta{Text: string(g.pending), Joined: g.pieces - 1}
	if g.reasoning {
		d.Text, d.Reasoning = "", d.Text
	}
	g.pending, g.pieces = g.pending[:0], 0
	g.left = !g.Show(d)
	return !g.left
}
