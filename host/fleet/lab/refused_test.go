package lab_test

import (
	"bytes"
	"encoding/base64"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"agent/fleet/lab"
)

// A worker that cannot be one of the fleet says why at its start, and takes nothing.
func TestWhatIsRefusedByName(t *testing.T) {
	l, h := lab.OneHost(t)
	id := l.Begin("one", []string{"true"})
	l.Until(id, "ended", time.Minute, lab.Run.Ended)
	h.PowerOff()
	write := func(name, text string, mode os.FileMode) string {
		path := filepath.Join(l.Dir, name)
		if err := os.WriteFile(path, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	other := write("other-key", base64.StdEncoding.EncodeToString(bytes.Repeat([]byte{7}, 32))+"\n", 0o600)
	open := write("open-key", base64.StdEncoding.EncodeToString(make([]byte, 32))+"\n", 0o644)
	old := write("old-agent", "#!/bin/sh\n[ $1 = version ] && exec echo '{\"agent\":\"0.0.1\"}'\nexit 2\n", 0o755)
	broken := filepath.Join(l.Dir, "broken-log")
	if err := os.CopyFS(broken, os.DirFS(filepath.Join(l.Dir, "log"))); err != nil {
		t.Fatal(err)
	}
	err := filepath.WalkDir(broken, func(path string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		_ = os.Remove(path) // it may be read-only
		return os.WriteFile(path, []byte("<html>sign in</html>\n"), 0o600)
	})
	if err != nil {
		t.Fatal(err)
	}
	waiting := l.Begin("two", []string{"true"})
	for name, x := range map[string]struct {
		args []string
		says string
	}{
		"another fleet's key":      {[]string{"--key-file", other}, "another fleet"},
		"a key that others read":   {[]string{"--key-file", open}, "open-key"},
		"an older agent":           {[]string{"--agent", old}, "too old for a fleet"},
		"no agent":                 {[]string{"--agent", "/nowhere/agent"}, "/nowhere/agent"},
		"a log that is none":       {[]string{"--log", "dir:" + broken}, "is no entry of a fleet's log"},
		"a log that is not there":  {[]string{"--log", "postgres://127.0.0.1:1/x?connect_timeout=2"}, "open the log"},
		"no engine":                {[]string{"--engine", "127.0.0.1:1"}, "127.0.0.1:1"},
		"a namespace that is none": {[]string{"--namespace", "elsewhere"}, "elsewhere"},
		"no slots":                 {[]string{"--slots", "0"}, "slots"},
	} {
		text, code := h.Refused(x.args...)
		if code == 0 || !strings.Contains(text, x.says) {
			t.Errorf("%s: exit %d: %s", name, code, text)
		}
	}
	if r, _ := l.Show(waiting); r.Status != "queued" {
		t.Errorf("somebody took a run: %+v", r)
	}
}

func TestANamespaceWithoutItsAttributesIsRefused(t *testing.T) {
	l := lab.New(t)
	l.StartEngine("-search-attributes", "AgentHost", "-list-attributes", "")
	h := l.Machine("h-01")
	if text, code := h.Refused(); code == 0 || !strings.Contains(text, "lacks the search attributes") || !strings.Contains(text, "AgentStatus") {
		t.Errorf("exit %d: %s", code, text)
	}
}
