package command

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"agent/host/app"
	"agent/host/view"
	"agent/recovery"
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

// toResume is the run that a resume names. last is the newest run of the folder that can be
// resumed: an older one that was interrupted stands behind none that is done.
func (s *resuming) toResume(ctx context.Context, text string, takeover bool) (string, error) {
	if strings.ToLower(strings.TrimSpace(text)) != "last" {
		_, run, err := s.find(ctx, text, 'r')
		return run, err
	}
	folder, err := s.app.only()
	if err == nil && folder == "" {
		folder, err = s.app.folder("")
	}
	if err != nil {
		return "", err
	}
	newest, err := s.Store.LatestRun(ctx, folder)
	if err != nil {
		return "", err
	}
	resumable, err := s.resumable(ctx)
	if err != nil {
		return "", err
	}
	driven := newest != nil && newest.Status == recovery.StatusRunning && !slices.Contains(s.Lost, newest.ID)
	here := slices.IndexFunc(resumable, func(r app.RunRow) bool { return r.Folder == s.Store.Redact(folder) })
	switch {
	case driven && (takeover || here < 0): // without --takeover the refusal names who drives it
		s.app.about = newest.ID
		return newest.ID, nil
	case here >= 0:
		s.app.about = resumable[here].ID
		return resumable[here].ID, nil
	}
	out := &nothingToResumeError{folder: s.app.Tilde(folder), none: newest == nil}
	if newest != nil {
		out.fixes = append(out.fixes, view.Fix{Does: "see the newest", Command: "agent show " + newest.ID})
	}
	if len(resumable) > 0 {
		out.elsewhere = s.app.Tilde(resumable[0].Folder)
		out.fixes = append(out.fixes, view.Fix{Does: "go on there", Command: "agent resume " + resumable[0].ID})
	}
	return "", out
}

// resumable lists the interrupted and waiting runs of all folders, the newest first, with those
// whose loss could not be marked.
func (s *resuming) resumable(ctx context.Context) ([]app.RunRow, error) {
	rows, err := s.Store.Runs(ctx, app.Filter{Interrupted: true, Waiting: true})
	for _, id := range s.Lost {
		row, lostErr := s.Store.Run(ctx, id)
		rows, err = append(rows, row), errors.Join(err, lostErr)
	}
	slices.SortFunc(rows, func(a, b app.RunRow) int { return int(b.No - a.No) })
	return rows, err
}
