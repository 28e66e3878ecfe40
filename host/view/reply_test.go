package view_test

import (
	"encoding/json"
	"strings"
	"testing"

	"agent/host/view"
	"agent/recovery/journal"
)

func yesNo() journal.Question {
	return journal.Question{Kind: journal.RequestConfirm, Message: "Go on?", Schema: json.RawMessage(`{"type":"boolean"}`), Choices: []string{"yes", "no"}}
}

func oneOf(kind journal.RequestKind, choices ...string) journal.Question {
	schema, _ := json.Marshal(map[string]any{"type": "string", "enum": choices})
	return journal.Question{Kind: kind, Message: "Which?", Schema: schema, Choices: choices}
}

func anyText() journal.Question {
	return journal.Question{Kind: journal.RequestAskUser, Message: "Name?", Schema: json.RawMessage(`{"type":"string"}`)}
}

func withChoices(q journal.Question, choices ...string) journal.Question {
	q.Choices = choices
	return q
}

func phaseQuestion() journal.Question {
	q := withChoices(anyText(), "yes", "no")
	q.Kind = journal.RequestPhase
	return q
}

// What is typed becomes the answer that the question's schema asks for; anything else is refused
// and says what would do.
func TestAnswersAreRead(t *testing.T) {
	count := journal.Question{Schema: json.RawMessage(`{"type":"integer","minimum":1}`)}
	tests := []struct {
		name  string
		q     journal.Question
		typed string
		want  string // JSON, or the error after "!"
	}{
		{"yes", yesNo(), "yes", "true"},
		{"y in capitals, with blanks", yesNo(), " Y ", "true"},
		{"no", yesNo(), "no", "false"},
		{"not a yes", yesNo(), "sure", `!"sure" is no answer to this: say yes or no`},
		{"nothing is no yes", yesNo(), "", `!"" is no answer to this: say yes or no`},
		{"a choice of a question about a phase, as people type it", phaseQuestion(), " Yes", `"yes"`},
		{"its beginning", phaseQuestion(), "n", `"no"`},
		{"own words about a phase", phaseQuestion(), "yes, but keep the header", `"yes, but keep the header"`},
		{"a text that a model asked for", withChoices(anyText(), "yes", "no"), "y", `"y"`},
		{"a choice", oneOf(journal.RequestAskUser, "red", "ready", "blue"), "red", `"red"`},
		{"a beginning", oneOf(journal.RequestAskUser, "red", "ready", "blue"), "b", `"blue"`},
		{"a beginning in other case", oneOf(journal.RequestAskUser, "Red", "blue"), "re", `"Red"`},
		{"two choices that differ in case", oneOf(journal.RequestAskUser, "a", "A"), "A", `"A"`},
		{"a beginning of two", oneOf(journal.RequestAskUser, "red", "ready", "blue"), "re", `!"re" could be red or ready`},
		{"no choice", oneOf(journal.RequestAskUser, "red", "ready", "blue"), "green", `!"green" is no answer to this: say red, ready or blue`},
		{"nothing is no choice", oneOf(journal.RequestAskUser, "red"), "", `!"" is no answer to this: say red`},
		{"a choice called yes", oneOf(journal.RequestAskUser, "yes", "run"), "yes", `"yes"`},
		{"yes to a twin runs it", oneOf(journal.RequestTwin, "happened", "run", "leave"), "yes", `"run"`},
		{"no to a twin leaves it", oneOf(journal.RequestTwin, "happened", "run", "leave"), "n", `"leave"`},
		{"a twin happened", oneOf(journal.RequestTwin, "happened", "run", "leave"), "hap", `"happened"`},
		{"a twin that may still run", oneOf(journal.RequestTwin, "happened", "leave"), "yes", `!"yes" is no answer to this: say happened or leave`},
		{"a text", anyText(), " Ann Lee", `" Ann Lee"`},
		{"a text that looks like JSON", anyText(), "true", `"true"`},
		{"blanks are no text", anyText(), "  ", "!an empty text is no answer"},
		{"a number", count, "7", "7"},
		{"a number that does not fit", count, "0", `!"0" is no answer to this: it must fit the JSON schema {"type":"integer","minimum":1}`},
		{"no number", count, "many", `!"many" is not JSON: it must fit the JSON schema {"type":"integer","minimum":1}`},
		{"a choice by its number", oneOf(journal.RequestAskUser, "red", "blue"), "2", `"blue"`},
		{"a number beyond the choices", oneOf(journal.RequestAskUser, "red", "blue"), "3", `!"3" is no answer to this: say red or blue`},
		{"no number where choices are numbers", oneOf(journal.RequestAskUser, "8080", "9090"), "1", `!"1" is no answer to this: say 8080 or 9090`},
		{"no number for what holds from then on", permits(), "2", `!"2" is no answer to this: say yes, always, no or no, REASON`},
		{"a no with its reason", permits(), "No: use the Test database", `"no, use the Test database"`},
		{"a no with commas", permits(), "no, not, now", `"no, not, now"`},
		{"a no with nothing behind", permits(), "no, ", `"no"`},
		{"no no", permits(), "nope", `!"nope" is no answer to this: say yes, always, no or no, REASON`},
		{"yes and more is none", permits(), "yes please", `!"yes please" is no answer to this: say yes, always, no or no, REASON`},
		{"a choice that was shown without its control character", oneOf(journal.RequestAskUser, "re\x1b[1md"), "red", `"re\u001b[1md"`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := view.ParseAnswer(tt.q, tt.typed)
			text := string(got)
			if err != nil {
				text = "!" + err.Error()
			}
			if text != tt.want {
				t.Errorf("got %s, want %s", text, tt.want)
			}
		})
	}
}

