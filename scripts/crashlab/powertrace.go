//go:build linux

package main

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
)

// power is a story that was told on a disk that remembers.
type power struct {
	lab     *lab
	shape   string
	number  int
	root    string // where the world is seen
	back    string // where its bytes are
	story   story
	prompt  string
	world   *world
	disk    *disk
	counter *counter
	before  *power // the telling whose power was cut before this one; nil for the first
	folders atomic.Int64

	mu    sync.Mutex
	heard []heard
	hits  []hit

	ops    []diskOp
	record *record
	all    []*history
	end    end
	after  map[string]string // what files of the workspace hold in the end, by path
}

// heard is a line that a command printed: it was read when so many operations had happened.
type heard struct {
	at   int
	args []string
	text string
}

// hit is an effect outside of the disk: it had happened when so many operations had.
type hit struct {
	at   int
	mark string
}

// powerStory uses every tool that leaves something on the disk, asks a question, and has an output that leaves its row.
func powerStory(shape string, world int, counter string) story {
	s := story{tool: "shell", situation: "first", shape: shape, mode: "yolo", read: subjects()["shell"], files: map[string]string{"notes.txt": "hay\nneedle\n"}}
	do := func(tool, letter string) step {
		mark := markIn(world, letter)
		if files := subjects()[tool].files; files != nil {
			maps.Copy(s.files, files(mark))
		}
		return subjects()[tool].call(mark, counter)
	}
	lines := "seq -f 'line %g' 1 30000"
	long := step{"shell", map[string]any{"command": lines}, "```sh\n" + lines + "\n```\n"}
	s.turns = [][]step{
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
		var single [][]step
		for _, turn := range s.turns {
			for _, one := range turn {
				single = append(single, []step{one})
			}
		}
		s.turns = single
	}
	return s
}

// recordStory tells the story whole. The caller closes it.
func recordStory(ctx context.Context, l *lab, exe, shape string) (p *power, err error) {
	p = &power{lab: l, shape: shape}
	p.number, p.root = l.nextWorld()
	p.back = p.root + "-bytes"
	if p.counter, err = startCounter(); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, p.close())
		}
	}()
	p.counter.tell(p.effect)
	p.story, p.prompt = powerStory(shape, p.number, p.counter.addr()), fmt.Sprintf("Please tell story-%d.", p.number)
	if p.world, err = newWorld(p.number, l.exe, p.root, p.counter, &p.story); err != nil {
		return p, err
	}
	// What is there already is durable: the world's folder becomes the bytes behind the disk.
	if err = errors.Join(os.Rename(p.root, p.back), os.Mkdir(p.root, 0o700)); err != nil {
		return p, err
	}
	if p.disk, err = startDisk(exe, p.back, p.root); err != nil {
		return p, err
	}
	p.world.env = append(p.world.env, "AGENT_ALLOW_UNSAFE_FS=1") // a disk that is a program is refused, rightly, without it
	p.world.launch = p.listen
	if p.world.server != nil {
		turns, err := p.story.script()
		if err != nil {
			return p, err
		}
		p.world.server.tell(fmt.Sprintf("story-%d.", p.number), turns)
	}
	return p, p.tell(ctx, &tale{story: &p.story, world: p.world, prompt: p.prompt})
}

// tell carries the story to its end, in which nothing may be wrong. first are the commands that come before those which the
// story asks for.
func (p *power) tell(ctx context.Context, t *tale, first ...[]string) error {
	for {
		var args []string
		var err error
		if t.cmd < len(first) {
			args = first[t.cmd]
		} else if args, err = t.next(); err != nil {
			return err
		}
		if args == nil {
			break
		}
		if t.cmd++; t.cmd > mostCommands {
			return fmt.Errorf("%w: the next is agent %s", errStuck, strings.Join(args, " "))
		}
		o, err := p.world.agent(ctx, args...)
		if err != nil {
			return fmt.Errorf("%w:\n%s", err, o.text)
		}
		if t.record, err = p.load(p.world.state); err != nil {
			return err
		}
		var f findings
		if t.last, f = check(t.record, func(string) bool { return true }); len(f) > 0 {
			return fmt.Errorf("after agent %s: %v", strings.Join(args, " "), f)
		}
	}
	return p.told(t)
}

