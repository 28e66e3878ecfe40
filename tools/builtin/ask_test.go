package builtin

import (
	"encoding/json"
	"reflect"
	"testing"

	"agent/recovery/journal"
	"agent/tools"
	"agent/tools/toolstest"
)

func TestQuestions(t *testing.T) {
	b := newBench(t)
	for _, tt := range []struct {
		tool, args string
		want       journal.Question
	}{
		{"ask_user", `{"question":"name?"}`, journal.Question{
			Kind: journal.RequestAskUser, Message: "name?", Schema: json.RawMessage(`{"type":"string"}`),
		}},
		{"ask_user", `{"question":"which?","choices":["a","b"]}`, journal.Question{
			Kind: journal.RequestAskUser, Message: "which?", Schema: json.RawMessage(`{"enum":["a","b"],"type":"string"}`),
			Choices: []string{"a", "b"},
		}},
		{"confirm_action", `{"question":"Publish?","about":"c-1"}`, journal.Question{
			Kind: journal.RequestConfirm, Message: "Publish?", Schema: json.RawMessage(`{"type":"boolean"}`),
			Choices: []string{"yes", "no"}, About: "c-1",
		}},
	} {
		if err := b.Registry.Read(tt.tool, json.RawMessage(tt.args)); err != nil {
			t.Fatal(err)
		}
		got := b.Tool(tt.tool).Describe("", json.RawMessage(tt.args)).Question
		if got == nil || !reflect.DeepEqual(*got, tt.want) {
			t.Errorf("%s %s: got %+v", tt.tool, tt.args, got)
		}
	}
	for _, tool := range []string{"ask_user", "confirm_action"} {
		if q := b.Tool(tool).Describe("", json.RawMessage(`{}`)).Question; q != nil || b.Tool(tool).(tools.Checker).Check(json.RawMessage(`{}`)) == nil {
			t.Errorf("%s asks an empty question", tool)
		}
	}
}

func TestReadOutput(t *testing.T) {
	b := newBench(t)
	b.outputs["r-test/c-1"] = "0123456789"
	b.outputs["r-test/c-2"] = "ab日本cd"
	for _, tt := range []struct {
		args args
		want string
	}{
		{args{"call": "c-1"}, "0123456789"},
		{args{"call": "c-1", "offset": 4}, "456789\n[bytes 4 to 9, the end of the output]"},
		{args{"call": "c-1", "offset": 4, "limit": 2}, "45\n[bytes 4 to 5 of 10; read on with offset 6]"},
		{args{"call": "c-1", "offset": 10}, "[the output has 10 bytes; none from 10 on]"},
		{args{"call": "c-2", "limit": 4}, "ab\n[bytes 0 to 1 of 10; read on with offset 2]"},
		{args{"call": "c-2", "offset": 2, "limit": 4}, "日\n[bytes 2 to 4 of 10; read on with offset 5]"},
		{args{"call": "c-2", "offset": 2, "limit": 1}, "\ufffd\n[bytes 2 to 2 of 10; read on with offset 3]"},
	} {
		if got := b.Must("read_output", tt.args); got != tt.want {
			t.Errorf("%v: got %q, want %q", tt.args, got, tt.want)
		}
	}
	toolstest.Contains(t, b.Refused("read_output", args{"call": "c-9"}), "c-9", "no such call")
}
