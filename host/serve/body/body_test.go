package body

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
)

type sample struct {
	Prompt string          `json:"prompt"`
	Most   json.Number     `json:"most"`
	Book   bool            `json:"book"`
	Answer json.RawMessage `json:"answer"`
	Files  [][]byte        `json:"files"`
	Paths  []string        `json:"paths"`
}

// What is written is what is read, to the last character.
func TestRead(t *testing.T) {
	for text, want := range map[string]sample{
		"":               {},
		" \n":            {},
		"{}":             {},
		`{"prompt":"p"}`: {Prompt: "p"},
		` { "prompt" : "\u00e9 \"}\\" , "most" : 2.50 , "book" : true } `: {Prompt: `é "}\`, Most: "2.50", Book: true},
		`{"prompt":"\ud83d\ude00 😀 \ufffd \\ud800"}`:                      {Prompt: "😀 😀 \ufffd \\ud800"},
		`{"answer":{"a":[1,{"a":2},[],{}],"b":null}}`:                     {Answer: json.RawMessage(`{"a":[1,{"a":2},[],{}],"b":null}`)},
		`{"answer":null,"prompt":null,"files":null,"most":null}`:          {Answer: json.RawMessage("null")},
		`{"paths":["a","\u00e9/b"]}`:                                      {Paths: []string{"a", "é/b"}},
		`{"files":["aGk=",""]}`:                                           {Files: [][]byte{[]byte("hi"), {}}},
	} {
		var got sample
		if err := Read([]byte(text), &got); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v, %v", text, got, err)
		}
	}
}

// What cannot be taken as it was written is refused, in words that name it and no type of Go.
func TestReadRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"{\"prompt\":\"a\xffb\"}":                "it is not valid UTF-8, at byte 13",
		"{\"prompt\":\"\xed\xa0\x80\"}":          "it is not valid UTF-8, at byte 12",
		`{"prompt":"a\ud800b"}`:                  `the field "prompt" has half of a character at byte 13: \ud800`,
		`{"prompt":"\ude00\ud83d"}`:              `the field "prompt" has half of a character at byte 12: \ude00`,
		`{"prompt":"\ud800\u0041"}`:              `the field "prompt" has half of a character at byte 12: \ud800`,
		`{"answer":["\ud800"]}`:                  `the field "answer" has half of a character at byte 13: \ud800`,
		`{"answer":{"\ud800":1}}`:                `a name has half of a character at byte 13: \ud800`,
		`{"prompt":"a","prompt":"b"}`:            `the field "prompt" stands twice`,
		`{"answer":{"a":1, "\u0061":2}}`:         `the field "a" stands twice`,
		`{"answer":[[{"a":1,"a":2}]]}`:           `the field "a" stands twice`,
		`{"Prompt":"a"}`:                         `there is no field "Prompt" here: there are prompt, most, book, answer, files, paths`,
		`{"` + strings.Repeat("x", 100) + `":1}`: `there is no field "` + strings.Repeat("x", 60) + `..." here`,
		`{"prompt":7}`:                           `the field "prompt" wants a text, and is a number`,
		`{"prompt":["p"]}`:                       `the field "prompt" wants a text, and is a list`,
		`{"most":"7"}`:                           `the field "most" wants a number, and is a text`,
		`{"book":"yes"}`:                         `the field "book" wants true or false, and is a text`,
		`{"files":"aGk="}`:                       `the field "files" wants a list, and is a text`,
		`{"files":[7]}`:                          `the field "files" wants a list of files, each a text in base64`,
		`{"files":["?"]}`:                        `the field "files" wants a list of files, each a text in base64`,
		`{"paths":"a"}`:                          `the field "paths" wants a list, and is a text`,
		`{"paths":["a",7]}`:                      `the field "paths" wants a list of texts`,
		`[]`:                                     `it is a list, and is to be an object`,
		`null`:                                   `it is null, and is to be an object`,
		`"p"`:                                    `it is a text, and is to be an object`,
		`{"prompt":"p"} {}`:                      `it is no JSON: at byte 16`,
		`prompt=p`:                               `it is no JSON: at byte 1`,
		`{"prompt":"p"`:                          `it is no JSON: at byte 13`,
		`{"prompt":"a` + "\n" + `b"}`:            `it is no JSON: at byte 13`,
		strings.Repeat("[", 65):                  "it is nested deeper than 64",
		`{"a":` + strings.Repeat("[", 1<<20):     "it is nested deeper than 64",
	} {
		err := Read([]byte(text), &sample{})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.60s: %v, want %s", text, err, want)
		}
		if got := fmt.Sprint(err); strings.Contains(got, "Go ") || strings.Contains(got, "json.") || strings.Contains(got, "unmarshal") {
			t.Errorf("%.60s: %s", text, got)
		}
	}
	if err := Read([]byte(`{"by":"root"}`), &struct{}{}); err == nil || err.Error() != `there is no field "by" here, and no other` {
		t.Error(err)
	}
}

// No text brings the reader down, and what it takes is JSON that says the same.
func FuzzRead(f *testing.F) {
	for _, text := range []string{`{"prompt":"\ud83d\ude00"}`, `{"answer":{"a":[1,{"b":2}]}}`, `{"prompt":"\\"}`, `{"answer":[ ]}`, "{\"\xff\":1}", `{"answer":"\ud800\`} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var got sample
		if err := Read(text, &got); err != nil || len(got.Answer) == 0 {
			return
		}
		var once, again any
		if err := json.Unmarshal(got.Answer, &once); err != nil {
			t.Fatalf("%q: %v", got.Answer, err)
		}
		back, err := json.Marshal(once)
		if err == nil {
			err = json.Unmarshal(back, &again)
		}
		if err != nil || !reflect.DeepEqual(once, again) {
			t.Fatalf("%q became %q, %v", got.Answer, back, err)
		}
	})
}
