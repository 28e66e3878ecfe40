//go:build linux

package main

import (
	"bytes"
	"compress/flate"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"agent/db"
	"agent/db/dbtest"
	"agent/host/drive"
	"agent/host/workspace"
	"agent/recovery/fault"
	"agent/recovery/journal"
	"agent/tools"
)

// kept is a run in this process whose workspace is kept.
type kept struct {
	ctx     context.Context
	store   *db.Store
	home    string
	keeper  *workspace.Keeper
	created journal.RunCreated
	head    db.Head
	turn    int
	commits atomic.Int64
	seen    []journal.Body // of commits, by the last call
}

func (b *bench) keep(ctx context.Context, name, folder string) (*kept, error) {
	k := &kept{ctx: ctx, home: filepath.Join(b.dir, "state-"+name), turn: 1}
	var err error
	k.store, err = db.Open(ctx, k.home, db.Options{NoBallast: true, Hit: func(p fault.Point) {
		if p == fault.AfterCommit {
			k.commits.Add(1)
		}
	}})
	if err != nil {
		return nil, err
	}
	reg, err := tools.NewRegistry()
	if err != nil {
		return nil, err
	}
	ignores := filepath.Join(b.dir, "ignore") // a person's, as long as they are
	if err := os.WriteFile(ignores, []byte(strings.Repeat("/.name-*/\n*.[oa]\n.idea/\n", 20)), 0o644); err != nil {
		return nil, err
	}
	k.keeper = &workspace.Keeper{
		Process: &drive.Process{Store: k.store, Home: k.home, Now: time.Now, Env: drive.Env{Tools: reg}}, Ignores: func() string { return ignores },
	}
	facts := dbtest.Child("r-"+name, "t-"+name, nil)
	c := facts[0].Body.(journal.RunCreated)
	c.Folder = folder
	facts[0].Body, k.created = c, c
	k.head, err = k.store.Create(ctx, db.ThreadRef{ID: c.Thread, Folder: folder, New: true}, facts)
	return k, err
}

func (k *kept) call() drive.FilesCall {
	return drive.FilesCall{Created: k.created, Place: journal.Place{Turn: k.turn, Attempt: 1}, Args: []byte(`{"script":"git commit"}`)}
}

// durable records what a look found, with the facts of the call.
func (k *kept) durable(found drive.Found, around []journal.Event) (err error) {
	facts := append(around[:1:1], dbtest.InTurn(k.turn, found.Facts...)...)
	k.head, err = k.store.Append(k.ctx, k.head, append(facts, around[1:]...), db.AppendOptions{Kept: found.Kept})
	return err
}

// turnOf carries out a call that does something, looked at before and after.
func (k *kept) turnOf(does func() error) error {
	found, err := k.keeper.Before(k.ctx, k.call())
	if err != nil {
		return err
	}
	begun, settled := dbtest.Turn(k.turn, fmt.Sprintf("c-%08d", k.turn), "done")
	if err := errors.Join(k.durable(found, begun), does()); err != nil {
		return err
	}
	err = k.durable(k.keeper.After(k.ctx, k.call(), nil), settled)
	k.turn++
	return err
}

// look is one look behind a call.
func (k *kept) look() error {
	k.keeper.After(k.ctx, k.call(), nil)
	return nil
}

// times is how many looks are measured together: one is shorter than a tick of the processor's
// clock on some machines.
const times = 20

func (k *kept) looks() error {
	for range times {
		if err := k.look(); err != nil {
			return err
		}
	}
	return nil
}

func (k *kept) close() error {
	k.keeper.Ended(k.created)
	return k.store.Close()
}

