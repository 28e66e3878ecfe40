package guard_test

import (
	"encoding/json"
	"strings"
	"testing"

	"agent/host/guard"
	"agent/recovery"
)

func shell(t *testing.T, args map[string]any) recovery.Acts {
	t.Helper()
	text, err := json.Marshal(args)
	if err != nil {
		t.Fatal(err)
	}
	return guard.Acts(guard.Call{Tool: "shell", Args: text, Folder: "/w"})
}

// asks says whether the guard asks about a second script after a first one of unknown outcome.
func asks(t *testing.T, first, second string) bool {
	t.Helper()
	return shell(t, map[string]any{"command": second}).Repeats(shell(t, map[string]any{"command": first}))
}

// Never twice (issue 11, A1): what runs ./B.sh again is known, however it is spelled.
func TestSameCommand(t *testing.T) {
	for _, again := range []string{
		"sh ./B.sh", "sh B.sh", "  sh   ./B.sh  \n", "sh B.sh;", "sh B.sh # once more", "./B.sh", "/w/B.sh", "sh /w/B.sh", "bash -x ./B.sh",
		"cd /w && sh ./B.sh", "cd /w; sh B.sh", "cd . && ./B.sh", `cd "/w" && sh B.sh`, "cd sub && sh ../B.sh", "(cd sub && ls); sh B.sh",
		`sh 'B.sh'`, `sh "B.sh"`, `s\h B.sh`, `sh "$PWD/B.sh"`, `sh $(pwd)/B.sh`, `sh "${PWD}"/B.sh`, "F=B.sh; sh $F",
		"echo hi; sh B.sh", "sh B.sh && echo done", "set -e\nsh B.sh", "sh B.sh 2>&1 | tail -n 5", "sh B.sh > out.log 2>&1", "sh B.sh &",
		"if true; then sh B.sh; fi", "for i in 1; do sh B.sh; done", "f() { sh B.sh; }; f", "{ sh B.sh; }", "(sh B.sh)", "! sh B.sh", "time sh B.sh",
		"timeout 5 sh B.sh", "timeout -k 1 5s sh B.sh", "timeout --signal=KILL 5 ./B.sh", "nohup sh B.sh", "nice -n 5 sh B.sh", "env sh B.sh",
		"env -i A=1 sh B.sh", "A=1 sh B.sh", "sudo -u root sh B.sh", "sudo sh B.sh", "exec sh B.sh", "command sh B.sh", "setsid sh B.sh",
		"stdbuf -oL sh B.sh", "sh -c 'sh B.sh'", "bash -lc 'cd /w && ./B.sh'", "eval 'sh B.sh'", ". ./B.sh", "sh <<E\nsh B.sh\nE\n",
		"echo 'sh B.sh' | sh", "timeout 9 env A=1 sh -c \"nohup sh B.sh\"", "/bin/sh B.sh", "/usr/bin/env sh B.sh", "out=$(sh B.sh); echo $out",
		"sh B.sh || sh C.sh", "flock lock sh B.sh", "flock lock -c 'sh B.sh'",
		"unshare -n sh B.sh", "strace -f -o log sh B.sh", "xargs sh B.sh < /dev/null", "find . -maxdepth 0 -exec sh ./B.sh ';'", "trap 'sh B.sh' EXIT",
		"trap -- 'sh B.sh' EXIT", "script -qc 'sh ./B.sh' /dev/null", "su -c 'sh B.sh'", "watch -n 1 sh B.sh", "sh < B.sh", "timeout 9 sh < B.sh", "bash -s < ./B.sh", "cat ./B.sh | sh",
	} {
		if !asks(t, "sh ./B.sh", again) {
			t.Errorf("%q would run without a question", again)
		}
		if !asks(t, "sh ./B.sh", "make; "+again) {
			t.Errorf("%q behind another command would run without a question", again)
		}
	}
	// The first may have been the one with more around it.
	for _, first := range []string{
		"cd /w && sh B.sh", "echo hi; sh B.sh", "timeout 5 sh B.sh", "sh B.sh 2>&1 | tail -n 5", "set -e; sh B.sh; echo done", "sh B.sh > log", "sh -c 'sh B.sh'",
	} {
		if !asks(t, first, "sh ./B.sh") {
			t.Errorf("after %q of unknown outcome, sh ./B.sh would run without a question", first)
		}
	}
}

