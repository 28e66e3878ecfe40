//go:build linux

package power

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"

	"agent/scripts/crashlab/journal"
	"agent/scripts/crashlab/judge"
	"agent/scripts/crashlab/lab"
	"agent/scripts/crashlab/machine"
	"agent/scripts/crashlab/marks"
	"agent/scripts/crashlab/story"
	"agent/scripts/crashlab/trial"
	"agent/scripts/crashlab/world"
)

// recording is a story that was carried out on a disk that remembers.
type recording struct {
	lab     *lab.Lab
	shape   string
	number  int
	root    string // where the world is seen
	back    string // where its bytes are
	story   story.Story
	prompt  string
	world   *world.World
	disk    *machine.Disk
	counter *world.Counter
	before  *recording // the recording whose power was cut before this one; nil for the first
	folders atomic.Int64

	mu    sync.Mutex
	shown []shownLine
	hits  []outsideEffect

	ops    []machine.Op
	record *journal.Record
	all    []*judge.History
	end    judge.End
	after  map[string]string // what files of the workspace hold in the end, by path
}

// shownLine is a line that a command printed: it was read when so many operations had happened.
type shownLine struct {
	at   int
	args []string
	text string
}

// outsideEffect is an effect outside of the disk: it had happened when so many operations had.
type outsideEffect struct {
	at   int
	mark string
}

// newStory uses every tool that leaves something on the disk, asks a question, and has an output
// that leaves its row.
func newStory(shape string, world int, counter string) story.Story {
	s := story.Story{Tool: "shell", Situation: "first", Shape: shape, Mode: "yolo", Subject: story.Subjects()["shell"], Files: map[string]string{"notes.txt": "hay\nneedle\n"}}
	do := func(tool, letter string) story.Step {
		mark := marks.In(world, letter)
		if files := story.Subjects()[tool].Files; files != nil {
			maps.Copy(s.Files, files(mark))
		}
		return story.Subjects()[tool].Call(mark, counter)
	}
	lines := "seq -f 'line %g' 1 30000"
	long := story.Step{Tool: "shell", Args: map[string]any{"command": lines}, Book: "```sh\n" + lines + "\n```\n"}
	s.Turns = [][]story.Step{
		{do("read_file", ""), do("search", "")},
		{do("shell", "a"), do("write_file", "c")},
		{do("ask_user", "")},
		{do("edit_file", "e"), do("apply_patch", "g")},
		{long},
		{do("fetch", "k"), do("shell:write", "m")},
		{do("confirm_action", "")},
		{do("shell", "o")},
	}
	if shape == "runbook" {
		var single [][]story.Step
		for _, turn := range s.Turns {
			for _, one := range turn {
				single = append(single, []story.Step{one})
			}
		}
		s.Turns = single
	}
	return s
}

// record carries the story out whole, in a world that may be changed. The caller closes it.
func record(ctx context.Context, l *lab.Lab, exe, shape string, change func(*world.World)) (*recording, error) {
	p, err := prepare(l, exe, shape, change)
	if err != nil {
		return nil, err
	}
	if err := p.play(ctx, &trial.Trial{Story: &p.story, World: p.world, Prompt: p.prompt}, p.first()...); err != nil {
		return nil, errors.Join(err, p.close())
	}
	return p, nil
}

// prepare is a recording that has not begun.
func prepare(l *lab.Lab, exe, shape string, change func(*world.World)) (p *recording, err error) {
	p = &recording{lab: l, shape: shape}
	p.number, p.root = l.NextWorld()
	p.back = p.root + "-bytes"
	if p.counter, err = world.StartCounter(); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, p.close())
		}
	}()
	p.counter.Notify(p.noteEffect)
	switch shape {
	case flowShape:
		p.story = newFlow(p.number)
	case pruneShape:
		p.story = newPruned(p.number)
	default:
		p.story = newStory(shape, p.number, p.counter.Addr())
	}
	p.prompt = fmt.Sprintf("Please tell story-%d.", p.number)
	if p.world, err = world.New(p.number, l.Exe, p.root, p.counter, &p.story); err != nil {
		return p, err
	}
	// What is there already is durable: the world's folder becomes the bytes behind the disk.
	if err = errors.Join(os.Rename(p.root, p.back), os.Mkdir(p.root, 0o700)); err != nil {
		return p, err
	}
	if p.disk, err = machine.StartDisk(exe, p.back, p.root); err != nil {
		return p, err
	}
	p.world.Env = append(p.world.Env, "AGENT_ALLOW_UNSAFE_FS=1") // a disk that is a program is refused, rightly, without it
	p.world.Launch = p.listen
	if change != nil {
		change(p.world)
	}
	if p.world.Model != nil {
		turns, err := p.story.Script()
		if err != nil {
			return p, err
		}
		p.world.Model.Add(fmt.Sprintf("story-%d.", p.number), turns)
	}
	return p, nil
}

