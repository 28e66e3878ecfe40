package recovery

import (
	"agent/recovery/journal"
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"
)

// Stories are journals in a few lines, and what follows from them: see testdata/stories/README.
// The one called fruitless is EX-22.
func TestStories(t *testing.T) {
	files, err := filepath.Glob("testdata/stories/*.txt")
	if err != nil || len(files) < 20 {
		t.Fatalf("%d stories, %v", len(files), err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			b, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			got := tell(t, string(b))
			if got == string(b) {
				return
			}
			if !update() {
				t.Fatalf("%s says otherwise; go test ./recovery -update writes:\n%s", file, got)
			}
			if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// tell carries out a story and returns its text with what really follows.
func tell(t *testing.T, text string) string {
	st := &story{t: t, s: &State{Acting: acting}, now: time.Date(2026, 1, 2, 3, 4, 0, 0, time.UTC)}
	var out strings.Builder
	for rest := text; rest != ""; {
		chunk, after, ok := strings.Cut(rest, "----\n")
		out.WriteString(chunk)
		if !ok {
			break
		}
		st.out.Reset()
		st.tellChunk(chunk)
		out.WriteString("----\n" + st.out.String())
		_, rest, ok = strings.Cut("\n"+after, "\n\n")
		if !ok {
			break
		}
		out.WriteString("\n")
	}
	return out.String()
}

type story struct {
	t        *testing.T
	s        *State
	events   []journal.Event
	now      time.Time
	out      strings.Builder
	requests int
}

func (st *story) tellChunk(chunk string) {
	var answer *journal.ModelAnswered
	done := func() {
		if answer != nil {
			st.add(*answer)
			answer = nil
		}
	}
	for line := range strings.Lines(chunk) {
		words := strings.Fields(line)
		switch {
		case len(words) == 0 || words[0] == "#":
		case strings.HasPrefix(line, "  "):
			answer.Calls = append(answer.Calls, st.proposal(words))
		case words[0] == "answer":
			done()
			answer = st.answer(words[1:])
		default:
			done()
			st.line(words)
		}
	}
	done()
	st.sameAfterJSON()
}

func (st *story) answer(words []string) *journal.ModelAnswered {
	a := &journal.ModelAnswered{Stop: journal.AnswerCalls}
	var text []string
	for _, w := range words {
		if v, ok := strings.CutPrefix(w, "stop="); ok {
			a.Stop = journal.AnswerStop(v)
		} else if v, ok := strings.CutPrefix(w, "used="); ok {
			in, out, _ := strings.Cut(v, "/")
			a.Usage = &journal.Usage{Input: int64(number(in)), Output: int64(number(out))}
		} else {
			text = append(text, w)
		}
	}
	if len(text) > 0 {
		a.Blocks = []journal.Block{{Kind: journal.BlockText, Text: strings.Join(text, " ")}}
	}
	return a
}

// proposal reads "c-1 shell write_external make [ask|standing|deny|invalid|retry|question]".
func (st *story) proposal(words []string) journal.Proposal {
	p := journal.Proposal{
		ID: words[0], Tool: words[1], Effect: journal.Effect(words[2]), Fingerprint: "fp-" + words[3], Decision: journal.DecisionAllow,
		Args: json.RawMessage(fmt.Sprintf(`{"what":%q}`, strings.ReplaceAll(words[3], "_", " "))),
	}
	for _, w := range words[4:] {
		switch w {
		case "ask":
			p.Decision, p.Why = journal.DecisionAsk, "it may change anything"
		case "standing":
			p.Offers = []journal.Offer{
				{Answer: journal.AnswerAlways, Says: "runs it, and from now on here: shell", Rules: "[[allow]]\ntool = \"shell\"\n"},
				{Answer: journal.AnswerNever, Says: "does not run it, and never here: shell", Rules: "[[deny]]\ntool = \"shell\"\n"},
			}
		case "deny":
			p.Decision, p.Why = journal.DecisionDeny, "mode plan only reads"
		case "invalid":
			p.Invalid = "there is no tool " + p.Tool
		case "retry":
			p.RetrySafe = true
		case "question":
			p.Question = &journal.Question{Kind: journal.RequestAskUser, Message: "which one?", Schema: json.RawMessage(`{"type":"string"}`)}
		default:
			st.t.Fatalf("call %v: %q is not known", words, w)
		}
	}
	return p
}

func (st *story) add(b journal.Body) bool {
	turn := len(st.s.Turns)
	switch b := b.(type) {
	case journal.ModelRequested, journal.ModelAnswered, journal.ModelFailed, journal.MessageAdded:
		turn++
	case journal.RequestOpened:
		b.Request.ID, b.Request.Opened = fmt.Sprintf("p-%d", st.requests+1), st.now
		if b.Request.Call != nil {
			b.Request.Binding = "bound"
		}
		ok := st.append(turn, b)
		if ok {
			st.requests++
		}
		return ok
	}
	return st.append(turn, b)
}

func (st *story) append(turn int, b journal.Body) bool {
	st.now = st.now.Add(time.Second)
	e := journal.Event{Seq: st.s.Seq + 1, Turn: turn, Time: st.now, Body: b}
	if err := st.s.Apply(e); err != nil {
		st.printf("refused: %v\n", err)
		s, err := Fold(st.events)
		if err != nil {
			st.t.Fatal(err)
		}
		st.s, s.Acting = s, acting
		return false
	}
	st.events = append(st.events, e)
	return true
}

func (st *story) printf(format string, args ...any) { fmt.Fprintf(&st.out, format, args...) }

// line carries out one directive.
func (st *story) line(words []string) {
	o, rest := options(words[1:])
	switch words[0] {
	case "run":
		st.run(o)
	case "claim":
		st.claim(o)
	case "later":
		st.now = st.now.Add(length(rest[0]))
	case "next":
		st.printf("next: %s\n", sayAction(Next(st.s)))
	case "do":
		st.do(false)
	case "act":
		st.do(true)
	case "state":
		st.summary()
	case "messages":
		st.messages()
	default:
		st.fact(words[0], o, rest)
	}
}

func (st *story) run(o map[string]string) {
	b := journal.RunCreated{
		Run: "r-1", Thread: "t-1", Prompt: "do it", Folder: "/w", Model: "m", Mode: journal.Mode(o["mode"]),
		Authored: o["authored"] != "", Limits: journal.Limits{MaxTurns: number(o["max"]), Timeout: length(o["timeout"])},
	}
	if o["window"] != "" {
		b.Model = "anthropic/m"
		b.Limits.MaxTokens, b.Limits.MaxCost = int64(number(o["tokens"])), int64(number(o["cost"]))
		b.Setup = journal.Setup{
			Provider: "anthropic", System: "You work.", Window: int64(number(o["window"])), NoCompact: o["compact"] == "no",
			Price: &journal.Price{Input: 3_000_000, Cached: 300_000, Output: 15_000_000},
		}
	}
	st.add(b)
}

// failed reads "failed rate_limit again=yes wait=2s used=100 what the provider said".
func (st *story) failed(o map[string]string, rest []string) {
	b := journal.ModelFailed{
		Fault: journal.Fault(rest[0]), Detail: strings.Join(rest[1:], " "), Remedy: o["remedy"], Tries: st.s.Tries() + 1,
		Again: o["again"] != "", Wait: length(o["wait"]),
	}
	if o["used"] != "" {
		b.Usage = &journal.Usage{Input: int64(number(o["used"]))}
	}
	st.add(b)
}

func (st *story) claim(o map[string]string) {
	b := journal.RunClaimed{Epoch: st.s.Epoch + 1, PID: 100, Mode: journal.Mode(o["mode"])}
	if o["model"] != "" {
		b.Model = &journal.ModelChange{Name: o["model"], Provider: "chat", Window: int64(number(o["window"]))}
		if o["price"] != "" {
			b.Model.Price = &journal.Price{Input: int64(number(o["price"])) * 1_000_000}
		}
	}
	b.Folder, b.Boot = o["folder"], "boot-"+cmp.Or(o["boot"], "1")
	if o["disk"] != "" {
		d := disk(o["disk"])
		b.Disk = &d
	}
	if o["max"] != "" || o["timeout"] != "" {
		b.Limits = &journal.Limits{MaxTurns: number(o["max"]), Timeout: length(o["timeout"])}
	}
	for u := range strings.SplitSeq(o["unknown"], ",") {
		if u == "" {
			continue
		}
		p := strings.Split(u, "/") // run/call/place/tool/args[/alive|/done|/leave|/happened]
		at := place(p[2])
		b.Unknown = append(b.Unknown, journal.Unknown{
			Run: p[0], ID: p[1], Place: at, Tool: p[3], Fingerprint: "fp-" + p[4],
			StartedAt: time.Date(2026, 1, 1, 9, 0, 0, 0, time.UTC),
			Args:      json.RawMessage(fmt.Sprintf(`{"what":%q}`, p[4])),
		})
		if last := &b.Unknown[len(b.Unknown)-1]; len(p) > 5 && p[5] == "alive" {
			last.Alive = true
		} else if len(p) > 5 && p[5] == "done" {
			last.Done, last.Outcome, last.Content = true, journal.OutcomeOK, "main -> main"
		} else if len(p) > 5 {
			last.Resolved = journal.Word(p[5])
		}
	}
	st.add(b)
}

// fact adds one fact that a directive names.
func (st *story) fact(name string, o map[string]string, rest []string) {
	text := func(from int) string { return strings.Join(rest[min(from, len(rest)):], " ") }
	switch name {
	case "interrupted":
		st.add(journal.RunInterrupted{Cause: journal.Cause(rest[0])})
	case "restored":
		st.add(journal.RunRestored{Reason: text(0), By: o["by"], Pack: o["pack"], Nothing: o["pack"] != ""})
	case "exported":
		st.add(journal.RunExported{To: rest[0], Pack: o["pack"]})
	case "note":
		st.add(journal.RunNoted{Text: text(0), Gone: o["gone"]})
	case "message":
		st.add(journal.MessageAdded{Text: text(0), By: o["by"]})
	case "stopping":
		st.add(journal.RunStopping{Why: journal.Stop(rest[0]), By: o["by"], Reason: text(1)})
	case "request":
		st.add(journal.ModelRequested{})
	case "failed":
		st.failed(o, rest)
	case "summary":
		st.add(journal.ContextCompacted{Through: number(o["through"]), Summary: text(0)})
	case "charged":
		cost, _ := st.s.Cost()
		st.printf("used %+v, estimated %+v, %s\n", st.s.Usage, st.s.Estimated, journal.Dollars(cost))
	case "said":
		st.add(journal.RequestAnswered{ID: rest[0], Answer: answerJSON(text(1)), By: o["by"]})
	case "close":
		st.add(journal.RequestClosed{ID: rest[0], Status: rest[1], Reason: text(2)})
	case "complete":
		st.add(journal.RunCompleted{Text: text(0)})
	case "fail":
		st.add(journal.RunFailed{Reason: text(0)})
	case "ask":
		at := place(rest[0])
		st.add(journal.RequestOpened{Request: journal.Request{Question: journal.Question{Kind: journal.RequestKind(rest[1]), Message: text(2)}, Call: &at}})
	case "word":
		st.add(journal.CallResolved{Place: place(rest[0]), Run: o["run"], Word: journal.Word(rest[1]), By: o["by"]})
	default:
		st.callFact(name, o, rest)
	}
}

func (st *story) callFact(name string, o map[string]string, rest []string) {
	c, err := st.s.Call(place(rest[0]))
	if err != nil {
		st.t.Fatalf("%s %v: %v", name, rest, err)
	}
	text := strings.Join(rest[1:], " ")
	switch name {
	case "start":
		at := c.Place
		at.Attempt++
		if o["attempt"] != "" {
			at.Attempt = number(o["attempt"])
		}
		binding := c.Approved
		if o["binding"] != "" {
			binding = o["binding"]
		}
		st.add(journal.CallStarted{Place: at, Binding: binding})
	case "result":
		fp := c.Fingerprint
		if o["of"] != "" {
			fp = "fp-" + o["of"]
		}
		st.add(journal.CallSettled{Place: c.Place, Fingerprint: fp, Result: result(rest[1], strings.Join(rest[2:], " "), o)})
	case "judge":
		st.judgement(c, o)
	case "decide":
		for _, b := range st.judgement(c, o).Facts(c) {
			st.add(b)
		}
	case "judged":
		st.add(journal.CallJudged{Place: c.Place, Verdict: journal.Verdict(rest[1]), Reason: strings.Join(rest[2:], " ")})
	case "void":
		st.add(journal.ApprovalVoided{Place: c.Place, Reason: text, Decision: journal.Decision(o["decision"])})
	default:
		st.t.Fatalf("%q is not known", name)
	}
}

func result(outcome, text string, o map[string]string) journal.Result {
	r := journal.Result{Outcome: journal.Outcome(outcome), Applied: journal.AppliedYes, How: journal.HowExecuted, Content: text}
	switch {
	case o["applied"] != "":
		r.Applied = journal.Applied(o["applied"])
	case r.Outcome == journal.OutcomeUnknown:
		r.Applied = journal.AppliedUnknown
	}
	if o["how"] != "" {
		r.How = journal.How(o["how"])
	}
	if o["alive"] != "" {
		r.Alive = []string{o["alive"]}
	}
	return r
}

// disk reads "errors/mount", or "errors/mount/ro": what could be read of the state folder's file
// system.
func disk(text string) journal.Disk {
	if text == "" {
		return journal.Disk{}
	}
	p := strings.Split(text, "/")
	return journal.Disk{Kind: "ext4", Counts: true, Errors: int64(number(p[0])), Mount: uint64(number(p[1])), ReadOnly: len(p) > 2}
}

// judgement reads evidence: by default the tool is there and the arguments are whole.
func (st *story) judgement(c *Call, o map[string]string) Judgement {
	e := Evidence{
		ToolKnown: o["tool"] != "gone", Restored: o["args"] != "lost", EffectNow: c.Effect, RetryNow: c.RetrySafe,
		Process: ProcessEvidence{State: ProcessState(o["process"])}, Inspection: Inspection{Answer: InspectionAnswer(o["looked"])},
	}
	e.Process.Refused = o["refused"] == "yes"
	e.Doubt = c.Doubt(disk(o["disk"]), "boot-"+cmp.Or(o["boot"], "1"))
	if o["now"] == "retry" {
		e.RetryNow = true
	} else if o["now"] != "" {
		e.EffectNow, e.RetryNow = journal.Effect(o["now"]), false
	}
	if o["alive"] != "" {
		e.Process.Alive = []string{o["alive"]}
	}
	if e.Process.State == ProcessEnded {
		e.Process.Result = &journal.Result{Outcome: journal.OutcomeOK, Applied: journal.AppliedYes, Content: "what it printed"}
	}
	if e.Inspection.Answer == InspectionHappened {
		e.Inspection.Result = &journal.Result{Outcome: journal.OutcomeOK, Applied: journal.AppliedYes, Content: "the file is as wanted"}
	}
	j := Judge(c, st.s.Open, e)
	st.printf("judge %s: %s, since %s\n", c.Place, j.Verdict, j.Reason)
	if j.Result != nil {
		st.printf("  %s\n", sayResult(*j.Result))
	}
	return j
}

// do records what follows without an effect, until something else is due; with act it records
// starts as well.
func (st *story) do(act bool) {
	for range 20 {
		switch a := Next(st.s).(type) {
		case Record:
			for _, b := range a.Facts {
				if !st.add(b) {
					return
				}
				st.printf("+ %s\n", say(st.events[len(st.events)-1].Body))
			}
			continue
		case Start:
			st.printf("start: %s\n", places(a.Calls))
			for _, c := range a.Calls {
				at := c.Place
				at.Attempt++
				if !act {
					st.printf("next: %s\n", sayAction(a))
					return
				}
				if !st.add(journal.CallStarted{Place: at, Binding: c.Approved}) {
					return
				}
			}
			continue
		default:
			st.printf("next: %s\n", sayAction(a))
			return
		}
	}
	st.t.Fatal("no end of facts")
}

// sameAfterJSON checks that a journal that was stored and read says the same.
func (st *story) sameAfterJSON() {
	stored := throughJSON(st.t, st.events)
	s, err := Fold(stored)
	if err != nil {
		st.t.Fatal(err)
	}
	if !reflect.DeepEqual(st.s.Messages(), s.Messages()) || !sameState(st.s, s) {
		st.t.Fatalf("the stored journal says otherwise:\n%+v\n%+v", st.s, s)
	}
}

type fataler interface {
	Helper()
	Fatalf(format string, args ...any)
}

// encodeBody writes a body as the store does.
func encodeBody(t fataler, body journal.Body) []byte {
	t.Helper()
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(body); err != nil {
		t.Fatalf("encode %s: %v", body.Kind(), err)
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

func throughJSON(t fataler, events []journal.Event) []journal.Event {
	t.Helper()
	out := make([]journal.Event, len(events))
	for i, e := range events {
		body, err := journal.Decode(e.Body.Kind(), journal.Version, encodeBody(t, e.Body))
		if err != nil {
			t.Fatalf("%v", err)
		}
		e.Body = body
		out[i] = e
	}
	return out
}

func (st *story) summary() {
	s := st.s
	st.printf("%s", s.Status)
	if s.Cause != "" {
		st.printf(" (%s)", s.Cause)
	}
	st.printf(", epoch %d, %d turns", s.Epoch, len(s.Turns))
	if s.TurnsLeft() >= 0 {
		st.printf(" (%d left)", s.TurnsLeft())
	}
	st.printf(", going for %s", s.Active)
	if s.Fruitless > 0 {
		st.printf(", %d fruitless claims", s.Fruitless)
	}
	st.printf("\n")
	for _, c := range s.Turns.current().calls() {
		st.printf("  %s %s %s %s", c.Place, c.ID, c.Tool, c.Phase)
		if c.Attempt > 0 {
			st.printf(", attempt %d", c.Attempt)
		}
		if c.Judged != "" {
			st.printf(", judged %s", c.Judged)
		}
		if c.Result != nil {
			st.printf(": %s", sayResult(*c.Result))
		}
		if c.Resolved != "" {
			st.printf(" [%s]", c.Resolved)
		}
		st.printf("\n")
	}
	for _, c := range s.UnknownCalls() {
		decided := ""
		if c.Resolved != "" {
			decided = ", decided: " + string(c.Resolved)
		}
		st.printf("  unknown: %s %s%s\n", c.Place, c.ID, decided)
	}
	for _, u := range s.Inherited {
		st.printf("  %s: %s of %s\n", cmp.Or(string(u.Resolved), "unknown"), u.ID, u.Run)
	}
	if s.Open != nil {
		st.printf("  open: %s %s\n", s.Open.ID, s.Open.Kind)
	}
	if s.Final != "" {
		st.printf("  final: %s\n", s.Final)
	}
}

func (st *story) messages() {
	for _, m := range st.s.Messages() {
		for _, b := range m.Blocks {
			switch b.Kind {
			case journal.BlockCall:
				st.printf("%s: call %s %s %s\n", m.Role, b.Call.ID, b.Call.Tool, b.Call.Args)
			case journal.BlockResult:
				st.printf("%s: result of %s, %s: %s\n", m.Role, b.Result.ID, b.Result.Outcome, lines(b.Result.Text))
			default:
				st.printf("%s: %s\n", m.Role, lines(b.Text))
			}
		}
	}
}

// say is a fact in words.
func say(b journal.Body) string {
	switch b := b.(type) {
	case journal.CallSettled:
		return fmt.Sprintf("%s %s: %s", b.Kind(), b.Place, sayResult(b.Result))
	case journal.CallResolved:
		if b.Run != "" {
			return fmt.Sprintf("%s %s of %s: %s", b.Kind(), b.Place, b.Run, b.Word)
		}
		return fmt.Sprintf("%s %s: %s", b.Kind(), b.Place, b.Word)
	case journal.RequestOpened:
		r := b.Request
		text := fmt.Sprintf("%s %s: %s\n    choices: %s", b.Kind(), r.ID, lines(r.Message), strings.Join(r.Choices, ", "))
		for i, c := range r.Choices {
			if r.Rules[c] != "" {
				text += fmt.Sprintf("\n    %s: %s", c, lines(r.Hints[i]))
			}
		}
		return text
	case journal.RequestClosed:
		return fmt.Sprintf("%s %s: %s, %s", b.Kind(), b.ID, b.Status, b.Reason)
	case journal.TurnSettled:
		return fmt.Sprintf("%s %s", b.Kind(), b.Checkpoint)
	case journal.RunCompleted:
		return fmt.Sprintf("%s: %s", b.Kind(), lines(b.Text))
	case journal.RunFailed:
		return fmt.Sprintf("%s: %s", b.Kind(), b.Reason)
	case journal.RunInterrupted:
		return fmt.Sprintf("%s %s: %s", b.Kind(), b.Cause, b.Detail)
	case journal.RunCancelled:
		return fmt.Sprintf("%s by %q: %s", b.Kind(), b.By, b.Reason)
	}
	return string(b.Kind())
}

func sayResult(r journal.Result) string {
	return fmt.Sprintf("%s, applied %s, %s: %s", r.Outcome, r.Applied, r.How, lines(r.Content))
}

func lines(s string) string { return strings.ReplaceAll(s, "\n", " | ") }

func sayAction(a Action) string {
	switch a := a.(type) {
	case Record:
		var kinds []string
		for _, b := range a.Facts {
			kinds = append(kinds, string(b.Kind()))
		}
		return "record " + strings.Join(kinds, ", ")
	case Start:
		return "start " + places(a.Calls)
	case Recover:
		return "recover " + places(a.Calls)
	case Await:
		return "await " + places(a.Calls)
	case StopCalls:
		return "stop " + places(a.Calls) + ": " + a.Reason
	case CallModel:
		text := fmt.Sprintf("ask the model for turn %d", a.Turn)
		if !a.NotBefore.IsZero() {
			text += " at " + a.NotBefore.Format(time.TimeOnly)
		}
		return text
	case Compact:
		text := fmt.Sprintf("summarise what is before turn %d", a.Through+1)
		if !a.NotBefore.IsZero() {
			text += " at " + a.NotBefore.Format(time.TimeOnly)
		}
		return text
	case AskPerson:
		return fmt.Sprintf("ask a person: %s", a.Request.ID)
	case Claim:
		return "claim"
	case Done:
		return "done"
	}
	return fmt.Sprintf("%T", a)
}

func places(calls []*Call) string {
	var out []string
	for _, c := range calls {
		out = append(out, c.Place.String())
	}
	return strings.Join(out, " ")
}

// options takes key=value words out of the others. An underscore in a value stands for a space.
func options(words []string) (map[string]string, []string) {
	o := map[string]string{}
	var rest []string
	for _, w := range words {
		if k, v, ok := strings.Cut(w, "="); ok {
			o[k] = v
			if k == "alive" {
				o[k] = strings.ReplaceAll(v, "_", " ")
			}
		} else {
			rest = append(rest, w)
		}
	}
	return o, rest
}

func place(text string) journal.Place {
	turn, index, _ := strings.Cut(text, ".")
	return journal.Place{Turn: number(turn), Index: number(index)}
}

func number(text string) int {
	n, _ := strconv.Atoi(text) // an option that is not given is zero; a wrong one shows in the golden text
	return n
}

func length(text string) time.Duration {
	d, _ := time.ParseDuration(text) // as above
	return d
}

func answerJSON(text string) json.RawMessage {
	switch text {
	case "yes":
		return json.RawMessage("true")
	case "no":
		return json.RawMessage("false")
	}
	return json.RawMessage(strconv.Quote(text))
}
