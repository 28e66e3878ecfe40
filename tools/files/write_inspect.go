package files

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"path"

	"agent/recovery"
	"agent/recovery/journal"
	"agent/tools"
	"agent/tools/excerpt"
)

// evidence is what a write records before it may act, and what a look after a crash compares with.
type evidence struct {
	Path   string `json:"path"`             // in the workspace, symlinks followed
	Before seen   `json:"before"`           // what was there
	After  string `json:"after"`            // SHA-256 of the content to be, in hex
	Size   int64  `json:"size"`             // bytes of the content to be
	Folder string `json:"folder,omitempty"` // the deepest folder that was there, in the workspace
	Inode  uint64 `json:"folder_inode,omitempty"`
	Count  int    `json:"count,omitempty"` // replacements of an edit
}

// facts is Result.Data of a write.
type facts struct {
	Path  string `json:"path"`
	Hash  string `json:"hash"` // SHA-256 of the content that is there now, in hex
	Size  int64  `json:"size"`
	Count int    `json:"replacements,omitempty"`
}

func hashOf(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}

// evidenceOf describes a target that was just looked at.
func evidenceOf(w *Workspace, s *Target, before seen, content []byte) (evidence, error) {
	e := evidence{Path: w.shown(s.Rel), Before: before, After: hashOf(content), Size: int64(len(content))}
	e.Folder = path.Dir(e.Path)
	for range s.missing {
		e.Folder = path.Dir(e.Folder)
	}
	info, err := s.Dir.Stat(".")
	if err != nil {
		return e, fmt.Errorf("look at the folder of %s: %w", s.asked, reason(err))
	}
	e.Inode = IDOf(info).Inode
	return e, nil
}

// writeResult words what a write did.
func writeResult(e evidence, how journal.How) journal.Result {
	applied := journal.AppliedYes
	what := "created"
	if e.Before.Exists {
		what = "replaced"
	}
	text := fmt.Sprintf("%s %s: %s", what, e.Path, excerpt.Plural(int(e.Size), "byte", "bytes"))
	if e.Count > 0 {
		text = fmt.Sprintf("edited %s: %s, now %s", e.Path, excerpt.Plural(e.Count, "replacement", "replacements"), excerpt.Plural(int(e.Size), "byte", "bytes"))
	}
	if how == journal.HowExecuted && e.Before.Exists && e.Before.Hash == e.After {
		applied = journal.AppliedNo
		text = fmt.Sprintf("%s already had exactly this content: nothing was written", e.Path)
	}
	r := tools.Done(applied, text)
	r.How = how
	r.Data = tools.Encode(facts{Path: e.Path, Hash: e.After, Size: e.Size, Count: e.Count})
	return r
}

// inspectWrite looks whether an unsettled write happened. It changes nothing: a temporary file that
// a killed write left is removed by the call's next attempt, and is hidden from the other tools
// until then.
func (l limits) inspectWrite(c tools.Call, asked string) recovery.Inspection {
	unclear := func(format string, a ...any) recovery.Inspection {
		return recovery.Inspection{Answer: recovery.InspectionUnclear, Why: fmt.Sprintf(format, a...)}
	}
	var e evidence
	if err := json.Unmarshal(c.Before, &e); err != nil || e.After == "" {
		return unclear("nothing is recorded of what was there before")
	}
	w, err := l.open(c, asked)
	if err != nil {
		return unclear("%v", err)
	}
	defer w.Close()
	s, err := w.Find(asked)
	if err != nil {
		return unclear("%v", err)
	}
	defer s.Close()
	if w.shown(s.Rel) != e.Path {
		return unclear("%s led to %s and leads to %s now", asked, e.Path, w.shown(s.Rel))
	}
	now, _, err := s.look(0)
	if err != nil {
		return unclear("%v", err)
	}
	answer, why := judge(e, now)
	if answer == recovery.InspectionNotHappened && !now.Exists {
		if err := w.sameFolder(e); err != nil {
			return unclear("%v", err)
		}
	}
	if answer == recovery.InspectionHappened {
		r := writeResult(e, journal.HowVerified)
		r.Content += " (seen after an interruption)"
		r.Size = int64(len(r.Content))
		return recovery.Inspection{Answer: answer, Result: &r, Why: why}
	}
	if _, err := s.Dir.Lstat(tempName(c, c.Attempt)); err == nil && len(s.missing) == 0 {
		why += fmt.Sprintf("; its unfinished copy %s lies beside it", tempName(c, c.Attempt))
	}
	return recovery.Inspection{Answer: answer, Why: why}
}

// judge compares what is there with what was there and what was to be there. Only a file whose
// inode and ctime are the recorded ones was left alone: the same content may have been put back by
// a person, which is a decision to respect.
func judge(e evidence, now seen) (recovery.InspectionAnswer, string) {
	was := e.Before
	untouched := was.Exists && now.Exists && now.Hash == was.Hash && now.Inode == was.Inode && now.Ctime == was.Ctime && was.Inode != 0
	switch {
	case !was.Exists && !now.Exists:
		return recovery.InspectionNotHappened, e.Path + " is still not there"
	case untouched:
		return recovery.InspectionNotHappened, e.Path + " is exactly as it was before"
	case now.Exists && now.Hash == e.After:
		return recovery.InspectionHappened, e.Path + " holds the new content"
	case !now.Exists:
		return recovery.InspectionUnclear, e.Path + " was there and is gone"
	case was.Exists && now.Hash == was.Hash:
		return recovery.InspectionUnclear, e.Path + " holds its old content, but was touched since: it may have been put back"
	}
	return recovery.InspectionUnclear, e.Path + " holds neither its old content nor the new one"
}

// sameFolder makes sure that a file that is not there is missing from the folder that was looked at
// before.
func (w *Workspace) sameFolder(e evidence) error {
	s, err := w.Find(e.Folder)
	if err != nil {
		return err
	}
	defer s.Close()
	if s.Info == nil || !s.Info.IsDir() {
		return fmt.Errorf("the folder %s was there and is gone", e.Folder)
	}
	if IDOf(s.Info).Inode != e.Inode {
		return fmt.Errorf("the folder %s was replaced by another one", e.Folder)
	}
	return nil
}
