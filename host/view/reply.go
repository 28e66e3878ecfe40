package view

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"agent/host/stream"
	"agent/recovery"
	"agent/recovery/journal"
)

// ParseAnswer reads what a person typed in answer to q: yes or no, a choice or the unique beginning
// of one, or a text. The error says what would be an answer.
func ParseAnswer(q journal.Question, text string) (json.RawMessage, error) {
	s, err := answerSchema(q)
	if err != nil {
		return nil, err
	}
	var value json.RawMessage
	form, words := formOf(q)
	switch {
	case q.Kind == journal.RequestPermission:
		value, err = pickPermission(q, strings.TrimSpace(text))
	case form != nil:
		value, err = fillForm(form, words, text)
	case len(s.Enum) > 0:
		value, err = pickChoice(q, s.Enum, strings.TrimSpace(text))
	case s.Type == "boolean":
		value, err = pickYesNo(strings.TrimSpace(text))
	case s.Type == "string":
		if strings.TrimSpace(text) == "" {
			return nil, errors.New("an empty text is no answer")
		}
		value, err = ownWords(q, text)
	default:
		value = json.RawMessage(strings.TrimSpace(text))
	}
	if err != nil {
		return nil, err
	}
	return value, CheckAnswer(q, value)
}

// ownWords is an answer to a question that takes any text. To one about a phase, what is typed as
// a choice may be typed is that choice: who says Yes or y has nothing else in mind, and any other
// text has a phase done again. So it is about a plan, but that what lets more be done is said in
// full.
func ownWords(q journal.Question, text string) (json.RawMessage, error) {
	switch q.Kind {
	case journal.RequestPhase:
	case journal.RequestPlan:
		switch word := strings.ToLower(strings.TrimSpace(text)); {
		case word == "no" || word == "n":
			text = journal.AnswerEnds
		case word != journal.AnswerAuto && strings.HasPrefix(journal.AnswerAuto, word):
			return nil, fmt.Errorf("%s is no answer to this: say %s in full", Quoted(word), journal.AnswerAuto)
		}
	default:
		return json.Marshal(text)
	}
	choices := make([]any, len(q.Choices))
	for i, c := range q.Choices {
		choices[i] = c
	}
	if value, err := pickChoice(q, choices, strings.TrimSpace(text)); err == nil {
		return value, nil
	}
	return json.Marshal(text)
}

// CheckAnswer refuses a JSON value that is no answer to q.
func CheckAnswer(q journal.Question, value json.RawMessage) error {
	var v any
	if err := json.Unmarshal(value, &v); err != nil {
		return fmt.Errorf("%s is not JSON: %s", Quoted(string(value)), wanted(q))
	}
	s, err := answerSchema(q)
	if err != nil {
		return err
	}
	r, err := s.Resolve(nil)
	if err != nil {
		return fmt.Errorf("read the schema of the answer: %v", err)
	}
	if r.Validate(v) != nil {
		return fmt.Errorf("%s is no answer to this: %s", Quoted(journal.Text(value)), wanted(q))
	}
	return nil
}

func answerSchema(q journal.Question) (*jsonschema.Schema, error) {
	s := &jsonschema.Schema{}
	if len(q.Schema) == 0 {
		s.Type = "string"
		return s, nil
	}
	if err := json.Unmarshal(q.Schema, s); err != nil {
		return nil, fmt.Errorf("read the schema of the answer: %v", err)
	}
	return s, nil
}

// pickYesNo reads a yes or a no.
func pickYesNo(text string) (json.RawMessage, error) {
	switch strings.ToLower(text) {
	case "yes", "y", "true":
		return json.RawMessage("true"), nil
	case "no", "n", "false":
		return json.RawMessage("false"), nil
	}
	return nil, fmt.Errorf("%s is no answer to this: say yes or no", Quoted(text))
}

