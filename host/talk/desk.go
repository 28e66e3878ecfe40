package talk

import (
	"context"
	"errors"
	"io"
	"strings"
	"sync"

	"agent/host/terminal"
)

// Desk is the terminal of a conversation while a run of it goes on: what is typed then is for the
// run's model, but while a question stands. A nil Desk is a terminal at which nobody converses.
type Desk struct {
	mu     sync.Mutex
	run    string
	thread string
	take   func(text string) bool // gets what is typed, and says whether it took it; nil while no run goes on
	end    func()                 // ends the listening, and returns when nobody reads; nil while nobody does
	next   []string               // what was typed and not taken: it is said next
	begun  string                 // the lines of a message that was not at its end when nobody read any more
}

// Begin has what is typed from now on taken, line by line, for the run. What is not taken is the
// next message.
func (d *Desk) Begin(run, thread string, take func(text string) bool) {
	if d == nil {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.run, d.thread, d.take = run, thread, take
	d.listen()
}

// End has nothing taken any more.
func (d *Desk) End() {
	if d == nil {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.pause()
	d.take = nil
}

// Open is terminal.OpenPrompt: while it is open nothing else that is typed is taken.
func (d *Desk) Open() (*terminal.Prompt, error) {
	if d == nil {
		return terminal.OpenPrompt()
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.pause()
	p, err := terminal.OpenPrompt()
	if err != nil {
		d.listen()
		return nil, err
	}
	p.Closed = func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.listen()
	}
	return p, nil
}

// last is the run of the conversation that was begun last, with its thread; "" for none.
func (d *Desk) last() (run, thread string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.run, d.thread
}

// waiting is what was typed for a run and came too late for it; "" for nothing.
func (d *Desk) waiting() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.next) == 0 {
		return ""
	}
	text := d.next[0]
	d.next = d.next[1:]
	return text
}

// rest is what was begun while a run went on, whose end comes behind it; "" for nothing.
func (d *Desk) rest() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	begun := d.begun
	d.begun = ""
	return begun
}

// mostEnds is how often in a row a terminal may say that its input ends before it counts as gone.
const mostEnds = 20

// listen reads lines, if they are for somebody and nobody reads them yet. The mutex is held.
func (d *Desk) listen() {
	if d.take == nil || d.end != nil {
		return
	}
	p, err := terminal.OpenPrompt()
	if err != nil {
		return // it went away: nobody types
	}
	ctx, cancel := context.WithCancel(context.Background())
	over, h := make(chan struct{}), &hearing{take: d.take, text: d.begun}
	d.end = func() {
		cancel()
		<-over
		d.next, d.begun = append(d.next, h.left...), h.text
	}
	go func() {
		defer close(over)
		defer p.Close()
		h.read(ctx, p.ReadLine)
	}()
}

// hearing is the reading of messages while a run goes on.
type hearing struct {
	take func(text string) bool
	text string   // of a message that is not at its end
	left []string // messages that were not taken
}

// read reads messages until ctx ends or the terminal is gone.
func (h *hearing) read(ctx context.Context, next func(context.Context) (string, error)) {
	ends := 0
	for {
		line, err := next(ctx)
		line, whole := strings.CutSuffix(line, "\n")
		switch {
		case whole:
			ends = 0
			h.hear(strings.TrimSuffix(line, "\r"))
		case errors.Is(err, io.EOF) && ctx.Err() == nil && ends < mostEnds: // Ctrl-D ends nothing here
			ends++
			h.text += line
		case err != nil:
			h.text += line
			return
		}
	}
}

// hear takes one line of a message.
func (h *hearing) hear(line string) {
	begun, more := strings.CutSuffix(line, `\`)
	if h.text += begun; more {
		h.text += "\n"
		return
	}
	if text := strings.TrimSpace(h.text); text != "" && !h.take(text) {
		h.left = append(h.left, text)
	}
	h.text = ""
}

// pause ends the reading. The mutex is held.
func (d *Desk) pause() {
	if d.end != nil {
		d.end()
		d.end = nil
	}
}
