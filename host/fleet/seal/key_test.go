package seal_test

import (
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"agent/fleet/seal"
)

func TestKeyFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "fleet.key")
	k, err := seal.MakeFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("%v: %v", info.Mode(), err)
	}
	back, err := seal.ReadFile(path)
	if err != nil || back != k || back.Fleet() != k.Fleet() {
		t.Fatalf("%v is read as %v: %v", k, back, err)
	}
	if _, err := seal.MakeFile(path); err == nil || !strings.Contains(err.Error(), "a file is there already") {
		t.Errorf("made over another: %v", err)
	}
	if again, err := seal.ReadFile(path); err != nil || again != k {
		t.Errorf("after that it is %v: %v", again, err)
	}
	if other, err := seal.MakeFile(filepath.Join(t.TempDir(), "k")); err != nil || other.Fleet() == k.Fleet() {
		t.Errorf("two fleets are %s: %v", other.Fleet(), err)
	}
}

func TestKeyFileRefused(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, mode); err != nil { // whatever the umask
			t.Fatal(err)
		}
		return path
	}
	good := base64.StdEncoding.EncodeToString([]byte("0123456789abcdef0123456789abcdef"))
	for path, want := range map[string]string{
		"":                                  "agent-fleet key FILE makes one",
		filepath.Join(dir, "none"):          "begin a fleet with agent-fleet key",
		dir:                                 "is no file",
		write("group", good, 0o640):         "chmod 600",
		write("world", good, 0o604):         "chmod 600",
		write("empty", "", 0o600):           "this is no key",
		write("short", good[:20], 0o600):    "this is no key",
		write("long", good+good, 0o600):     "this is no key",
		write("text", "hello", 0o600):       "this is no key",
		write("zeros", zeros(), 0o600):      "only zeros",
		write("two", good+"\n"+good, 0o600): "this is no key",
		write("huge", strings.Repeat("A", 1<<20), 0o600): "this is no key",
	} {
		_, err := seal.ReadFile(path)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", path, err)
		}
		if err != nil && strings.Contains(err.Error(), good[:10]) {
			t.Errorf("the error has a part of the key: %v", err)
		}
	}
	if _, err := seal.ReadFile(write("ok", "  "+good+"\r\n", 0o400)); err != nil {
		t.Error(err)
	}
}

func zeros() string { return base64.StdEncoding.EncodeToString(make([]byte, 32)) }

// No form of printing shows the key.
func TestKeyIsNotPrinted(t *testing.T) {
	text := base64.StdEncoding.EncodeToString([]byte("0123456789abcdef0123456789abcdef"))
	k, err := seal.ParseKey(text)
	if err != nil {
		t.Fatal(err)
	}
	for _, form := range []string{"%v", "%+v", "%#v", "%s"} {
		if got := fmt.Sprintf(form, k); strings.Contains(got, "0123") || strings.Contains(got, "48, 49") || !strings.Contains(got, k.Fleet()) {
			t.Errorf("%s prints %s", form, got)
		}
	}
}