// permits is a question about permission.
func permits() journal.Question {
	return journal.Question{
		Kind: journal.RequestPermission, Message: "?", Choices: []string{"yes", "always", "no"},
		Schema: json.RawMessage(`{"type":["string","boolean"],"pattern":"^(yes|always|no)$|^no, "}`),
	}
}

// A value given as JSON is held against the question's schema.
func TestValuesAreChecked(t *testing.T) {
	for value, want := range map[string]string{
		`true`:  "",
		`"yes"`: "say yes or no",
		`1`:     "say yes or no",
		`{`:     "is not JSON",
	} {
		err := view.CheckAnswer(yesNo(), json.RawMessage(value))
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, want %q", value, err, want)
		}
	}
	if err := view.CheckAnswer(journal.Question{}, json.RawMessage(`"any text"`)); err != nil {
		t.Errorf("without a schema: %v", err)
	}
}

// How a question reads, and the command that answers it.
func TestQuestionText(t *testing.T) {
	tests := []struct {
		q       journal.Question
		text    string
		answers []string
	}{
		{yesNo(), "? Go on?", []string{"agent answer p-1 yes", "agent answer p-1 no"}},
		{anyText(), "? Name?", []string{`agent answer p-1 "TEXT"`}},
		{oneOf(journal.RequestAskUser, "red", "dark blue", "it's"), "? Which?\n    1  red\n    2  dark blue\n    3  it's", []string{
			"agent answer p-1 red", "agent answer p-1 'dark blue'", `agent answer p-1 'it'\''s'`,
		}},
		{oneOf(journal.RequestAskUser, "a\nb"), "? Which?\n    a b", []string{"agent answer p-1 'a\nb'"}},
	}
	for _, tt := range tests {
		r := ask(tt.q)
		equal(t, view.QuestionText(&r), tt.text)
		equal(t, strings.Join(view.AnswerCommands(&r), "; "), strings.Join(tt.answers, "; "))
	}
	long := ask(oneOf(journal.RequestAskUser, strings.Repeat("x", 40), strings.Repeat("y", 40)))
	equal(t, view.PromptText(&long), "answer (one of these)")
}

func ask(q journal.Question) journal.Request { return journal.Request{ID: "p-1", Question: q} }

func equal(t *testing.T, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}
