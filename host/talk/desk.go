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
	var left []string
	over, take := make(chan struct{}), d.take
	d.end = func() {
		cancel()
		<-over
		d.next = append(d.next, left...)
	}
	go func() {
		defer close(over)
		defer p.Close()
		text, ends := "", 0
		for {
			line, err := p.ReadLine(ctx)
			if errors.Is(err, io.EOF) && ctx.Err() == nil && ends < mostEnds { // Ctrl-D ends nothing here
				ends++
				continue
			}
			if err != nil {
				return
			}
			ends = 0
			line = strings.TrimRight(line, "\r\n")
			begun, more := strings.CutSuffix(line, `\`)
			if text += begun; more {
				text += "\n"
				continue
			}
			if text = strings.TrimSpace(text); text != "" && !take(text) {
				left = append(left, text)
			}
			text = ""
		}
	}()
}

// pause ends the reading. The mutex is held.
func (d *Desk) pause() {
	if d.end != nil {
		d.end()
		d.end = nil
	}
}
