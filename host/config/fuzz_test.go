package config

import (
	"cmp"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	"agent/host/permission"
	"agent/recovery/journal"
)

// parts are the single errors that an error holds.
func parts(err error) []error {
	if many, ok := err.(interface{ Unwrap() []error }); ok {
		var all []error
		for _, e := range many.Unwrap() {
			all = append(all, parts(e)...)
		}
		return all
	}
	return []error{err}
}

// FuzzConfig: whatever is in a file, reading it is the same each time, and a refusal names a place
// of the file in words that a terminal may be shown. A file that was written for a person's limits
// and rules is read again as them; one of a workspace loosens nothing.
func FuzzConfig(f *testing.F) {
	for _, text := range []string{
		"", "model = \"work/qwen3\"\nmode = \"auto\"\nmax_turns = 50\nmax_tokens = 2_000_000\nmax_cost = \"2.50\"\ntimeout = \"1h30m\"\neffort = \"high\"\nidle = \"90s\"\n" +
			"[providers.work]\nkind = \"chat\"\nbase_url = \"http://127.0.0.1:8000/v1\"\napi_key_env = \"WORK_KEY\"\n[models.\"work/qwen3\"]\nwindow = 131072\nmax_output = 8192\n" +
			"input_price = \"0.50\"\ncached_price = \"0.05\"\noutput_price = \"1.50\"\n",
		"[[allow]]\ntool = \"shell\"\ncommand = \"go test *\"\naccess = \"write\"\nfolder = \"/home/me/project\"\n\n[[deny]]\ntool = \"fetch\"\nhost = \"*.example.com\"\nmethod = \"POST\"\n",
		"[[ask]]\ntool = \"write_file\"\npath = \"docs/**\"\n", "ask = [{tool = \"shell\"}, {tool = \"x\", y = [{z = 1}]}]\n", "[ask]\ntool = \"shell\"\n",
		"mode = \"plan\"\nmax_turns = 0\nmax_cost = \"0.000001\"\ntimeout = \"0s\"\n", "[fetch]\nprivate = [\"127.0.0.1:3000\", \"10.0.0.0/8\"]\n[sandbox]\nfull = \"open\"\nwritable = [\"~/x\"]\n",
		"max_turns = 0x10\nMODE = \"plan\"\n", "a.b.c.d.e.f = {g.h = [1, {i = 2}]}\n", "\ufeffmode = 'plan'\r\n", "mode = \"\"\"\nplan\"\"\"\n", "a = \"\x1b[2J\"\n", "\"\\u001b\" = 1\n",
		"[providers.\"\\u0007\"]\nkind = \"\\u001b[1m\"\n", "model = \"\\u0000/x\"\n", "max_cost = 1e99\n", "timeout = 1979-05-27T07:32:00Z\n", "[[", "x = [[[[", "mode = \"pl\xffan\"\n",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		own, err := parseUser("f", []byte(text), Known{Providers: []string{"openai"}, Reserved: []string{"replay"}})
		again, err2 := parseUser("f", []byte(text), Known{Providers: []string{"openai"}, Reserved: []string{"replay"}})
		if !reflect.DeepEqual(own, again) || fmt.Sprint(err) != fmt.Sprint(err2) {
			t.Fatalf("it is read as %+v, %v and as %+v, %v", own, err, again, err2)
		}
		placed(t, text, err)
		if err == nil {
			rulesComeBack(t, own.Rules)
		}
		most, rules, err := parseWorkspace("f", "", []byte(text))
		placed(t, text, err)
		if err == nil {
			tightens(t, most, rules)
		}
	})
}

// placed: each refusal is about a place that the file has, and shows nothing that a terminal obeys.
func placed(t *testing.T, text string, err error) {
	t.Helper()
	if err == nil {
		return
	}
	for _, e := range parts(err) {
		var at *Error
		if errors.As(e, &at) {
			if lines := strings.Count(text, "\n") + 1; at.Line < 1 || at.Line > lines || at.Column < 1 || at.Column > len(text)+2 {
				t.Errorf("line %d, column %d of %d lines, %d bytes: %s", at.Line, at.Column, lines, len(text), at.Message)
			}
		}
		if i := strings.IndexFunc(e.Error(), func(r rune) bool { return r != '\n' && r != '\t' && !unicode.IsPrint(r) }); i >= 0 {
			t.Errorf("a terminal would obey %q", e.Error())
		}
	}
}

