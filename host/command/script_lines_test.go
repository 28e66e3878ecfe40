package command_test

import (
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/rogpeppe/go-internal/testscript"

	"agent/host/objects"
)

// eventLine is a line of --output-format stream-json.
type eventLine struct {
	V      int
	Type   string
	Run    string `json:"run_id"`
	Seq    int64
	Cursor string
	Turn   int
	Time   time.Time
	Data   struct {
		Message string `json:"message_id"`
		Call    string `json:"call_id"`
		Start   bool
		Offset  int64
		End     int64
		Text    string
		Code    int `json:"exit_code"`
	}
}

// recordedFact is a fact as agent show --json has it.
type recordedFact struct {
	Seq  int64
	Turn int
	Time time.Time `json:"recorded_at"`
	Kind string
}

// cmdLines reads event lines of one run:
//
//	lines FILE [AFTER]  expects the snapshot, every fact of the journal behind the one with
//	                    the number AFTER (0), once and in order, live text that hangs
//	                    together, and the outcome; each fits what is published; sets $RUN
//	lines -part FILE    the same of a reader that was cut off: facts may be missing at the end
func cmdLines(ts *testscript.TestScript, neg bool, args []string) {
	part := len(args) > 1 && args[0] == "-part"
	if part {
		args = args[1:]
	}
	if neg || len(args) < 1 || len(args) > 2 {
		ts.Fatalf("usage: lines [-part] FILE [AFTER]")
	}
	after := int64(0)
	if len(args) == 2 {
		var err error
		after, err = strconv.ParseInt(args[1], 10, 64)
		ts.Check(err)
	}
	text := ts.ReadFile(args[0])
	lines := eventLines(ts, text, part)
	if r, err := published(objects.Line); err != nil || !part {
		ts.Check(err)
		for line := range strings.Lines(text) {
			fits(ts, r, line)
		}
	}
	run := lines[0].Run
	ts.Setenv("RUN", run)
	if last := lines[len(lines)-1].Type; lines[0].Type != "run.snapshot" || !part && last != "run.outcome" {
		ts.Fatalf("the lines begin with %s and end with %s", lines[0].Type, last)
	}
	sameFacts(ts, factLines(lines), factsAfter(recorded(ts, run), after), part)
	hangTogether(ts, lines)
}

// eventLines decodes lines, of which a reader that was cut off may have a part of the last.
func eventLines(ts *testscript.TestScript, text string, part bool) []eventLine {
	if !utf8.ValidString(text) || strings.Contains(text, "\uFFFD") || strings.Contains(text, `\ufffd`) {
		ts.Fatalf("a character is cut")
	}
	var lines []eventLine
	for line := range strings.Lines(text) {
		var l eventLine
		if part && !strings.HasSuffix(line, "\n") {
			break
		}
		if err := json.Unmarshal([]byte(line), &l); err != nil || l.V != 1 || l.Run == "" || l.Type == "" {
			ts.Fatalf("line %s: %v", line, err)
		}
		if len(lines) > 0 && l.Run != lines[0].Run {
			ts.Fatalf("line %s is of another run than %s", line, lines[0].Run)
		}
		lines = append(lines, l)
	}
	if len(lines) == 0 {
		ts.Fatalf("there are no lines")
	}
	return lines
}

func recorded(ts *testscript.TestScript, run string) []recordedFact {
	var v struct{ Facts []recordedFact }
	ts.Check(agentJSON(ts, &v, "show", run))
	return v.Facts
}

func factsAfter(facts []recordedFact, after int64) []recordedFact {
	return slices.DeleteFunc(slices.Clone(facts), func(f recordedFact) bool { return f.Seq <= after })
}

func factLines(lines []eventLine) []eventLine {
	return slices.DeleteFunc(slices.Clone(lines), func(l eventLine) bool { return l.Seq == 0 })
}

func sameFacts(ts *testscript.TestScript, got []eventLine, want []recordedFact, part bool) {
	if len(got) != len(want) && !part || len(got) > len(want) {
		ts.Fatalf("%d facts, want %d", len(got), len(want))
	}
	for i, l := range got {
		if f := want[i]; l.Seq != f.Seq || l.Type != f.Kind || l.Turn != f.Turn || !l.Time.Equal(f.Time) || !strings.HasPrefix(l.Cursor, fmt.Sprintf("%d-", l.Seq)) {
			ts.Fatalf("fact %d is %+v, want %+v", i+1, l, f)
		}
	}
}

// hangTogether follows live text and output as a reader does.
func hangTogether(ts *testscript.TestScript, lines []eventLine) {
	ends := map[string]int64{}
	for _, l := range lines {
		if !strings.HasPrefix(l.Type, "live.") {
			continue
		}
		key := l.Type + l.Data.Message + l.Data.Call
		if end, known := ends[key]; !l.Data.Start && (!known || l.Data.Offset != end) {
			ts.Fatalf("%s goes on at %d, it ended at %d", key, l.Data.Offset, end)
		}
		if int64(len(l.Data.Text)) != l.Data.End-l.Data.Offset {
			ts.Fatalf("%s has %d bytes from %d to %d", key, len(l.Data.Text), l.Data.Offset, l.Data.End)
		}
		ends[key] = l.Data.End
	}
}

// cmdCuts follows a run once more from behind every fact in a file of its lines, and expects
// exactly the rest each time.
func cmdCuts(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: cuts FILE")
	}
	lines := eventLines(ts, ts.ReadFile(args[0]), false)
	facts := recorded(ts, lines[0].Run)
	cuts := factLines(lines)
	if len(cuts) != len(facts) {
		ts.Fatalf("%d cuts in a journal of %d facts", len(cuts), len(facts))
	}
	for _, cut := range cuts {
		c := exec.Command(filepath.Join(binDir(), "agent"), "show", cut.Run, "--follow", "--output-format", "stream-json", "--since", cut.Cursor)
		c.Env = append(c.Environ(), "HOME="+ts.Getenv("HOME"))
		out, err := c.Output()
		if code := lines[len(lines)-1].Data.Code; c.ProcessState.ExitCode() != code {
			ts.Fatalf("from %s: %v, want exit code %d", cut.Cursor, err, code)
		}
		sameFacts(ts, factLines(eventLines(ts, string(out), false)), factsAfter(facts, cut.Seq), false)
	}
}

// cmdCursor sets a variable to the cursor of the last whole fact in a file of lines.
func cmdCursor(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: cursor NAME FILE")
	}
	facts := factLines(eventLines(ts, ts.ReadFile(args[1]), true))
	ts.Setenv(args[0], facts[len(facts)-1].Cursor)
	ts.Setenv(args[0]+"_SEQ", fmt.Sprint(facts[len(facts)-1].Seq))
}
