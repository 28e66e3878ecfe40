package runbook

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"agent/host/model"
	"agent/recovery/journal"
)

// stage plays a host that keeps a thread's transcript and asks the model for the next answer.
type stage struct {
	t     *testing.T
	model *Model
	out   strings.Builder
	said  []journal.Message
	calls []string // ids of the calls without a result
	n     int      // calls so far
}

// TestStory plays the scripts of testdata/story. Section "play" holds one event a line: "prompt
// FILE" starts a run, "say TEXT" starts one with a text, "ok|error|denied|skipped|unknown TEXT" is
// the result of the present call (\n is a line break), "settle ID OUTCOME TEXT" is a person's
// decision on an earlier one, "cancel" ends the run with nothing more said, "asked TEXT" and "other
// TEXT" are a prompt to another model and its answer. The model's answers stand below it.
func TestStory(t *testing.T) {
	golden(t, "story", func(t *testing.T, a *txtar.Archive) string {
		s := &stage{t: t, model: New()}
		for line := range strings.Lines(section(t, a, "play")) {
			line = strings.TrimSpace(line)
			fmt.Fprintf(&s.out, "> %s\n", line)
			verb, rest, _ := strings.Cut(line, " ")
			rest = strings.ReplaceAll(rest, `\n`, "\n")
			switch verb {
			case "prompt":
				s.prompt(section(t, a, rest))
			case "say":
				s.prompt(rest)
			case "settle":
				s.settle(rest)
			case "cancel":
				s.calls = nil
			case "asked":
				s.said = append(s.said, message(journal.RoleUser, journal.Block{Kind: journal.BlockText, Text: rest}))
			case "other":
				s.said = append(s.said, message(journal.RoleAssistant, journal.Block{Kind: journal.BlockText, Text: rest}))
			default:
				s.result(journal.Outcome(verb), rest)
			}
		}
		return s.out.String()
	})
}

func message(role journal.Role, blocks ...journal.Block) journal.Message {
	return journal.Message{Role: role, Blocks: blocks}
}

func (s *stage) prompt(text string) {
	turns, err := s.model.Plan(s.said, text)
	if err != nil {
		fmt.Fprintf(&s.out, "refused: %v\n", err)
		return
	}
	fmt.Fprintf(&s.out, "plan: %d turns\n", turns)
	s.said = append(s.said, message(journal.RoleUser, journal.Block{Kind: journal.BlockText, Text: text}))
	s.ask()
}

func (s *stage) result(o journal.Outcome, text string) {
	if len(s.calls) != 1 {
		s.t.Fatalf("a result for %d calls", len(s.calls))
	}
	s.said = append(s.said, message(journal.RoleTool, journal.Block{Kind: journal.BlockResult, Result: &journal.ResultBlock{
		ID: s.calls[0], Outcome: o, Text: text,
	}}))
	s.calls = nil
	s.ask()
}

func (s *stage) settle(rest string) {
	word := strings.SplitN(rest, " ", 3)
	for _, m := range s.said {
		for _, b := range m.Blocks {
			if b.Result != nil && b.Result.ID == word[0] {
				b.Result.Outcome, b.Result.Text = journal.Outcome(word[1]), word[2]
				return
			}
		}
	}
	s.t.Fatalf("no result of call %s", word[0])
}

// ask takes the model's next answer into the transcript. Asked twice, and by another process from
// the transcript as it is stored, the model answers the same.
func (s *stage) ask() {
	a := s.answer(s.said)
	kept := s.model
	s.model = New()
	again := s.answer(stored(s.t, s.said))
	s.model = kept
	if d := cmp.Diff(a, again); d != "" {
		s.t.Fatalf("the same transcript gives another answer: %s", d)
	}
	if a == nil {
		return
	}
	m := message(journal.RoleAssistant)
	for _, b := range a.Blocks {
		if b.Kind == journal.BlockText {
			fmt.Fprintf(&s.out, "%s\n", b.Text)
		} else {
			s.n++
			call := *b.Call
			call.ID = fmt.Sprintf("c-%d", s.n)
			s.calls = append(s.calls, call.ID)
			fmt.Fprintf(&s.out, "%s %s: %s %s\n", call.ID, call.Provider, call.Tool, call.Args)
			b.Call = &call
		}
		m.Blocks = append(m.Blocks, b)
	}
	if a.Stop != journal.AnswerCalls {
		fmt.Fprintf(&s.out, "[%s]\n", a.Stop)
	}
	s.said = append(s.said, m)
}

// answer collects what the model streams. The text that was shown is the text of the answer.
func (s *stage) answer(said []journal.Message) *model.Answer {
	var shown []string
	var a *model.Answer
	for d, err := range s.model.Stream(context.Background(), model.Request{Messages: said}) {
		if err != nil {
			fmt.Fprintf(&s.out, "error: %v\n", err)
			return nil
		}
		if a != nil || (d.Answer == nil) == (d.Text == "") {
			s.t.Fatalf("a piece after the answer, or both text and answer: %+v", d)
		}
		if a = d.Answer; a == nil {
			shown = append(shown, d.Text)
		}
	}
	var kept []string
	for _, b := range a.Blocks {
		if b.Kind == journal.BlockText {
			kept = append(kept, b.Text)
		}
	}
	if !slices.Equal(shown, kept) {
		s.t.Fatalf("shown %q, kept %q", shown, kept)
	}
	return a
}