// pickChoice finds the choice that was typed: as it stands, in other case, by a beginning that fits
// no other, or by its number. To the twin guard, and about a call of a copy, yes means run and no
// means the answer that runs nothing.
func pickChoice(q journal.Question, choices []any, typed string) (json.RawMessage, error) {
	text := typed
	if q.Kind == journal.RequestTwin || q.Kind == journal.RequestCopy {
		switch strings.ToLower(text) {
		case "yes", "y":
			text = string(journal.WordRun)
		case "no", "n", string(journal.WordLeave):
			text = runsNothing(q)
		}
	}
	var fit []json.RawMessage
	var names []string
	best := unlike
	for _, c := range choices {
		value, err := json.Marshal(c)
		if err != nil {
			return nil, fmt.Errorf("read the choices: %v", err)
		}
		name := stream.Sanitize(journal.Text(value)) // as it was shown
		switch l := likeness(name, text); {
		case l == unlike || l < best:
		case l > best:
			best, fit, names = l, []json.RawMessage{value}, []string{name}
		default:
			fit, names = append(fit, value), append(names, name)
		}
	}
	if n, err := strconv.Atoi(text); err == nil && len(fit) == 0 && numbered(q) && n >= 1 && n <= len(choices) {
		return json.Marshal(choices[n-1])
	}
	switch len(fit) {
	case 1:
		return fit[0], nil
	case 0:
		return nil, fmt.Errorf("%s is no answer to this: %s", Quoted(typed), wanted(q))
	}
	return nil, fmt.Errorf("%s could be %s", Quoted(typed), Listed(names))
}

// numbered says whether the choices of a question have numbers: where they are a text's own, and
// none of them could be taken for a number. A word that has a meaning here is said as it is.
func numbered(q journal.Question) bool {
	return len(q.Hints) == 0 && len(q.Choices) > 1 && !slices.Equal(q.Choices, []string{journal.AnswerYes, journal.AnswerNo}) &&
		!slices.ContainsFunc(q.Choices, func(c string) bool { return strings.ContainsAny(c[:min(len(c), 1)], "0123456789+-") })
}

// runsNothing is the answer to the twin guard that runs nothing and settles nothing, where there is
// one.
func runsNothing(q journal.Question) string {
	if word := string(journal.WordStop); slices.Contains(q.Choices, word) {
		return word
	}
	return string(journal.WordLeave)
}

// pickPermission reads an answer about permission. What holds from then on is said in full, so
// that no slip of a finger does. Behind a no may stand why.
func pickPermission(q journal.Question, typed string) (json.RawMessage, error) {
	text := strings.ToLower(typed)
	switch text {
	case "y", "true":
		text = journal.AnswerYes
	case "n", "false":
		text = journal.AnswerNo
	}
	if n := len(journal.AnswerNo); len(text) > n && text[:n] == journal.AnswerNo && strings.ContainsRune(",:; ", rune(text[n])) {
		if why := strings.TrimLeft(typed[n:], ",:; "); why != "" {
			return json.Marshal(recovery.NoBecause + why)
		}
		text = journal.AnswerNo
	}
	if !slices.Contains(q.Choices, text) {
		return nil, fmt.Errorf("%s is no answer to this: %s", Quoted(typed), wanted(q))
	}
	return json.Marshal(text)
}

// How much a typed text is like a choice.
const (
	unlike = iota
	begins
	sameButCase
	same
)

func likeness(choice, text string) int {
	switch {
	case choice == text:
		return same
	case strings.EqualFold(choice, text):
		return sameButCase
	case text != "" && strings.HasPrefix(strings.ToLower(choice), strings.ToLower(text)):
		return begins
	}
	return unlike
}

// wanted says what would be an answer.
func wanted(q journal.Question) string {
	s, err := answerSchema(q)
	switch {
	case err != nil:
		return err.Error()
	case q.Kind == journal.RequestPermission:
		return "say " + Listed(append(slices.Clone(q.Choices), recovery.NoBecause+"REASON"))
	case len(s.Enum) > 0:
		return "say " + Listed(texts(s.Enum))
	case s.Type == "boolean":
		return "say yes or no"
	case s.Type == "string":
		return "say a text"
	}
	if form, words := formOf(q); form != nil {
		return "say " + fields(slices.Sorted(maps.Keys(form.Properties))) + ", the same as JSON, or " + Listed(texts(words.Enum))
	}
	return "it must fit the JSON schema " + string(q.Schema)
}

// texts are values as a person types them.
func texts(values []any) []string {
	var out []string
	for _, v := range values {
		if text, err := json.Marshal(v); err == nil {
			out = append(out, journal.Text(text))
		}
	}
	return out
}
