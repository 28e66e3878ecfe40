package permission_test

import (
	"slices"
	"strings"
	"testing"

	"agent/recovery/journal"
)

// covered are the words that the rules of plausible begin with, for a reading of scripts that knows
// no more.
func covered() (out [][]string) {
	for _, c := range plausibleCommands() {
		out = append(out, strings.Fields(strings.TrimSuffix(c, "*")))
	}
	return out
}

// simple splits a script of nothing but bare words and what stands between commands, on a path of
// its own. It says no about any other.
func simple(script string) (commands [][]string, ok bool) {
	if strings.Trim(script, "abcdefghijklmnopqrstuvwxyz0123456789 ./_-;&|\n()") != "" {
		return nil, false
	}
	for _, part := range strings.FieldsFunc(script, func(r rune) bool { return strings.ContainsRune(";&|\n()", r) }) {
		words := strings.Fields(part)
		for _, w := range words {
			if slices.Contains(strings.Fields("if then elif else fi for while until do done case esac in select function time coproc"), w) {
				return nil, false
			}
		}
		if len(words) > 0 {
			commands = append(commands, words)
		}
	}
	return commands, true
}

// first are beginnings that run rm before anything of what follows, whatever follows.
func first() []string {
	return []string{
		"rm -rf x\n", "rm -rf x; ", "rm -rf x && ", "rm -rf x | ", "rm -rf x & ", "(rm -rf x); ", "{ rm -rf x; }\n", "if rm -rf x; then ls; fi\n", "! rm -rf x\n",
		"$(rm -rf x); ", "ls `rm -rf x`\n", "ls \"$(rm -rf x)\"; ", "cat <<E\n$(rm -rf x)\nE\n", "ls && { ls | rm -rf x; }\n", "for a in $(rm -rf x); do ls; done\n", "case $(rm -rf x) in x) ls;; esac\n",
	}
}

// FuzzCommand: nothing that a model can write makes the rules panic, and a script is never allowed
// of which a command is not covered: not one that is no script, not one with such a command before
// it, not one of bare words that a simpler reading finds more in. Whatever an answer would add is a
// rule that can be written down, and a deny rule stops what comes first.
func FuzzCommand(f *testing.F) {
	for _, s := range bypasses {
		f.Add(strings.NewReplacer(`\n`, "\n", `\r`, "\r").Replace(s))
	}
	for _, s := range []string{"git status", "a <<E\n$(b)\nE", "((", "$'", "`", "\x00", "a=(b c)", "f(){ g; }", "case", "{a,b}", "git log -- *", "git status; (ls)|wc -l&\n", "ls\nrm", "ls &&\nrm", "ls|rm", "(ls;rm)"} {
		f.Add(s)
	}
	own := plausible()
	p, first, rules := own.With(deny("sudo *", "rm -rf *")...), first(), covered()
	f.Fuzz(func(t *testing.T, script string) {
		for _, shell := range []string{"sh", "bash"} {
			q := bounded(journal.ModeAsk, script, shell)
			d, why := decided(p, q)
			if again, because := decided(p, q); again != d || because != why {
				t.Errorf("%q: %s (%s) and %s (%s)", script, d, why, again, because)
			}
			if d == journal.DecisionAllow && (strings.ContainsAny(script, "\r\x00\x1b$`") && !strings.ContainsAny(script, "'\\#<") || strings.Contains(why, "mode")) {
				t.Errorf("%q is allowed: %s", script, why)
			}
			for _, r := range append(p.Always(q, len(script)%2 == 0), p.Never(q)...) {
				if err := r.Check(); err != nil {
					t.Errorf("%q: %v", script, err)
				}
			}
			for i := range 2 {
				before := first[(len(script)+i*7)%len(first)]
				if d, why := decided(p, shellCall(journal.ModeYolo, before+script, shell)); d == journal.DecisionAllow {
					t.Errorf("%q is allowed under a deny rule: %s", before+script, why)
				}
				if d, why := decided(own, bounded(journal.ModeAsk, before+script, shell)); d == journal.DecisionAllow {
					t.Errorf("%q is allowed: %s", before+script, why)
				}
			}
			if commands, ok := simple(script); ok && d == journal.DecisionAllow {
				for _, c := range commands {
					if !slices.ContainsFunc(rules, func(r []string) bool { return len(c) >= len(r) && slices.Equal(c[:len(r)], r) }) {
						t.Errorf("%q is allowed with %q: %s", script, c, why)
					}
				}
			}
		}
	})
}
