package sandbox

import (
	"slices"
	"strings"
	"testing"
)

// The profile of a command on macOS, as text: a command that reads gets no rule that lets it write,
// one that writes gets its folders, and the policy, the state folder and what leads there come
// last, where they win.
func TestSeatbeltProfile(t *testing.T) {
	p := Profile{
		Access: Write, Support: Support{Seatbelt: true}, Workspace: "/Users/a/site", Temp: `/private/var/agent") (allow default) ("`,
		Writable: []string{"/Users/a/Library/Caches/agent/tools/1"}, Hidden: []string{"/Users/a/site/.state"},
		Guarded: []string{"/Users/a/.config/agent", "/Users/a/site/.git/config"}, Links: []string{"/Users/a/site/sub/link"},
	}
	text, values := p.seatbelt()
	const rules = `(allow file-write* (subpath (param "WRITABLE_0")))
(allow file-write* (subpath (param "WRITABLE_1")))
(allow file-write* (subpath (param "WRITABLE_2")))
(deny file-write* (subpath (param "GUARDED_0")))
(deny file-write* (subpath (param "GUARDED_1")))
(deny file-write* (literal (param "KEPT_0")))
(deny file-write* (literal (param "KEPT_1")))
(deny file-write* (literal (param "KEPT_2")))
(deny file-write* (literal (param "KEPT_3")))
(deny file-read* file-write* (subpath (param "HIDDEN_0")))
`
	if got, ok := strings.CutPrefix(text, seatbeltBase); !ok || got != rules {
		t.Errorf("the profile of a command that writes:\n%s", text)
	}
	want := []string{
		"WRITABLE_0=/Users/a/site", `WRITABLE_1=/private/var/agent") (allow default) ("`, "WRITABLE_2=/Users/a/Library/Caches/agent/tools/1",
		"GUARDED_0=/Users/a/.config/agent", "GUARDED_1=/Users/a/site/.git/config",
		"KEPT_0=/Users/a/site", "KEPT_1=/Users/a/site/.git", "KEPT_2=/Users/a/site/sub", "KEPT_3=/Users/a/site/sub/link",
		"HIDDEN_0=/Users/a/site/.state",
	}
	if !slices.Equal(values, want) {
		t.Errorf("its values:\n%s", strings.Join(values, "\n"))
	}
	p.Access = Read
	text, values = p.seatbelt()
	if strings.Contains(text, "allow file-write* ") || slices.ContainsFunc(values, func(v string) bool { return strings.HasPrefix(v, "WRITABLE") }) {
		t.Errorf("a command that reads may write:\n%s\n%s", text, values)
	}
	if !strings.HasSuffix(text, `(deny file-read* file-write* (subpath (param "HIDDEN_0")))`+"\n") {
		t.Errorf("a command that reads sees the state folder:\n%s", text)
	}
}

// Everything is refused that no rule allows, the network and other services among it, and every
// rule is whole.
func TestSeatbeltBase(t *testing.T) {
	for _, refused := range []string{"network", "allow default", "appleevent", "job-creation", "system-socket", "file-write*"} {
		if strings.Contains(seatbeltBase, refused) {
			t.Errorf("the base has a rule about %s", refused)
		}
	}
	lines := strings.Split(strings.TrimSuffix(seatbeltBase, "\n"), "\n")
	if lines[0] != "(version 1)" || lines[1] != "(deny default)" {
		t.Errorf("it begins with %q", lines[:2])
	}
	for _, line := range lines {
		if strings.Count(line, "(") != strings.Count(line, ")") || strings.Count(line, `"`)%2 != 0 {
			t.Errorf("a rule is not whole: %s", line)
		}
	}
}

// What starts the command gets the values first, the profile, and then the command as it is.
func TestSeatbeltArguments(t *testing.T) {
	p := Profile{Access: Read, Support: Support{Seatbelt: true}, Workspace: "/w", Hidden: []string{"/s"}}
	text, _ := p.seatbelt()
	got := p.seatbeltArgs("/bin/sh", []string{"sh", "-e", "-c", "echo hi"})
	want := []string{"sandbox-exec", "-D", "HIDDEN_0=/s", "-p", text, "/bin/sh", "-e", "-c", "echo hi"}
	if !slices.Equal(got, want) {
		t.Errorf("arguments %q", got)
	}
}

// With sandbox-exec a command keeps to read and write, and a full one to nothing.
func TestSeatbeltHolds(t *testing.T) {
	s := Support{Seatbelt: true}
	if !s.Holds(Read) || !s.Holds(Write) || s.Holds(Full) || s.Level(Read) != "sandbox-exec" || s.Level(Full) != "none" {
		t.Errorf("read %v, write %v, full %v: %s, %s", s.Holds(Read), s.Holds(Write), s.Holds(Full), s.Level(Read), s.Level(Full))
	}
}
