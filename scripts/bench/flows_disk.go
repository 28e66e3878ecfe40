//go:build linux

package main

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"agent/host/flow/artifact"
	"agent/recovery/fault"
	"agent/recovery/journal"
)

const fileAndFolder = "by design: the file and its folder"

// artifactSyncs counts with strace what the binary makes durable of an artifact in the workspace:
// the fsyncs of a flow with many phases without those of one with few.
func (b *bench) artifactSyncs(ctx context.Context) (rows []row, err error) {
	const figure = "fsyncs of an artifact, "
	if _, err := exec.LookPath("strace"); err != nil {
		return []row{plain(figure+"not counted", 0, "").because("strace counts them, and is not installed")}, nil
	}
	written := func(folder string) func(phases int) string {
		return func(phases int) string {
			text := "---\nagent: flow\n---\n```flow\nmodel = \"runbook\"\n```\n"
			for i := range phases {
				name := fmt.Sprintf(folder, i) + "made.txt"
				text += fmt.Sprintf("## p%d\n```phase\noutputs = [%q]\n```\n```sh access=write\nmkdir -p %s; echo %d > %s\n```\n", i, name, filepath.Dir(name), i, name)
			}
			return text
		}
	}
	for _, k := range []struct {
		what  string
		limit float64
		why   string
		text  func(phases int) string
	}{
		{"written by the phase, in the same folder as others", 2, fileAndFolder, func(n int) string { return strings.ReplaceAll(written("out/p%d-")(n), "made", "f") }},
		{"written by the phase, in a new folder of its own", 3, fileAndFolder + ", and the folder in which that was made", written("p%d/")},
		{"the answer, in the same folder as others", 2, fileAndFolder, flowFile},
	} {
		few, err := counted(func() (syncs, error) { return b.tracedFlow(ctx, k.text(5)) })
		if err != nil {
			return rows, err
		}
		many, err := counted(func() (syncs, error) { return b.tracedFlow(ctx, k.text(15)) })
		if err != nil {
			return rows, err
		}
		rows = append(rows, cost(figure+k.what, float64(many.other-few.other)/10, "", k.limit, k.why))
	}
	return rows, nil
}

// tracedFlow drives a flow with the binary, and counts.
func (b *bench) tracedFlow(ctx context.Context, text string) (syncs, error) {
	home, err := b.folder("state")
	if err != nil {
		return syncs{}, err
	}
	folder, err := b.folder("work")
	if err != nil {
		return syncs{}, err
	}
	path, trace := filepath.Join(folder, "flow.md"), home+".trace"
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		return syncs{}, err
	}
	above := bench{exe: "strace", dir: b.dir}
	c := above.command(ctx, home, folder, "-f", "--seccomp-bpf", "-y", "-e", "trace=fsync,fdatasync", "-o", trace, b.exe, "run", "--mode", "yolo", "-f", path)
	if out, err := c.CombinedOutput(); err != nil {
		return syncs{}, fmt.Errorf("drive a flow: %v\n%s", err, out)
	}
	return countSyncs(trace, home)
}

// lookedAt are files as artifacts, and what is recorded of them.
type lookedAt struct {
	folder string
	all    []journal.Artifact
}

// artifacts writes files and takes them.
func (b *bench) artifacts(ctx context.Context, n int, size int64) (a lookedAt, err error) {
	if a.folder, err = b.folder("artifacts"); err != nil {
		return a, err
	}
	f, err := artifact.Open(a.folder, nil, "r-bench000")
	if err != nil {
		return a, err
	}
	defer f.Close()
	for i := range n {
		name := fmt.Sprintf("file-%d", i)
		if err := os.WriteFile(filepath.Join(a.folder, name), []byte(strings.Repeat(string(rune('a'+i)), int(size))), 0o600); err != nil {
			return a, err
		}
		found, err := f.Check(ctx, journal.Artifact{Path: name}, nil, &artifact.Copies{Looks: true})
		if err != nil {
			return a, err
		}
		a.all = append(a.all, found.Artifact)
	}
	return a, nil
}

