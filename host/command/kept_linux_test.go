package command_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Each archive in testdata/kept is a state folder as scripts/keep-folder made it with a version of
// its time, and the folder that its runs worked in. What was recorded then must be read, and
// carried on with, by every later version. Only a layout that was never released may change: then
// `scripts/keep-folder NAME` makes the folder anew.
// EN-13.
func TestKeptFolders(t *testing.T) {
	archives, err := filepath.Glob("testdata/kept/*.tar.gz")
	if err != nil || len(archives) == 0 {
		t.Fatalf("there is no kept folder (%v)", err)
	}
	for _, archive := range archives {
		t.Run(strings.TrimSuffix(filepath.Base(archive), ".tar.gz"), func(t *testing.T) {
			t.Parallel()
			k := unpack(t, archive)
			k.listed(k.declared())
			k.shown()
			k.carriedOn()
			k.do(0, "doctor")
		})
	}
}

// kept is a folder that was unpacked from an archive.
type kept struct {
	t    *testing.T
	dir  string
	runs map[string]keptRun // by the title of the runbook, which names what became of the run
}

type keptRun struct {
	ID, Status, Prompt string
	Unknown            []struct{ ID string }
}

func unpack(t *testing.T, archive string) *kept {
	t.Helper()
	k := &kept{t: t, dir: t.TempDir(), runs: map[string]keptRun{}}
	if out, err := exec.Command("tar", "-C", k.dir, "-xzf", archive).CombinedOutput(); err != nil {
		t.Fatalf("unpack %s: %v: %s", archive, err, out)
	}
	return k
}

// do runs the binary on the folder and gives back what it prints on stdout.
func (k *kept) do(code int, args ...string) string {
	k.t.Helper()
	c := exec.Command(filepath.Join(binDir(), "agent"), args...)
	c.Dir = k.dir
	c.Env = append(plainEnv(), "HOME="+filepath.Join(k.dir, "home"), "AGENT_HOME="+filepath.Join(k.dir, "state"), "NO_COLOR=1")
	var out, problems strings.Builder
	c.Stdout, c.Stderr = &out, &problems
	_ = c.Run() // how it ended is in its state
	if c.ProcessState == nil || c.ProcessState.ExitCode() != code {
		k.t.Fatalf("agent %s: %v, want exit code %d\n%s%s", strings.Join(args, " "), c.ProcessState, code, out.String(), problems.String())
	}
	return out.String()
}

func (k *kept) parse(text string, into any) {
	k.t.Helper()
	if err := json.Unmarshal([]byte(text), into); err != nil {
		k.t.Fatalf("%v in %s", err, text)
	}
}

// declared says whether the folder is known to be a copy, as one is from 00005 on, and has it
// count: what had not ended is interrupted then.
func (k *kept) declared() (copied bool) {
	k.t.Helper()
	var decided struct{ Copied bool }
	k.parse(k.do(0, "restore", "--here", "--moved", "--json"), &decided)
	return decided.Copied
}

func (k *kept) listed(copied bool) {
	k.t.Helper()
	var list struct{ Runs []keptRun }
	k.parse(k.do(0, "ls", "--all", "--json"), &list)
	for _, r := range list.Runs {
		title, _, _ := strings.Cut(strings.TrimPrefix(r.Prompt, "# "), "\n")
		k.runs[title] = r
	}
	for name, status := range map[string]string{
		"completed": "completed", "interrupted": "interrupted", "waiting": "waiting", "unknown": "waiting", "failed": "failed", "cancelled": "cancelled",
	} {
		if copied && status == "waiting" {
			status = "interrupted"
		}
		if got := k.runs[name].Status; got != status {
			k.t.Errorf("run %s is %q, want %s", name, got, status)
		}
	}
	if unknown := k.runs["unknown"].Unknown; len(unknown) != 1 {
		k.t.Fatalf("the outcome of calls %v is unknown, want that of one", unknown)
	}
}

// shown looks at every run, and at an output of each way to store one: in the row, as a blob, as a
// file.
func (k *kept) shown() {
	k.t.Helper()
	for name, r := range k.runs {
		if text := k.do(0, "show", r.ID); !strings.Contains(text, name) {
			k.t.Errorf("show does not tell of run %s:\n%s", name, text)
		}
	}
	var run struct {
		Calls []struct{ ID, Outcome string }
	}
	k.parse(k.do(0, "show", k.runs["completed"].ID, "--json"), &run)
	wants := []string{"notes.txt", "kept", "\n20000\n", "\n100000\n"}
	if len(run.Calls) != len(wants) {
		k.t.Fatalf("the completed run has %d calls, want %d", len(run.Calls), len(wants))
	}
	for i, want := range wants {
		text := k.do(0, "show", run.Calls[i].ID)
		if !strings.Contains(strings.ReplaceAll(text, "  │ ", ""), want) {
			k.t.Errorf("show of call %d does not have %q, but %d bytes", i, want, len(text))
		}
	}
}

// carriedOn resumes, answers and decides, in the folder where it lies now.
func (k *kept) carriedOn() {
	k.t.Helper()
	work := filepath.Join(k.dir, "work")
	k.do(0, "resume", k.runs["interrupted"].ID, "--dir", work)
	k.do(0, "answer", "--no-resume", k.question(k.runs["waiting"].ID), "yes")
	k.do(0, "resume", k.runs["waiting"].ID, "--dir", work)
	unknown := k.runs["unknown"]
	k.do(0, "answer", "--no-resume", k.question(unknown.ID), "yes")
	k.do(5, "resume", unknown.ID, "--dir", work)
	k.do(0, "answer", unknown.Unknown[0].ID, "happened")
	k.do(0, "resume", unknown.ID, "--dir", work)
	b, err := os.ReadFile(filepath.Join(work, "effects"))
	if want := "first\nonce\nsecond\nthird\nanswered\n"; err != nil || string(b) != want {
		k.t.Errorf("the effects are %q (%v), want each once: %q", b, err, want)
	}
}

// question is the open question of a run.
func (k *kept) question(run string) string {
	k.t.Helper()
	var list struct {
		Requests []struct {
			ID  string `json:"id"`
			Run string `json:"run_id"`
		}
	}
	k.parse(k.do(0, "pending", "--json"), &list)
	for _, r := range list.Requests {
		if r.Run == run {
			return r.ID
		}
	}
	k.t.Fatalf("run %s has no open question", run)
	return ""
}
