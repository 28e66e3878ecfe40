package pick

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"agent/host/app"
	"agent/host/view"
	"agent/recovery"
	"agent/recovery/journal"
)

// nothingToResumeError says that no run of a folder can be resumed, with the commands for what
// there is.
type nothingToResumeError struct {
	folder    string
	none      bool   // no run was started there
	elsewhere string // the folder of a run that can be resumed
	fixes     []view.Fix
}

func (e *nothingToResumeError) Error() string {
	text := fmt.Sprintf("resume last: no run of %s can be resumed", e.folder)
	if e.none {
		text = "resume last: no run was started in " + e.folder
	}
	if e.elsewhere != "" {
		text += "; one of " + e.elsewhere + " can be resumed"
	}
	return text
}

// Fixes is what there is to do instead.
func (e *nothingToResumeError) Fixes() []view.Fix { return e.fixes }

// LastToResume is the newest run of a folder, "" for any, that can be resumed: an older one that
// was interrupted stands behind none that is done. One that is driven is meant where it is to be
// taken over.
func LastToResume(ctx context.Context, s *app.Folder, folder string, takeover bool) (string, error) {
	var newest *app.RunRow
	var err error
	if folder != "" {
		newest, err = s.Store.LatestRun(ctx, folder)
	}
	if err != nil {
		return "", err
	}
	resumable, err := resumable(ctx, s)
	if err != nil {
		return "", err
	}
	driven := newest != nil && newest.Status == recovery.StatusRunning && !slices.Contains(s.Lost, newest.ID)
	here := slices.IndexFunc(resumable, func(r app.RunRow) bool { return folder == "" || r.Folder == s.Store.Redact(folder) })
	switch {
	case driven && (takeover || here < 0): // without a takeover the refusal names who drives it
		return newest.ID, nil
	case here >= 0:
		return resumable[here].ID, nil
	}
	if folder == "" {
		return "", errors.New("resume: no run can be resumed")
	}
	out := &nothingToResumeError{folder: s.Tilde(folder), none: newest == nil}
	if newest != nil {
		out.fixes = append(out.fixes, view.Fix{Does: "see the newest", Command: "agent show " + newest.ID})
	}
	if len(resumable) > 0 {
		out.elsewhere = s.Tilde(resumable[0].Folder)
		out.fixes = append(out.fixes, view.Fix{Does: "go on there", Command: "agent resume " + resumable[0].ID})
	}
	return "", out
}

// ToResume lists the runs of a folder that can be resumed, the newest first; of all folders for "".
func ToResume(ctx context.Context, s *app.Folder, folder string) ([]app.RunRow, error) {
	rows, err := resumable(ctx, s)
	return slices.DeleteFunc(rows, func(r app.RunRow) bool { return folder != "" && r.Folder != s.Store.Redact(folder) }), err
}

// resumable lists the interrupted and waiting runs of all folders that did not go to another store,
// the newest first, with those whose loss could not be marked.
func resumable(ctx context.Context, s *app.Folder) ([]app.RunRow, error) {
	rows, err := s.Store.Runs(ctx, app.Filter{Interrupted: true, Waiting: true})
	for _, id := range s.Lost {
		row, lostErr := s.Store.Run(ctx, id)
		rows, err = append(rows, row), errors.Join(err, lostErr)
	}
	rows = slices.DeleteFunc(rows, func(r app.RunRow) bool { return r.Cause == journal.CauseMoved })
	slices.SortFunc(rows, func(a, b app.RunRow) int { return int(b.No - a.No) })
	return rows, err
}