// told keeps what the story left behind, once all is as it should be.
func (p *power) told(t *tale) error {
	p.runners().runnersEnd()
	p.counter.tell(nil) // what goes on in the states is no part of this
	saw, err := p.world.witness.counts()
	if err != nil {
		return err
	}
	if f := compareEffects(t.last, saw); len(f) > 0 || len(t.last) != 1 || t.last[0].run.status != "completed" {
		return fmt.Errorf("the story does not end as it should: %v\n%s", f, p.world.transcript())
	}
	p.record, p.all = t.record, t.last
	if p.end, err = t.end(); err != nil {
		return err
	}
	p.after = map[string]string{}
	for name := range p.end.files {
		// The end's names and words are without the world's number; what a state holds is not.
		own := strings.ReplaceAll(name, "mark-", markIn(p.number, ""))
		b, err := os.ReadFile(filepath.Join(p.world.dir, own))
		if err != nil {
			return err
		}
		p.after[own] = string(b)
	}
	n, err := p.disk.index()
	if err != nil {
		return err
	}
	p.ops, err = p.disk.ops(1, n)
	return err
}

// runners is the world under the name that its processes see, whatever folder it is in.
func (p *power) runners() *world { return &world{state: filepath.Join(p.root, "home", "state")} }

// load reads the database of a state folder by a copy of it.
func (p *power) load(state string) (*record, error) {
	scratch := p.folder()
	if err := os.Mkdir(scratch, 0o700); err != nil {
		return nil, err
	}
	r, err := load(state, scratch)
	return r, errors.Join(err, os.RemoveAll(scratch))
}

// close takes the disk away, and the bytes behind it.
func (p *power) close() error {
	if p.before != nil {
		return p.closeAgain()
	}
	var errs []error
	if p.world != nil {
		for _, x := range p.runners().processes() {
			errs = append(errs, x.signal(syscall.SIGKILL))
		}
		errs = append(errs, p.world.witness.close())
		if p.world.server != nil {
			errs = append(errs, p.world.server.close())
		}
	}
	if p.disk != nil {
		errs = append(errs, p.disk.close())
	}
	return errors.Join(append(errs, p.counter.close(), os.RemoveAll(p.root), os.RemoveAll(p.back))...)
}

// effect is called for each effect outside of the disk, while it happens.
func (p *power) effect(mark string) {
	n, err := p.disk.index()
	p.mu.Lock()
	defer p.mu.Unlock()
	if err != nil {
		n = 0 // the disk is gone, which ends the story
	}
	p.hits = append(p.hits, hit{n, mark})
}

// listen starts a command whose lines are heard.
func (p *power) listen(c *exec.Cmd) error {
	p.hear(c)
	return c.Start()
}

// hear notes when each line of a command is read.
func (p *power) hear(c *exec.Cmd) {
	e := &ear{of: p, to: c.Stdout, args: c.Args[1:]}
	c.Stdout, c.Stderr = e, e
}

// ear passes on what a command prints. A line counts as shown from the operation that was the last one when the lab had read it:
// so it is never counted as shown too early.
type ear struct {
	of   *power
	to   io.Writer
	args []string
	part string
}

func (e *ear) Write(b []byte) (int, error) {
	n, err := e.to.Write(b)
	if err != nil {
		return n, err
	}
	at, err := e.of.disk.index()
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
		e.of.heard = append(e.of.heard, heard{at, e.args, line})
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
func (p *power) files() []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(p.after)), func(name string) bool { return len(marksIn(name)) == 0 })
}
