package terminal

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"agent/host/stream"
	"agent/host/tty"
	"agent/host/view"
	"agent/recovery/journal"
)

// Console is what a question needs of a terminal.
type Console interface {
	io.ReadWriteCloser
	SetReadDeadline(time.Time) error
}

// Prompt is the controlling terminal while one question is put to it.
type Prompt struct {
	Console
	in     *bufio.Reader
	drop   func() // drops what was typed and not read
	Closed func() // is called once the terminal is given back; nil for nobody
}

// NewPrompt puts questions to c; drop drops what was typed there and not read.
func NewPrompt(c Console, drop func()) *Prompt {
	return &Prompt{Console: c, in: bufio.NewReader(c), drop: drop}
}

// ErrNoTerminal says that there is no terminal at which a person could be asked.
var ErrNoTerminal = errors.New("there is no terminal to ask at")

// ErrLeftOpen says that a question was left open.
var ErrLeftOpen = errors.New("the question stays open")

// OpenPrompt opens the controlling terminal of a process in its foreground.
func OpenPrompt() (*Prompt, error) {
	f, err := os.OpenFile("/dev/tty", os.O_RDWR, 0)
	if err != nil {
		return nil, ErrNoTerminal
	}
	if !tty.InForeground(f) {
		return nil, errors.Join(ErrNoTerminal, f.Close())
	}
	return NewPrompt(f, func() { tty.DiscardInput(f) }), nil
}

// Close gives the terminal back.
func (t *Prompt) Close() {
	_ = t.Console.Close() // nothing that was written to a terminal can be lost by this
	if t.Closed != nil {
		t.Closed()
	}
}

// Ask shows a question and reads lines until one is an answer. who is the run that asks, where
// no person started it. It returns ErrLeftOpen at the end of
// the input, and the context's error, at once, when that ends.
func (t *Prompt) Ask(ctx context.Context, who string, r journal.Request) (json.RawMessage, error) {
	t.drop()
	if who != "" {
		t.Say("%s asks:\n", who)
	}
	t.Say("%s\n", view.QuestionText(&r))
	more := ""
	if len(r.Rules) > 0 {
		more = "? shows the rules as they would stand; "
	}
	t.Say("  (%sCtrl-D leaves it open; then: %s)\n", more, view.AnswerCommand(r.ID))
	for {
		t.Say("%s: ", view.PromptText(&r))
		line, err := t.ReadLine(ctx)
		switch {
		case err != nil && ctx.Err() != nil:
			t.Say("\n")
			t.drop()
			return nil, context.Cause(ctx)
		case errors.Is(err, io.EOF):
			t.Say("\n")
			return nil, ErrLeftOpen
		case err != nil:
			return nil, fmt.Errorf("read the answer to %s: %v", r.ID, err)
		}
		if strings.TrimSpace(line) == "?" && len(r.Rules) > 0 {
			t.Say("%s", view.RulesText(&r))
			continue
		}
		answer, err := view.ParseAnswer(r.Question, strings.TrimRight(line, "\r\n"))
		if err == nil {
			return answer, nil
		}
		t.Say("  %v\n", err)
	}
}

// Trust shows what a file would start, and reads lines until one allows it or not. It returns
// ErrLeftOpen at the end of the input.
func (t *Prompt) Trust(ctx context.Context, shown, file string) (bool, error) {
	t.drop()
	t.Say("? %s", shown)
	t.Say("  yes  starts them, now and in every later run here, until the file or what they start from changes\n")
	t.Say("  no   goes on without them, and does not ask again until the file changes\n")
	t.Say("  (Ctrl-D goes on without them this time)\n")
	for {
		t.Say("answer (yes/no): ")
		line, err := t.ReadLine(ctx)
		switch {
		case err != nil && ctx.Err() != nil:
			t.Say("\n")
			return false, context.Cause(ctx)
		case errors.Is(err, io.EOF):
			t.Say("\n")
			return false, ErrLeftOpen
		case err != nil:
			return false, fmt.Errorf("read the answer about %s: %v", file, err)
		}
		switch strings.ToLower(strings.TrimSpace(line)) {
		case "yes", "y":
			return true, nil
		case "no", "n":
			return false, nil
		}
		t.Say("  say yes or no\n")
	}
}

// Secret reads a line that is not shown.
func (t *Prompt) Secret(ctx context.Context, what string) (string, error) {
	f, ok := t.Console.(*os.File)
	if !ok {
		return "", ErrNoTerminal
	}
	t.drop()
	shown, err := tty.HideInput(f)
	if err != nil {
		return "", fmt.Errorf("hide what is typed: %w", err)
	}
	t.Say("%s: ", what)
	line, err := t.ReadLine(ctx)
	shown()
	t.Say("\n")
	if err != nil && !errors.Is(err, io.EOF) {
		return "", fmt.Errorf("read the %s: %w", what, err)
	}
	return strings.TrimRight(line, "\r\n"), nil
}

// Choice is one of several answers, with what it leads to.
type Choice struct{ Word, Hint string }

