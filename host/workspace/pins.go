package workspace

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"agent/db"
	"agent/db/family"
	"agent/host/drive"
	"agent/host/drive/fold"
	"agent/recovery/journal"
	"agent/tools/gitrepo/objects"
)

// Pins lists the pins of a state folder by the runs that they were made for.
func Pins(p *drive.Process) ([]string, error) {
	dirs, err := os.ReadDir(filepath.Join(p.Home, PinsFolder))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("list the pins: %w", err)
	}
	var runs []string
	for _, d := range dirs {
		runs = append(runs, d.Name())
	}
	return runs, nil
}

// Unpin removes the pin of a run.
func Unpin(p *drive.Process, root string) error {
	return objects.Remove(filepath.Join(p.Home, PinsFolder, root))
}

// PinNeeded says whether something is in the pin of a run alone, which is over: a content that was
// recorded as what a call destroyed, or all of a repository that is gone.
func PinNeeded(ctx context.Context, p *drive.Process, root string) (bool, error) {
	rows, err := family.Below(ctx, p.Store, root)
	if err != nil {
		return false, err
	}
	runs := []string{root}
	for _, r := range rows {
		runs = append(runs, r.ID)
	}
	read := p.Reader().Restored(ctx, func(db.Unrecoverable) {}) // a name of a content is no secret
	for _, run := range runs {
		facts, err := fold.Facts(read(run))
		if err != nil {
			return false, err
		}
		if pinned(facts) {
			return true, nil
		}
	}
	return false, nil
}

// pinned says whether the facts of one run need the pin.
func pinned(facts []journal.Event) bool {
	folder := ""
	for _, e := range facts {
		folder = journal.FolderAfter(e.Body, folder)
		switch b := e.Body.(type) {
		case journal.FilesBase:
			if _, ok, err := objects.Find(folder); b.Pin != "" && (!ok || err != nil) {
				return true
			}
		case journal.FilesChanged:
			for _, c := range b.Changes {
				if c.Proof != journal.ProofGit && (inPin(c.Before) || inPin(c.After)) {
					return true
				}
			}
		}
	}
	return false
}

func inPin(v *journal.FileVersion) bool { return v != nil && v.Git != "" && v.Kept == "" }

// unpin removes the pin of a run that is over, unless something is in it alone.
func (k *Keeper) unpin(root string) {
	if _, err := os.Lstat(k.pin(root)); err != nil {
		return // most have none
	}
	needed, err := PinNeeded(context.Background(), k.Process, root)
	if err == nil && !needed {
		err = Unpin(k.Process, root)
	}
	if err != nil {
		k.Process.Warn(root, "what git's objects held for it is not removed: %v (agent doctor finds it)", err)
	}
}
