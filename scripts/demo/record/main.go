//go:build linux

// Command record records agent demo at a terminal of its own, as asciinema plays it (version 2), or
// compares two recordings.
//
//	go run ./scripts/demo/record BINARY > scripts/demo/demo.cast
//	go run ./scripts/demo/record -compare scripts/demo/demo.cast NEWER
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
	"unicode"

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
	compare := flag.String("compare", "", "compare the recording in `FILE` with the one in the file that is named")
	flag.Parse()
	if err := run(*compare, flag.Arg(0)); err != nil {
		fmt.Fprintln(os.Stderr, "record:", err)
		os.Exit(1)
	}
}

func run(compare, name string) error {
	if compare != "" {
		return same(compare, name)
	}
	events, err := record(name)
	if err != nil {
		return err
	}
	return write(os.Stdout, events)
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

// same compares the words of two recordings: at another speed lines come in another order, and are
// broken elsewhere.
func same(older, newer string) error {
	had, err := words(older)
	if err != nil {
		return err
	}
	has, err := words(newer)
	if err != nil {
		return err
	}
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
		return fmt.Errorf("%s is not what agent demo prints now: make it again (words that differ, of %d: %s)", older, len(had), strings.Join(differ, " "))
	}
	return nil
}

// words are those of a recording without colors, lines that were painted over, and figures.
func words(path string) (map[string]bool, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var printed strings.Builder
	for line := range bytes.Lines(data) {
		var e []any
		if json.Unmarshal(line, &e) == nil && len(e) == 3 { // the header is no event
			fmt.Fprint(&printed, e[2])
		}
	}
	text := regexp.MustCompile("\x1b\\[2m[⠁-⣿] [^\x1b]*\x1b\\[0m").ReplaceAllString(printed.String(), "")
	text = regexp.MustCompile("\x1b\\[[0-9;?]*[A-Za-z]|\r").ReplaceAllString(text, "")
	text = regexp.MustCompile(`\b\d+(\.\d+)?(µs|ms|s)\b`).ReplaceAllString(text, "TIME")
	text = regexp.MustCompile(`\d+`).ReplaceAllString(names().ReplaceAllString(text, "NAME"), "N")
	all := map[string]bool{}
	for _, word := range strings.Fields(text) {
		if strings.ContainsFunc(word, unicode.IsLetter) { // a mark at the beginning of a line may come or not
			all[word] = true
		}
	}
	return all, nil
}
