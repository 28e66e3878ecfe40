package lab

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// initVariable has the test binary be the first process of a host; see [Init].
const initVariable = "FLEETLAB_INIT"

// Init is called first by the TestMain of each package that uses a lab. In the first process of a
// host it does not return: it waits for the processes that lose their parents.
func Init() {
	if os.Getenv(initVariable) == "" {
		return
	}
	for {
		if _, err := syscall.Wait4(-1, nil, 0, nil); err != nil {
			time.Sleep(50 * time.Millisecond) // no child at the moment
		}
	}
}

// Host is a machine of the fleet: a PID namespace with a worker.
type Host struct {
	Lab   *Lab
	Name  string
	Slots int
	Args  []string // of the worker, beside the usual ones

	netns   string // name of the network namespace; "" for none
	address string // in it
	init    *process
	worker  *process
}

// Host adds a host and starts its worker.
func (l *Lab) Host(name string, args ...string) *Host {
	l.Helper()
	h := l.Machine(name)
	h.Args = args
	h.Boot()
	h.Start()
	return h
}

// Home is the host's state folder.
func (h *Host) Home() string { return h.Lab.path("home", h.Name) }

// Boot starts the machine, without its worker.
func (h *Host) Boot() {
	h.Lab.Helper()
	self, err := os.Executable()
	if err != nil {
		h.Lab.Fatal(err)
	}
	cmd := exec.Command("unshare", "--pid", "--fork", "--kill-child", "--mount-proc", self)
	if h.netns != "" {
		cmd = exec.Command("ip", append([]string{"netns", "exec", h.netns}, cmd.Args...)...)
	}
	cmd.Env = append(os.Environ(), initVariable+"=1")
	h.init = start(h.Lab, "init-"+h.Name, cmd)
	if !Wait(10*time.Second, func() bool { return h.pid() > 0 }) {
		h.Lab.Fatalf("host %s does not start", h.Name)
	}
}

// pid is that of the host's first process, as the machine sees it.
func (h *Host) pid() int {
	p := h.init.cmd.Process.Pid
	b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", p, p))
	for field := range strings.FieldsSeq(string(b)) {
		if n, err := strconv.Atoi(field); err == nil {
			return n
		}
	}
	return 0
}

// command is a command that runs on the host.
func (h *Host) command(args ...string) *exec.Cmd {
	all := []string{"-t", strconv.Itoa(h.pid()), "-p", "-m"}
	if h.netns != "" {
		all = append(all, "-n")
	}
	cmd := exec.Command("nsenter", append(append(all, "--"), args...)...)
	cmd.Env = append(os.Environ(), "AGENT_HOME="+h.Home(), "XDG_CONFIG_HOME="+h.Lab.path("config"), clockVariable+"="+h.clock())
	return cmd
}

// workerArgs start the worker.
func (h *Host) workerArgs() []string {
	l := h.Lab
	return append([]string{
		l.Fleet, "worker", "--engine", l.Address(), "--log", l.LogURL, "--key-file", l.path("key"), "--slots", strconv.Itoa(h.Slots),
		"--home", h.Home(), "--work", l.path("work", h.Name), "--agent", l.Agent, "--host", h.Name, "--verbose",
	}, h.Args...)
}

// Start starts the worker, and gives what it prints when it is up.
func (h *Host) Start() string {
	h.Lab.Helper()
	h.SetClock(0)
	h.worker = start(h.Lab, "worker-"+h.Name, h.command(h.workerArgs()...))
	return h.worker.says("worker "+h.Name, time.Minute)
}

// inner is the process of the worker itself, which nsenter is the parent of.
func (h *Host) inner() int {
	p := h.worker.cmd.Process.Pid
	b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", p, p))
	n, err := strconv.Atoi(strings.TrimSpace(string(b)))
	if err != nil {
		return p
	}
	return n
}

// KillWorker ends the worker as a crash does; the drivers go on.
func (h *Host) KillWorker() {
	_ = syscall.Kill(h.inner(), syscall.SIGKILL) // it may have ended by now
	h.worker.kill()
}

// StopWorker ends the worker as an upgrade does.
func (h *Host) StopWorker() {
	_ = syscall.Kill(h.inner(), syscall.SIGTERM) // it may have ended by now
	<-h.worker.done
}

// Driver is the process that drives a run on the host, by the host's own number; 0 for none.
func (h *Host) Driver(run string) int {
	out, err := h.command(h.Lab.Agent, "show", "--json", run).Output()
	var s struct {
		Run struct {
			Owner *struct {
				PID int `json:"pid"`
			} `json:"owner"`
		} `json:"run"`
	}
	if err != nil || json.Unmarshal(out, &s) != nil || s.Run.Owner == nil {
		return 0
	}
	return s.Run.Owner.PID
}

// KillDriver ends the driver of a run as a crash does. Its command goes on.
func (h *Host) KillDriver(run string) {
	h.Lab.Helper()
	pid := h.Driver(run)
	if pid == 0 {
		h.Lab.Fatalf("nothing drives run %s on %s", run, h.Name)
	}
	if out, err := h.command("kill", "-9", strconv.Itoa(pid)).CombinedOutput(); err != nil {
		h.Lab.Fatalf("kill the driver of run %s: %v: %s", run, err, out)
	}
}

// PowerOff ends all processes of the host at once.
func (h *Host) PowerOff() {
	if pid := h.pid(); pid > 0 {
		_ = syscall.Kill(pid, syscall.SIGKILL) // it may have ended by now
	}
	h.wakeNsenter()
	<-h.init.done
	if h.worker != nil {
		h.worker.kill()
	}
}

// Lose ends the host for good: its processes, its state and its workspaces.
func (h *Host) Lose() {
	h.Lab.Helper()
	h.PowerOff()
	for _, folder := range []string{h.Home(), h.Lab.path("work", h.Name)} {
		if err := os.RemoveAll(folder); err != nil {
			h.Lab.Fatal(err)
		}
	}
}

func (h *Host) end() {
	if h.init != nil && !h.init.ended() {
		h.PowerOff()
	}
	if h.netns != "" {
		_ = exec.Command("ip", "netns", "delete", h.netns).Run() // it has a name of its own
	}
}
