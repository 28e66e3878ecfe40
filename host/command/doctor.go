package command

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"

	"github.com/urfave/cli/v3"

	"agent/db"
	"agent/host/app"
	"agent/host/config"
	"agent/host/doctor"
	"agent/host/view"
)

const doctorHelp = `Checks that everything that agent promises holds here: the state folder and
its disk, the database, every journal against its digests and against the
lists made from it, who drives what, and what was left behind; the
configuration, and what the system lets the sandbox enforce. Each finding
that is wrong names its fix. It changes nothing without --fix, which marks
runs that lost their owner and removes files that nothing needs any more.

--secrets looks through every row, every body and every file of the state
folder for secrets that lie there in the clear: values of this environment,
values that were ever sealed, and what looks like a secret. It prints where
and of what kind, never the value.

--salvage reads row by row what can still be read, also from a database that
is damaged, and writes it as lines of JSON.

EXAMPLE
   agent doctor
   agent doctor --json
   agent doctor --secrets
   agent doctor --salvage saved.jsonl

EXIT STATUS
   0 nothing is wrong, warnings apart; 1 something is; 2 wrong usage`

func (a *commandLine) doctorCommand() *cli.Command {
	return &cli.Command{
		Name:        "doctor",
		Usage:       "check the installation and the state folder",
		Description: doctorHelp,
		Flags: []cli.Flag{
			&cli.BoolFlag{Name: "fix", Usage: "fix what needs no decision"},
			&cli.BoolFlag{Name: "secrets", Usage: "only look for secrets that lie in the clear"},
			&cli.StringFlag{Name: "salvage", Usage: "write what can still be read to `FILE`, as JSON lines (- is stdout)"},
			jsonFlag(),
		},
		Action: a.doctor,
	}
}

func (a *commandLine) doctor(ctx context.Context, c *cli.Command) error {
	if err := noArguments(c); err != nil {
		return err
	}
	home, err := a.Home()
	if err != nil {
		return err
	}
	if c.IsSet("salvage") {
		if c.Bool("fix") || c.Bool("json") || c.Bool("secrets") {
			return app.Usage(errors.New("give --salvage alone: it writes JSON lines and fixes nothing"))
		}
		return a.salvage(ctx, home, c.String("salvage"))
	}
	var f doctor.Findings
	if c.Bool("secrets") {
		if c.Bool("fix") {
			return app.Usage(errors.New("give --secrets without --fix: it only looks"))
		}
		a.findSecrets(ctx, home, &f)
	} else {
		f = doctor.Folder(home)
		a.examineSelf(home, &f)
		a.examineStore(ctx, home, c.Bool("fix"), &f)
	}
	v := view.Doctor{Version: 1, Agent: Version, Home: home, Findings: f}
	for _, finding := range f {
		switch finding.Level {
		case doctor.LevelBad:
			v.Bad++
		case doctor.LevelWarn:
			v.Warnings++
		}
	}
	v.OK = v.Bad == 0
	if c.Bool("json") {
		a.PrintJSON(v)
	} else {
		a.printFindings(v)
	}
	if !v.OK {
		return withCode(view.ExitFailed)
	}
	return nil
}

// examineSelf looks at this process: settings that weaken a promise, and what commands run in.
func (a *commandLine) examineSelf(home string, f *doctor.Findings) {
	const area = "settings"
	if a.armed != "" {
		f.Warn(area, "unset AGENT_FAULT and AGENT_FAULT_UNSAFE", "%s", a.armed)
	}
	if a.Getenv("AGENT_ALLOW_UNSAFE_FS") == "1" {
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
	a.ExamineSandbox(home, f)
}

// examineConfig reads the person's configuration: with an error in it nothing starts.
func (a *commandLine) examineConfig(f *doctor.Findings) {
	const area = "configuration"
	path := config.UserPath(a.Getenv)
	if path == "" {
		return
	}
	conf, _, err := a.Config("")
	if err != nil {
		f.Bad(area, "fix that line: until then no run starts", "%v", err)
		return
	}
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		f.OK(area, "%s is not there, and need not be", a.Tilde(path))
		return
	}
	rules := "no rules of permission"
	if n := len(conf.Rules); n > 0 {
		rules = fmt.Sprintf("rules of permission: %d", n)
	}
	f.OK(area, "%s is in order; %s", a.Tilde(path), rules)
}

// examineStore opens the state folder, for reading unless something is to be mended, and looks into it.
func (a *commandLine) examineStore(ctx context.Context, home string, fix bool, f *doctor.Findings) {
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
	*f = append(*f, found...)
	if err != nil {
		f.Bad(areaDatabase, remedySave, "%v", err)
	}
	if err := s.close(); err != nil {
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

// openDoctor opens without the look that every other command begins with: what it would mark is a finding here.
func (a *commandLine) openDoctor(ctx context.Context, home string) (*session, error) {
	write, err := app.Writable(home)
	if err != nil {
		return nil, err
	}
	f, err := a.OpenRaw(ctx, home, app.RawOptions{Write: write, Crowded: true})
	if err != nil {
		return nil, err
	}
	return &session{app: a, Folder: f}, nil
}

func (a *commandLine) printFindings(v view.Doctor) {
	area := ""
	for i, f := range v.Findings {
		head := ""
		if f.Area != area {
			area, head = f.Area, f.Area
		}
		level := string(f.Level)
		if f.Fixed {
			level = "done"
		}
		a.Say(a.Out, "%-4s  %-15s  %s", level, head, f.What)
		if last := i == len(v.Findings)-1; f.Remedy != "" && (last || v.Findings[i+1].Remedy != f.Remedy) { // once below all that it mends
			a.Say(a.Out, "%23s-> %s", "", f.Remedy)
		}
	}
	switch {
	case v.Bad > 0:
		a.Say(a.Out, "\n%d wrong, %d to know about", v.Bad, v.Warnings)
	case v.Warnings > 0:
		a.Say(a.Out, "\nnothing is wrong; %d to know about", v.Warnings)
	default:
		a.Say(a.Out, "\nnothing is wrong")
	}
}
