package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"agent/db"
	"agent/db/maintain"
	"agent/host"
	"agent/host/config"
	"agent/host/doctor"
	"agent/host/permission"
	"agent/host/view"
)

// examination looks at this process and a state folder for doctor.
type examination struct {
	*App
	armed string // what is reported about an armed fault point
}

// Examine looks whether anything is wrong with the installation and the state folder, and with fix
// repairs what needs no decision.
func (a *App) Examine(ctx context.Context, home, armed string, fix bool) doctor.Findings {
	f, e := doctor.Folder(home), &examination{a, armed}
	e.examineSelf(home, &f)
	e.examineWitness(ctx, home, &f)
	e.examineStore(ctx, home, fix, &f)
	return f
}

// ExamineSecrets looks through the whole state folder for secrets that lie in it in the clear. show
// hears how far it is.
func (a *App) ExamineSecrets(ctx context.Context, home string, show func(string)) doctor.Findings {
	var f doctor.Findings
	(&examination{App: a}).findSecrets(ctx, home, show, &f)
	return f
}

// Salvage writes what can be read of a database, damaged or not, as JSON lines.
func Salvage(ctx context.Context, home string, w io.Writer) error {
	return maintain.Salvage(ctx, home, w)
}

// close closes a folder that nobody observes.
func (a *examination) close(s *Folder) error {
	s.End()
	return s.Close()
}

// examineSelf looks at this process: settings that weaken a promise, and what commands run in.
func (a *examination) examineSelf(home string, f *doctor.Findings) {
	const area = "settings"
	if a.armed != "" {
		f.Warn(area, "unset AGENT_FAULT and AGENT_FAULT_UNSAFE", "%s", a.armed)
	}
	if a.Env("AGENT_ALLOW_UNSAFE_FS") == "1" {
		f.Warn(area, "unset it and keep the state folder on a local disk",
			"AGENT_ALLOW_UNSAFE_FS=1: a state folder on a network file system is let through")
	}
	for _, shell := range []string{"sh", "bash"} {
		if path, err := exec.LookPath(shell); err != nil {
			f.Warn("commands", "install it where runbooks or models use it", "there is no %s: blocks of it cannot run", shell)
		} else {
			f.OK("commands", "%s is %s", shell, path)
		}
	}
	a.examineConfig(f)
	a.examineSandbox(home, f)
}

// examineConfig reads the person's configuration: with an error in it nothing starts.
func (a *examination) examineConfig(f *doctor.Findings) {
	const area = "configuration"
	path := config.UserPath(a.Env)
	if path == "" {
		return
	}
	conf, _, err := a.config("")
	if err != nil {
		f.Bad(area, "fix that line: until then no run starts", "%v", err)
		return
	}
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		f.OK(area, "%s is not there, and need not be", a.tilde(path))
		return
	}
	rules := "no rules of permission"
	if n := len(conf.Rules); n > 0 {
		rules = fmt.Sprintf("rules of permission: %d", n)
	}
	f.OK(area, "%s is in order; %s", a.tilde(path), rules)
	a.examineRules(conf.Rules, f)
	for _, h := range conf.Hooks {
		if _, err := exec.LookPath(h.Command[0]); err != nil {
			f.Warn(area, "install it, or correct its command: until then nothing is called", "%s: the hook's command %s cannot be found", a.tilde(h.Where), h.Command[0])
		}
	}
}

// examineRules names the allow rules that mean something else than in older versions, and those
// that give full powers to what nobody has seen.
func (a *examination) examineRules(rules []permission.Rule, f *doctor.Findings) {
	const area = "configuration"
	commands := 0
	for _, r := range rules {
		where := a.tilde(r.Where)
		switch {
		case r.CutDown():
			f.Warn(area, `write access = "write" there if that is what it is for, or full = true in place of access`, "%s: %s grants write, not full", where, r.Subject())
		case r.Full:
			f.Warn(area, "", "%s: %s runs with full powers, and nobody is asked", where, r.Subject())
		case r.OnlyAlone():
			f.OK(area, "%s: %s holds in no pipeline; text in place of command names a whole script", where, r.Subject())
		}
		if r.Commands() {
			commands++
		}
	}
	if commands > 0 {
		f.OK(area, "allow rules with command: %d; they cover no patterns, loops, substitutions", commands)
	}
}

