package command_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"agent/scripts/testkit/testbin"
	"agent/tools/process"
	"agent/tools/sandbox"
)

// The scripts in testdata/script run the binary that ships, built once, with real processes and
// real signals. Beside the commands of testscript they have:
//
//	code N cmd...        runs cmd and expects exit code N; "killed" expects SIGKILL
//	waitfor FILE [TEXT]  waits until the file is there and holds the text
//	waitrun STATUS       waits until the newest run has the status
//	signal NAME WORD     TERM, HUP, INT, QUIT, STOP, CONT or KILL to the host of this script
//	                     whose command line holds the word
//	waitgone WORD        waits until no process agent WORD of this script is left
//	waitstop WORD        waits until a process agent WORD of this script is stopped,
//	                     at a fault point
//	waitpid FILE         waits until the process whose number the file holds is gone;
//	                     one that a command sees of itself is another
//	waitcmd WORD...      waits until no process of this script is left with exactly this
//	                     command line
//	endcmd WORD...       SIGTERM to each process of this script with exactly this command
//	                     line, of which there must be one
//	killrunner           SIGKILL to every runner of this script's state folder
//	ids                  sets $RUN, $CHILD, $PENDING and $CALL: newest run, the first below it,
//	                     open request, last call whose outcome is unknown
//	child VARIABLE TASK  sets the variable to the newest run below another with the task
//	count N FILE TEXT    expects exactly N lines of the file to hold the text
//	fault POINT          arms a fault point for the next commands; "fault off" disarms it
//	same FILE FILE       expects both files to be equal byte for byte
//	server FILE          starts a model server that says what the file holds, and sets
//	                     $SERVER and $KEY
//	says FILE            lets that server say from now on what the file holds
//	waitheld             waits until the server holds an answer in the middle, where its
//	                     script says so
//	waitservers          waits until no mcptest (agent/tools/mcp/mcptest) works in the
//	                     script's folder; it is an MCP server that works and misbehaves
//	pages FILE...        starts a web server, and sets $PAGES and $PAGES_HOST, in the files too
//	lines, cuts, cursor  see script_lines_test.go
//	asked N [I J]        expects that the server was asked N times in all, and the I-th
//	                     and the J-th time the same

// noWait is a setting of the race detector; without it nothing reads it.
const noWait = "atexit_sleep_ms=0"

// binFolder is the folder of binDir; TestMain makes and removes it.
var binFolder string

// installed puts the programs there. It is a test that has it done and not TestMain, since what
// TestMain reads go does not count to what the results depend on.
var installed = sync.OnceValue(func() error {
	return testbin.Install(binFolder, testbin.Form{Portable: !confines, Race: raceEnabled}, "mcptest")
})

// binDir is the folder with agent, the binary under test, and mcptest. Without them no test here
// can do anything.
func binDir() string {
	if err := installed(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.RemoveAll(binFolder)
		os.Exit(1)
	}
	return binFolder
}

