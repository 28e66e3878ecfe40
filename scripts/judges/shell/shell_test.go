// Package shell has real shells judge what package shelltext reads: scripts that are made by a
// grammar are carried out by dash and bash over programs that write down how they were run, and
// what ran is compared with what was read. With zsh installed it judges prints too.
package shell

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"

	"agent/host/guard"
	"agent/host/permission"
	"agent/recovery"
	"agent/recovery/journal"
	"agent/tools/shelltext"
)

// scripts is how many are tried; AGENT_JUDGE_SCRIPTS takes more.
func scripts(t *testing.T) int {
	n := 2000
	if text := os.Getenv("AGENT_JUDGE_SCRIPTS"); text != "" {
		var err error
		if n, err = strconv.Atoi(text); err != nil {
			t.Fatalf("AGENT_JUDGE_SCRIPTS: %v", err)
		}
	}
	return n
}

// committedSeed is the number of scripts/seed.txt.
func committedSeed(t *testing.T) uint64 {
	text, err := os.ReadFile("../../seed.txt")
	if err != nil {
		t.Fatal(err)
	}
	n, err := strconv.ParseUint(strings.TrimSpace(string(text)), 10, 64)
	if err != nil {
		t.Fatalf("scripts/seed.txt: %v", err)
	}
	return n
}

// judge is what is compared: a reader and rules, which the controls bend, and the shells.
type judge struct {
	*lab
	read         func(text, shell string) shelltext.Reading
	allows, deny string // commands of rules beside "aa *", and of the one that denies dd
}

func newJudge(t *testing.T) judge { return judge{newLab(t), shelltext.Read, "bb *", "dd *"} }

// objection is what the shells have against the reading of a text; "" where it is right.
func (j judge) objection(t *testing.T, text string) string {
	t.Helper()
	for _, shell := range []string{"sh", "bash"} {
		r := j.read(text, shell)
		allowed := decide(journal.ModeAsk, text, shell, rule(journal.DecisionAllow, "aa *"), rule(journal.DecisionAllow, j.allows))
		undenied := decide(journal.ModeYolo, text, shell, rule(journal.DecisionDeny, j.deny))
		for _, s := range shells()[shell] {
			for _, words := range j.run(t, s, text).ran {
				switch {
				case r.Opaque == "" && !wraps(text) && !slices.ContainsFunc(r.Commands, func(c shelltext.Command) bool { return names(c, words) }) && !mentions(r.Texts, words):
					return fmt.Sprintf("%s ran %q, which the reading for %s does not hold", s[0], words, shell)
				case allowed && words[0] != "aa" && words[0] != "bb":
					return fmt.Sprintf("%s ran %q, though only aa and bb are allowed", s[0], words)
				case undenied && words[0] == "dd":
					return fmt.Sprintf("%s ran %q in mode yolo, though dd is denied", s[0], words)
				}
			}
		}
		if r.Normal == nil {
			continue
		}
		if why := j.printObjection(t, *r.Normal, text, shell); why != "" {
			return why
		}
	}
	return ""
}

// printObjection is what there is against the print of a normal form.
func (j judge) printObjection(t *testing.T, s shelltext.Script, text, shell string) string {
	t.Helper()
	print := s.Print()
	if again := shelltext.Read(print, shell); again.Normal == nil || again.Normal.Print() != print || fmt.Sprint(*again.Normal) != fmt.Sprint(s) {
		return fmt.Sprintf("the form of its print %q is another: %v", print, again.Why)
	}
	first, second := acts(text, shell), acts(print, shell)
	if !first.Repeats(second) || !second.Repeats(first) {
		return fmt.Sprintf("it and its print %q are not alike", print)
	}
	want := expected(s)
	if want == nil {
		return ""
	}
	raw := j.run(t, shells()[shell][0], text)
	if !follows(want, raw.ran) {
		return fmt.Sprintf("%q ran, want %q", raw.ran, want)
	}
	for _, s := range slices.Concat(shells()["sh"], shells()["print"]) {
		switch got := j.run(t, s, print); {
		case !follows(want, got.ran):
			return fmt.Sprintf("%s ran %q of the print %q, want %q", s[0], got.ran, print, want)
		case !slices.Equal(got.out, raw.out) || !slices.Equal(got.errors, raw.errors):
			return fmt.Sprintf("the outputs of the print %q in %s are %q and %q, not %q and %q", print, s[0], got.out, got.errors, raw.out, raw.errors)
		}
	}
	return ""
}

