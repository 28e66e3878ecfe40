//go:build linux

// Command record records agent demo at a terminal of its own, as asciinema plays it (version 2), or
// compares a recording with what the demo prints now.
//
//	go run ./scripts/demo/record -agent BINARY > scripts/demo/demo.cast
//	go run ./scripts/demo/record -agent BINARY -compare scripts/demo/demo.cast
//
// Times are those of the demo, with a pause before each command so that one can read what came
// before it. Ids of runs and processes are replaced.
package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const columns, rows = 90, 32

// prompt is how the demo shows a command that it gives.
const prompt = "\r\n$ "

// pause is how long the picture stands still before a command, in seconds.
const pause = 1.5

// event is something that the terminal was given.
type event struct {
	at   float64 // seconds since the beginning
	text string
}

func main() {
	agent := flag.String("agent", "", "`BINARY` to record")
	compare := flag.String("compare", "", "compare the recording in `FILE` with what is printed now")
	flag.Parse()
	events, err := record(*agent)
	if err == nil && *compare == "" {
		err = write(os.Stdout, events)
	} else if err == nil {
		err = sameAs(*compare, events)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "record:", err)
		os.Exit(1)
	}
}

func record(agent string) ([]event, error) {
	master, slave, err := terminal()
	if err != nil {
		return nil, fmt.Errorf("open a terminal: %w", err)
	}
	defer master.Close()
	c := exec.Command(agent, "demo")
	c.Stdin, c.Stdout, c.Stderr = slave, slave, slave
	c.Env = []string{"TERM=xterm-256color", "LANG=C.UTF-8", "HOME=" + os.Getenv("HOME"), "PATH=/usr/local/bin:/usr/bin:/bin"}
	c.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	began := time.Now()
	if err := c.Start(); err != nil {
		return nil, err
	}
	if err := slave.Close(); err != nil {
		return nil, err
	}
	events := []event{{0, "$ agent demo\r\n"}}
	for buf := make([]byte, 1<<16); ; {
		n, err := master.Read(buf)
		if err != nil {
			break // the last process at the terminal has gone
		}
		events = append(events, event{time.Since(began).Seconds(), string(buf[:n])})
	}
	if err := c.Wait(); err != nil {
		return nil, fmt.Errorf("agent demo: %w", err)
	}
	return events, nil
}

func terminal() (master, slave *os.File, err error) {
	fd, err := unix.Open("/dev/ptmx", unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, nil, err
	}
	master = os.NewFile(uintptr(fd), "/dev/ptmx")
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0)
	}
	if err == nil {
		err = unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: rows, Col: columns})
	}
	if err != nil {
		return nil, nil, err
	}
	slave, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|syscall.O_NOCTTY, 0)
	return master, slave, err
}

func write(out io.Writer, events []event) error {
	w := bufio.NewWriter(out)
	fmt.Fprintf(w, `{"version": 2, "width": %d, "height": %d, "title": "agent demo", "env": {"TERM": "xterm-256color"}}`+"\n", columns, rows)
	late, replaced := 0.0, map[string]string{}
	for _, e := range events {
		for i, part := range strings.Split(e.text, prompt) {
			if i > 0 {
				part = prompt + part
			}
			if e.at > 0 && strings.HasPrefix(strings.TrimSpace(part), "$ ") {
				late += pause
			}
			var text bytes.Buffer
			j := json.NewEncoder(&text)
			j.SetEscapeHTML(false)
			if err := j.Encode([]any{math.Round((e.at+late)*100) / 100, "o", stable(part, replaced)}); err != nil {
				return err
			}
			if part != "" {
				_, _ = w.Write(text.Bytes()) // Flush returns its error
			}
		}
	}
	return w.Flush()
}

// stable replaces what is another each time, by something of the same width where that can be.
func stable(text string, replaced map[string]string) string {
	return names().ReplaceAllStringFunc(text, func(found string) string {
		if replaced[found] == "" {
			replaced[found] = fmt.Sprintf("r-7k2m9x%02d", len(replaced))
			if found[0] != 'r' {
				replaced[found] = fmt.Sprintf("%0*d", len(found), 10000+17*len(replaced))[:len(found)]
			}
		}
		return replaced[found]
	})
}

// names matches ids of runs, of processes and of folders.
func names() *regexp.Regexp { return regexp.MustCompile(`\br-[0-9a-z]{8}\b|\b[0-9]{4,}\b`) }

// sameAs compares the words of a recording with those of events: at another speed lines come in
// another order, and are broken elsewhere.
func sameAs(path string, events []event) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	var then, now strings.Builder
	for line := range bytes.Lines(data) {
		var e []any
		if json.Unmarshal(line, &e) == nil && len(e) == 3 {
			fmt.Fprint(&then, e[2])
		}
	}
	for _, e := range events {
		now.WriteString(e.text)
	}
	had, has := words(then.String()), words(now.String())
	var differ []string
	for word := range had {
		if !has[word] {
			differ = append(differ, "-"+word)
		}
	}
	for word := range has {
		if !had[word] {
			differ = append(differ, "+"+word)
		}
	}
	if len(had) == 0 || len(differ) > 0 {
		slices.Sort(differ)
		return fmt.Errorf("%s is not what agent demo prints: make it again (words that differ, of %d: %s)", path, len(had), strings.Join(differ, " "))
	}
	return nil
}

// words are those of a text without colors, lines that were painted over, and figures.
func words(text string) map[string]bool {
	text = regexp.MustCompile("\x1b\\[2m[⠁-⣿] [^\x1b]*\x1b\\[0m").ReplaceAllString(text, "")
	text = regexp.MustCompile("\x1b\\[[0-9;?]*[A-Za-z]|\r").ReplaceAllString(text, "")
	text = regexp.MustCompile(`\b\d+(\.\d+)?(µs|ms|s)\b`).ReplaceAllString(text, "TIME")
	text = regexp.MustCompile(`\d+`).ReplaceAllString(names().ReplaceAllString(text, "NAME"), "N")
	all := map[string]bool{}
	for _, word := range strings.Fields(text) {
		all[word] = true
	}
	return all
}