// Choose asks until one of the words is said. At the end of the input nothing is chosen.
func (t *Prompt) Choose(ctx context.Context, what string, choices []Choice) (string, error) {
	t.drop()
	t.Say("? %s\n", what)
	var words []string
	for _, c := range choices {
		words = append(words, c.Word)
		t.Say("  %-9s %s\n", c.Word, c.Hint)
	}
	for {
		t.Say("answer (%s): ", strings.Join(words, "/"))
		line, err := t.ReadLine(ctx)
		if word := strings.ToLower(strings.TrimSpace(line)); slices.Contains(words, word) {
			return word, nil
		}
		switch {
		case err != nil && ctx.Err() != nil:
			return "", context.Cause(ctx)
		case errors.Is(err, io.EOF):
			t.Say("\n")
			return "", ErrLeftOpen
		case err != nil:
			return "", fmt.Errorf("read the answer: %v", err)
		}
	}
}

// Pick lists lines and asks until the number of one is given, or the beginning of one alone. It
// returns the place in lines, and ErrLeftOpen at the end of the input.
func (t *Prompt) Pick(ctx context.Context, what string, lines []string) (int, error) {
	t.drop()
	t.Say("? %s\n", what)
	for i, line := range lines {
		t.Say("  %d  %s\n", i+1, strings.Join(strings.Fields(line), " "))
	}
	for {
		t.Say("answer (1 to %d, Ctrl-D for none): ", len(lines))
		line, err := t.ReadLine(ctx)
		word := strings.TrimSpace(line)
		if i, bad := strconv.Atoi(word); bad == nil && i >= 1 && i <= len(lines) {
			return i - 1, nil
		}
		begins := func(l string) bool { return word != "" && strings.HasPrefix(l, word) }
		if i := slices.IndexFunc(lines, begins); i >= 0 && !slices.ContainsFunc(lines[i+1:], begins) {
			return i, nil
		}
		switch {
		case err != nil && ctx.Err() != nil:
			return 0, context.Cause(ctx)
		case errors.Is(err, io.EOF):
			t.Say("\n")
			return 0, ErrLeftOpen
		case err != nil:
			return 0, fmt.Errorf("read the answer: %v", err)
		}
	}
}

// Key is a key that answers, with what it leads to.
type Key struct {
	Key  byte
	Does string
}

// Key asks until one of the keys is pressed, in either case, and returns it. Nothing else has to be
// typed; where the terminal cannot give single keys, a line that begins with one is. It returns
// ErrLeftOpen at the end of the input.
func (t *Prompt) Key(ctx context.Context, what string, keys []Key) (byte, error) {
	t.drop()
	t.Say("? %s\n", what)
	var names []string
	for _, k := range keys {
		names = append(names, string(k.Key))
		t.Say("  %c  %s\n", k.Key, k.Does)
	}
	read := func() (string, error) { return t.ReadLine(ctx) }
	if f, ok := t.Console.(*os.File); ok {
		if restore, err := tty.SingleKeys(f); err == nil {
			defer restore()
			read = func() (string, error) { return t.read(ctx, 1) }
		}
	}
	for {
		t.Say("press %s: ", strings.Join(names, "/"))
		typed, err := read()
		for _, k := range keys {
			if strings.EqualFold(strings.TrimSpace(typed)[:min(1, len(strings.TrimSpace(typed)))], string(k.Key)) {
				t.Say("%c\n", k.Key)
				return k.Key, nil
			}
		}
		t.Say("\n")
		switch {
		case err != nil && ctx.Err() != nil:
			return 0, context.Cause(ctx)
		case errors.Is(err, io.EOF), typed == "\x04":
			return 0, ErrLeftOpen
		case err != nil:
			return 0, fmt.Errorf("read the key: %v", err)
		}
	}
}

// Confirm asks once for a yes; everything else is none.
func (t *Prompt) Confirm(ctx context.Context, what string) (bool, error) {
	t.drop()
	t.Say("? %s (yes/no): ", what)
	line, err := t.ReadLine(ctx)
	switch {
	case err != nil && ctx.Err() != nil:
		return false, context.Cause(ctx)
	case err != nil && !errors.Is(err, io.EOF):
		return false, fmt.Errorf("read the answer: %v", err)
	}
	return strings.EqualFold(strings.TrimSpace(line), "yes"), nil
}

// fits is how many columns of a line are used; 0 is any.
func (t *Prompt) fits() int {
	f, ok := t.Console.(*os.File)
	if !ok {
		return 0
	}
	return min(widest, tty.Width(f))
}

// Say writes to the terminal. If it has gone, the next read reports it.
func (t *Prompt) Say(format string, args ...any) {
	_, _ = io.WriteString(t, wrap(stream.Sanitize(fmt.Sprintf(format, args...)), t.fits(), 2))
}

// ReadLine reads one line. When ctx ends it returns at once, with the context's error and with what
// was read by then: a line that was typed at that moment is not lost. Where a terminal knows no
// deadline, what reads it ends with the process.
func (t *Prompt) ReadLine(ctx context.Context) (string, error) { return t.read(ctx, 0) }

// read reads so many bytes; 0: one line.
func (t *Prompt) read(ctx context.Context, bytes int) (string, error) {
	type read struct {
		line string
		err  error
	}
	got := make(chan read, 1)
	go func() {
		if bytes == 0 {
			line, err := t.in.ReadString('\n')
			got <- read{line, err}
			return
		}
		b := make([]byte, bytes)
		n, err := t.in.Read(b)
		got <- read{string(b[:n]), err}
	}()
	select {
	case r := <-got:
		return r.line, r.err
	case <-ctx.Done():
		var r read
		if t.SetReadDeadline(time.Unix(1, 0)) == nil {
			r = <-got
		}
		return r.line, ctx.Err()
	}
}
