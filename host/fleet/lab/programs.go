package lab

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Programs are the paths of what a lab runs. FLEETLAB_AGENT, FLEETLAB_FLEET and FLEETLAB_SERVER
// name them; what is not named is built from this repository. The server takes some twelve minutes
// of processor time, so it is kept below FLEETLAB_CACHE (default: the user's cache folder).
type Programs struct{ Agent, Fleet, Server string }

// The variables that name the programs.
const (
	agentVariable  = "FLEETLAB_AGENT"
	fleetVariable  = "FLEETLAB_FLEET"
	serverVariable = "FLEETLAB_SERVER"
)

// Prepare builds what is missing of the programs, once for all labs of the process.
func Prepare() error {
	module, err := filepath.Abs(".")
	if err != nil {
		return err
	}
	cache, err := cacheFolder()
	if err != nil {
		return err
	}
	name, err := recipe(module)
	if err != nil {
		return err
	}
	fleet := filepath.Dir(module)
	for _, p := range []struct{ variable, path, module, pkg string }{
		{serverVariable, filepath.Join(cache, "temporal-server-"+name), module, "./server"},
		{fleetVariable, filepath.Join(cache, "agent-fleet"), fleet, "./cmd/agent-fleet"},
	} {
		if os.Getenv(p.variable) != "" {
			continue
		}
		if _, err := os.Stat(p.path); err != nil || p.variable != serverVariable {
			if err := build(p.module, p.path, p.pkg); err != nil {
				return err
			}
		}
		if err := os.Setenv(p.variable, p.path); err != nil {
			return err
		}
	}

	if os.Getenv(agentVariable) != "" {
		return nil
	}
	folder, err := testbin()
	if err != nil {
		return err
	}
	return os.Setenv(agentVariable, filepath.Join(folder, "agent"))
}

// testbin is the folder with agent and the fakes that it talks to, which the module of agent builds
// once for each state of its sources.
func testbin() (string, error) {
	root, err := filepath.Abs("../../..")
	if err != nil {
		return "", err
	}
	cmd := exec.Command("go", "run", "./scripts/testbin")
	cmd.Dir, cmd.Env = root, append(os.Environ(), "CGO_ENABLED=0")
	var errs bytes.Buffer
	cmd.Stderr = &errs

	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("build agent: %w: %s", err, &errs)
	}
	return strings.TrimSpace(string(out)), nil
}

// cacheFolder is where programs are kept.
func cacheFolder() (string, error) {
	user, err := os.UserCacheDir()
	cache := cmp.Or(os.Getenv("FLEETLAB_CACHE"), filepath.Join(user, "agent-fleetlab"))
	if cache == "agent-fleetlab" {
		return "", err
	}
	return cache, os.MkdirAll(cache, 0o755)
}

// find names the programs that [Prepare] left.
func find() Programs {
	return Programs{Agent: os.Getenv(agentVariable), Fleet: os.Getenv(fleetVariable), Server: os.Getenv(serverVariable)}
}

// recipe is a name for what the server is built from.
func recipe(module string) (string, error) {
	h := sha256.New()
	names, err := filepath.Glob(filepath.Join(module, "server", "*.go"))
	if err != nil {
		return "", err
	}
	for _, name := range append(names, filepath.Join(module, "go.mod"), filepath.Join(module, "go.sum")) {
		b, err := os.ReadFile(name)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(h, "%d\n%s", len(b), b)
	}
	return fmt.Sprintf("%x", h.Sum(nil)[:8]), nil
}

// build builds a program. It is there whole or not at all.
func build(module, path, pkg string, args ...string) error {
	all := append([]string{"build", "-ldflags=-s -w", "-o", path + ".new"}, args...)
	cmd := exec.Command("go", append(all, pkg)...)
	cmd.Dir, cmd.Env = module, append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build %s: %w: %s", pkg, err, out)
	}
	return os.Rename(path+".new", path)
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
		if err := build(module, path, "./cmd/fleet-figures"); err != nil {
			l.Fatal(err)
		}
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