func TestMain(m *testing.M) {
	// A host in this process starts this binary to find out what can be confined.
	if len(os.Args) > 1 && os.Args[1] == sandbox.Command {
		os.Exit(sandbox.Main(os.Args[2:]))
	}
	os.Exit(func() int {
		dir, err := os.MkdirTemp("", "agent-bin")
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer os.RemoveAll(dir)
		binFolder = dir
		// A binary with the race detector waits for a second at its end, for each of hundreds of
		// processes.
		if err := os.Setenv("GORACE", noWait); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		hear(os.Interrupt, syscall.SIGHUP, syscall.SIGTERM)

		code := m.Run()
		if err := testbin.Unchanged(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		return code
	}())
}

// hear catches signals that whoever started the tests (nohup, say) made them ignore: an ignored
// signal stays ignored in a child, a caught one does not.
func hear(signals ...os.Signal) {
	for _, sig := range signals {
		if signal.Ignored(sig) {
			signal.Notify(make(chan os.Signal, 1), sig)
		}
	}
}

func TestScripts(t *testing.T) {
	lockAsTheProduct(t)
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireUniqueNames:  true,
		RequireExplicitExec: true,
		UpdateScripts:       os.Getenv("UPDATE_SCRIPTS") != "",
		Condition: func(name string) (bool, error) {
			switch name {
			case "root": // who may read everything
				return os.Geteuid() == 0, nil
			case "boots": // a reboot differs from a crash
				return process.Boot() != "", nil
			case "confined": // what commands do is kept to their access
				return confines, nil
			case "reftable":
				return hasReftable(), nil
			}
			return false, fmt.Errorf("condition %s: there is none of this name", name)
		},
		Setup: func(e *testscript.Env) error {
			if !tried(strings.TrimPrefix(filepath.Base(e.WorkDir), "script-")) {
				e.T().Skip(allOfThem)
			}
			search := e.Getenv("PATH")
			if dir := os.Getenv("AGENT_GIT"); dir != "" { // the folder of another git
				search = dir + string(os.PathListSeparator) + search
			}
			e.Setenv("PATH", binDir()+string(os.PathListSeparator)+search)
			home := filepath.Join(e.WorkDir, "home")
			e.Setenv("HOME", home)
			e.Setenv("STATE", filepath.Join(home, ".local", "state", "agent"))
			e.Setenv("NO_COLOR", "1")
			examples, err := filepath.Abs("../../scripts/demo/flows")
			if err != nil {
				return err
			}
			e.Setenv("EXAMPLES", examples)
			e.Setenv("GORACE", noWait)
			e.Values[serverKey{}] = &served{}
			e.Defer(func() { endRunners(e.WorkDir) })
			return os.MkdirAll(home, 0o755)
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"code": cmdCode, "signal": cmdSignal, "waitgone": cmdWaitGone, "waitfor": cmdWaitFor, "waitrun": cmdWaitRun, "killrunner": cmdKillRunner,
			"ids": cmdIDs, "count": cmdCount, "waitpid": cmdWaitPid, "waitcmd": cmdWaitCmd, "endcmd": cmdEndCmd, "waitstop": cmdWaitStop, "fault": cmdFault, "same": cmdSame,
			"server":  cmdServer,
			"witness": cmdWitness, "says": cmdSays, "waitheld": cmdWaitHeld, "release": cmdRelease, "asked": cmdAsked, "heard": cmdHeard, "pages": cmdPages,
			"waitservers": cmdWaitServers, "sql": cmdSQL, "family": cmdFamily, "child": cmdChild, "lines": cmdLines, "cuts": cmdCuts, "cursor": cmdCursor, "fits": cmdFits,
		},
	})
}

// hasReftable says whether the git of the scripts can keep refs in tables: since 2.45.
func hasReftable() bool {
	text, err := exec.Command(filepath.Join(os.Getenv("AGENT_GIT"), "git"), "--version").Output()
	var major, minor int
	if err == nil {
		_, err = fmt.Sscanf(string(text), "git version %d.%d", &major, &minor)
	}
	return err == nil && (major > 2 || major == 2 && minor >= 45)
}

const patience = 60 * time.Second

func cmdCode(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: code N cmd...")
	}
	err := ts.Exec(args[1], args[2:]...)
	got := "0"
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		got = strconv.Itoa(exit.ExitCode())
		if w, ok := exit.Sys().(syscall.WaitStatus); ok && w.Signaled() && w.Signal() == syscall.SIGKILL {
			got = "killed"
		}
	} else if err != nil {
		ts.Fatalf("%v", err)
	}
	if got != args[0] {
		ts.Fatalf("exit code %s, want %s", got, args[0])
	}
}

// eventually asks until the answer is yes; it fails the script when patience ends.
func eventually(ts *testscript.TestScript, what string, ok func() bool) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	again := time.NewTicker(5 * time.Millisecond)
	defer again.Stop()
	for !ok() {
		select {
		case <-again.C:
		case <-ctx.Done():
			ts.Fatalf("waited in vain for %s", what)
		}
	}
}

func cmdWaitFor(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 1 || len(args) > 2 {
		ts.Fatalf("usage: waitfor FILE [TEXT]")
	}
	path := ts.MkAbs(args[0])
	eventually(ts, strings.Join(args, " "), func() bool {
		b, err := os.ReadFile(path)
		return err == nil && (len(args) == 1 || bytes.Contains(b, []byte(args[1])))
	})
}

func agentJSON(ts *testscript.TestScript, v any, args ...string) error {
	c := exec.Command(filepath.Join(binDir(), "agent"), append(args, "--json")...)
	c.Env = append(os.Environ(), "HOME="+ts.Getenv("HOME"), "AGENT_HOME="+ts.Getenv("AGENT_HOME"), "XDG_STATE_HOME="+ts.Getenv("XDG_STATE_HOME"))
	out, err := c.Output()
	if err != nil {
		return fmt.Errorf("agent %s: %v", strings.Join(args, " "), err)
	}
	return json.Unmarshal(out, v)
}

