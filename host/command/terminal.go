package command

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/urfave/cli/v3"

	"agent/host"
	"agent/host/stream"
	"agent/host/view"
	"agent/recovery"
)

// The rules of questions. They are put to the controlling terminal, so a piped stdin still works, and only where a person
// can be thought to sit: stderr is a terminal too, this process is in its foreground, and no program reads the output as
// JSON. What was typed before a question stood there is no answer to it. The whole question is shown, with what each answer
// does. Ctrl-C and Ctrl-D leave it open. The terminal keeps its own line editing, so nothing has to be restored.

// askHere lets the host put questions to the controlling terminal, where there is one and no program reads the output.
func (s *session) askHere(c *cli.Command) {
	if _, ok := terminalFile(s.app.Err); !ok || c.Bool("json") {
		return
	}
	t, err := openTerminal()
	if err != nil {
		return // nobody to ask: questions wait, and agent answer answers them
	}
	t.close()
	s.Env.Ask = s.ask
}

// ask puts a question once everything that happened before it is shown.
func (s *session) ask(ctx context.Context, _ string, r recovery.Request) (json.RawMessage, error) {
	release, err := s.show.alone(ctx)
	if err != nil {
		return nil, err
	}
	defer release()
	t, err := openTerminal()
	if err != nil {
		return nil, host.ErrLeftOpen // it went away, or into the background, since
	}
	defer t.close()
	s.show.put[r.ID] = true // alone holds what guards it
	return t.ask(ctx, r)
}

// console is what a question needs of a terminal.
type console interface {
	io.ReadWriteCloser
	SetReadDeadline(time.Time) error
}

// terminal is the controlling terminal while one question is put to it.
type terminal struct {
	console
	in      *bufio.Reader
	discard func() // drops what was typed and not read
}

func newTerminal(c console, discard func()) *terminal {
	return &terminal{console: c, in: bufio.NewReader(c), discard: discard}
}

// errNoTerminal says that there is no terminal at which a person could be asked.
var errNoTerminal = errors.New("there is no terminal to ask at")

// openTerminal opens the controlling terminal of a process in its foreground.
func openTerminal() (*terminal, error) {
	f, err := os.OpenFile("/dev/tty", os.O_RDWR, 0)
	if err != nil {
		return nil, errNoTerminal
	}
	if !inForeground(f) {
		return nil, errors.Join(errNoTerminal, f.Close())
	}
	return newTerminal(f, func() { discardInput(f) }), nil
}

func (t *terminal) close() {
	_ = t.Close() // nothing that was written to a terminal can be lost by this
}

// ask shows a question and reads lines until one is an answer. It returns host.ErrLeftOpen at the end of the input, and the
// context's error, at once, when that ends.
func (t *terminal) ask(ctx context.Context, r recovery.Request) (json.RawMessage, error) {
	t.discard()
	t.say("%s\n", view.QuestionText(&r))
	t.say("  (Ctrl-D leaves it open; then: %s)\n", view.AnswerCommand(r.ID))
	for {
		t.say("%s: ", view.PromptText(&r))
		line, err := t.readLine(ctx)
		switch {
		case err != nil && ctx.Err() != nil:
			t.say("\n")
			t.discard()
			return nil, context.Cause(ctx)
		case errors.Is(err, io.EOF):
			t.say("\n")
			return nil, host.ErrLeftOpen
		case err != nil:
			return nil, fmt.Errorf("read the answer to %s: %v", r.ID, err)
		}
		answer, err := view.ParseAnswer(r.Question, strings.TrimRight(line, "\r\n"))
		if err == nil {
			return answer, nil
		}
		t.say("  %v\n", err)
	}
}

// say writes to the terminal. If it has gone, the next read says so.
func (t *terminal) say(format string, args ...any) {
	_, _ = io.WriteString(t, stream.Sanitize(fmt.Sprintf(format, args...)))
}

// readLine reads one line. When ctx ends first it returns at once. Where a terminal knows no deadline, what reads it ends
// with the process.
func (t *terminal) readLine(ctx context.Context) (string, error) {
	type read struct {
		line string
		err  error
	}
	got := make(chan read, 1)
	go func() {
		line, err := t.in.ReadString('\n')
		got <- read{line, err}
	}()
	select {
	case r := <-got:
		return r.line, r.err
	case <-ctx.Done():
		if t.SetReadDeadline(time.Unix(1, 0)) == nil {
			<-got
		}
		return "", ctx.Err()
	}
}
