package view

import (
	"errors"
	"fmt"
	"syscall"
	"time"

	"agent/db"
	"agent/host"
	"agent/host/owner"
	"agent/recovery"
)

// Refusal is what every command prints with --json when it is refused. Fields are only ever added.
type Refusal struct {
	Version   int             `json:"version"`
	RunID     string          `json:"run_id"` // empty where it is about none
	ThreadID  string          `json:"thread_id,omitempty"`
	Reused    bool            `json:"reused"` // another run has the thread, or drives the run
	Submitted bool            `json:"submitted"`
	Status    string          `json:"status"` // always refused
	RunStatus recovery.Status `json:"run_status,omitempty"`
	ExitCode  int             `json:"exit_code"`
	Code      string          `json:"code,omitempty"` // names the reason for programs, where it has a name
	Error     string          `json:"error"`
	Next      []string        `json:"next"`
	Plan      *Rewind         `json:"plan,omitempty"` // what a rewind would do now, where it is not what was planned
}

// StatusRefused is the status of a refusal.
const StatusRefused = "refused"

// The reasons that have a name. They stay.
const (
	CodeKeyReused  = "key_reused"  // the start key was first given with another request
	CodeThreadBusy = "thread_busy" // the thread's latest run has not ended
	CodeHeld       = "held"        // another process drives the run
	CodeLooser     = "looser"      // a resume may only tighten
	CodeFolderGone = "folder_gone" // the run's folder cannot be used
	CodeBehind     = "behind"      // the database is older than the folder around it, and nobody decided about that
	CodeDiskFull   = "disk_full"
	CodeReadOnly   = "read_only"    // the state folder cannot be written
	CodePlan       = "plan_changed" // a rewind would not do any more what it was planned to do
)

// ErrLooser says that a resume was to loosen what a run goes by.
var ErrLooser = errors.New("a resume may only tighten")

// NewRefusal is the object about an error. run is what was asked for, as far as it is known.
func NewRefusal(err error, run string, code int) Refusal {
	v := Refusal{Version: 1, RunID: run, Status: StatusRefused, ExitCode: code, Error: err.Error(), Next: []string{}}
	for _, f := range fixes(err) {
		v.Next = append(v.Next, f.Command)
	}
	var held *owner.HeldError
	var busy *db.ThreadBusyError
	var used *host.KeyReusedError
	var changed *PlanChangedError
	switch {
	case errors.As(err, &changed):
		v.Code, v.Plan = CodePlan, &changed.Plan
	case errors.As(err, &used):
		v.RunID, v.Code = used.Run, CodeKeyReused
	case errors.As(err, &busy):
		v.RunID, v.ThreadID, v.RunStatus, v.Reused, v.Code = busy.Run, busy.Thread, busy.Status, true, CodeThreadBusy
	case errors.As(err, &held):
		v.RunID, v.Reused, v.Code = held.Run, true, CodeHeld
	case errors.Is(err, ErrLooser):
		v.Code = CodeLooser
	case errors.Is(err, host.ErrFolder):
		v.Code = CodeFolderGone
		if len(v.Next) == 0 && run != "" {
			v.Next = []string{"agent resume --dir FOLDER " + run}
		}
	case errors.As(err, new(*db.BehindError)):
		v.Code = CodeBehind
	case errors.Is(err, db.ErrDiskFull), errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		v.Code = CodeDiskFull
		if len(v.Next) == 0 {
			v.Next = []string{"agent doctor"}
		}
	case errors.Is(err, db.ErrReadOnly), errors.Is(err, syscall.EROFS):
		v.Code = CodeReadOnly
	}
	return v
}

// Fix is a command that helps after an error, with what it does.
type Fix struct{ Does, Command string }

// Fixable is an error that knows what helps.
type Fixable interface {
	error
	Fixes() []Fix
}

// FolderError is a thread that is to go on in a folder that is not there any more.
type FolderError struct{ Thread, Folder string }