// wraps reports whether a text runs programs through others, which is followed elsewhere.
func wraps(text string) bool {
	if strings.Contains(text, "() {") { // a function
		return true
	}
	for _, w := range strings.FieldsFunc(text, func(r rune) bool { return !unicode.IsLetter(r) && r != '-' }) {
		if slices.Contains([]string{"eval", "sh", "bash", "dash", "env", "command", "exec", "nohup", "alias", "xargs"}, w) {
			return true
		}
	}
	return false
}

// mentions reports whether what ran stands in a text that a builtin may have expanded.
func mentions(texts, words []string) bool {
	return slices.ContainsFunc(texts, func(text string) bool { return strings.Contains(text, words[0]) })
}

// names reports whether a command that was read may have run with these words.
func names(c shelltext.Command, words []string) bool {
	if known := c.Literals(); known != nil {
		return slices.Equal(known, words)
	}
	return !c.Words[0].Literal || c.Words[0].Text == words[0]
}

// expected are the stubs that a script in normal form runs, by pipelines; nil where it runs a
// builtin, whose status is its own affair. A pipeline ends as its last command does.
func expected(s shelltext.Script) (want [][][]string) {
	ok := true
	for _, p := range s {
		if p.Join == "&&" && !ok || p.Join == "||" && ok {
			continue
		}
		var together [][]string
		for _, c := range p.Commands {
			if !slices.Contains(stubs(), c.Words[0]) {
				return nil
			}
			together, ok = append(together, c.Words), c.Words[0] != "ff"
		}
		want = append(want, together)
	}
	return want
}

// follows reports whether what ran is what was expected: one pipeline after the other, the parts of
// each in any order, since they run at the same time.
func follows(want [][][]string, ran [][]string) bool {
	for _, together := range want {
		if len(ran) < len(together) {
			return false
		}
		now := slices.Clone(ran[:len(together)])
		for _, c := range together {
			i := slices.IndexFunc(now, func(words []string) bool { return slices.Equal(words, c) })
			if i < 0 {
				return false
			}
			now = slices.Delete(now, i, i+1)
		}
		ran = ran[len(together):]
	}
	return len(ran) == 0
}

func rule(d journal.Decision, command string) permission.Rule {
	return permission.Rule{Decision: d, Tool: "shell", Command: command}
}

func arguments(text, shell string) json.RawMessage {
	args, err := json.Marshal(map[string]string{"command": text, "shell": shell})
	if err != nil {
		panic(err) // texts can be encoded
	}
	return args
}

// decide reports whether rules let the text run unasked.
func decide(mode journal.Mode, text, shell string, rules ...permission.Rule) bool {
	v := permission.New(rules...).Decide(permission.Request{
		Mode: mode, Tool: "shell", Args: arguments(text, shell), Effect: journal.EffectWriteExternal, Folder: "/work", Bounded: true,
	})
	return v.Decision == journal.DecisionAllow
}

func acts(text, shell string) recovery.Acts {
	return guard.Acts(guard.Call{Tool: "shell", Args: arguments(text, shell), Folder: "/work"})
}

// cut is a shorter text to which there is an objection too: parts of it go as long as one can.
func (j judge) cut(t *testing.T, text string) string {
	t.Helper()
	for size := len(text) / 2; size > 0; {
		shorter := ""
		for at := 0; at+size <= len(text) && shorter == ""; at++ {
			if without := text[:at] + text[at+size:]; j.objection(t, without) != "" {
				shorter = without
			}
		}
		if shorter == "" {
			size /= 2
			continue
		}
		text = shorter
	}
	return text
}

