//go:build linux

package disk

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"agent/scripts/crashlab/judge"
	"agent/scripts/crashlab/lab"
	"agent/scripts/crashlab/machine"
	"agent/scripts/crashlab/marks"
	"agent/scripts/crashlab/plan"
	"agent/scripts/crashlab/story"
	"agent/scripts/crashlab/trial"
	"agent/scripts/crashlab/world"
)

// failing is one error of the disk under the state: the at-th operation of a kind on files of a
// class.
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

func needsIO(l *lab.Lab) error {
	if l.Mounts != nil {
		return l.Mounts
	}
	return machine.NeedsDisk()
}

// IO is about a disk that fails.
func IO() lab.Fault {
	return lab.Fault{
		Name: "io", What: "one operation on the disk under the state fails, or all from one on",
		Takes: "a mount namespace of its own and FUSE", Needs: needsIO, Run: runIO,
	}
}

// runIO lets every operation on the state's disk fail, one at a time, as far as the story gets: the
// database, bodies, the files of calls and of runners, locks.
func runIO(ctx context.Context, l *lab.Lab, c lab.Choice) error {
	exe, err := machine.BuildDisk(ctx, l.Dir)
	if err != nil {
		return err
	}
	was, ops, err := intactIO(ctx, l, exe)
	if err != nil {
		return err
	}
	if c.Only == "" {
		if err := ioControls(ctx, l, exe, was); err != nil {
			return err
		}
	}
	all := failings(ops)
	l.Report.AddFigure("io: operations of the story", len(ops))
	if c.Short && c.Only == "" {
		all = plan.Sample(all, 8, c.Seed, func(f failing) string { return f.op + f.class })
	}
	var stories []lab.Case
	for _, f := range all {
		stories = append(stories, lab.Case{Key: f.key(), Try: func(ctx context.Context, key string) error {
			t, err := playIO(ctx, l, exe, f, was)
			if err != nil {
				return err
			}
			return l.Finish(key, t, 0)
		}})
	}
	return l.RunCases(ctx, "io", c, stories)
}

// served puts a disk that fails on demand under a folder of a world. It is left in d.
func served(exe, name string, d **machine.Disk) world.Layer {
	return func(root string) (func(bool) error, error) {
		at, back := filepath.Join(root, name), filepath.Join(root, name+".bytes")
		err := errors.Join(os.Mkdir(at, 0o700), os.Mkdir(back, 0o700))
		if err != nil {
			return nil, err
		}
		if *d, err = machine.StartDisk(exe, back, at); err != nil {
			return nil, err
		}
		return func(keep bool) error {
			err := (*d).Close()
			if keep {
				err = errors.Join(err, os.Remove(at), os.Rename(back, at))
			}
			return err
		}, nil
	}
}

// beginIO makes the world of the story on a failing disk: a command with an output that becomes a
// file of its own, a request, a file, another command.
func beginIO(l *lab.Lab, exe string) (*trial.Trial, *machine.Disk, error) {
	var d *machine.Disk
	counter := l.Counter.Addr()
	t, err := l.Begin(plan.Job{Tool: "shell", Situation: "first", Shape: "anthropic", Victim: "host", Change: func(s *story.Story) {
		base := strings.TrimSuffix(marks.Find(s.Turns[0][0].Args["command"].(string))[0], "a")
		long := story.Step{Tool: "shell", Args: map[string]any{"command": "echo " + base + "a >> effects; seq -f 'line %g' 1 40000"}}
		all := story.Subjects()
		s.Turns = [][]story.Step{{long}, {all["fetch"].Call(base+"b", counter), all["write_file"].Call(base+"d", counter)}, {story.ShellStep(base + "c")}}
		s.Subject.Returns = "line 1"
	}}, served(exe, "home", &d))
	if err != nil {
		return nil, nil, err
	}
	t.World.Env = append(t.World.Env, "AGENT_ALLOW_UNSAFE_FS=1") // a disk that is a program is refused, rightly, without it
	t.Brief = true                                               // doctor would say that about the disk
	return t, d, nil
}

