package guard

import (
	"path"
	"slices"
	"strings"
)

// wrapper is a program that runs the command in its arguments and does nothing else that counts.
type wrapper struct {
	valued   string // options that take the next word
	operands int    // words before the command
}

// wrapperOf knows the wrappers by their names.
func wrapperOf(name string) (wrapper, bool) {
	switch name {
	case "env":
		return wrapper{valued: "-u --unset -C --chdir"}, true
	case "timeout", "gtimeout":
		return wrapper{valued: "-k --kill-after -s --signal", operands: 1}, true
	case "nice":
		return wrapper{valued: "-n --adjustment"}, true
	case "ionice":
		return wrapper{valued: "-c --class -n --classdata"}, true
	case "stdbuf":
		return wrapper{valued: "-i --input -o --output -e --error"}, true
	case "sudo", "doas":
		return wrapper{valued: "-u --user -g --group -h --host -p --prompt -C -D --chdir -R --chroot -r -t -T -U"}, true
	case "exec":
		return wrapper{valued: "-a"}, true
	case "time":
		return wrapper{valued: "-f --format -o --output"}, true
	case "flock":
		return wrapper{valued: "-w --wait --timeout -E --conflict-exit-code", operands: 1}, true
	case "taskset", "chrt":
		return wrapper{operands: 1}, true
	case "unshare":
		return wrapper{valued: "-R --root -w --wd -S --setuid -G --setgid --map-user --map-group --map-users --map-groups --propagation --setgroups"}, true
	case "strace", "ltrace":
		return wrapper{valued: "-a -b -e -E -I -o -O -p -P -s -S -u -U -X"}, true
	case "xargs":
		return wrapper{valued: "-a --arg-file -d --delimiter -E -I -L -n --max-args -P --max-procs -s --max-chars"}, true
	case "nohup", "eatmydata", "linux32", "linux64", "setsid", "command", "builtin", "busybox", "chronic", "unbuffer", "caffeinate", "setarch", "fakeroot", "dbus-run-session", "xvfb-run":
		return wrapper{}, true
	}
	return wrapper{}, false
}

// unwrapped is the command that is run in the end. A text that a wrapper gives to a shell is
// followed on its own.
func (r *reading) unwrapped(words []string) []string {
	for range maxInside * 2 {
		if len(words) == 0 {
			return nil
		}
		name := path.Base(words[0])
		w, ok := wrapperOf(name)
		if !ok {
			return words
		}
		if name == "env" || name == "flock" {
			for i, a := range words[:len(words)-1] {
				if a == "-S" || a == "--split-string" || name == "flock" && (a == "-c" || a == "--command") {
					r.text(words[i+1], "")
				}
			}
		}
		i := operand(words, 1, w.valued)
		for i < len(words) && assigns(words[i]) {
			i++
		}
		i += w.operands
		if i >= len(words) {
			return words[:1] // it runs nothing
		}
		words = words[i:]
	}
	return words
}

// handed follows what a command runs later or more than once: a text that it gives to a shell, or
// the commands that find runs.
func (r *reading) handed(name string, words []string) {
	switch name {
	case "eval":
		r.text(strings.Join(words[1:], " "), "")
	case "trap":
		if len(words) > 2 {
			r.text(words[operand(words[:len(words)-1], 1, "")], "")
		}
	case "watch":
		r.text(strings.Join(words[min(operand(words, 1, "-n --interval"), len(words)):], " "), "")
	case "script", "su", "runuser":
		for i, w := range words[:len(words)-1] {
			if w == "--command" || strings.HasPrefix(w, "-") && !strings.HasPrefix(w, "--") && strings.HasSuffix(w, "c") {
				r.text(words[i+1], "")
			}
		}
	case "find":
		for i, w := range words {
			if w == "-exec" || w == "-execdir" || w == "-ok" || w == "-okdir" {
				rest := words[i+1:]
				if end := slices.IndexFunc(rest, func(w string) bool { return w == ";" || w == "+" }); end >= 0 {
					rest = rest[:end]
				}
				r.command(rest, "", "")
			}
		}
	}
}

// operand is the place of the first word that is no option, from a place on.
func operand(words []string, from int, valued string) int {
	options := strings.Fields(valued)
	for from < len(words) && strings.HasPrefix(words[from], "-") {
		if words[from] == "--" {
			return from + 1
		}
		if slices.Contains(options, words[from]) {
			from++
		}
		from++
	}
	return from
}

// assigns says whether a word sets a variable for the command behind it.
func assigns(word string) bool {
	name, _, ok := strings.Cut(word, "=")
	return ok && name != "" && !strings.ContainsAny(name, "/ -.")
}