type listed struct {
	Runs []struct {
		ID     string `json:"id"`
		Status string `json:"status"`

		Children []struct {
			ID string `json:"id"`
		} `json:"children"`
		UnknownBelow []struct {
			ID string `json:"id"`
		} `json:"unknown_below"`
	} `json:"runs"`
}

func cmdWaitRun(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: waitrun STATUS")
	}
	eventually(ts, "a run that is "+args[0], func() bool {
		var l listed
		return agentJSON(ts, &l, "ls", "--all") == nil && len(l.Runs) > 0 && l.Runs[0].Status == args[0]
	})
}

func cmdIDs(ts *testscript.TestScript, neg bool, args []string) {
	var l listed
	if err := agentJSON(ts, &l, "ls", "--all", "--children"); err != nil {
		ts.Fatalf("%v", err)
	}
	if len(l.Runs) == 0 {
		ts.Fatalf("there is no run")
	}
	ts.Setenv("RUN", l.Runs[0].ID)
	if below := l.Runs[0].Children; len(below) > 0 {
		ts.Setenv("CHILD", below[0].ID)
	}
	var p struct {
		Requests []struct {
			ID  string `json:"id"`
			Run string `json:"run_id"`
		} `json:"requests"`
	}
	if err := agentJSON(ts, &p, "pending"); err != nil {
		ts.Fatalf("%v", err)
	}
	ts.Setenv("PENDING", "")
	if len(p.Requests) > 0 {
		ts.Setenv("PENDING", p.Requests[0].ID)
		ts.Setenv("ASKING", p.Requests[0].Run)
	}
	var s struct {
		Calls []struct {
			ID      string `json:"id"`
			Outcome string `json:"outcome"`
		} `json:"calls"`
	}
	ts.Setenv("CALL", "")
	for _, c := range l.Runs[0].UnknownBelow {
		ts.Setenv("CALL", c.ID)
	}
	if err := agentJSON(ts, &s, "show", l.Runs[0].ID); err != nil {
		ts.Logf("%v", err)
	}
	for _, c := range s.Calls {
		if c.Outcome == "unknown" {
			ts.Setenv("CALL", c.ID)
		}
	}
}

// endRunners leaves nothing behind: a runner outlives the script that started it, and so does a
// process that drives in the background.
func endRunners(work string) {
	for _, word := range []string{"__drive", "__runner"} {
		for _, pid := range processes(work, word) {
			// One that is gone meanwhile is what is wanted.
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
}

// processes lists the processes of a script whose command line begins with agent and a word, by
// number.
func processes(work, word string) []int {
	return processesWith(work, func(words []string) bool {
		return len(words) >= 2 && words[1] == word && filepath.Base(words[0]) == "agent"
	})
}

// cmdWaitCmd and cmdEndCmd name a process by its command line: the number that a command sees of
// itself means nothing outside.
func cmdWaitCmd(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: waitcmd WORD...")
	}
	eventually(ts, "the end of "+strings.Join(args, " "), func() bool { return len(commands(ts, args)) == 0 })
}

func cmdEndCmd(ts *testscript.TestScript, neg bool, args []string) {
	pids := commands(ts, args)
	if neg || len(pids) == 0 {
		ts.Fatalf("there is no process %s", strings.Join(args, " "))
	}
	for _, pid := range pids {
		if err := syscall.Kill(pid, syscall.SIGTERM); err != nil && !errors.Is(err, syscall.ESRCH) {
			ts.Fatalf("signal %d: %v", pid, err)
		}
	}
}

func commands(ts *testscript.TestScript, args []string) []int {
	return processesWith(ts.Getenv("WORK"), func(words []string) bool { return slices.Equal(words, args) })
}

// processesWith lists the processes of a script whose command line is wanted, by number.
func processesWith(work string, wanted func(words []string) bool) []int {
	var pids []int
	dirs, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		return nil
	}
	for _, path := range dirs {
		b, err := os.ReadFile(path)
		if err != nil {
			continue // gone meanwhile
		}
		words := strings.Split(strings.TrimRight(string(b), "\x00"), "\x00")
		if !wanted(words) {
			continue
		}
		env, err := os.ReadFile(filepath.Join(filepath.Dir(path), "environ"))
		if err != nil || !bytes.Contains(append(env, b...), []byte(work+"/")) { // not that of a script whose name is only longer
			continue // of another script, or gone meanwhile
		}
		if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path))); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}

func cmdKillRunner(ts *testscript.TestScript, neg bool, args []string) {
	pids := processes(ts.Getenv("WORK"), "__runner")
	signalAll(ts, "__runner", syscall.SIGKILL)
	eventually(ts, "the end of the runner", func() bool { return !slices.ContainsFunc(pids, living) })
}