// intactIO carries the story out on a disk that does not fail.
func intactIO(ctx context.Context, l *lab.Lab, exe string) (judge.End, []machine.Op, error) {
	t, d, err := beginIO(l, exe)
	if err != nil {
		return judge.End{}, nil, err
	}
	ended := t.Finish(ctx)
	index, err := d.Index()
	var ops []machine.Op
	if err == nil {
		ops, err = d.Ops(1, index)
	}
	if err != nil {
		return judge.End{}, nil, errors.Join(err, t.World.Close(false))
	}
	e, err := l.Conclude(ctx, t, ended)
	if err != nil {
		return judge.End{}, nil, err
	}
	if e.Status != "completed" {
		t.Found.Add(judge.Unlisted, "the story ends %q although nothing fails", e.Status)
	}
	if len(t.Found) > 0 {
		return judge.End{}, nil, errors.Join(errors.New("the story of the failing disk does not end well"), l.Finish("io", t, 0))
	}
	return e, ops, t.World.Close(false)
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

// mustBeReported says whether the error must be reported. What is shown while a model speaks, the
// log, an index that is made anew and what SQLite brings into its file and still has in its log are
// no facts; a file that should be gone does no harm. Of one write that fails the kernel may make a
// short one, whose rest is written by the next.
func (f failing) mustBeReported() bool {
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

// failings are the errors that the operations of a story can end with. Of files that are written in
// hundreds of pieces a few are taken.
func failings(ops []machine.Op) []failing {
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
		if f := (failing{op: p.op, class: p.class, mode: "sticky"}); !f.mustBeReported() {
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

// playIO carries the story out on a disk with one error, and repairs the disk after the command
// that met it. The caller closes the world.
func playIO(ctx context.Context, l *lab.Lab, exe string, f failing, was judge.End) (*trial.Trial, error) {
	t, d, err := beginIO(l, exe)
	if err != nil {
		return nil, err
	}
	if err := d.Fail(machine.DiskFault{Op: f.op, Path: f.class, Errno: f.errno, At: f.at, Sticky: f.mode == "sticky", Torn: f.mode == "torn"}); err != nil {
		return nil, errors.Join(err, t.World.Close(false))
	}
	healed := false
	ended := t.Proceed(ctx, func(args []string) error {
		if err := t.Step(args); err != nil || healed {
			return err
		}
		healed = true
		if f.mode == "sticky" {
			if err := goOnFailing(t); err != nil {
				return err
			}
		}
		hit, err := d.Heal()
		if err != nil {
			return err
		}
		if hit == 0 {
			l.Report.AddFigure("io: errors that no operation met", 1)
		} else if f.mustBeReported() {
			checkReported(t, fmt.Sprintf("%s of %s failed with %s", f.op, f.class, f.errno))
		}
		l.Report.AddFigure("io: errors", hit)
		return nil
	})
	e, err := l.Conclude(ctx, t, ended)
	if err != nil {
		return nil, err
	}
	for _, o := range t.World.Outputs {
		if strings.Contains(o.Text, "panic") {
			t.Found.Add(judge.Unlisted, "agent %s panics:\n%s", strings.Join(o.Args, " "), o.Text)
		}
	}
	if len(t.Found) == 0 {
		if e.Status != was.Status {
			t.Found.Add(judge.Differs, "it ends %s, and on a disk that does not fail %s", e.Status, was.Status)
		}
		t.Found = append(t.Found, judge.CompareEnds(was, e, true, false)...)
	}
	l.Report.AddFigure("io: outcomes unknown", t.Unknown)
	return t, nil
}

// goOnFailing is what a person does while the disk goes on failing: look, and try to go on. Nothing
// is asked of either but to end.
func goOnFailing(t *trial.Trial) error {
	next, err := t.Next()
	if err != nil {
		return err
	}
	for _, args := range [][]string{{"ls", "--all"}, next} {
		if args == nil {
			continue
		}
		if err := t.Step(args); err != nil {
			return err
		}
	}
	return nil
}

// checkReported wants some command, or the result of a call, to report that the disk fails, or what
// is unknown because of it.
func checkReported(t *trial.Trial, what string) {
	form := regexp.MustCompile(`(?i)input/output error|disk I/O error|the disk fails|no space left|disk is full|make room|outcome unknown`)
	for _, o := range t.World.Outputs {
		if form.MatchString(o.Text) {
			return
		}
	}
	for _, h := range t.Histories { // a record of an output that ends early is reported with its result
		for _, c := range h.Calls {
			if len(c.Results) > 0 && form.MatchString(c.Results[0].Result.Content) {
				return
			}
		}
	}
	t.Found.Add(judge.Silent, "%s, and no command says so", what)
}

// ioControls are errors that are swallowed on purpose: once by whoever prints, once by a command.
func ioControls(ctx context.Context, l *lab.Lab, exe string, was judge.End) error {
	t, err := playIO(ctx, l, exe, failing{"fsync", "state/agent.db-wal", "EIO", "once", 3}, was)
	if err != nil {
		return err
	}
	for i := range t.World.Outputs {
		t.World.Outputs[i].Text = ""
	}
	t.Found = nil
	checkReported(t, "a commit failed on purpose")
	l.Control("nobody says that the disk fails", judge.Silent, t.Found)
	if err := t.World.Close(false); err != nil {
		return err
	}
	var d *machine.Disk
	if t, err = l.Begin(heedless(), served(exe, "work", &d)); err != nil {
		return err
	}
	if err := d.Fail(machine.DiskFault{Op: "write", Path: "effects", Errno: "EIO", At: 1, Sticky: true}); err != nil {
		return errors.Join(err, t.World.Close(false))
	}
	if err := t.Finish(ctx); err != nil && !errors.Is(err, trial.ErrFound) {
		return errors.Join(err, t.World.Close(false))
	}
	l.Control("a command pays no heed to a disk that fails", judge.Lost, t.Found)
	return t.World.Close(false)
}