// many is a large repository.
func (b *bench) many(ctx context.Context) (err error) {
	n := 50_000
	if b.quick {
		n = 2_000
	}
	dir, err := b.files("many", n, true)
	if err != nil {
		return err
	}
	if err := sh(ctx, dir, repository); err != nil {
		return err
	}
	what := fmt.Sprintf(", %d files", n)
	k, err := b.bases(ctx, dir, what)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, k.close()) }()
	first, err := cpu(1, syscall.RUSAGE_SELF, k.look)
	if err != nil {
		return err
	}
	b.row("the first look, which begins to listen"+what, first, "ms", 0, "")
	took, err := cpu(b.times(9), syscall.RUSAGE_SELF, k.looks)
	if err != nil {
		return err
	}
	b.row("no change, watched"+what, took/times, "ms", 0.2, "")
	clock, took, err := waited(b.times(9), syscall.RUSAGE_SELF, func() error { k.keeper.Last(ctx, k.created); return nil })
	if err != nil {
		return err
	}
	b.waits("no change, all looked at"+what, clock, took, 150, "")
	commits, i := k.commits.Load(), 0
	took, err = cpu(b.times(9), syscall.RUSAGE_SELF, func() error {
		i++
		err := os.WriteFile(filepath.Join(dir, "d000", "e000", "in", "f1"), fmt.Appendf(nil, "changed %d\n", i), 0o644)
		return errors.Join(err, k.look())
	})
	if err != nil {
		return err
	}
	b.row("one change, found and sealed"+what, took, "ms", 2, fmt.Sprintf("%d commits of its own", k.commits.Load()-commits))
	for name, text := range map[string]string{
		"git status" + what:                   "git status --porcelain",
		"git add -A, index of its own" + what: "cp .git/index ../index; GIT_INDEX_FILE=$PWD/../index git add -A",
	} {
		clock, took, err := waited(b.times(9), syscall.RUSAGE_CHILDREN, func() error { return sh(ctx, dir, text) })
		if err != nil {
			return err
		}
		b.waits(name, clock, took, 0, "")
	}
	return nil
}

// bases makes the base of several runs. The last one goes on.
func (b *bench) bases(ctx context.Context, dir, what string) (k *kept, err error) {
	waits, least, sealed := math.Inf(1), math.Inf(1), 0
	for i := range b.times(9) {
		if k != nil {
			if err := k.close(); err != nil {
				return nil, err
			}
		}
		if k, err = b.keep(ctx, fmt.Sprintf("many%04d", i), dir); err != nil {
			return nil, err
		}
		runtime.GC()
		var found drive.Found
		clock, took, err := waited(1, syscall.RUSAGE_SELF, func() (err error) { found, err = k.keeper.Before(ctx, k.call()); return err })
		if err != nil {
			return k, err
		}
		waits, least, sealed = min(waits, clock), min(least, took), len(found.Kept)
		begun, _ := dbtest.Turn(k.turn, fmt.Sprintf("c-%08d", k.turn), "done")
		if err := k.durable(found, begun); err != nil {
			return k, err
		}
	}
	b.waits("base"+what, waits, least, 250, fmt.Sprintf("%d contents sealed", sealed))
	return k, nil
}

// few is a folder as large as most.
func (b *bench) few(ctx context.Context) (err error) {
	dir, err := b.files("few", 947, false)
	if err != nil {
		return err
	}
	k, err := b.keep(ctx, "fewfiles", dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, k.close()) }()
	if err := k.turnOf(func() error { return nil }); err != nil {
		return err
	}
	time.Sleep(50 * time.Millisecond) // until no file is young
	if err := k.look(); err != nil {
		return err
	}
	took, err := cpu(b.times(9), syscall.RUSAGE_SELF, k.looks)
	if err == nil {
		b.row("no change, looked at, 947 files", took/times, "ms", 1, "")
	}
	return err
}