func stored(t *testing.T, said []journal.Message) []journal.Message {
	data, err := json.Marshal(said)
	if err != nil {
		t.Fatal(err)
	}
	var back []journal.Message
	if err := json.Unmarshal(data, &back); err != nil {
		t.Fatal(err)
	}
	return back
}

// A binary that reads a runbook otherwise than the one that began it stops; it does not guess which
// steps are done.
func TestForeignRecordStopsTheRun(t *testing.T) {
	s := &stage{t: t, model: New()}
	s.prompt("- read_file a\n- list_dir b\n")
	s.result(journal.OutcomeOK, "")
	for _, change := range []func(*journal.CallBlock){
		func(c *journal.CallBlock) { c.Provider = "step-2" }, // steps[1] is another tool
		func(c *journal.CallBlock) { c.Provider = "toolu_01" },
		func(c *journal.CallBlock) { c.Provider = "step-9" },
		func(c *journal.CallBlock) { c.Tool = "search" },
	} {
		said := stored(t, s.said)[:3]
		change(said[1].Blocks[0].Call)
		a := s.answer(said)
		if a == nil || a.Stop != journal.AnswerFailed || !strings.Contains(a.Blocks[0].Text, "does not fit its runbook") {
			t.Errorf("got %+v", a)
		}
	}
}

// The place that a call names counts: a step that was passed over is not taken for done.
func TestGapInTheRecordStopsTheRun(t *testing.T) {
	s := &stage{t: t, model: New()}
	s.prompt("- read_file a\n- read_file b\n- read_file c\n")
	s.result(journal.OutcomeOK, "")
	s.result(journal.OutcomeOK, "")
	said := stored(t, s.said)
	gap := append(said[:3:3], said[5:]...) // the second call and its result are gone
	if a := s.answer(gap); a == nil || a.Stop != journal.AnswerFailed {
		t.Errorf("got %+v", a)
	}
}

// A call that has no result yet is no reason to go on.
func TestNoAnswerBeforeTheResult(t *testing.T) {
	s := &stage{t: t, model: New()}
	s.prompt("- read_file a\n- list_dir b\n")
	if a := s.answer(s.said); a != nil || !strings.Contains(s.out.String(), "call c-1 of line 1 has no result") {
		t.Errorf("got %+v: %s", a, &s.out)
	}
}

// What a tool would refuse is refused before the run, by its line; of a runbook that is continued,
// only what was left.
func TestPlanAsksTheTools(t *testing.T) {
	s := &stage{t: t, model: New()}
	book := "- read_file a\n\n- read_file b\n- list_dir b\n"
	s.prompt(book)
	s.result(journal.OutcomeOK, "")
	s.result(journal.OutcomeError, "")
	s.model.Check = func(tool string, args json.RawMessage) error {
		if tool == "read_file" {
			return fmt.Errorf("%s of %s is not taken", tool, args)
		}
		return nil
	}
	const want = "the runbook cannot be carried out as it is written; nothing was run:\n"
	_, err := s.model.Plan(nil, book)
	if d := cmp.Diff(want+"  line 1: read_file of {\"path\":\"a\"} is not taken\n  line 3: read_file of {\"path\":\"b\"} is not taken",
		fmt.Sprint(err)); d != "" {
		t.Error(d)
	}
	_, err = s.model.Plan(s.said, "continue")
	if d := cmp.Diff(want+"  line 3: read_file of {\"path\":\"b\"} is not taken", fmt.Sprint(err)); d != "" {
		t.Error(d)
	}
}

func TestAuthored(t *testing.T) {
	if !New().Authored() {
		t.Error("the calls of a runbook are written by the person")
	}
}

// long is a thread with a runbook of n steps, all but the last of which are done.
func long(b *testing.B, n int) []journal.Message {
	said := []journal.Message{message(journal.RoleUser, journal.Block{
		Kind: journal.BlockText, Text: strings.Repeat("```sh\necho line >> log\n```\n\n", n),
	})}
	for i := range n - 1 {
		id := fmt.Sprintf("c-%d", i)
		said = append(said, message(journal.RoleAssistant, journal.Block{Kind: journal.BlockCall, Call: &journal.CallBlock{
			ID: id, Provider: provider(i), Tool: toolShell, Args: json.RawMessage(`{"command":"echo line >> log"}`),
		}}), message(journal.RoleTool, journal.Block{Kind: journal.BlockResult, Result: &journal.ResultBlock{
			ID: id, Outcome: journal.OutcomeOK,
		}}))
	}
	if a, err := New().answer(said); err != nil || len(a.Blocks) != 1 || a.Blocks[0].Call == nil {
		b.Fatal(a, err)
	}
	return said
}

func BenchmarkAnswer(b *testing.B) {
	for _, n := range []int{10, 100, 1000, 10000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			said, m := long(b, n), New()
			for b.Loop() {
				if _, err := m.answer(said); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// Runs share the model: each gets the answers of its own runbook, whatever others read meanwhile.
func TestRunsShareTheModel(t *testing.T) {
	m := New()
	var done sync.WaitGroup
	for i := range 4 {
		text := fmt.Sprintf("%s\n- read_file f%d\n", strings.Repeat("words ", keepFrom), i)
		want := fmt.Sprintf(`{"path":"f%d"}`, i)
		done.Go(func() {
			for range 50 {
				a, err := m.answer([]journal.Message{message(journal.RoleUser, journal.Block{Kind: journal.BlockText, Text: text})})
				if err != nil || string(a.Blocks[0].Call.Args) != want {
					t.Errorf("got %v, %v, want %s", a, err, want)
					return
				}
			}
		})
	}
	done.Wait()
}