// rulesComeBack: rules that were read can be written, and are then read as they were.
func rulesComeBack(t *testing.T, rules []permission.Rule) {
	t.Helper()
	rules = slices.Clone(rules)
	for i := range rules {
		rules[i].Where = ""
	}
	slices.SortStableFunc(rules, func(a, b permission.Rule) int {
		order := []journal.Decision{journal.DecisionAllow, journal.DecisionAsk, journal.DecisionDeny}
		return cmp.Compare(slices.Index(order, a.Decision), slices.Index(order, b.Decision))
	})
	if len(rules) == 0 {
		return
	}
	text := permission.TOML(rules)
	if again, err := Rules(text); err != nil || !reflect.DeepEqual(again, rules) {
		t.Errorf("%+v, written as\n%s\nare read as %+v, %v", rules, text, again, err)
	}
}

// tightens: no file of a workspace gives more than the person gave.
func tightens(t *testing.T, most Limits, rules []permission.Rule) {
	t.Helper()
	for _, r := range rules {
		if r.Decision != journal.DecisionAsk && r.Decision != journal.DecisionDeny {
			t.Errorf("a workspace has the rule %+v", r)
		}
	}
	ten, tokens, cost, hour := 10, int64(1000), int64(5_000_000), time.Hour
	for _, mode := range journal.Modes() {
		for _, own := range []Limits{{Mode: mode}, {Mode: mode, MaxTurns: &ten, MaxTokens: &tokens, MaxCost: &cost, Timeout: &hour}} {
			got, _ := most.Tighten(own)
			if modes := journal.Modes(); slices.Index(modes, got.Mode) > slices.Index(modes, own.Mode) || got.Mode == "" {
				t.Errorf("mode %s became %s", own.Mode, got.Mode)
			}
			if looser(own.MaxTurns, got.MaxTurns) || looser(own.MaxTokens, got.MaxTokens) || looser(own.MaxCost, got.MaxCost) || looser(own.Timeout, got.Timeout) {
				t.Errorf("%+v under %+v became %+v", own, most, got)
			}
		}
	}
}

func looser[T cmp.Ordered](was, is *T) bool {
	var none T
	if was == nil || *was == none {
		return false
	}
	return is == nil || *is == none || *is > *was
}

// A file comes with a repository and may be made to take long: it is refused soon, whatever it is
// full of, and what is said is bounded where the file has no end of keys that may not stand there.
func TestFullFileIsReadSoon(t *testing.T) {
	deep := strings.Repeat("a.", maxFile/2-8)
	for name, text := range map[string]string{
		"tables": strings.Repeat("[[a]]\n", maxFile/6), "keys": strings.Repeat("[[ask]]\nx=1\n", maxFile/12), "inline": "ask = [" + strings.Repeat("{x=1},", maxFile/6-4) + "]\n",
		"rules": strings.Repeat("[[ask]]\ntool=\"x\"\n", maxFile/17), "deep": deep + "b=1\n", "a deep table": "[" + deep + "b]\n", "deep inside": "mode = {" + deep + "b=1}\n",
		"nested": "mode = " + strings.Repeat("[", maxFile-9), "tables in tables": "mode = " + strings.Repeat("{a=", 9000) + "1" + strings.Repeat("}", 9000),
	} {
		began := time.Now()
		_, _, err := parseWorkspace("f", "", []byte(text))
		if took := time.Since(began); took > 20*time.Second {
			t.Errorf("%s: it took %s", name, took)
		}
		if name != "rules" && err == nil {
			t.Errorf("%s: it is accepted", name)
		}
		if n := len(parts(err)); n > manyStrange+1 && name != "rules" {
			t.Errorf("%s: %d errors", name, n)
		}
	}
}