// examineWitness asks whether anybody listens where the witness of runs is said to be.
func (a *examination) examineWitness(ctx context.Context, home string, f *doctor.Findings) {
	h := &host.Host{}
	h.Home = home
	w, err := witnessOf(a.App, h)
	if err != nil || w == nil {
		return // what is wrong with the configuration was reported
	}
	if err := w.Reach(ctx); err != nil {
		f.Bad("witness", "", "%v: until then no run starts", err)
		return
	}
	f.OK("witness", "%s answers", w.Name())
}

// examineStore opens the state folder, for reading unless something is to be fixed, and looks into
// it.
func (a *examination) examineStore(ctx context.Context, home string, fix bool, f *doctor.Findings) {
	s, err := a.openDoctor(ctx, home)
	if errors.Is(err, db.ErrNoState) {
		f.OK(areaDatabase, "there is none yet: nothing was run")
		return
	}
	if err != nil {
		f.Bad(areaDatabase, remedyFor(err), "%v", err)
		return
	}
	for _, n := range s.Store.Notices() {
		f.Warn(areaDatabase, "", "%s", n)
	}
	if !s.CanWrite() {
		f.Warn(areaDatabase, "make it writable, or choose another one with AGENT_HOME", "the state folder cannot be written: it can be read, nothing can run, and nothing is fixed")
		fix = false
	}
	a.examineSchema(ctx, s, fix, f)
	found, err := doctor.Examine(ctx, s.Host, fix) // a row that it repairs may be all that is wrong with the database
	a.examineDatabase(ctx, s, f)
	a.examinePrunable(ctx, s, f)
	*f = append(*f, found...)
	if err != nil {
		f.Bad(areaDatabase, remedySave, "%v", err)
	}
	if err := a.close(s); err != nil {
		f.Bad(areaDatabase, "", "close: %v", err)
	}
}

// remedyFor is empty where the error names its own.
func remedyFor(err error) string {
	var damaged *db.CorruptError
	var foreign *db.ForeignError
	var newer *db.NewerError
	var folder *db.FolderError
	switch {
	case errors.As(err, new(*db.BehindError)):
		return "put it back, or decide: agent restore --here"
	case errors.As(err, &damaged), errors.As(err, &foreign), errors.As(err, &newer), errors.As(err, &folder):
		return ""
	case errors.Is(err, db.ErrDiskFull):
		return "make room on its disk"
	}
	return remedySave
}

// openDoctor opens without the look that every other command begins with: what it would mark is a
// finding here.
func (a *examination) openDoctor(ctx context.Context, home string) (*Folder, error) {
	write, err := Writable(home)
	if err != nil {
		return nil, err
	}
	f, err := a.OpenRaw(ctx, home, RawOptions{Write: write, Crowded: true})
	if err != nil {
		return nil, err
	}
	return f, nil
}

const (
	areaDatabase = "database"
	remedySave   = "restore a backup, or save what is left: agent doctor --salvage FILE"
)

// walExpected is a log that is worth a word: it is brought into the database while agent is idle.
const walExpected = 64 << 20

// examineDatabase looks at the file as a whole: damage, settings, sizes.
func (a *examination) examineDatabase(ctx context.Context, s *Folder, f *doctor.Findings) {
	if b := s.Store.Behind(); b != nil {
		f.Bad(areaDatabase, remedyFor(b), "%v", b)
	}
	r, err := maintain.Check(ctx, s.Store)
	if err != nil {
		f.Bad(areaDatabase, remedySave, "%v", err)
		return
	}
	if len(r.Problems) > 0 {
		for _, p := range r.Problems[:min(20, len(r.Problems))] {
			f.Bad(areaDatabase, remedySave, "%s: %s", r.Path, p)
		}
	} else {
		f.OK(areaDatabase, "%s is whole: format %d, SQLite %s", r.Path, r.Format, r.SQLite)
	}
	a.examineCopies(ctx, s, f)
	if r.Kept.Unlisted != "" {
		f.Bad(areaDatabase, remedySave, "%s: the kept contents cannot be listed: %s", r.Path, r.Kept.Unlisted)
	}
	for _, p := range r.Kept.Problems[:min(20, len(r.Kept.Problems))] {
		f.Bad(areaDatabase, "restore a backup; while there is no copy, an artifact that is lost is made anew by its phase", "%s: %s", r.Path, p)
	}
	if s.CanWrite() { // what is opened for reading only has other settings, and they say nothing
		a.examineSettings(r, f)
	}
	a.examineSizes(r, f)
}

