package custody

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// File is one that goes to the host with a run's prompt, since a flag of agent run names it.
type File struct {
	Name string `json:"name"` // without its folder
	Data []byte `json:"data"`
}

// sentMark is before the number of a file in the argument that stands for it. No host has a file of
// that name: a worker that knows of no files has agent refuse the run, and never leaves one out.
const sentMark = "=/dev/null/needs-a-newer-agent-fleet/"

// Send has a file go with the run, for a flag.
func (r *Run) Send(flag string, f File) {
	r.Sent = append(r.Sent, f)
	r.Args = append(r.Args, "--"+flag+sentMark+strconv.Itoa(len(r.Sent)))
}

// Unpack gives the arguments with the paths at which the files were put.
func (r Run) Unpack(put func(number int, f File) (path string, err error)) ([]string, error) {
	args := slices.Clone(r.Args)
	for i, arg := range args {
		flag, number, is := strings.Cut(arg, sentMark)
		if !is {
			continue
		}
		n, err := strconv.Atoi(number)
		if err != nil || n < 1 || n > len(r.Sent) {
			return nil, &UnsentError{flag}
		}
		path, err := put(n, r.Sent[n-1])
		if err != nil {
			return nil, err
		}
		args[i] = flag + "=" + path
	}
	return args, nil
}

// UnsentError says that a run came without a file that a flag names.
type UnsentError struct{ Flag string }

func (e *UnsentError) Error() string {
	return fmt.Sprintf("the file of %s did not come with the run: a worker of an older agent-fleet handed it on without; have all workers be of one version, and begin another run", e.Flag)
}

// unsent is the run without its files, as whoever does not begin it needs it.
func (r Run) unsent() Run {
	r.Sent = nil
	return r
}

// mostSent is how many bytes a run may have on its way to a host: the engine takes two megabytes at
// a time, and some room is left for what becomes of the run.
const mostSent = 1_800_000

// mostPrompt is how many bytes of them a prompt may have. It is there twice, too, where a history
// is begun anew, and then beside the answers that are kept, each of which has mostAnswer at most.
const (
	mostPrompt = 512 << 10
	mostAnswer = 12 << 10
)

// CheckSize refuses a run that the engine would not take, at its start or later.
func (r Run) CheckSize() error {
	if n := sealed(r.Prompt); n > mostPrompt {
		return fmt.Errorf("its prompt takes %d KB on its way to a host, and at most %d go: put the rest in files of the repository (--git)", kilo(n), mostPrompt/1000)
	}
	b, err := json.Marshal(Drive{Run: r.unsent(), Step: Step{Start: &r}})
	if err != nil || len(b) <= mostSent {
		return err
	}
	return fmt.Errorf("its prompt and files take %d KB on their way to a host, and at most %d go (a prompt counts twice, a file a third more than it has): make pictures smaller, or put the rest in files of the repository (--git)",
		kilo(len(b)), mostSent/1000)
}

// sealed is how many bytes a text takes on its way.
func sealed(text string) int {
	b, _ := json.Marshal(text) // a text has no error
	return len(b)
}

// kilo is a number of bytes in thousands, none of which is left out.
func kilo(bytes int) int { return (bytes + 999) / 1000 }
