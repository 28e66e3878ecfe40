package recovery

import (
	"agent/recovery/journal"
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

const schemaYesNo = `{"type":"boolean"}`

// NoBecause is what an answer begins with that is a no with its reason.
const NoBecause = journal.AnswerNo + ", "

// permission asks whether a call may run. What is in doubt in the thread stands behind the call.
// The answers that hold for similar calls stand between yes and no, with what each adds.
func permission(c *Call, why, doubts string) Record {
	if why != "" {
		why = " (" + why + ")"
	}
	at := c.Place
	r := journal.Request{Call: &at, Question: journal.Question{
		Kind:    journal.RequestPermission,
		Message: fmt.Sprintf("%s wants to act%s:\n%s", c.Tool, why, describeCall(c.Tool, c.Args)) + doubts,
		Choices: []string{journal.AnswerYes},
		Hints:   []string{"runs it once"},
	}}
	for _, o := range offered(c) {
		if r.Rules == nil {
			r.Rules = map[string]string{}
		}
		r.Rules[o.Answer] = o.Rules
		r.Choices, r.Hints = append(r.Choices, o.Answer), append(r.Hints, o.Says)
	}
	r.Choices = append(r.Choices, journal.AnswerNo)
	r.Hints = append(r.Hints, "does not run it; the model gets why: no, REASON")
	r.Schema = permissionSchema(r.Choices)
	return Record{[]journal.Body{journal.RequestOpened{Request: r}}}
}

// offered are the answers about a call that hold for similar ones, without those of an older
// version that would grant less now than they promise.
func offered(c *Call) []journal.Offer {
	out := slices.DeleteFunc(slices.Clone(c.Offers), func(o journal.Offer) bool { return outdated(o.Answer, o.Rules) })
	if c.Always != "" && !outdated(journal.AnswerAlways, c.Always) {
		out = append(out, journal.Offer{Answer: journal.AnswerAlways, Says: "runs it, and exactly this here from now on", Rules: c.Always})
	}
	if c.Never != "" {
		out = append(out, journal.Offer{Answer: journal.AnswerNever, Says: "does not run it, and denies exactly this here from now on", Rules: c.Never})
	}
	return out
}

// Outdated reports whether a question offers answers that an older version made, which would grant
// less now than they promise. It is to be put anew.
func Outdated(r journal.Request) bool {
	for answer, rules := range r.Rules {
		if r.Kind == journal.RequestPermission && outdated(answer, rules) {
			return true
		}
	}
	return false
}

// outdated reports whether an answer is one of an older version, whose rules allowed the commands
// of a script one by one: they cover less than the script now, and grant less. A rule of today
// allows the complete script.
func outdated(answer, rules string) bool {
	return strings.HasPrefix(answer, journal.AnswerAlways) && strings.Contains(rules, "\ncommand = ")
}

// permissionSchema takes one of the words, true and false for yes and no, or a no with its reason.
func permissionSchema(words []string) json.RawMessage {
	schema, err := json.Marshal(map[string]any{
		"type": []string{"string", "boolean"}, "pattern": "^(" + strings.Join(words, "|") + ")$|^" + NoBecause,
	})
	if err != nil {
		panic(err) // strings always encode
	}
	return schema
}

// oneOf is the schema of an answer that is one of the words.
func oneOf(words []string) json.RawMessage {
	schema, err := json.Marshal(map[string]any{"type": "string", "enum": words})
	if err != nil {
		panic(err) // strings always encode
	}
	return schema
}

// twinQuestion asks what to do with a call that would do again what an earlier one may have done.
// In one run it is asked again after leave once only: then the answer that runs nothing also stops
// the asking.
func (s guard) twinQuestion(c *Call, first journal.Unknown) journal.Question {
	q := journal.Question{Kind: journal.RequestTwin, About: first.ID}
	offer := func(w journal.Word, hint string) {
		q.Choices, q.Hints = append(q.Choices, string(w)), append(q.Hints, hint)
	}
	asked, known := "the same call is asked for again", ""
	if first.Fingerprint != c.Fingerprint {
		asked, known = "a call that would do it again is asked for", "\n"+Describe(first.Args)
		if s.Acting != nil {
			if why := s.acts(c.Tool, c.Args).Opaque; why != "" {
				asked = "a call that may do it again is asked for: what it runs cannot be seen: " + why
			}
		}
	}
	switch {
	case first.Done:
		q.Message = fmt.Sprintf("an earlier %s happened, and %s.\na rewind or a fork took the first out of the conversation, "+
			"so the model does not know of it; what it did was not taken back\n", c.Tool, asked)
		known = "it happened (" + string(first.Outcome) + ")" + known
		offer(journal.WordHappened, "gives the model the recorded result and runs nothing, also when it is asked for again in this run")
	case first.Resolved == journal.WordHappened:
		q.Message = fmt.Sprintf("an earlier %s happened, as %s says, and %s.\n", c.Tool, by(first.By), asked)
		known = "its outcome was unknown before" + known
		offer(journal.WordHappened, "answers it from that record and runs nothing, also when it is asked for again in this run")
	default:
		q.Message = fmt.Sprintf("the outcome of an earlier %s is unknown, and %s.\n", c.Tool, asked)
		known = "it may or may not have happened" + known
		offer(journal.WordHappened, "settles the first as done and does not run it again")
	}
	q.Message += fmt.Sprintf("first:  call %s of run %s (turn %s), started at %s; %s\nagain:  call %s (turn %s), not started\n%s",
		first.ID, first.Run, first.Place, stamp(first.StartedAt), known, c.ID, c.Place, Describe(c.Args))
	if first.Alive {
		q.Message += "\nthe first may still be running, so running it once more is not offered"
	} else {
		offer(journal.WordRun, "runs it once more now (yes means this)")
	}
	switch {
	case first.Resolved == journal.WordHappened:
	case first.Done && s.answers[first.ID].word != journal.WordLeave:
		offer(journal.WordLeave, "runs nothing, and tells the model that it happened (no means this)")
	case first.Done:
		offer(journal.WordStop, "runs nothing, and nobody is asked about it again in this run (no means this)")
	case first.Resolved == journal.WordLeave || s.answers[first.ID].word == journal.WordLeave:
		offer(journal.WordStop, "runs nothing; the first stays unknown, and nobody is asked about it again in this run (no means this)")
	default:
		offer(journal.WordLeave, "runs nothing; the first stays unknown (no means this)")
	}
	q.Schema = oneOf(q.Choices)
	return q
}

// maxPaths is how many paths a question lists; the arguments of the call have them all.
const maxPaths = 40

// describeCall is Describe, but for a call whose arguments say nothing to a person as they stand:
// one that makes files again, of which it names each path and what becomes of it.
func describeCall(tool string, args json.RawMessage) string {
	var made struct {
		Files []struct {
			Path string               `json:"path"`
			Want *journal.FileVersion `json:"want"`
		} `json:"files"`
	}
	if tool != "restore_files" || json.Unmarshal(args, &made) != nil || len(made.Files) == 0 {
		return Describe(args)
	}
	var b strings.Builder
	for i, f := range made.Files {
		if i == maxPaths {
			fmt.Fprintf(&b, "  and %d more\n", len(made.Files)-i)
			break
		}
		what := "restore"
		if f.Want == nil {
			what = "remove "
		}
		fmt.Fprintf(&b, "  %s  %s\n", what, f.Path)
	}
	return strings.TrimRight(b.String(), "\n")
}

// Describe writes arguments for a person: one line a value, texts of several lines indented below
// their name.
func Describe(args json.RawMessage) string {
	dec := json.NewDecoder(bytes.NewReader(args))
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return "  " + string(args)
	}
	var b strings.Builder
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			return "  " + string(args)
		}
		var v json.RawMessage
		if err := dec.Decode(&v); err != nil {
			return "  " + string(args)
		}
		text := journal.Text(v)
		if strings.Contains(text, "\n") {
			text = "\n    " + strings.ReplaceAll(strings.TrimRight(text, "\n"), "\n", "\n    ")
		}
		fmt.Fprintf(&b, "  %v: %s\n", key, text)
	}
	return strings.TrimRight(b.String(), "\n")
}

// briefBytes bounds what a result repeats of the arguments: the model has them whole in its own
// call.
const briefBytes = 2 << 10

// brief is the beginning of a long text, with what it left out.
func brief(text string) string {
	if len(text) <= briefBytes {
		return text
	}
	cut := briefBytes
	for !utf8.RuneStart(text[cut]) {
		cut--
	}
	return fmt.Sprintf("%s\n  ... and %d bytes more", text[:cut], len(text)-cut)
}

func stamp(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05 UTC") }