// examineCopies says how the store stands to copies of it.
func (a *examination) examineCopies(ctx context.Context, s *Folder, f *doctor.Findings) {
	about, err := s.Store.About(ctx)
	if err != nil {
		return // it was said
	}
	made := "it was never backed up: agent backup"
	if !about.BackedUp.IsZero() {
		made = "backed up " + view.Ago(s.Host.Now(), about.BackedUp)
	}
	f.OK(areaDatabase, "incarnation %d; %s; a whole disk that is rolled back is not noticed", about.Incarnation, made)
	if runs, err := s.Store.Runs(ctx, db.Filter{All: true, Limit: 1}); err != nil || len(runs) == 0 || about.Unmarked == nil {
		return // each run marks the store
	}
	if about.Outside == "" {
		f.Warn(areaDatabase, "set HOME or XDG_CACHE_HOME", "no place is known for a mark outside of the state folder: one that is put back in place is not noticed")
		return
	}
	f.Warn(areaDatabase, "see that "+filepath.Dir(about.Outside)+" can be made and written; the next run marks it", "the mark of this store outside of its folder cannot be read (%s: %v): a state folder that is put back in place is not noticed", about.Outside, about.Unmarked)
}

// examineSchema compares every table, index and view with what the migrations make, and with fix
// makes them so again.
func (a *examination) examineSchema(ctx context.Context, s *Folder, fix bool, f *doctor.Findings) {
	list, err := maintain.SchemaDifferences(ctx, s.Store)
	if err != nil {
		f.Bad(areaDatabase, remedySave, "%v", err)
		return
	}
	r, err := maintain.Check(ctx, s.Store)
	if fix && (len(list) > 0 || err != nil || len(r.Problems) > 0) {
		fixed, err := maintain.RepairSchema(ctx, s.Store)
		if err != nil {
			f.Bad(areaDatabase, remedySave, "%v", err)
		}
		for _, d := range fixed {
			f.Done(areaDatabase, "%s: it was made again", d)
		}
		if err == nil && len(r.Problems) > 0 {
			f.Done(areaDatabase, "every index was built anew from its table, because of: %s", r.Problems[0])
		}
		if list, err = maintain.SchemaDifferences(ctx, s.Store); err != nil {
			f.Bad(areaDatabase, remedySave, "%v", err)
		}
	}
	for _, d := range list {
		remedy := "agent doctor --fix makes it again"
		if !d.Repairable() {
			remedy = remedySave
		}
		f.Bad(areaDatabase, remedy, "%s", d)
	}
}

func (a *examination) examineSettings(r maintain.Report, f *doctor.Findings) {
	var settings []string
	for name, value := range r.Settings {
		settings = append(settings, name+"="+value)
	}
	slices.Sort(settings)
	f.OK(areaDatabase, "settings: %s", strings.Join(settings, " "))
	switch {
	case r.OFDLocks:
		f.OK(areaDatabase, "locks belong to open files")
	case runtime.GOOS == "linux":
		f.Bad(areaDatabase, "use another build of agent", "locks belong to the process: opening and closing the file twice in it would lose them")
	}
}

// examinePrunable says what agent prune would remove, as config.toml has it.
func (a *examination) examinePrunable(ctx context.Context, s *Folder, f *doctor.Findings) {
	var keep config.Prune
	if conf, err := a.Settings(""); err == nil {
		keep = conf.Prune
	}
	doctor.Prunable(ctx, s.Host, keep.Older, keep.Runs, f)
}