func (e *FolderError) Error() string {
	return fmt.Sprintf("go on with thread %s: its folder %s is not there any more", e.Thread, e.Folder)
}

// Unwrap is the reason that has a name.
func (e *FolderError) Unwrap() error { return host.ErrFolder }

// Fixes is what has it go on elsewhere.
func (e *FolderError) Fixes() []Fix {
	return []Fix{{"go on elsewhere", "agent run --thread " + e.Thread + " --dir FOLDER"}}
}

// BusyError is a thread whose latest run has not ended, with what can be done about that run as it
// is now.
type BusyError struct {
	*db.ThreadBusyError
	fixes []Fix
}

// Unwrap is the thread.
func (e *BusyError) Unwrap() error { return e.ThreadBusyError }

// Fixes is what can be done about the run.
func (e *BusyError) Fixes() []Fix { return e.fixes }

// NewBusyError completes the refusal of a prompt for a thread that is taken: what is to be done
// depends on who drives its run.
func NewBusyError(err *db.ThreadBusyError, v Run, now time.Time) *BusyError {
	out := &BusyError{ThreadBusyError: err}
	if v.Request != nil && !v.Expired(now) {
		for _, command := range AnswerCommands(v.Request) {
			out.fixes = append(out.fixes, Fix{"answer it", command})
		}
	}
	if v.Owner != nil {
		out.fixes = append(out.fixes, driven(v.ID)...)
	} else {
		out.fixes = append(out.fixes, Fix{"go on with it", "agent resume " + v.ID})
	}
	out.fixes = append(out.fixes, Fix{"end it", "agent cancel " + v.ID})
	return out
}

// driven is what can be done about a run that a process drives.
func driven(run string) []Fix {
	return []Fix{{"watch it", "agent show --follow " + run}, {"take it over", "agent resume --takeover " + run}}
}

// fixes are the commands that help after an error, where they are known.
func fixes(err error) []Fix {
	var known Fixable
	var held *owner.HeldError
	var finished *host.FinishedError
	var used *host.KeyReusedError
	var deaf *host.DeafError
	switch {
	case errors.As(err, &deaf):
		var list []Fix
		for _, command := range deaf.Next {
			list = append(list, Fix{deaf.Does, command})
		}
		return list
	case errors.As(err, &used):
		return []Fix{{"see it", "agent show " + used.Run}}
	case errors.As(err, &known) && len(known.Fixes()) > 0:
		return known.Fixes()
	case errors.As(err, &held):
		return driven(held.Run)
	case errors.As(err, new(*db.BehindError)):
		return []Fix{{"see and decide", "agent restore --here"}}
	case errors.As(err, &finished):
		return []Fix{{"see it", "agent show " + finished.State.Created.Run}}
	}
	return nil
}

// Hints are the lines below an error: what helps, each with the command.
func Hints(err error) []string {
	if known := fixes(err); len(known) > 0 {
		lines, width := make([]string, len(known)), 16
		for _, f := range known {
			width = max(width, len(f.Does)+2)
		}
		for i, f := range known {
			lines[i] = fmt.Sprintf("%-*s%s", width, f.Does+":", f.Command)
		}
		return lines
	}
	switch {
	case errors.As(err, new(*db.CorruptError)):
		return []string{"see what else is damaged: agent doctor"}
	case errors.Is(err, db.ErrIO), errors.Is(err, syscall.EIO):
		return []string{"see to the disk, then look at what was kept: agent doctor, agent ls"}
	case errors.Is(err, db.ErrDiskFull), errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return []string{"see how much room is left: agent doctor", "make room on its disk, then see what is to go on with: agent ls"}
	case errors.Is(err, db.ErrReadOnly), errors.Is(err, syscall.EROFS):
		return []string{"make it writable, or choose another state folder with AGENT_HOME"}
	}
	return nil
}
