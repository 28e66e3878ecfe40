package worker

import (
	"context"
	"os"
	"os/exec"

	"agent/fleet/custody"
)

// driving are the commands that a run's witness has to hear of.
func driving(command string) bool {
	return command == "run" || command == "resume" || command == "answer" || command == "cancel"
}

// run starts a run in a process of its own. The prompt is in a file, which its arguments name, so
// that it is on no command line. Given again, it is the same run.
func (a Agent) run(ctx context.Context, id, key, folder string, args []string) error {
	return a.drive(ctx, id, append([]string{
		"run", "--detach", "--json", "--no-recover", "--run-id=" + id,
		"--start-key=" + key, "--dir=" + folder,
	}, args...)...)
}

// resume has an interrupted run go on in a process of its own.
func (a Agent) resume(ctx context.Context, run string) error {
	return a.drive(ctx, "", "resume", "--detach", "--json", "--no-recover", run)
}

// answer gives the answer to a question; the run goes on in a process of its own.
func (a Agent) answer(ctx context.Context, x custody.Answer) error {
	return a.call(ctx, new(struct{}), "answer", "--detach", "--json", "--no-recover",
		"--", x.Request, x.Text)
}

// cancel ends a run, with what its command has started.
func (a Agent) cancel(ctx context.Context, run string) error {
	return a.call(ctx, new(struct{}), "cancel", "--json", run)
}

// address is what packs for this state folder are sealed to.
func (a Agent) address(ctx context.Context) (string, error) {
	var out struct {
		Address string `json:"address"`
	}
	err := a.call(ctx, &out, "import", "--id", "--json")
	return out.Address, err
}

// take takes in the runs of a pack; they work in folder from here on.
func (a Agent) take(ctx context.Context, file, folder string) error {
	return a.call(ctx, new(struct{}), "import", "--behind", "--json", "--dir="+folder, file)
}

// version is that of the program.
func (a Agent) version(ctx context.Context) (string, error) {
	var out struct {
		Agent string `json:"agent"`
	}
	err := a.call(ctx, &out, "version", "--json")
	return out.Agent, err
}

// knowsWitness reports whether the program can drive runs of a fleet: it came to know witnesses and
// ids of runs at the same time, and shows no help behind a flag that it does not know.
func (a Agent) knowsWitness(ctx context.Context) bool {
	cmd := exec.CommandContext(ctx, a.Path, "run", "--run-id=r-00000000", "--help")
	cmd.Env = append(os.Environ(), "AGENT_HOME="+a.Home)
	return cmd.Run() == nil
}