// What does something else is not held up, or work would stop at every question.
func TestOtherCommand(t *testing.T) {
	for _, c := range [][2]string{
		{"sh ./B.sh", "sh ./C.sh"}, {"sh ./B.sh", "cat B.sh"}, {"sh ./B.sh", "sh sub/B.sh"}, {"sh B.sh staging", "sh B.sh prod"}, {"sh B.sh", "echo sh B.sh"},
		{"sh ./B.sh", "trap - EXIT"}, {"sh ./B.sh", "trap"}, {"sh ./B.sh", "watch -n"}, {"sh ./B.sh", "find . -exec"}, {"sh ./B.sh", "su -c"}, {"sh ./B.sh", "find . -name B.sh"}, {"sh ./B.sh", "sort < B.sh"}, {"sh ./B.sh", "cat B.sh | wc -l"},
		{"sh ./B.sh", "cat C.sh | sh"},
		{"make; sh B.sh", "make"}, {"sh B.sh", "cd /other && ls"}, {"echo one >> log", "echo two >> log"}, {"echo one >> log", "cat log"},
		{"echo one >> log", "echo one"}, {"git push", "git pull"}, {"sh B.sh", "ls -l ./B.sh"}, {"sh B.sh", "'"}, {"'", "sh B.sh"}, {"x=1", "sh B.sh"},
		{"cat > f <<E\none\nE\n", "cat > f <<E\ntwo\nE\n"},
	} {
		if asks(t, c[0], c[1]) {
			t.Errorf("%q is taken for %q", c[1], c[0])
		}
	}
	for _, same := range [][2]string{
		{"echo one >> log", "cd /w && echo 'one' >>./log"}, {"git push", "cd /w && timeout 60 git push"}, {"make deploy", "make 'deploy'"},
		{"echo '", "echo  '"}, {"x=1", "x=1"}, {"> f", ">./f"}, {"curl -X POST http://h/x", "curl -X POST http://h/x | cat"},
	} {
		if !asks(t, same[0], same[1]) {
			t.Errorf("%q is not known again in %q", same[0], same[1])
		}
	}
}

// Of a shell call its command acts, with any time, shell and access.
func TestShellArguments(t *testing.T) {
	first := shell(t, map[string]any{"command": "sh ./B.sh"})
	for _, more := range []map[string]any{
		{"timeout": 10}, {"timeout": 1000.5}, {"access": "full"}, {"access": "write"}, {"shell": "sh"}, {"shell": "bash"}, {"access": "full", "shell": "sh", "timeout": 1},
	} {
		more["command"] = "sh ./B.sh"
		if !shell(t, more).Repeats(first) {
			t.Errorf("%v would run without a question", more)
		}
	}
}

