//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// failing is one error of the disk under the state: the at-th operation of a kind on files of a class.
type failing struct {
	op    string
	class string // how the paths begin
	errno string
	mode  string // once, sticky (all after it too) or torn (once, and half of it is written)
	at    int
}

// key names it, after "io/".
func (f failing) key() string {
	class := strings.Trim(strings.TrimPrefix(f.class, "state/"), "/")
	return fmt.Sprintf("%s/%s/%s/%s/%d", f.op, class, f.errno, f.mode, f.at)
}

func needsIO(l *lab) error {
	if l.mounts != nil {
		return l.mounts
	}
	return needsDisk()
}

// ioTrouble is about a disk that fails.
func ioTrouble() trouble {
	return trouble{
		name: "io", what: "one operation on the disk under the state fails, or all from one on",
		takes: "a mount namespace of its own and FUSE", needs: needsIO, run: runIO,
	}
}

// runIO lets every operation on the state's disk fail, one at a time, as far as the story gets: the database, bodies, the files of
// calls and of runners, locks.
func runIO(ctx context.Context, l *lab, c troubleChoice) error {
	exe, err := buildDisk(ctx, l.dir)
	if err != nil {
		return err
	}
	was, ops, err := intactIO(ctx, l, exe)
	if err != nil {
		return err
	}
	if c.only == "" {
		if err := ioControls(ctx, l, exe, was); err != nil {
			return err
		}
	}
	all := failings(ops)
	l.report.figure("io: operations of the story", len(ops))
	if c.short && c.only == "" {
		all = sample(all, 8, c.seed, func(f failing) string { return f.op + f.class })
	}
	var stories []ordeal
	for _, f := range all {
		stories = append(stories, ordeal{f.key(), func(ctx context.Context, key string) error {
			t, err := playIO(ctx, l, exe, f, was)
			if err != nil {
				return err
			}
			return l.verdictOn(key, t, 0)
		}})
	}
	return l.ordeals(ctx, "io", c, stories)
}

// served puts a disk that fails on demand under a folder of a world. It is left in d.
func served(exe, name string, d **disk) layer {
	return func(root string) (func(bool) error, error) {
		at, back := filepath.Join(root, name), filepath.Join(root, name+".bytes")
		err := errors.Join(os.Mkdir(at, 0o700), os.Mkdir(back, 0o700))
		if err != nil {
			return nil, err
		}
		if *d, err = startDisk(exe, back, at); err != nil {
			return nil, err
		}
		return func(keep bool) error {
			err := (*d).close()
			if keep {
				err = errors.Join(err, os.Remove(at), os.Rename(back, at))
			}
			return err
		}, nil
	}
}

// beginIO makes the world of the story that is told on a failing disk: a command with an output that becomes a file of its own,
// a request, a file, another command.
func beginIO(l *lab, exe string) (*tale, *disk, error) {
	var d *disk
	counter := l.counter.addr()
	t, err := l.begin(job{tool: "shell", situation: "first", shape: "anthropic", victim: "host", change: func(s *story) {
		base := strings.TrimSuffix(marksIn(s.turns[0][0].args["command"].(string))[0], "a")
		long := step{tool: "shell", args: map[string]any{"command": "echo " + base + "a >> effects; seq -f 'line %g' 1 40000"}}
		all := subjects()
		s.turns = [][]step{{long}, {all["fetch"].call(base+"b", counter), all["write_file"].call(base+"d", counter)}, {shellStep(base + "c")}}
		s.read.returns = "line 1"
	}}, served(exe, "home", &d))
	if err != nil {
		return nil, nil, err
	}
	t.world.env = append(t.world.env, "AGENT_ALLOW_UNSAFE_FS=1") // a disk that is a program is refused, rightly, without it
	t.brief = true                                               // doctor would say that about the disk
	return t, d, nil
}

// intactIO tells the story on a disk that does not fail.
func intactIO(ctx context.Context, l *lab, exe string) (end, []diskOp, error) {
	t, d, err := beginIO(l, exe)
	if err != nil {
		return end{}, nil, err
	}
	told := t.finish(ctx)
	index, err := d.index()
	var ops []diskOp
	if err == nil {
		ops, err = d.ops(1, index)
	}
	if err != nil {
		return end{}, nil, errors.Join(err, t.world.close(false))
	}
	e, err := l.conclude(ctx, t, told)
	if err != nil {
		return end{}, nil, err
	}
	if e.status != "completed" {
		t.found.add(unlisted, "the story ends %q although nothing fails", e.status)
	}
	if len(t.found) > 0 {
		return end{}, nil, errors.Join(errors.New("the story of the failing disk does not end well"), l.verdictOn("io", t, 0))
	}
	return e, ops, t.world.close(false)
}

// classOf is what paths of one kind of file have in common at their beginning.
func classOf(path string) string {
	parts := strings.SplitN(path, "/", 3)
	if len(parts) == 3 {
		return parts[0] + "/" + parts[1] + "/"
	}
	if name := parts[len(parts)-1]; strings.HasPrefix(name, ".") && strings.Contains(name, "-") {
		return strings.Join(parts[:len(parts)-1], "/") + "/" + name[:strings.Index(name, "-")+1]
	}
	return path
}

// loud says whether the error must not pass without a word. What is shown while a model speaks, the log, an index that is made anew
// and what SQLite brings into its file and still has in its log are no facts; a file that should be gone does no harm. Of one write
// that fails the kernel may make a short one, whose rest is written by the next.
func (f failing) loud() bool {
	if f.op == "unlink" || f.op == "write" && f.mode != "sticky" {
		return false
	}
	for _, quiet := range []string{"state/live", "state/log", "state/agent.db-shm", "state/.ballast-", "state/ballast"} {
		if strings.HasPrefix(f.class, quiet) {
			return false
		}
	}
	return f.class != "state/agent.db" && f.class != "state/" && f.class != "state"
}

