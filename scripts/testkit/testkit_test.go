package testkit

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// failed is a test that notes its failure.
type failed struct {
	testing.TB
	text string
}

func (*failed) Helper() {}

func (f *failed) Fatalf(format string, args ...any) { f.text = fmt.Sprintf(format, args...) }

// made is a watch whose time passes in its pauses alone.
func made(limit time.Duration) (watch, *[]time.Duration) {
	var pauses []time.Duration
	now := time.Unix(0, 0)
	return watch{
		now:    func() time.Time { return now },
		pause:  func(d time.Duration) { pauses, now = append(pauses, d), now.Add(d) },
		limit:  limit,
		report: func() string { return "the machine" },
	}, &pauses
}

func TestUntilReturnsWithTheEvent(t *testing.T) {
	w, pauses := made(time.Minute)
	looks := 0
	w.until(t, "it is looked at for the third time", func() bool { looks++; return looks == 3 })
	if looks != 3 || len(*pauses) != 2 {
		t.Errorf("%d looks, pauses %v", looks, *pauses)
	}
}

func TestUntilGivesUp(t *testing.T) {
	w, pauses := made(time.Minute)
	var f failed
	w.until(&f, "the run waits", func() bool { return false })
	if !strings.HasPrefix(f.text, "timed out after 1m0s: waited until the run waits\n") || !strings.Contains(f.text, "the machine") {
		t.Errorf("it failed with %q", f.text)
	}

	var sum time.Duration
	for _, p := range *pauses {
		sum += p
	}
	if first, last := (*pauses)[0], (*pauses)[len(*pauses)-1]; first != firstPause || last != longestPause || sum != w.limit && sum-last > w.limit {
		t.Errorf("%d pauses from %s to %s, in all %s", len(*pauses), first, last, sum)
	}
}

// Whoever was stopped for longer than the wait sees what came meanwhile.
func TestTheLastLookIsBehindTheLimit(t *testing.T) {
	w, _ := made(time.Minute)
	now := w.now
	came := false
	w.now = func() time.Time { came = true; return now().Add(time.Hour) } // stopped right behind the first look
	w.until(t, "it came", func() bool { return came })
}

func TestSlowMachinesGetMoreTime(t *testing.T) {
	for value, want := range map[string]time.Duration{"": time.Minute, "1": 5 * time.Minute} {
		t.Setenv(Slow, value)
		if got := realTime().limit; got != want {
			t.Errorf("%s=%s: %s", Slow, value, got)
		}
	}
}

func TestWhatAFailureShows(t *testing.T) {
	text := machine()
	if !strings.Contains(text, "testkit.TestWhatAFailureShows(") {
		t.Errorf("the goroutines are missing:\n%s", text)
	}
	if _, err := os.Stat("/proc/self/status"); err != nil {
		t.Skip("this system shows no processes in /proc")
	}
	for _, want := range []string{fmt.Sprintf("\n%d, parent %d, ", os.Getpid(), os.Getppid()), "\nload, on "} {
		if !strings.Contains(text, want) {
			t.Errorf("without %q:\n%s", want, text)
		}
	}
}

func TestProcesses(t *testing.T) {
	proc := t.TempDir()
	for pid, uid := range map[string]string{"7": "1000", "8": "0", "9": "1000"} {
		if err := os.Mkdir(filepath.Join(proc, pid), 0o700); err != nil {
			t.Fatal(err)
		}
		status := "Name:\tname" + pid + "\nState:\tS (sleeping)\nPPid:\t1\nUid:\t" + uid + "\t1000\t1000\t1000\n"
		if err := os.WriteFile(filepath.Join(proc, pid, "status"), []byte(status), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(proc, "7", "cmdline"), []byte("agent\x00serve\x00"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(proc, "9", "cmdline"), nil, 0o600); err != nil {
		t.Fatal(err)
	}

	want := "7, parent 1, S (sleeping): \"agent serve\"\n9, parent 1, S (sleeping): \"[name9]\"\n"
	if got := processesOf(proc, 1000); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	if got := processesOf(filepath.Join(proc, "nowhere"), 1000); got != "" {
		t.Errorf("a system without /proc: %q", got)
	}
}

// waits is a goroutine to be found, once it has begun.
func waits(begun chan<- struct{}, end <-chan struct{}) {
	close(begun)
	<-end
}

func TestNoneLeft(t *testing.T) {
	begun, end := make(chan struct{}), make(chan struct{})
	go waits(begun, end)
	<-begun
	w, _ := made(time.Minute)
	var f failed
	w.noneLeft(&f, "agent/scripts/testkit.waits", stacks)
	if !strings.Contains(f.text, "agent/scripts/testkit.waits(") || strings.Contains(f.text, "testing.tRunner(") {
		t.Errorf("a goroutine that stays is reported as %q", f.text)
	}
	close(end)
	NoneLeft(t, "agent/scripts/testkit.waits")
}

func TestWhichGoroutinesCount(t *testing.T) {
	const all = `goroutine 1 [running]:
agent/a.caller(...)

goroutine 2 [chan receive]:
agent/a.TestOther(0x1)
testing.tRunner(0x1, 0x2)
created by testing.(*T).Run in goroutine 9

goroutine 3 [chan receive]:
runtime.gopark(...)
agent/a.TestMain(0x1)
main.main()

goroutine 4 [IO wait]:
internal/poll.runtime_pollWait(0x1, 0x72)
created by agent/a.(*server).start in goroutine 9

goroutine 5 [IO wait]:
x/agent/a.work()
created by agent/ab.work in goroutine 9
`
	if got := having([]byte(all), "agent/a."); len(got) != 1 || !strings.HasPrefix(got[0], "goroutine 4 ") {
		t.Errorf("got %q", got)
	}
	if got := having([]byte(all), "agent/a.(*server).start"); len(got) != 1 {
		t.Errorf("by a function: %q", got)
	}
}

// A name that nothing can have would pass whatever is left.
func TestNoneLeftRefusesUnknownNames(t *testing.T) {
	for name, want := range map[string]string{
		"agent/host/server.":                "module agent has no package agent/host/server",
		"agent/host/serve":                  "want a package and a dot",
		"serve.":                            "package serve is not one of module agent",
		"net/http.(*Server)":                "package net/http is not one of module agent",
		"":                                  "want a package and a dot",
		"agents/host/serve.":                "is not one of module agent",
		"agent/scripts.(*T).Run":            "module agent has no package agent/scripts",
		"agent/host/serve.(*Server).Nobody": "package agent/host/serve declares no type and no function Nobody",
	} {
		var f failed
		if NoneLeft(&f, name); !strings.Contains(f.text, want) {
			t.Errorf("%q: %q, want %q", name, f.text, want)
		}
	}
	t.Chdir(t.TempDir())
	var f failed
	if NoneLeft(&f, "agent/host/serve."); !strings.Contains(f.text, "no go.mod above the working folder") {
		t.Errorf("elsewhere: %q", f.text)
	}
}