// Of any tool: defaults, limits, white space, the order of keys, the spelling of numbers and of
// paths.
func TestArguments(t *testing.T) {
	const schema = `{"type":"object","properties":{"url":{"type":"string"},"method":{"default":"GET"},"n":{"type":"number"},
		"deep":{"type":"object","properties":{"on":{"default":true}}}}}`
	acts := func(args string) recovery.Acts {
		return guard.Acts(guard.Call{
			Tool: "x", Args: json.RawMessage(args), Folder: "/w", Schema: json.RawMessage(schema), Bounds: []string{"timeout"}, Files: true,
		})
	}
	for _, c := range []struct {
		a, b string
		same bool
	}{
		{`{"url":"u"}`, `{ "method":"GET", "url" : "u" }`, true},
		{`{"url":"u"}`, `{"url":"u","timeout":3}`, true},
		{`{"url":"u"}`, `{"url":"u","method":"POST"}`, false},
		{`{"n":10}`, `{"n":1e1}`, true},
		{`{"n":10}`, `{"n":10.0}`, true},
		{`{"n":9007199254740993}`, `{"n":9007199254740992}`, false},
		{`{"n":1e999999999}`, `{"n":1e999999999}`, true},
		{`{"deep":{}}`, `{"deep":{"on":true}}`, true},
		{`{"deep":{}}`, `{"deep":{"on":false}}`, false},
		{`{"path":"a/b"}`, `{"path":"/w/./a/b"}`, true},
		{`{"path":"a/b"}`, `{"path":"/v/a/b"}`, false},
		{`{"url":"u"}`, `{"url":"u","headers":{},"list":[],"n":null}`, true},
		{`{"headers":{"a":"b"}}`, `{"headers":{}}`, false},
		{`{"list":[[]]}`, `{"list":[]}`, false},
		{`[1]`, `[1.0]`, true},
		{`no json`, `no json`, true},
		{`no json`, `other`, false},
	} {
		if acts(c.b).Repeats(acts(c.a)) != c.same {
			t.Errorf("%s and %s: the same is %v", c.a, c.b, !c.same)
		}
	}
}

// A script that cannot be read may do anything again, also one within another.
func TestOpaqueScripts(t *testing.T) {
	for script, opaque := range map[string]bool{
		"ls # \\\ntouch x":            true,
		"sh -c 'ls # \\\ntouch x'":    true,
		"printf 'ls # \\\nx' | sh":    true,
		"ls '":                        true,
		"ls # a comment\ntouch x":     false,
		"ls \\\n x":                   false,
		"sh -c 'ls; touch x' | sh -s": false,
	} {
		for _, shell := range []string{"sh", "bash"} {
			a := guard.Acts(guard.Call{Tool: "shell", Args: mustJSON(t, map[string]string{"command": script, "shell": shell}), Folder: "/w"})
			if (a.Opaque != "") != opaque {
				t.Errorf("%q for %s: %q, opaque is to be %v", script, shell, a.Opaque, opaque)
			}
		}
	}
}

// A script is read within bounds, whatever it is.
func FuzzScript(f *testing.F) {
	for _, s := range []string{"sh B.sh", "eval 'eval \"eval x\"'", "timeout", "env", "sh -c", "cd", "a | sh", "$(", "<<E", "f() { f; }; f", "exec >f", "flock", "\"$(pwd)\"", "${x"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		a := guard.Acts(guard.Call{Tool: "shell", Args: mustJSON(t, map[string]string{"command": s}), Folder: "/w"})
		if a.Text != "" && !a.Repeats(a) {
			t.Errorf("%q is not like itself", s)
		}
	})
}

func mustJSON(t *testing.T, v any) json.RawMessage {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// A link on the way to a script or file hides nothing.
func TestLinkOnTheWay(t *testing.T) {
	follow := func(p string) string {
		for from, to := range map[string]string{"/w/link": "/w", "/w/run": "/w/B.sh"} {
			if p == from {
				return to
			}
			if rest, ok := strings.CutPrefix(p, from+"/"); ok {
				return to + "/" + rest
			}
		}
		return p
	}
	acts := func(tool string, args map[string]any) recovery.Acts {
		text, err := json.Marshal(args)
		if err != nil {
			t.Fatal(err)
		}
		return guard.Acts(guard.Call{Tool: tool, Args: text, Folder: "/w", Files: true, Follow: follow})
	}
	first := acts("shell", map[string]any{"command": "sh ./B.sh"})
	for _, again := range []string{"sh link/B.sh", "cd link && ./B.sh", "sh /w/link/B.sh", "./run", "sh run"} {
		if !acts("shell", map[string]any{"command": again}).Repeats(first) {
			t.Errorf("%q would run without a question", again)
		}
	}
	if !acts("write_file", map[string]any{"path": "link/f"}).Repeats(acts("write_file", map[string]any{"path": "f"})) {
		t.Error("link/f would be written without a question")
	}
	if acts("write_file", map[string]any{"path": "other/f"}).Repeats(acts("write_file", map[string]any{"path": "f"})) {
		t.Error("other/f is held up")
	}
}