// living says whether a process still has its files, and so its locks: its command line is gone
// before they are, and its first thread may be dead before the others.
func living(pid int) bool {
	threads, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	if err != nil || len(threads) != 1 {
		return err == nil
	}
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	_, rest, ok := strings.Cut(string(b), ") ")
	return err == nil && ok && !strings.HasPrefix(rest, "Z")
}

func cmdSignal(ts *testscript.TestScript, neg bool, args []string) {
	known := map[string]syscall.Signal{
		"TERM": syscall.SIGTERM, "HUP": syscall.SIGHUP, "INT": syscall.SIGINT, "QUIT": syscall.SIGQUIT, "STOP": syscall.SIGSTOP, "CONT": syscall.SIGCONT, "KILL": syscall.SIGKILL,
	}
	if neg || len(args) != 2 || known[args[0]] == 0 {
		ts.Fatalf("usage: signal TERM|HUP|INT|QUIT|STOP|CONT|KILL run|resume|answer|__drive|__runner")
	}
	pids := processes(ts.Getenv("WORK"), args[1])
	signalAll(ts, args[1], known[args[0]])
	if args[0] == "KILL" { // its command line is gone before its locks are
		eventually(ts, "the end of agent "+args[1], func() bool { return !slices.ContainsFunc(pids, living) })
	}
}

func cmdWaitGone(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: waitgone WORD")
	}
	pids := processes(ts.Getenv("WORK"), args[0])
	eventually(ts, "the end of agent "+args[0], func() bool {
		return !slices.ContainsFunc(pids, living) && !slices.ContainsFunc(ending(), living)
	})
}

// ending lists processes of agent that are about to end: the kernel takes a process's memory, with
// its command line, before its files, with its locks. Whose they are does not show any more.
func ending() (pids []int) {
	for _, pid := range processesNamed("agent") {
		if b, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid)); err == nil && len(b) == 0 {
			pids = append(pids, pid)
		}
	}
	return pids
}

// processesNamed lists all processes that the kernel calls by a name.
func processesNamed(name string) (pids []int) {
	dirs, err := filepath.Glob("/proc/[0-9]*/comm")
	if err != nil {
		return nil
	}
	for _, path := range dirs {
		b, err := os.ReadFile(path)
		pid, numErr := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		if err == nil && numErr == nil && strings.TrimSpace(string(b)) == name {
			pids = append(pids, pid)
		}
	}
	return pids
}

func cmdWaitStop(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: waitstop WORD")
	}
	eventually(ts, "the stop of agent "+args[0], func() bool {
		return slices.ContainsFunc(processes(ts.Getenv("WORK"), args[0]), func(pid int) bool {
			b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
			_, rest, ok := strings.Cut(string(b), ") ")
			return err == nil && ok && strings.HasPrefix(rest, "T")
		})
	})
}

func cmdWaitPid(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: waitpid FILE")
	}
	pid, err := strconv.Atoi(strings.TrimSpace(ts.ReadFile(args[0])))
	if err != nil {
		ts.Fatalf("%s: %v", args[0], err)
	}
	eventually(ts, fmt.Sprintf("the end of process %d", pid), func() bool { return !living(pid) })
}

func signalAll(ts *testscript.TestScript, word string, sig syscall.Signal) {
	pids := processes(ts.Getenv("WORK"), word)
	if len(pids) == 0 {
		ts.Fatalf("there is no process agent %s", word)
	}
	for _, pid := range pids {
		if err := syscall.Kill(pid, sig); err != nil && !errors.Is(err, syscall.ESRCH) {
			ts.Fatalf("signal %d: %v", pid, err)
		}
	}
}

func cmdCount(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: count N FILE TEXT")
	}
	n := 0
	for _, l := range strings.Split(ts.ReadFile(args[1]), "\n") {
		if strings.Contains(l, args[2]) {
			n++
		}
	}
	if strconv.Itoa(n) != args[0] {
		ts.Fatalf("%d lines of %s hold %q, want %s", n, args[1], args[2], args[0])
	}
}

func cmdFault(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: fault POINT | off")
	}
	if args[0] == "off" {
		args[0] = ""
	}
	ts.Setenv("AGENT_FAULT", args[0])
	ts.Setenv("AGENT_FAULT_UNSAFE", "1")
}

func cmdSame(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: same FILE FILE")
	}
	if ts.ReadFile(args[0]) != ts.ReadFile(args[1]) {
		ts.Fatalf("%s and %s differ", args[0], args[1])
	}
}
