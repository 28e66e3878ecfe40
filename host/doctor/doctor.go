// Package doctor looks whether what a state folder promises holds, and says what a person can do
// about what does not. With fix it repairs what needs no decision: runs without an owner are
// marked, rows are made again from their journals, files that nothing needs any more are removed.
package doctor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"agent/db"
	"agent/host"
	"agent/host/drive/disknote"
	"agent/tools/runner"
)

// Level says how much a finding matters.
type Level string

// The levels of a finding.
const (
	LevelOK   Level = "ok"
	LevelWarn Level = "warn" // works, and a person should know
	LevelBad  Level = "bad"  // a promise does not hold
)

// Finding is one thing that doctor looked at.
type Finding struct {
	Level  Level  `json:"level"`
	Area   string `json:"area"`
	What   string `json:"what"`
	Remedy string `json:"remedy,omitempty"`
	Fixed  bool   `json:"fixed,omitempty"` // --fix repaired it
}

// Findings grow while doctor looks.
type Findings []Finding

// OK adds something that is as it should be.
func (f *Findings) OK(area, format string, args ...any) {
	*f = append(*f, Finding{Level: LevelOK, Area: area, What: fmt.Sprintf(format, args...)})
}

// Warn adds something that a person should know.
func (f *Findings) Warn(area, remedy, format string, args ...any) {
	*f = append(*f, Finding{Level: LevelWarn, Area: area, What: fmt.Sprintf(format, args...), Remedy: remedy})
}

// Bad adds something that breaks a promise.
func (f *Findings) Bad(area, remedy, format string, args ...any) {
	*f = append(*f, Finding{Level: LevelBad, Area: area, What: fmt.Sprintf(format, args...), Remedy: remedy})
}

// Done adds something that was repaired.
func (f *Findings) Done(area, format string, args ...any) {
	*f = append(*f, Finding{Level: LevelOK, Area: area, What: fmt.Sprintf(format, args...), Fixed: true})
}

// Areas of findings.
const (
	areaFolder   = "state folder"
	areaDisk     = "disk"
	areaModes    = "modes"
	areaTemp     = "temporary files"
	areaRuns     = "runs"
	areaJournal  = "journal"
	areaTables   = "tables"
	areaCalls    = "calls"
	areaLive     = "live text"
	areaPins     = "pins"
	areaOwners   = "owners"
	areaPlatform = "platform"
)

// roomWanted is what should be free on the disk of the state folder, roomNeeded what must be.
const (
	roomWanted = 256 << 20
	roomNeeded = 32 << 20
)

// Folder looks at a state folder from outside: where it lies, who can read it, how much room there
// is. It opens no database and changes nothing.
func Folder(home string) Findings {
	var f Findings
	info, err := os.Stat(home)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		f.OK(areaFolder, "%s is not there yet: the first run makes it", home)
	case err != nil:
		f.Bad(areaFolder, "choose another one with AGENT_HOME", "%s cannot be used: %v", home, err)
		return f
	case !info.IsDir():
		f.Bad(areaFolder, "move it away, or choose another one with AGENT_HOME", "%s is not a folder", home)
		return f
	default:
		f.OK(areaFolder, "%s", home)
	}
	f.disk(home)
	if info != nil {
		f.modes(home)
		f.temporary(home)
	}
	f.platform()
	return f
}

func (f *Findings) disk(home string) {
	d, err := db.DiskOf(home)
	if err != nil {
		f.Bad(areaDisk, "choose another state folder with AGENT_HOME", "%v", err)
		return
	}
	switch {
	case d.Unsafe:
		f.Bad(areaDisk, "move the state folder to a local disk (AGENT_HOME)",
			"%s is on %s, where neither locks nor fsync can be relied on: a crash may lose or repeat work", home, d.Name)
	case d.Volatile:
		f.Warn(areaDisk, "choose a folder on a disk with AGENT_HOME", "%s is on %s: a restart of the machine forgets everything", home, d.Name)
	case d.Name == "":
		f.OK(areaDisk, "a local file system, as far as can be seen")
	default:
		f.OK(areaDisk, "%s", d.Name)
	}
	const remedy = "free some space before anything new is started"
	switch {
	case d.Free < 0:
		f.Warn(areaDisk, "", "how much is free is not known here")
	case d.Free < roomNeeded:
		f.Bad(areaDisk, remedy, "%d MiB are free, too little to record what runs", d.Free>>20)
	case d.Free < roomWanted:
		f.Warn(areaDisk, remedy, "%d MiB are free", d.Free>>20)
	default:
		f.OK(areaDisk, "%d MiB are free", d.Free>>20)
	}
	f.health(home)
	if d.Files == 0 {
		f.Bad(areaDisk, "remove some files (df -i) before anything new is started", "no inode is left, so no file can be made")
	}
}

