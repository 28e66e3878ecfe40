package lab

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// Programs are the paths of what a lab runs. FLEETLAB_AGENT, FLEETLAB_FLEET and FLEETLAB_SERVER
// name them; what is not named is built from this repository. The server takes some twelve minutes
// of processor time, so it is kept below FLEETLAB_CACHE (default: the user's cache folder).
type Programs struct{ Agent, Fleet, Server string }

// Find names the programs, and builds what is missing.
func Find(tb testing.TB) Programs {
	tb.Helper()
	module, err := filepath.Abs(".")
	if err != nil {
		tb.Fatal(err)
	}
	cache := os.Getenv("FLEETLAB_CACHE")
	if cache == "" {
		user, err := os.UserCacheDir()
		if err != nil {
			tb.Fatal(err)
		}
		cache = filepath.Join(user, "agent-fleetlab")
	}
	if err := os.MkdirAll(cache, 0o755); err != nil {
		tb.Fatal(err)
	}
	p := Programs{
		Agent: os.Getenv("FLEETLAB_AGENT"), Fleet: os.Getenv("FLEETLAB_FLEET"), Server: os.Getenv("FLEETLAB_SERVER"),
	}
	if p.Server == "" {
		p.Server = filepath.Join(cache, "temporal-server-"+recipe(tb, module))
		if _, err := os.Stat(p.Server); err != nil {
			build(tb, module, p.Server, "./server")
		}
	}
	fleet := filepath.Dir(module)
	if p.Fleet == "" {
		p.Fleet = filepath.Join(cache, "agent-fleet")
		build(tb, fleet, p.Fleet, "./cmd/agent-fleet")
	}
	if p.Agent == "" {
		p.Agent = filepath.Join(cache, "agent")
		build(tb, filepath.Dir(filepath.Dir(fleet)), p.Agent, ".")
	}
	return p
}

// recipe is a name for what the server is built from.
func recipe(tb testing.TB, module string) string {
	tb.Helper()
	h := sha256.New()
	names, err := filepath.Glob(filepath.Join(module, "server", "*.go"))
	if err != nil {
		tb.Fatal(err)
	}
	for _, name := range append(names, filepath.Join(module, "go.mod"), filepath.Join(module, "go.sum")) {
		b, err := os.ReadFile(name)
		if err != nil {
			tb.Fatal(err)
		}
		fmt.Fprintf(h, "%d\n%s", len(b), b)
	}
	return fmt.Sprintf("%x", h.Sum(nil)[:8])
}

// build builds a program. It is there whole or not at all.
func build(tb testing.TB, module, path, pkg string) {
	tb.Helper()
	tb.Logf("building %s", path)
	cmd := exec.Command("go", "build", "-ldflags=-s -w", "-o", path+".new", pkg)
	cmd.Dir, cmd.Env = module, append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		tb.Fatalf("build %s: %v\n%s", pkg, err, out)
	}
	if err := os.Rename(path+".new", path); err != nil {
		tb.Fatal(err)
	}
}

// Measure has the program measure something that compares a fleet with the bare engine, and gives
// what it prints.
func (l *Lab) Measure(args ...string) string {
	l.Helper()
	path := l.path("fleet-figures")
	if _, err := os.Stat(path); err != nil {
		module, err := filepath.Abs("..")
		if err != nil {
			l.Fatal(err)
		}
		build(l, module, path, "./cmd/fleet-figures")
	}
	all := []string{"-engine", l.Address(), "-log", l.LogURL, "-key-file", l.path("key"), "-agent", l.Agent}
	cmd := exec.Command(path, append(all, args...)...)
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		l.Fatalf("measure %s: %v: %s", args[len(args)-1], err, errs.String())
	}
	return string(out)
}
