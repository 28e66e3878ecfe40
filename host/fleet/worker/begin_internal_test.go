package worker

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"agent/fleet/custody"
	"agent/fleet/log"
	"agent/fleet/seal"
)

// The files of a run are private, beside its prompt, and none leaves the folder or takes the place
// of another, whatever it is called.
func TestFilesOfARun(t *testing.T) {
	h := host(1)
	h.Home = t.TempDir()
	r := custody.Run{ID: "r-00000000", Prompt: "words", File: "../.."}
	names := []string{"../x", "-x", "", "x", "x", "/", "..", "a/b", "a/b\x00c", strings.Repeat("x", 300)}
	for i, name := range names {
		r.Send("image", custody.File{Name: name, Data: []byte{byte(i)}})
	}
	folder, args, err := h.unpack(r)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for i, arg := range args {
		path := strings.TrimPrefix(arg, "--image=")
		if arg == "-f" || seen[path] {
			continue
		}
		seen[path] = true
		want := string([]byte{byte(i)})
		if i == len(args)-1 {
			want = "words"
		}
		b, err := os.ReadFile(path)
		in, outside := filepath.Rel(folder, path)
		if err != nil || string(b) != want || outside != nil || !filepath.IsLocal(in) {
			t.Errorf("%s holds %q and not %q: %v", path, b, want, err)
		}
		for at := path; len(at) >= len(folder); at = filepath.Dir(at) {
			if info, err := os.Stat(at); err != nil || info.Mode().Perm()&0o077 != 0 {
				t.Errorf("%s is not private: %v, %v", at, info, err)
			}
		}
	}
	if len(seen) != len(names)+1 {
		t.Errorf("%d files of %d: %q", len(seen), len(names)+1, args)
	}
}

// A run that came without a file that a flag names is not carried out without it.
func TestARunThatLostItsFile(t *testing.T) {
	h := hostWithLog(t)
	h.Home, h.Work = t.TempDir(), t.TempDir()
	r := custody.Run{ID: "r-00000000", Prompt: "words"}
	r.Send("image", custody.File{Name: "a.png", Data: []byte("a")})
	r.Sent = nil
	d := &drive{host: h, run: r, step: custody.Step{Start: &r}, agent: Agent{Path: "/nowhere", Home: h.Home}}
	out, err := d.nowhere(t.Context())
	if err != nil || out.Status != failed || !strings.Contains(out.Text, "the file of --image did not come with the run") {
		t.Errorf("it is %+v, %v", out, err)
	}
}

// A driver that ends before it could say that it has its run is no refusal of the run: where it is
// on record, it goes on.
func TestARunWhoseDriverEndedAsItBegan(t *testing.T) {
	const (
		recorded = "mkdir -p $AGENT_HOME/locks && touch $AGENT_HOME/locks/r-00000000"
		refuses  = `echo '{"version":1,"ended":{"code":4,"out":"{\"status\":\"refused\",\"exit_code\":4,\"error\":\"it differs\"}"}}' >&4`
	)
	for name, x := range map[string]struct {
		script, status string
		again          bool
	}{
		"on record, refused":  {script: recorded + "; " + refuses, status: completed},
		"on record, killed":   {script: recorded, status: completed},
		"not at all, refused": {script: refuses, status: failed},
		"not at all, killed":  {script: "true", again: true},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, "agent")
			script := "#!/bin/sh\ncase $1 in\n__drive) head -c 1 <&3 >/dev/null; " + x.script + `;;
show) echo '{"run":{"id":"r-00000000","status":"completed"}}';;
esac
`
			if err := os.WriteFile(path, []byte(script), 0o755); err != nil {
				t.Fatal(err)
			}
			l, err := log.Open(t.Context(), "dir:"+dir, "n")
			if err != nil {
				t.Fatal(err)
			}
			h := host(1)
			h.Home, h.Work = filepath.Join(dir, "home"), filepath.Join(dir, "work")
			h.record = &record{log: l, key: seal.NewKey(), namespace: "n", host: h.Name, seen: time.Now()}
			r := custody.Run{ID: "r-00000000", Prompt: "words"}
			d := &drive{host: h, run: r, step: custody.Step{Start: &r}, agent: Agent{Path: path, Home: h.Home}}
			if out, err := d.nowhere(t.Context()); (err != nil) != x.again || out.Status != x.status {
				t.Errorf("it is %+v, %v", out, err)
			}
		})
	}
}