// play carries the story to its end, in which nothing may be wrong. first are the commands that
// come before those which the story asks for.
func (p *recording) play(ctx context.Context, t *trial.Trial, first ...[]string) error {
	for {
		var args []string
		var err error
		if t.Commands < len(first) {
			args = first[t.Commands]
		} else if args, err = p.next(t); err != nil {
			return err
		}
		if args == nil {
			break
		}
		if t.Commands++; t.Commands > trial.MostCommands {
			return fmt.Errorf("%w: the next is agent %s", world.ErrStuck, strings.Join(args, " "))
		}
		o, err := p.world.Run(ctx, args...)
		if err != nil {
			return fmt.Errorf("%w:\n%s", err, o.Text)
		}
		if t.Record, err = p.load(p.world.State); err != nil {
			return err
		}
		var f judge.Findings
		if t.Histories, f = judge.Check(t.Record, func(string) bool { return true }); len(f) > 0 {
			return fmt.Errorf("after agent %s: %v", strings.Join(args, " "), f)
		}
	}
	return p.keepEnd(t)
}

// keepEnd keeps what the story left behind, once all is as it should be.
func (p *recording) keepEnd(t *trial.Trial) error {
	p.runners().WaitRunners()
	p.counter.Notify(nil) // what goes on in the states is no part of this
	saw, err := p.world.Witness.Counts()
	if err != nil {
		return err
	}
	if f := judge.CompareEffects(t.Histories, saw); len(f) > 0 || len(t.Histories) != 1 && p.shape != flowShape || t.Histories[0].Run.Status != "completed" {
		return fmt.Errorf("the story does not end as it should: %v\n%s", f, p.world.Transcript())
	}
	p.record, p.all = t.Record, t.Histories
	if p.end, err = t.End(); err != nil {
		return err
	}
	p.after = map[string]string{}
	for name := range p.end.Files {
		// The end's names and words are without the world's number; what a state holds is not.
		own := strings.ReplaceAll(name, "mark-", marks.In(p.number, ""))
		b, err := os.ReadFile(filepath.Join(p.world.Dir, own))
		if err != nil {
			return err
		}
		p.after[own] = string(b)
	}
	n, err := p.disk.Index()
	if err != nil {
		return err
	}
	p.ops, err = p.disk.Ops(1, n)
	return err
}

// runners is the world under the name that its processes see, whatever folder it is in.
func (p *recording) runners() *world.World {
	return &world.World{State: filepath.Join(p.root, "home", "state")}
}

// load reads the database of a state folder by a copy of it.
func (p *recording) load(state string) (*journal.Record, error) {
	scratch := p.folder()
	if err := os.Mkdir(scratch, 0o700); err != nil {
		return nil, err
	}
	r, err := journal.Load(state, scratch)
	return r, errors.Join(err, os.RemoveAll(scratch))
}

// close takes the disk away, and the bytes behind it.
func (p *recording) close() error {
	if p.before != nil {
		return p.closeAgain()
	}
	var errs []error
	if p.world != nil {
		for _, x := range p.runners().Runners() {
			errs = append(errs, x.Signal(syscall.SIGKILL))
		}
		errs = append(errs, p.world.Witness.Close())
		if p.world.Model != nil {
			errs = append(errs, p.world.Model.Close())
		}
	}
	if p.disk != nil {
		errs = append(errs, p.disk.Close())
	}
	return errors.Join(append(errs, p.counter.Close(), os.RemoveAll(p.root), os.RemoveAll(p.back))...)
}

// noteEffect is called for each effect outside of the disk, while it happens.
func (p *recording) noteEffect(mark string) {
	n, err := p.disk.Index()
	p.mu.Lock()
	defer p.mu.Unlock()
	if err != nil {
		n = 0 // the disk is gone, which ends the story
	}
	p.hits = append(p.hits, outsideEffect{n, mark})
}

// listen starts a command whose lines are noted as they are read.
func (p *recording) listen(c *exec.Cmd) error {
	p.watchOutput(c)
	return c.Start()
}

// watchOutput notes when each line of a command is read.
func (p *recording) watchOutput(c *exec.Cmd) {
	e := &lineReader{of: p, to: c.Stdout, args: c.Args[1:]}
	c.Stdout, c.Stderr = e, e
}

// lineReader passes on what a command prints. A line counts as shown from the operation that was
// the last one when the lab had read it: so it is never counted as shown too early.
type lineReader struct {
	of   *recording
	to   io.Writer
	args []string
	part string
}

func (e *lineReader) Write(b []byte) (int, error) {
	n, err := e.to.Write(b)
	if err != nil {
		return n, err
	}
	at, err := e.of.disk.Index()
	if err != nil {
		return n, err
	}
	e.of.mu.Lock()
	defer e.of.mu.Unlock()
	e.part += string(b)
	for {
		line, rest, ok := strings.Cut(e.part, "\n")
		if !ok {
			return n, nil
		}
		e.part = rest
		e.of.shown = append(e.of.shown, shownLine{at, e.args, line})
	}
}

// plainPath is a path without the names that are made up anew each time.
func plainPath(path string) string {
	path = regexp.MustCompile(`\b([rpct])-[0-9a-z]{8}\b`).ReplaceAllString(path, "$1-x")
	path = regexp.MustCompile(`\d{5,}`).ReplaceAllString(path, "x")
	path = regexp.MustCompile(`mark-\d+-`).ReplaceAllString(path, "mark-")
	return regexp.MustCompile(`[0-9a-f]{12,}`).ReplaceAllString(path, "x")
}

// files are the names in the workspace that hold a mark.
func (p *recording) files() []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(p.after)), func(name string) bool { return len(marks.Find(name)) == 0 })
}