// What the shells carry out of generated scripts is what was read of them.
func TestShells(t *testing.T) {
	const parts = 4
	for part := range parts {
		t.Run(strconv.Itoa(part), func(t *testing.T) {
			t.Parallel()
			j := newJudge(t)
			chance := rand.New(rand.NewPCG(committedSeed(t), uint64(part)))
			normal := 0
			for range scripts(t) / parts {
				text := (&grammar{Rand: chance}).script()
				if j.read(text, "sh").Normal != nil {
					normal++
				}
				if why := j.objection(t, text); why != "" {
					short := j.cut(t, text)
					t.Fatalf("%q: %s; cut to %q", text, why, short)
				}
			}
			if tried := scripts(t) / parts; normal < tried/10 {
				t.Errorf("%d of %d scripts have a normal form", normal, tried)
			}
		})
	}
}

// What shells read differently from the parser, each found once.
func TestFound(t *testing.T) {
	j := newJudge(t)
	for _, text := range []string{
		"aa # \\\ndd x", "aa #\\\n#\\\ndd x", "aa x#y # \\\ndd", "sh -c 'aa # \\\ndd x'", "aa | bb # \\\ndd x",
		"aa \"$\\\n(dd)\"", "aa $\\\n(dd)", "aa <<-E\n\ta\\\n\tE\naa <<'E2'\nE\ndd\nE2", "time -- dd", "time -p -- dd x", "a=()#; dd", "a=(x)#; dd", "test -v 'a[$''(dd)]'",
		"printf -v 'a[$''(dd)]' x", "[[ 'a[$''(dd)]' -eq 1 ]]", "x='a[$''(dd)]'; : $((x))", "x=$'a[\\x24(dd)]'; (( x ))", "[[ x == @(<(dd)) ]]", "shopt -s extglob\naa @(<(dd))",
		"aa ${y:-<(dd)}", "aa ${x/'a'/<(dd)}", "aa 'x' '#' &&\n bb 'x\\\ny'", "aa '#' |\n bb 'x\\\ny'",
	} {
		if why := j.objection(t, text); why != "" {
			t.Errorf("%q: %s", text, why)
		}
	}
}

// Readers and rules that are wrong on purpose are found out.
func TestControls(t *testing.T) {
	bent := func(change func(*shelltext.Reading)) judge {
		j := newJudge(t)
		j.read = func(text, shell string) shelltext.Reading {
			r := shelltext.Read(text, shell)
			change(&r)
			return r
		}
		return j
	}
	lax, open := newJudge(t), newJudge(t)
	lax.allows, open.deny = "dd *", "cc *"
	for name, control := range map[string]struct {
		judge
		text string
	}{
		"a command is left out": {bent(func(r *shelltext.Reading) { r.Commands = r.Commands[1:] }), "(aa x; cc)"},
		"a word is changed":     {bent(func(r *shelltext.Reading) { r.Commands[0].Words[1].Text = "y" }), "aa x"},
		"the print runs other words": {bent(func(r *shelltext.Reading) {
			r.Normal = &shelltext.Script{{Commands: []shelltext.Simple{{Words: []string{"cc"}}}}}
		}), "aa x"},
		"a redirection is left out":   {bent(func(r *shelltext.Reading) { (*r.Normal)[0].Commands[0].Redirects = nil }), "aa 2>/dev/null"},
		"redirections are turned":     {bent(func(r *shelltext.Reading) { slices.Reverse((*r.Normal)[0].Commands[0].Redirects) }), "aa 2>&1 >/dev/null"},
		"the print has another order": {bent(func(r *shelltext.Reading) { slices.Reverse(*r.Normal) }), "aa x; cc"},
		"a rule allows more":          {lax, "aa; dd x"},
		"nothing denies":              {open, "dd x"},
	} {
		if why := control.objection(t, control.text); why == "" {
			t.Errorf("%s: not found", name)
		}
	}
}