// look looks at all of them, as a flow does when it is claimed.
func (a lookedAt) look(ctx context.Context) error {
	f, err := artifact.Open(a.folder, nil, "r-bench000")
	if err != nil {
		return err
	}
	defer f.Close()
	for _, want := range a.all {
		found, err := f.Check(ctx, want, nil, &artifact.Copies{Looks: true})
		if err == nil && found.State != journal.ArtifactIntact {
			err = fmt.Errorf("%s is %s", want.Path, found.State)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// hash does the least that says the same: it reads each file and hashes it.
func (a lookedAt) hash() error {
	for _, want := range a.all {
		if err := hashFile(filepath.Join(a.folder, want.Path), want.SHA); err != nil {
			return err
		}
	}
	return nil
}

func hashFile(path, want string) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	h := sha256.New()
	_, err = io.Copy(h, file)
	if got := fmt.Sprintf("%x", h.Sum(nil)); err == nil && want != "" && got != want {
		err = fmt.Errorf("%s has the hash %s, not %s", path, got, want)
	}
	return errors.Join(err, file.Close())
}

// looks is how fast artifacts are compared with their record.
func (b *bench) looks(ctx context.Context) (rows []row, err error) {
	for _, k := range []struct {
		what string
		n    int
		size int64
	}{{"20 files of 64 KiB", 20, 64 << 10}, {"one file of 64 MiB", 1, 64 << 20}} {
		a, err := b.artifacts(ctx, k.n, k.size)
		if err != nil {
			return rows, err
		}
		took, err := takeTurns(b.times(60), func() error { return a.look(ctx) }, a.hash)
		if err != nil {
			return rows, err
		}
		mb := float64(int64(k.n)*k.size) / 1e6
		rows = append(rows, rate("a look at artifacts, "+k.what, mb/median(took[0], time.Second), "MB/s", 0.8*mb/median(took[1], time.Second),
			"by design: 0.8 of SHA-256 over the same files in plain Go"))
	}
	return rows, nil
}

// flowResume is the time from agent resume of a killed flow to its first action, beside a plain run
// that was killed at the same place, and the hashing of the flow's artifacts.
func (b *bench) flowResume(ctx context.Context) ([]row, error) {
	const makes = "```sh access=write\nmkdir out; for i in $(seq 20); do head -c 65536 /dev/zero | tr '\\0' $(printf '\\\\%03o' $((96+i))) > out/$i; done\n```\n"
	const goesOn = "- list_dir .\n\n- write_file " + nextFile + "\n\n```\nx\n```\n\n```sh\nread -r _ <'GATE'\n```\n"
	outputs := make([]string, 20)
	for i := range outputs {
		outputs[i] = fmt.Sprintf("%q", fmt.Sprintf("out/%d", i+1))
	}
	flow := "---\nagent: flow\n---\n```flow\nmodel = \"runbook\"\n```\n## makes\n```phase\noutputs = [" + strings.Join(outputs, ", ") + "]\n```\n" + makes +
		"## reads\n```phase\ninputs = [\"makes\"]\n```\n" + goesOn
	f, err := b.killedAt(ctx, flow, 3)
	if err != nil {
		return nil, err
	}
	p, err := b.killedAt(ctx, "---\nagent: runbook\n---\n"+makes+"\n"+goesOn, 2)
	if err != nil {
		return nil, err
	}
	var ours, plain resumed
	var limit []time.Duration
	for range b.times(40) {
		for k, took := range map[*killed]*resumed{f: &ours, p: &plain} {
			if err := k.restore(); err != nil {
				return nil, err
			}
			if err := k.untilAction(ctx, took); err != nil {
				return nil, err
			}
		}
		began := time.Now()
		for i := range outputs {
			if err := hashFile(filepath.Join(f.folder, "out", fmt.Sprint(i+1)), ""); err != nil {
				return nil, err
			}
		}
		limit = append(limit, plain.action[len(plain.action)-1]+time.Since(began))
	}
	return []row{cost("resume to first action, a flow with 20 artifacts of 64 KiB", median(ours.action, time.Millisecond), "ms",
		1.2*median(limit, time.Millisecond), "by design: 1.2 times a plain run and the hashing of the artifacts")}, nil
}

// killedAt starts a run of a file and kills it behind so many turns.
func (b *bench) killedAt(ctx context.Context, text string, turns int) (*killed, error) {
	k := &killed{b: b, run: "last"}
	root, err := b.folder("killed")
	if err != nil {
		return nil, err
	}
	k.home, k.folder, k.image, k.gate = filepath.Join(root, "state"), filepath.Join(root, "work"), filepath.Join(root, "image"), filepath.Join(root, "gate")
	if err := errors.Join(syscall.Mkfifo(k.gate, 0o600), os.Mkdir(k.folder, 0o700), os.Mkdir(k.image, 0o700)); err != nil {
		return nil, err
	}
	path := filepath.Join(root, "run.md")
	if err := os.WriteFile(path, []byte(strings.ReplaceAll(text, "GATE", k.gate)), 0o600); err != nil {
		return nil, err
	}
	c := b.command(ctx, k.home, k.folder, "run", "--mode", "yolo", "-f", path)
	c.Env = append(c.Env, fault.EnvPoint+"="+fmt.Sprintf("%s:%d", fault.AfterTurn, turns), fault.EnvUnsafe+"=1")
	out, err := c.CombinedOutput()
	if ended := new(exec.ExitError); !errors.As(err, &ended) || ended.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
		return nil, fmt.Errorf("kill the run: it ended by itself: %v\n%s", err, out)
	}
	return k, k.copyDatabase(k.home, k.image)
}

// lists is what ls takes over many roots that have many children, beside the same roots without.
func (b *bench) lists(ctx context.Context) ([]row, error) {
	roots, below := 10000, 10
	if b.quick {
		roots = 1000
	}
	alone, err := b.manyRuns(ctx, roots, 0, finished)
	if err != nil {
		return nil, err
	}
	families, err := b.manyRuns(ctx, roots, below, finished)
	if err != nil {
		return nil, err
	}
	var rows []row
	for _, args := range []string{"ls", "ls --interrupted"} {
		command := append([]string{b.exe}, strings.Fields(args)...)
		took, err := takeTurns(b.times(60), in(ctx, families, command), in(ctx, alone, command))
		if err != nil {
			return rows, err
		}
		rows = append(rows, cost(fmt.Sprintf("%s, %d roots with %d children", args, roots, roots*below), median(took[0], time.Millisecond), "ms",
			1.2*median(took[1], time.Millisecond), "by design: 1.2 times the same without children"))
	}
	return rows, nil
}
