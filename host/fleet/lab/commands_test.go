package lab_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"agent/fleet/lab"
)

// The commands of a fleet, as a person and a CI job give them.
func TestTheCommands(t *testing.T) {
	t.Parallel()
	l, _ := lab.OneHost(t, "--label", "linux")
	book := func(name, step string) string {
		return l.Book(name, lab.Runbook+"# "+name+"\n\n"+step+"\n")
	}
	says := func(want int, args []string, texts ...string) {
		t.Helper()
		out, errs, code := l.Call(args...)
		if code != want {
			t.Errorf("agent-fleet %v: exit %d", args, code)
		}
		for _, text := range texts {
			if !strings.Contains(out+errs, text) {
				t.Errorf("agent-fleet %v does not say %q: exit %d: %s%s", args, text, code, out, errs)
			}
		}
	}
	repo := filepath.Join(l.Dir, "repo")
	commit := repository(t, repo)
	ask := book("ask", "```sh\ntest -e here.txt\n```\n\n- confirm_action \"Publish\"")
	run := []string{"run", "--runbook", "--mode", "yolo", "--wait", "--key", "job 7", "--label", "linux", "--git", repo + "@" + commit, "-f", ask}
	says(3, run, "question p-", ": Publish", "answer from anywhere: agent-fleet answer p-")
	r, _, _ := l.Ask(ask, "--key", "job 7", "--label", "linux", "--git", repo+"@"+commit)
	asked := l.Until(r.ID, "waiting", time.Minute, lab.Run.Asks).Asked.ID
	says(0, []string{"ls"}, "RUN", "NEXT", r.ID, "waiting", "2.0 confirm_action", "answer "+asked)
	says(0, []string{"doctor"}, "run "+r.ID+" waits for an answer", "1 workers ask for work")
	says(1, []string{"resume", r.ID}, "is waiting on h-01")
	says(0, []string{"answer", asked, "yes"}, "is answered: yes; run "+r.ID+" goes on")
	says(0, []string{"attach", r.ID}, "completed on h-01")
	says(1, []string{"answer", asked, "no"}, asked+" was answered", ": yes; yours was not taken")
	says(0, run, "2 of 2 steps done") // a job that is begun again
	gpu, _, _ := l.Ask(book("gpu", "```sh\ntrue\n```"), "--key", "gpu", "--label", "gpu=yes")
	l.Until(gpu.ID, "queued for its label", time.Minute, func(r lab.Run) bool { return strings.Contains(r.Reason, "and the labels gpu=yes") })
	says(0, []string{"ls"}, gpu.ID, "queued", "no host of labels", "cancel "+gpu.ID)
	l.Host("h-02", "--label", "gpu=yes")
	if r := l.Until(gpu.ID, "ended", time.Minute, lab.Run.Ended); r.Host != "h-02" {
		t.Errorf("it ended as %+v", r)
	}
	long, _, _ := l.Ask(book("long", "```sh\nsleep 613\n```"), "--key", "long")
	l.Until(long.ID, "running", time.Minute, func(r lab.Run) bool { return r.Host != "" })
	says(0, []string{"cancel", long.ID}, "cancelled")
	says(0, []string{"schedule", "add", "nightly", "--cron", "* * * * *", "--runbook", "--mode", "yolo", "-f", book("nightly", "```sh\necho nightly.1 >> "+l.Dir+"/effects/nightly\n```")})
	l.UntilEffect("nightly", 1, 2*time.Minute)
	says(0, []string{"schedule", "ls"}, "nightly")
	says(0, []string{"schedule", "rm", "nightly"})
}

// repository makes one with a file, and gives its commit.
func repository(t *testing.T, folder string) string {
	t.Helper()
	if err := os.MkdirAll(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, "here.txt"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	var out []byte
	for _, args := range [][]string{
		{"init", "-q"}, {"add", "."}, {"-c", "user.email=a@b", "-c", "user.name=a", "commit", "-q", "-m", "one"}, {"rev-parse", "HEAD"},
	} {
		var err error
		if out, err = exec.Command("git", append([]string{"-C", folder}, args...)...).CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v: %s", args, err, out)
		}
	}
	return strings.TrimSpace(string(out))
}

// A run that waits says what for: a slot, labels or a worker.
func TestAQueuedRunSaysWhatItLacks(t *testing.T) {
	t.Parallel()
	l, h := lab.OneHost(t, "--slots", "1", "--label", "linux")
	long := l.InStep(1, "long", []string{"sleep 613"})
	waits := func(name, says, listed string, args ...string) {
		t.Helper()
		id := l.Begin(name, []string{"true"}, args...)
		l.Until(id, "queued for "+name, time.Minute, func(r lab.Run) bool { return strings.Contains(r.Reason, says) })
		for line := range strings.Lines(l.Do("ls")) {
			if strings.HasPrefix(line, id) && !strings.Contains(line, listed) {
				t.Errorf("it is listed as %s", line)
			}
		}
		l.Do("cancel", id)
	}
	waits("slot", "no free slot at h-01", "no free slot")
	waits("label", "no free slot at h-01", "no free slot", "--label", "linux")
	waits("gpu", "no worker that asked for work lately has them all", "no host of labels", "--label", "gpu=yes")
	l.Do("cancel", long)
	h.PowerOff()
}
