package inspect

import (
	"path"
	"slices"
	"strconv"
	"strings"

	"agent/tools/shelltext"
)

// maxScript bounds the scripts that are parsed to see whether they can be looked at afterwards.
const maxScript = 8 << 10

// command is a script that is one simple command whose effect can be looked at.
type command struct {
	verb     string // mkdir, mv, rm, touch, git commit
	flags    map[string]bool
	operands []string
	mode     uint32 // of mkdir -m
	message  string // of git commit
}

// parse reads a script. ok is false for everything that is not exactly one known command with
// literal words and known options: then nothing can be said about what it did.
func parse(script, shell string) (d command, ok bool) {
	control := func(c rune) bool { return c < ' ' && c != '\n' && c != '\t' || c == 0x7f }
	if len(script) > maxScript || !mayBeDeed(script) || strings.ContainsFunc(script, control) {
		return command{}, false
	}
	words, ok := literal(script, shell)
	if !ok || len(words) < 2 {
		return command{}, false
	}
	name := words[0]
	if dir, base := path.Split(name); dir == "/bin/" || dir == "/usr/bin/" {
		name = base
	}
	d = command{verb: name, flags: map[string]bool{}}
	switch name {
	case "mkdir":
		ok = d.read(words[1:], "p", "--parents", "m") && len(d.operands) > 0
	case "rm":
		ok = d.read(words[1:], "frR", "--force --recursive", "") && len(d.operands) > 0
		d.flags["r"] = d.flags["r"] || d.flags["R"]
	case "mv":
		ok = d.read(words[1:], "nfT", "--no-clobber --force --no-target-directory", "") && len(d.operands) == 2
	case "touch":
		ok = d.read(words[1:], "", "", "") && len(d.operands) > 0
	case "git":
		ok = d.commit(words[1:])
	default:
		ok = false
	}
	return d, ok && d.plain()
}

// mayBeDeed is a cheap look before the parser is asked.
func mayBeDeed(script string) bool {
	first := strings.TrimLeft(script, " \t\n")
	for _, name := range []string{"mkdir", "rm", "mv", "touch", "git"} {
		for _, dir := range []string{"", "/bin/", "/usr/bin/"} {
			if strings.HasPrefix(first, dir+name) {
				return true
			}
		}
	}
	return false
}

// literal gives the words of a script that is one simple command, as the shell will pass them on:
// nothing in it is expanded, and its outputs go nowhere else.
func literal(script, shell string) ([]string, bool) {
	r := shelltext.Read(script, shell)
	if r.Normal == nil || len(*r.Normal) != 1 {
		return nil, false
	}
	commands := (*r.Normal)[0].Commands
	return commands[0].Words, len(commands) == 1 && len(commands[0].Redirects) == 0
}

// read takes options of single letters, long options without a value, and operands. The letter in
// valued takes a mode.
func (d *command) read(words []string, letters, long, valued string) bool {
	for i := 0; i < len(words); i++ {
		w := words[i]
		switch {
		case w == "--":
			d.operands = append(d.operands, words[i+1:]...)
			return true
		case strings.HasPrefix(w, "--"):
			if !slices.Contains(strings.Fields(long), w) {
				return false
			}
			d.flags[string(longLetter(w))] = true
		case valued != "" && strings.HasPrefix(w, "-"+valued):
			mode := w[2:]
			if mode == "" && i+1 < len(words) {
				i++
				mode = words[i]
			}
			n, err := strconv.ParseUint(mode, 8, 12)
			if err != nil {
				return false
			}
			d.mode = uint32(n)
			d.flags[valued] = true
		case len(w) > 1 && w[0] == '-':
			for _, c := range w[1:] {
				if !strings.ContainsRune(letters, c) {
					return false
				}
				d.flags[string(c)] = true
			}
		default:
			d.operands = append(d.operands, w)
		}
	}
	return true
}

func longLetter(long string) byte {
	if long == "--no-target-directory" {
		return 'T'
	}
	return long[2]
}

// commit reads the words after git: nothing but a commit of the index as it is, or of all tracked
// files, with a message.
func (d *command) commit(words []string) bool {
	if words[0] != "commit" {
		return false
	}
	d.verb = "git commit"
	var parts []string
	for i := 1; i < len(words); i++ {
		w := words[i]
		given := false
		switch {
		case w == "--message":
			w, given = "", true
		case strings.HasPrefix(w, "--message="):
			parts = append(parts, strings.TrimPrefix(w, "--message="))
		case w == "--quiet":
		case w == "--all":
			d.flags["a"] = true
		case len(w) > 1 && w[0] == '-' && w[1] != '-':
			var ok bool
			if w, given, ok = d.letters(w[1:]); !ok {
				return false
			}
		default:
			return false
		}
		if given && w == "" {
			if i++; i == len(words) {
				return false
			}
			w = words[i]
		}
		if given {
			parts = append(parts, w)
		}
	}
	d.message = tidyMessage(strings.Join(parts, "\n\n"))
	return d.message != ""
}

// letters reads options of one letter that stand together, such as -qam. What follows an m is the
// message, or, if nothing does, the next word.
func (d *command) letters(list string) (message string, given, ok bool) {
	for i, c := range list {
		switch c {
		case 'q':
		case 'a':
			d.flags["a"] = true
		case 'm':
			return list[i+1:], true, true
		default:
			return "", false, false
		}
	}
	return "", false, true
}

// tidyMessage is git's own clean-up of a message that was not edited (git-commit(1),
// --cleanup=whitespace).
func tidyMessage(text string) string {
	var lines []string
	for _, line := range strings.Split(text, "\n") {
		line = strings.TrimRight(line, " \t\n\v\f\r")
		if line == "" && (len(lines) == 0 || lines[len(lines)-1] == "") {
			continue
		}
		lines = append(lines, line)
	}
	text = strings.TrimRight(strings.Join(lines, "\n"), "\n")
	if text == "" {
		return ""
	}
	return text + "\n"
}

// plain refuses operands whose meaning is not their spelling's, and two that are about one place.
func (d command) plain() bool {
	for i, o := range d.operands {
		clean := path.Clean(o)
		base := path.Base(clean)
		if o == "" || strings.IndexByte(o, 0) >= 0 || base == "." || base == ".." || base == "/" {
			return false
		}
		if strings.HasSuffix(o, "/") && d.verb != "mkdir" {
			return false
		}
		for _, other := range d.operands[:i] {
			other = path.Clean(other)
			if d.verb != "mv" && (other == clean || strings.HasPrefix(other, clean+"/") || strings.HasPrefix(clean, other+"/")) {
				return false
			}
		}
	}
	return true
}
