// Package talk is a conversation at a terminal: each message is a run like any other, carried out
// by the command that a person would type for it, in the thread of the folder. What is kept of a
// conversation are its runs: it can be killed anywhere.
package talk

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"golang.org/x/term"

	"agent/host/view"
	"agent/recovery/journal"
)

// Conversation is what one begins with.
type Conversation struct {
	// Carry carries out a command line of agent, without the name of the binary, at the desk.
	Carry  func(args []string, d *Desk) int
	Say    func(format string, args ...any) // to the person
	Thread string                           // that it goes on with; "" begins one
	Before []string                         // what the person said in it, the oldest first
	Model  string                           // "" for that of the thread or the configuration
	Mode   string                           // likewise
}

// Help lists what may be typed.
const Help = `A message is carried out in this conversation; while it is, what you type goes
to the model as a message. Ctrl-C interrupts the run. \ at the end of a line
goes on in the next one.

/new             begins another conversation
/model [MODEL]   shows or chooses the model of the next messages
/mode [MODE]     shows or chooses the approval mode: plan, ask, auto, yolo
/runs            lists the runs of this folder
/diff, /undo     show and take back what the last run changed
/COMMAND ...     carries out any other command: /show last, /answer yes
/quit            leaves, as Ctrl-D does; everything is kept`

// Run converses at the terminal f until the person leaves, and returns the exit code.
func (c *Conversation) Run(f *os.File) int {
	defer restoring(f)()
	d := &Desk{thread: c.Thread}
	e := &editor{f: f, history: &history{lines: c.Before}}
	for {
		var err error
		text := d.waiting()
		if text == "" {
			text, err = e.message("> ", d.rest())
		} else {
			c.Say("> %s", text)
		}
		switch {
		case errors.Is(err, io.EOF):
			c.Say("")
			return view.ExitDone
		case err != nil:
			c.Say("agent: read what is typed: %v", err)
			return view.ExitFailed
		}
		if text == "" {
			continue
		}
		args, leave := c.meant(text, d)
		if leave {
			return view.ExitDone
		}
		if len(args) > 0 {
			c.Carry(args, d)
			d.End()
		}
	}
}

// meant is the command line that a message stands for; none where it was about the conversation
// itself.
func (c *Conversation) meant(text string, d *Desk) (args []string, leave bool) {
	if !IsCommand(text) {
		return c.run(text, d), false
	}
	words := strings.Fields(text)
	name, rest := words[0][1:], words[1:]
	run, _ := d.last()
	switch name {
	case "quit", "exit", "q":
		return nil, true
	case "help", "?":
		c.Say("%s", Help)
	case "new":
		d.forget()
		c.Say("the next message begins another conversation")
	case "model":
		c.choose("model", &c.Model, rest)
	case "mode":
		c.chooseMode(rest)
	case "runs":
		return append([]string{"ls", "--dir", "."}, rest...), false
	case "diff", "undo":
		if len(rest) == 0 && run != "" {
			rest = []string{run}
		} else if len(rest) == 0 {
			rest = []string{"last", "--dir", "."}
		}
		return append([]string{name}, rest...), false
	default:
		return append([]string{name}, rest...), false
	}
	return nil, false
}

// IsCommand says whether a text is a command of a conversation, and no message: a path is none.
func IsCommand(text string) bool {
	first, _, _ := strings.Cut(text, " ")
	return len(first) > 1 && first[0] == '/' && !strings.ContainsAny(first[1:], "/.\n")
}

// run is the command that carries a message out.
func (c *Conversation) run(text string, d *Desk) []string {
	args := []string{"run"}
	if _, thread := d.last(); thread != "" {
		args = append(args, "--thread", thread)
	}
	if c.Model != "" {
		args = append(args, "--model", c.Model)
	}
	if c.Mode != "" {
		args = append(args, "--mode", c.Mode)
	}
	return append(args, "--", text)
}

// choose shows or sets what the next messages are carried out with.
func (c *Conversation) choose(what string, value *string, given []string) {
	if len(given) > 0 {
		*value = given[0]
	}
	if *value == "" {
		c.Say("%s: that of the conversation, else of config.toml", what)
		return
	}
	c.Say("%s: %s", what, *value)
}

func (c *Conversation) chooseMode(given []string) {
	if len(given) > 0 {
		known := false
		var names []string
		for _, m := range journal.Modes() {
			known = known || string(m) == given[0]
			names = append(names, string(m))
		}
		if !known {
			c.Say("agent: there is no mode %q: choose %s", given[0], view.Listed(names))
			return
		}
	}
	c.choose("mode", &c.Mode, given)
}

// forget has the next message begin a thread.
func (d *Desk) forget() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.run, d.thread = "", ""
}

// Greeting is what stands above the first message.
func (c *Conversation) Greeting(version, folder string) string {
	about := "a new conversation"
	if c.Thread != "" {
		about = fmt.Sprintf("conversation %s goes on (%s); /new begins another", c.Thread, view.Count(len(c.Before), "message"))
	}
	return fmt.Sprintf("agent %s in %s: %s\n/help lists the commands, Ctrl-D leaves", version, folder, about)
}

// restoring gives the terminal back as it was when a signal ends the process.
func restoring(f *os.File) (stop func()) {
	was, err := term.GetState(int(f.Fd()))
	signal.Notify(make(chan os.Signal, 1), os.Interrupt) // Ctrl-C is for what goes on, and not for the conversation
	caught := make(chan os.Signal, 1)
	signal.Notify(caught, syscall.SIGTERM, syscall.SIGHUP)
	go func() {
		if sig, ok := <-caught; ok && err == nil {
			_ = term.Restore(int(f.Fd()), was)
			signal.Reset(sig)
			if p, err := os.FindProcess(os.Getpid()); err == nil {
				_ = p.Signal(sig)
			}
		}
	}()
	return func() { signal.Stop(caught); close(caught) }
}