// modes looks for what others could read or write of ours. Files below a closed folder are looked
// at too: a copy of the folder keeps their modes, not its own. What agent did not make there is not
// its business.
func (f *Findings) modes(home string) {
	if runtime.GOOS == "windows" {
		return // there are none
	}
	var open, paths []string
	seen, foreign := 0, false
	err := filepath.WalkDir(home, func(path string, e fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist) || path == home && err == nil:
			return nil // gone meanwhile; or the folder itself, which is judged by what lies in it
		case err != nil:
			return err
		case filepath.Dir(path) == home && !db.IsOwnName(e.Name()):
			foreign = true
			if e.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		info, err := e.Info()
		if err != nil || info.Mode()&fs.ModeSymlink != 0 {
			return nil // gone meanwhile, or no file of ours
		}
		seen++
		if info.Mode().Perm()&0o077 != 0 {
			paths = append(paths, path)
			open = append(open, fmt.Sprintf("%s (%#o)", path, info.Mode().Perm()))
		}
		return nil
	})
	if err != nil {
		f.Bad(areaModes, "make the folder your own: chown -R and chmod -R u+rwX", "look at the modes of %s: %v", home, err)
		return
	}
	if len(open) > 0 {
		f.Bad(areaModes, "run chmod -R go= "+strings.Join(paths, " "), "others can read or write %d files of agent: %s", len(open), firstOf(open, 5))
	}
	f.folderMode(home, foreign, seen, len(open) == 0)
}

// folderMode judges the state folder itself. An open one that holds nothing else is closed by
// whatever opens it next; one that others can write in is refused.
func (f *Findings) folderMode(home string, foreign bool, seen int, closed bool) {
	info, err := os.Stat(home)
	if err != nil {
		f.Bad(areaModes, "", "look at the mode of %s: %v", home, err)
		return
	}
	mode := info.Mode().Perm()
	switch {
	case mode&0o022 != 0:
		f.Bad(areaModes, "run chmod 700 "+home, "others can write in %s (%#o), so nothing is run with it", home, mode)
	case mode&0o055 != 0 && foreign:
		f.Warn(areaModes, "choose a folder of its own with AGENT_HOME",
			"others can list %s (%#o), which holds other files too; what agent writes there cannot be read by them", home, mode)
	case mode&0o055 != 0:
		f.OK(areaModes, "others can list %s (%#o); the next run closes it", home, mode)
	case closed:
		f.OK(areaModes, "nobody else can read or write any of the %d files and folders", seen+1)
	}
}

// firstOf joins the first names of a list and says how many it left out.
func firstOf(list []string, n int) string {
	if len(list) <= n {
		return strings.Join(list, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(list[:n], ", "), len(list)-n)
}

// temporary finds files that were being made when their process ended. They cost room and nothing
// else.
func (f *Findings) temporary(home string) {
	var left []string
	for _, pattern := range []string{".key-*", ".ballast-*", ".agent-try-*", "blobs/*/.new-*", "keep/*/.new-*"} {
		found, err := filepath.Glob(filepath.Join(home, filepath.FromSlash(pattern)))
		if err != nil {
			f.Bad(areaTemp, "", "look for %s: %v", pattern, err) // the patterns are our own
			return
		}
		left = append(left, found...)
	}
	if len(left) > 0 {
		f.Warn(areaTemp, "when no agent is running, remove them", "%d are left or being written: %s", len(left), firstOf(left, 5))
	}
}

// platform says what this system cannot keep.
func (f *Findings) platform() {
	lost := runner.Limits()
	if runtime.GOOS != "linux" {
		lost = append(lost, "a file system on the network is not recognised")
	}
	if len(lost) == 0 {
		f.OK(areaPlatform, "%s/%s: every promise is kept here", runtime.GOOS, runtime.GOARCH)
	}
	for _, what := range lost {
		f.Warn(areaPlatform, "run it on Linux where that matters", "%s/%s: %s", runtime.GOOS, runtime.GOARCH, what)
	}
}

// Examine looks at everything that the store, the locks and the calls' folders say. With fix it
// also repairs what can be repaired without a decision: it marks runs that lost their owner, and
// removes files that nothing needs any more.
func Examine(ctx context.Context, h *host.Host, fix bool) (Findings, error) {
	var f Findings
	e := &examiner{h: h, fix: fix, Findings: &f}
	if err := e.tables(ctx); err != nil {
		return f, err
	}
	if err := e.reload(ctx); err != nil {
		return f, err
	}
	for _, look := range []func(context.Context) error{e.ahead, e.unowned, e.owners, e.fruitless, e.journals, e.leftovers, e.temps, e.pins, e.live} {
		if ctx.Err() != nil {
			return f, fmt.Errorf("look at the state folder: %v", context.Cause(ctx))
		}
		if err := look(ctx); err != nil {
			return f, err
		}
	}
	return f, nil
}

// reload reads the rows of the runs.
func (e *examiner) reload(ctx context.Context) error {
	rows, err := e.h.Store.Runs(ctx, db.Filter{All: true, Children: true})
	e.rows = map[string]db.RunRow{}
	for _, r := range rows {
		e.rows[r.ID] = r
	}
	return err
}

// health reports what the file system of the state folder says of itself. What the disk loses when
// it fails, no record can keep.
func (f *Findings) health(home string) {
	d := disknote.Read(home)
	const remedy = "see to the disk (dmesg, e2fsck); calls of which a record is missing since are asked about"
	switch {
	case !d.Counts:
		f.OK(areaDisk, "a count of its errors is not offered by this file system, or cannot be read: an error that nobody met goes unnoticed")
	case d.Errors > 0:
		f.Warn(areaDisk, remedy, "the file system counts %d errors, the last at %s", d.Errors, time.Unix(d.LastError, 0).UTC().Format(time.DateTime))
	default:
		f.OK(areaDisk, "the file system counts no errors")
	}
	if d.Noted != 0 {
		f.Warn(areaDisk, remedy, "errors of the disk met here and noted in %s: %d", disknote.Path(home), d.Noted)
	}
}