func (a *examination) examineSizes(r maintain.Report, f *doctor.Findings) {
	if r.Log > walExpected {
		f.Warn(areaDatabase, "end the processes that read for long; the log is brought in when agent is idle", "its log has grown to %s", view.Bytes(r.Log))
	}
	f.OK(areaDatabase, "%s, log %s, bodies in files %s, copies in files %s", view.Bytes(r.Database), view.Bytes(r.Log), view.Bytes(r.Blobs), view.Bytes(r.Kept.Files))
	if r.Ballast == 0 {
		f.Warn(areaDatabase, "free some space: the next run makes it", "there is no ballast, so a full disk stops agent at once")
	} else {
		f.OK(areaDatabase, "ballast %s, freed when the disk is full", view.Bytes(r.Ballast))
	}
	leftover(f, "bodies", r.Leftover)
	leftover(f, "copies", r.Kept.Leftover)
}

func leftover(f *doctor.Findings, of string, left []string) {
	if len(left) > 0 {
		f.Warn(areaDatabase, "the next agent prune removes them", "%d files of %s belong to no fact: %s", len(left), of, strings.Join(left[:min(5, len(left))], ", "))
	}
}

const areaSecrets = "secrets"

// findSecrets looks through the whole state folder for secrets that lie in it in the clear.
func (a *examination) findSecrets(ctx context.Context, home string, show func(string), f *doctor.Findings) {
	s, err := a.openDoctor(ctx, home)
	if errors.Is(err, db.ErrNoState) {
		f.OK(areaSecrets, "there is no state yet: nothing was run")
		return
	}
	if err != nil {
		f.Bad(areaSecrets, remedyFor(err), "%v", err)
		return
	}
	var all int64
	found, err := maintain.FindExposed(ctx, s.Store, func(done, of int64) {
		all = of
		show(fmt.Sprintf("looked at %d of %d rows", done, of))
	})
	show("")
	if err != nil {
		f.Bad(areaSecrets, remedySave, "%v", err)
	}
	for _, x := range found {
		a.exposed(ctx, s, x, f)
	}
	if len(found) == 0 && err == nil {
		f.OK(areaSecrets, "%d rows and every file looked at: no known value and nothing that looks like a secret lies there in the clear", all)
	}
	if err := a.close(s); err != nil {
		f.Bad(areaSecrets, "", "close: %v", err)
	}
}

// exposed tells of one place. What a command that is still running has printed lies there until its
// result is stored.
func (a *examination) exposed(ctx context.Context, s *Folder, x maintain.Exposed, f *doctor.Findings) {
	const change = "change that secret where it is valid, since whoever could read the folder may have it"
	switch run, isCall := strings.CutPrefix(x.File, "calls"+string(filepath.Separator)); {
	case isCall:
		run, _, _ = strings.Cut(run, string(filepath.Separator))
		if row, err := s.Store.Run(ctx, run); err == nil && !row.Status.Terminal() {
			f.Warn(areaSecrets, "it goes once the result is stored: agent resume "+run, "%s: %s, in what a command of run %s has printed", x.Rule, x.File, run)
			return
		}
		f.Bad(areaSecrets, change+"; then agent doctor --fix removes what calls left", "%s: %s", x.Rule, x.File)
	case x.File != "":
		f.Bad(areaSecrets, change+"; then remove the file when no agent is running, unless it is the database", "%s: %s%s", x.Rule, x.File, inName(x.Column))
	case x.Seq > 0:
		f.Bad(areaSecrets, change+older, "%s: run %s, fact %d (table %s)", x.Rule, x.Run, x.Seq, x.Table)
	case x.Run != "":
		f.Bad(areaSecrets, change+older, "%s: run %s (table %s, row %d, %s)", x.Rule, x.Run, x.Table, x.Row, x.Column)
	default:
		f.Bad(areaSecrets, change+older, "%s: table %s, row %d, %s", x.Rule, x.Table, x.Row, x.Column)
	}
}

const older = " (it was written by an older agent, or before it was known to be secret)"

func inName(column string) string {
	if column == "name" {
		return ", in its name"
	}
	return ""
}