// turns is what a file leaves in the state folder that changes in every turn.
func (b *bench) turns(ctx context.Context) (err error) {
	dir := filepath.Join(b.dir, "turns")
	if err := os.Mkdir(dir, 0o755); err != nil {
		return err
	}
	k, err := b.keep(ctx, "turnturn", dir)
	if err != nil {
		return err
	}
	open := true
	defer func() {
		if open {
			err = errors.Join(err, k.close())
		}
	}()
	rng := rand.New(rand.NewPCG(1, 1))
	deflated, n := 0, b.times(1000)
	for range n {
		text := make([]byte, 0, 80<<10)
		for len(text) < 64<<10 {
			text = fmt.Appendf(text, "line %d of text\n", rng.Uint32())
		}
		var small bytes.Buffer
		z, err := flate.NewWriter(&small, flate.DefaultCompression)
		if err != nil {
			return err
		}
		if _, err := z.Write(text); err != nil {
			return err
		}
		if err := z.Close(); err != nil {
			return err
		}
		deflated += small.Len()
		if err := k.turnOf(func() error { return os.WriteFile(filepath.Join(dir, "f"), text, 0o644) }); err != nil {
			return err
		}
	}
	open = false
	if err := k.close(); err != nil {
		return err
	}
	size, err := du(k.home)
	if err != nil {
		return err
	}
	plain, err := b.unseen(ctx, dir, n)
	b.row(fmt.Sprintf("state folder by deflated bytes, %d turns of one file", n), float64(size-plain)/float64(deflated), "", 1.1,
		fmt.Sprintf("%d KiB, less %d of the same calls without a look, by %d KiB", size>>10, plain>>10, deflated>>10))
	return err
}

// unseen is the room that the state folder of so many calls takes at whose files nobody looks.
func (b *bench) unseen(ctx context.Context, dir string, n int) (int64, error) {
	k, err := b.keep(ctx, "unseenun", dir)
	if err != nil {
		return 0, err
	}
	for range n {
		begun, settled := dbtest.Turn(k.turn, fmt.Sprintf("c-%08d", k.turn), "done")
		k.turn++
		if err := errors.Join(k.durable(drive.Found{}, begun), k.durable(drive.Found{}, settled)); err != nil {
			return 0, errors.Join(err, k.store.Close())
		}
	}
	if err := k.store.Close(); err != nil {
		return 0, err
	}
	return du(k.home)
}

// du is the room that a folder takes.
func du(dir string) (size int64, err error) {
	err = filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := e.Info()
		if st, ok := info.Sys().(*syscall.Stat_t); err == nil && ok {
			size += st.Blocks * 512
		}
		return err
	})
	return size, err
}

// reads is a run that only reads, with an older binary and with this one in turns.
func (b *bench) reads(ctx context.Context) error {
	if b.before == "" {
		b.row("a run of reads: not compared, see -before", 0, "", 0, "")
		return nil
	}
	now, err := binary()
	if err != nil {
		return err
	}
	dir, err := b.files("reads", 947, false)
	if err != nil {
		return err
	}
	book := filepath.Join(b.dir, "reads.md")
	text := "# Reads\n"
	for i := range 40 {
		text += fmt.Sprintf("\n- read_file d000/e000/f%d\n", i%10)
	}
	if err := os.WriteFile(book, []byte(text), 0o644); err != nil {
		return err
	}
	took := map[string][]time.Duration{}
	for i := range b.times(20) {
		for _, exe := range []string{b.before, now} {
			c := exec.CommandContext(ctx, exe, "run", "--runbook", "--mode", "yolo", "-f", book)
			home := filepath.Join(b.dir, fmt.Sprintf("home-%s-%d", filepath.Base(exe), i))
			c.Dir, c.Env = dir, append(os.Environ(), "HOME="+home, "AGENT_HOME="+home+"/state")
			if out, err := c.CombinedOutput(); err != nil {
				return fmt.Errorf("%s: %v: %s", exe, err, out)
			}
			took[exe] = append(took[exe], c.ProcessState.UserTime()+c.ProcessState.SystemTime())
		}
	}
	middle := func(all []time.Duration) float64 {
		slices.Sort(all)
		return float64(all[len(all)/2]) / float64(time.Millisecond)
	}
	was, is := middle(took[b.before]), middle(took[now])
	b.row("a run of 40 reads, by one of the older binary", is/was, "", 1.05, fmt.Sprintf("%.0f ms by %.0f ms", is, was))
	return nil
}
