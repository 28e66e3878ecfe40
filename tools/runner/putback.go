package runner

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"agent/tools/gitrepo"
)

// Names inside a call's folder of a command that is looked after: what was obeyed before it, and
// what was put back after its runner was lost.
const (
	beforeName  = "before"
	putBackName = "put-back"
)

// putBack undoes what a command planted in its workspace, and says what it did.
func putBack(before *gitrepo.Snapshot) []string {
	if before == nil {
		return nil
	}
	after, err := before.Again()
	if err != nil {
		return []string{fmt.Sprintf("what git and editors obey could not be compared with what was there before: %v", err)}
	}
	notes := gitrepo.PutBack(before.Folder, gitrepo.Changed(*before, after))
	if missed := after.Missed(); missed != "" {
		notes = append(notes, missed)
	}
	return notes
}

// brief keeps sentences short enough for an exit record, which has room for these bytes of them
// however they are escaped. All of them are in a file of their own.
func brief(notes []string) []string {
	const room = 600
	var list []string
	for i, n := range notes {
		if len(n) > 200 {
			n = clip(n[:200])
		}
		b, err := json.Marshal(append(list[:i:i], n))
		if err != nil || len(b) > room {
			return append(list, fmt.Sprintf("%d more", len(notes)-i))
		}
		list = append(list, n)
	}
	return list
}

// Keep stores what was obeyed before a command in its call's folder, for the case that its runner
// is lost. It is not synced: who loses it has lost the machine's memory with the command, and is
// informed.
func (j *Job) Keep(before *gitrepo.Snapshot) error {
	b, err := json.Marshal(before)
	if err == nil {
		err = os.WriteFile(filepath.Join(j.folder, beforeName), b, 0o600)
	}
	if err != nil {
		return fmt.Errorf("prepare call %s: keep what is obeyed in its folder: %w", j.spec.Mark(), err)
	}
	return nil
}

// PutBack does for a command whose runner was lost, and of which nothing is alive, what the runner
// would have done. What it did is kept in the call's folder, and PutBackNotes returns it.
func PutBack(folder string) error {
	if has, err := there(folder, putBackName); has || err != nil {
		return err // it was done
	}
	b, err := os.ReadFile(filepath.Join(folder, beforeName))
	if errors.Is(err, fs.ErrNotExist) {
		return nil // nothing of it is looked after
	}
	var before gitrepo.Snapshot
	if err == nil {
		err = json.Unmarshal(b, &before)
	}
	notes := []string{fmt.Sprintf("what git and editors obey could not be compared with what was there before: %v", err)}
	if err == nil {
		notes = putBack(&before)
	}
	return note(folder, notes)
}

// note keeps what was put back in the call's folder.
func note(folder string, notes []string) error {
	b, err := json.Marshal(notes)
	if err == nil {
		err = os.WriteFile(filepath.Join(folder, putBackName), b, 0o600)
	}
	if err != nil {
		return fmt.Errorf("note in %s what was put back: %w", folder, err)
	}
	return nil
}

// PutBackNotes is what the runner or PutBack put back; nil if that was nothing.
func PutBackNotes(folder string) []string {
	b, err := os.ReadFile(filepath.Join(folder, putBackName))
	var notes []string
	if err != nil || json.Unmarshal(b, &notes) != nil {
		return nil // it was not done, and what cannot be read says nothing
	}
	return notes
}
