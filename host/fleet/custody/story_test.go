package custody

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

var update = flag.Bool("update", false, "write what follows from the events into the stories")

// A story is a file of events, one a line, each followed by what the custody does about it. A line
// that begins with # is a remark; "run" begins a custody anew.
func TestStories(t *testing.T) {
	files, err := filepath.Glob("testdata/stories/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no stories: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			b, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			got := tell(t, string(b))
			if *update {
				if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			if got != string(b) {
				t.Errorf("it goes otherwise:\n%s", got)
			}
		})
	}
}

// tell carries out the events of a story and writes down what follows.
func tell(t *testing.T, story string) string {
	var out strings.Builder
	var s State
	now := time.Date(2026, 11, 27, 12, 0, 0, 0, time.UTC)
	for line := range strings.Lines(story) {
		line = strings.TrimRight(line, "\n")
		if strings.HasPrefix(line, "    ") {
			continue
		}
		fmt.Fprintln(&out, line)
		word, rest, _ := strings.Cut(line, " ")
		switch word {
		case "", "#":
			continue
		case "run":
			r := Run{ID: "r-00000001", By: "ada"}
			if rest != "" {
				read(t, rest, &r)
			}
			s = New(r, now)
		case "later":
			now = now.Add(span(t, rest))
			continue
		default:
			before := s
			frozen, _ := json.Marshal(before)
			s = happen(t, &out, s, now, word, rest)
			if after, _ := json.Marshal(before); string(after) != string(frozen) {
				t.Fatalf("%s: the state before it was changed", line)
			}
		}
		fmt.Fprintf(&out, "    %s\n", account(s, now))
	}
	return out.String()
}

func happen(t *testing.T, out *strings.Builder, s State, now time.Time, word, rest string) State {
	e, refusal := Event{At: now}, error(nil)
	switch word {
	case "taken":
		e.Taken = &Taken{Host: rest}
	case "untaken":
		e.Untaken = rest
	case "report":
		e.Report = &Report{}
		read(t, rest, e.Report)
	case "unbegun": // the host did not take a Drive up
		e.Silent = &Silent{Elapsed: span(t, rest)}
	case "unheard": // a Drive that was dispatched was never heard of
		e.Silent = &Silent{Began: true, Elapsed: span(t, rest)}
	case "silent": // the heartbeats end
		e.Silent = &Silent{Began: true, Elapsed: time.Hour, Last: &Progress{}}
		read(t, rest, e.Silent.Last)
	case "failed":
		e.Failed = &Failed{Why: rest}
	case "stopping":
		e.Failed = &Failed{Why: "the worker stops", Stopping: true}
	case "fenced":
		e.Fenced = true
	case "timer":
		e.Timer = true
	case "answer":
		a := Answer{By: "ada", At: now}
		a.Request, a.Text, _ = strings.Cut(rest, " ")
		e.Answer, refusal = &a, s.RefuseAnswer(a)
	case "move":
		e.Move = &Move{By: "ada", Shown: true, Gone: strings.Contains(rest, "gone")}
		_, e.Move.To, _ = strings.Cut(rest, "to ")
		refusal = s.RefuseMove(*e.Move)
	case "resume":
		e.Resume, refusal = true, s.RefuseResume()
	case "cancel":
		e.Cancel = true
	default:
		t.Fatalf("there is no event %q", word)
	}
	if refusal != nil {
		fmt.Fprintf(out, "    refused: %v\n", refusal)
		return s
	}
	if e.Answer != nil {
		next := s.On(e)
		if first, _ := next.first(e.Answer.Request); first.Text != e.Answer.Text {
			fmt.Fprintf(out, "    it was answered by %s: %s\n", first.By, first.Text)
		}
	}
	return s.On(e)
}

// account says what a custody does.
func account(s State, now time.Time) string {
	a, w := s.Action(now), s.Where()
	var does string
	switch {
	case a.Offer != nil:
		does = "offers it to " + a.Queue
		if len(a.Offer.Not) > 0 {
			does += " but " + strings.Join(a.Offer.Not, ", ")
		}
	case a.Drive != nil:
		does = "asks " + a.Queue + " to " + stepText(a.Drive.Step)
	case a.Fence != nil:
		does = "fences"
		if a.Fence.Cancel {
			does += " and ends it in the log"
		}
	case s.Phase == Ended:
		does = "ends: " + s.Report.Text
	default:
		does = "waits"
	}
	if a.Limit > 0 {
		does += fmt.Sprintf(" within %s", a.Limit)
	}
	if !a.Until.IsZero() {
		does += fmt.Sprintf(" until +%s", a.Until.Sub(now))
	}
	text := fmt.Sprintf("%d %s", s.Act, w.Status)
	if w.Host != "" {
		text += " on " + w.Host
	}
	text += "; " + does
	if w.Request != nil {
		text += "; open: " + w.Request.ID
	}
	if w.Refused > 0 {
		text += fmt.Sprintf("; %d answers were not taken", w.Refused)
	}
	if w.Reason != "" {
		text += "; " + w.Reason
	}
	if w.Next != "" {
		text += "; " + w.Next
	}
	return text
}

func stepText(s Step) string {
	switch {
	case s.Start != nil:
		return "start"
	case s.Resume:
		return "resume"
	case s.Answer != nil:
		return "answer " + s.Answer.Request + " " + s.Answer.Text
	case s.Hand:
		return "hand it over"
	case s.Cancel:
		return "cancel"
	}
	return "do nothing"
}

func read(t *testing.T, text string, out any) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), out); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
}

func span(t *testing.T, text string) time.Duration {
	t.Helper()
	d, err := time.ParseDuration(text)
	if err != nil {
		t.Fatal(err)
	}
	return d
}