// failings are the errors that the operations of a story can end with. Of files that are written in hundreds of pieces a few are
// taken.
func failings(ops []diskOp) []failing {
	kinds := map[string]string{"write": "write", "fsync": "fsync", "fsyncdir": "fsync", "create": "create", "mkdir": "create", "rename": "rename",
		"truncate": "truncate", "extend": "truncate", "unlink": "unlink", "rmdir": "unlink"}
	type place struct{ op, class string }
	counts := map[place]int{}
	var order []place
	for _, o := range ops {
		p := place{kinds[o.Op], classOf(o.Path)}
		if p.op == "" || !strings.HasPrefix(o.Path, "state/") {
			continue
		}
		if counts[p]++; counts[p] == 1 {
			order = append(order, p)
		}
	}
	var out []failing
	for _, p := range order {
		step := 1
		if f := (failing{op: p.op, class: p.class, mode: "sticky"}); !f.loud() {
			step = 1 + counts[p]/5
		}
		for at := 1; at <= counts[p]; at += step {
			out = append(out, failing{p.op, p.class, "EIO", "once", at}, failing{p.op, p.class, "EIO", "sticky", at}, failing{p.op, p.class, "ENOSPC", "sticky", at})
			if p.op == "write" {
				out = append(out, failing{p.op, p.class, "EIO", "torn", at})
			}
		}
	}
	return out
}

// playIO tells the story on a disk with one error, and mends the disk after the command that met it. The caller closes the world.
func playIO(ctx context.Context, l *lab, exe string, f failing, was end) (*tale, error) {
	t, d, err := beginIO(l, exe)
	if err != nil {
		return nil, err
	}
	if err := d.fail(diskFault{Op: f.op, Path: f.class, Errno: f.errno, At: f.at, Sticky: f.mode == "sticky", Torn: f.mode == "torn"}); err != nil {
		return nil, errors.Join(err, t.world.close(false))
	}
	healed := false
	told := t.proceed(ctx, func(args []string) error {
		if err := t.step(args); err != nil || healed {
			return err
		}
		healed = true
		if f.mode == "sticky" {
			if err := persist(t); err != nil {
				return err
			}
		}
		hit, err := d.heal()
		if err != nil {
			return err
		}
		if hit == 0 {
			l.report.figure("io: errors that no operation met", 1)
		} else if f.loud() {
			loudly(t, fmt.Sprintf("%s of %s failed with %s", f.op, f.class, f.errno))
		}
		l.report.figure("io: errors", hit)
		return nil
	})
	e, err := l.conclude(ctx, t, told)
	if err != nil {
		return nil, err
	}
	for _, o := range t.world.outputs {
		if strings.Contains(o.text, "panic") {
			t.found.add(unlisted, "agent %s panics:\n%s", strings.Join(o.args, " "), o.text)
		}
	}
	if len(t.found) == 0 {
		if e.status != was.status {
			t.found.add(differs, "it ends %s, and on a disk that does not fail %s", e.status, was.status)
		}
		t.found = append(t.found, compareEnds(was, e, true, false)...)
	}
	l.report.figure("io: outcomes unknown", t.unknown)
	return t, nil
}

// persist is what a person does while the disk goes on failing: look, and try to go on. Nothing is asked of either but to end.
func persist(t *tale) error {
	next, err := t.next()
	if err != nil {
		return err
	}
	for _, args := range [][]string{{"ls", "--all"}, next} {
		if args == nil {
			continue
		}
		if err := t.step(args); err != nil {
			return err
		}
	}
	return nil
}

// loudly wants some command, or the result of a call, to have said that the disk fails, or what is unknown for it.
func loudly(t *tale, what string) {
	form := regexp.MustCompile(`(?i)input/output error|disk I/O error|the disk fails|no space left|disk is full|make room|outcome unknown`)
	for _, o := range t.world.outputs {
		if form.MatchString(o.text) {
			return
		}
	}
	for _, h := range t.last { // a record of an output that ends early is said with its result
		for _, c := range h.calls {
			if len(c.results) > 0 && form.MatchString(c.results[0].Result.Content) {
				return
			}
		}
	}
	t.found.add(silent, "%s, and no command says so", what)
}

// ioControls are errors that are swallowed on purpose: once by whoever prints, once by a command.
func ioControls(ctx context.Context, l *lab, exe string, was end) error {
	t, err := playIO(ctx, l, exe, failing{"fsync", "state/agent.db-wal", "EIO", "once", 3}, was)
	if err != nil {
		return err
	}
	for i := range t.world.outputs {
		t.world.outputs[i].text = ""
	}
	t.found = nil
	loudly(t, "a commit failed on purpose")
	l.control("nobody says that the disk fails", silent, t.found)
	if err := t.world.close(false); err != nil {
		return err
	}
	var d *disk
	if t, err = l.begin(heedless(), served(exe, "work", &d)); err != nil {
		return err
	}
	if err := d.fail(diskFault{Op: "write", Path: "effects", Errno: "EIO", At: 1, Sticky: true}); err != nil {
		return errors.Join(err, t.world.close(false))
	}
	if err := t.finish(ctx); err != nil && !errors.Is(err, errFound) {
		return errors.Join(err, t.world.close(false))
	}
	l.control("a command pays no heed to a disk that fails", lost, t.found)
	return t.world.close(false)
}
