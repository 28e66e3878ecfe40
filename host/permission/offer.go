package permission

import (
	"errors"
	"path"
	"slices"
	"strings"

	"agent/recovery/journal"
	"agent/tools/shelltext"
)

// Edits are the tools that change files in the workspace, as one rule names them.
const Edits = "{write_file,edit_file,apply_patch}"

// Offers are the answers to a question about the call that hold from then on, the narrowest first:
// exactly this, the same beginning of a command, the same for the rest of the run, all edits in the
// workspace, and never this. Where rules cannot say it, it is not offered.
func (p Policy) Offers(q Request) []journal.Offer {
	exact, prefix, edits := p.Always(q), p.prefix(q), p.edits(q)
	widest := exact
	for _, wider := range [][]Rule{prefix, edits} {
		if wider != nil {
			widest = wider
		}
	}
	var out []journal.Offer
	offer := func(answer, says string, rules []Rule) {
		if len(rules) > 0 {
			out = append(out, journal.Offer{Answer: answer, Says: says + Short(rules), Rules: TOML(rules)})
		}
	}
	offer(journal.AnswerAlways, "runs it, and from now on here: ", exact)
	offer(journal.AnswerPrefix, "runs it, and from now on here: ", prefix)
	offer(journal.AnswerRun, "runs it, and until this run ends: ", widest)
	offer(journal.AnswerEdits, "runs it, and from now on here: ", edits)
	offer(journal.AnswerNever, "does not run it, and never here: ", p.Never(q))
	return out
}

// prefix makes the rules that allow the same commands with other words behind their beginning; nil
// where no beginning covers one program alone.
func (p Policy) prefix(q Request) []Rule {
	if q.Tool != "shell" || q.Folder == "" {
		return nil
	}
	var rules []Rule
	wider := false
	for _, r := range standing(journal.DecisionAllow, q) {
		pat, err := parsePattern(r.Command)
		if err != nil {
			return nil
		}
		if n := beginning(pat.words); n > 0 {
			begin := pattern{words: pat.words[:n], more: true}
			if begin.allowable() == nil {
				r.Command, wider = quoteWords(begin.words)+" *", true
			}
		}
		if !slices.Contains(rules, r) {
			rules = append(rules, r)
		}
		if len(rules) > maxStanding {
			return nil
		}
	}
	if !wider || !sound(rules) {
		return nil
	}
	return p.needed(rules, q)
}

// edits makes the rule that allows every edit that stays in the workspace, and is of no file that
// other programs obey; nil where the call is none.
func (p Policy) edits(q Request) []Rule {
	r := Rule{Decision: journal.DecisionAllow, Tool: Edits, Access: "write", Folder: q.Folder}
	if q.Folder == "" || !r.Named(q.Tool) {
		return nil
	}
	return p.needed([]Rule{r}, q)
}

// needed leaves out of the rules what others cover; nil where they do not allow the call.
func (p Policy) needed(rules []Rule, q Request) []Rule {
	if d, _ := p.With(rules...).Decide(q); d != journal.DecisionAllow {
		return nil
	}
	for i := len(rules) - 1; i >= 0; i-- {
		less := slices.Delete(slices.Clone(rules), i, i+1)
		if d, _ := p.With(less...).Decide(q); d == journal.DecisionAllow {
			rules = less
		}
	}
	return rules
}

// Programs by how much of their words a beginning has to name.
const (
	// oneThing do one thing with whatever they are given.
	oneThing = `ls cat head tail wc grep rg ag sort uniq cut tr diff cmp touch mkdir cp echo printf stat du df which file basename dirname
realpath jq yq tree date find fd pytest gcc cc clang g++ rustc prettier eslint rspec test seq sleep true false pwd`
	// runNamed run what their next word names.
	runNamed = `make gmake ninja just mvn gradle cmake`
	// exact cannot be taken back, or change where later ones work: each use is decided by itself.
	exact = `cd pushd popd rm rmdir dd shred truncate mv kill pkill killall chmod chown chgrp mkfs mount umount reboot shutdown halt poweroff systemctl
service iptables nft passwd useradd userdel apt apt-get aptitude dpkg dnf yum pacman brew scp rsync`
	// scripts are subcommands that run what the word behind them names.
	scripts = `npm/run npm/run-script pnpm/run yarn/run go/run`
)

// beginning is how many of a command's words a rule for its like names; 0 where none is offered.
func beginning(words []string) int {
	name := path.Base(words[0])
	known := programOf(name)
	has := func(list string) bool { return slices.Contains(strings.Fields(list), name) }
	switch {
	case has(exact):
		return 0
	case known.kind == interpreter:
		return pattern{words: words}.script()
	case known.kind != plain:
		return 0
	case has(oneThing):
		return 1
	case len(words) < 2:
		return 0
	case !bare(words[1]):
		if has(runNamed) || known.sub {
			return 0
		}
		return 1
	case !known.sub:
		return 2
	case !known.subcommand(shelltext.Word{Text: words[1], Literal: true}):
		return 0
	case slices.Contains(strings.Fields(scripts), name+"/"+words[1]):
		if len(words) < 3 || strings.HasPrefix(words[2], "-") {
			return 0
		}
		return 3
	case slices.Contains(known.options, words[1]): // it runs others, or changes what they use
		return 0
	}
	return 2
}

// bare says whether a word may be the name of a subcommand or a target.
func bare(w string) bool {
	return w != "" && strings.Trim(w, "abcdefghijklmnopqrstuvwxyz0123456789-_") == "" && w[0] != '-'
}

// Short says what rules are about, in one line, without the folder in which they hold.
func Short(rules []Rule) string {
	var all []string
	for _, r := range rules {
		text := r.text()
		switch {
		case r.Tool == Edits && r.Path == "":
			text = "all edits in this folder"
		case r.Access != "" && r.Access != "full":
			text += " (access " + r.Access + ")"
		}
		if !slices.Contains(all, text) {
			all = append(all, text)
		}
	}
	return strings.Join(all, "; ")
}

// Read reads a rule in one line: a tool's name, a tool's name with what it is about in parentheses
// (a command, a path, or a host with a method before it or without), edits, or else a command of
// shell.
func Read(d journal.Decision, text string) (Rule, error) {
	r := Rule{Decision: d, Tool: "shell", Command: strings.TrimSpace(text)}
	tool, about, given := strings.Cut(strings.TrimSuffix(r.Command, ")"), "(")
	given = given && strings.HasSuffix(r.Command, ")")
	whole := Rule{Decision: d, Tool: r.Command}
	switch {
	case r.Command == "":
		return r, errors.New("it is empty")
	case r.Command == "edits":
		r = Rule{Decision: d, Tool: Edits}
		if d == journal.DecisionAllow {
			r.Access = "write"
		}
	case !strings.ContainsAny(r.Command, " \t(") && whole.Check() == nil && (slices.Contains(Tools(), r.Command) || strings.HasPrefix(r.Command, "mcp__")):
		r = whole
	case given && !strings.ContainsAny(tool, " \t"):
		r = Rule{Decision: d, Tool: tool}
		switch about = strings.TrimSpace(about); tool {
		case "shell":
			r.Command = about
		case "fetch":
			words := strings.Fields(about)
			if len(words) > 1 {
				r.Method, about = words[0], strings.Join(words[1:], " ")
			}
			r.Host = about
		default:
			r.Path = about
		}
	}
	return r, r.Check()
}
