package artifact

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"agent/recovery/flow"
	"agent/recovery/journal"
	"agent/tools/files"
)

// Found is how an artifact compares with its record. The verdict is the flow's.
type Found struct {
	journal.ArtifactCheck
	NoCopy  string // why an edited version has no copy, where it was to have one
	Content []byte // what lies there, of at most CopyLimit bytes, where that may count

	info fs.FileInfo // nil where no file lies there
}

// Check looks at an artifact. o is what its phase asks of it; nil of one that no phase makes. What
// was edited, and may count from here on, is made durable and copied, as Take does it; where copies
// only looks, nothing is changed. An error is one of the store or of ctx: what is wrong with the
// artifact is in Found.
func (f *Folder) Check(ctx context.Context, want journal.Artifact, o *flow.Output, copies *Copies) (Found, error) {
	found := Found{ArtifactCheck: journal.ArtifactCheck{Artifact: journal.Artifact{Path: want.Path}}}
	asked := output(want)
	if o != nil {
		asked = *o
		asked.Path = want.Path
	}
	err := f.look(ctx, want, asked, copies, &found)
	refused := (*RefusedError)(nil)
	switch {
	case err == nil:
	case ctx.Err() != nil || errors.As(err, new(*storeError)):
		return found, fmt.Errorf("look at %s: %w", want.Path, err)
	case errors.As(err, &refused):
		found.State, found.Invalid = journal.ArtifactEdited, refused.Why
	default:
		found.State, found.Reason = journal.ArtifactUnreadable, err.Error()
	}
	if found.State == journal.ArtifactIntact || found.Copied || found.Unusable != "" || want.Copy == "" {
		return found, nil
	}
	_, why, err := copies.open(ctx, want.Copy, want.SHA)
	if err != nil {
		return found, fmt.Errorf("look at the copy of %s: %w", want.Path, err)
	}
	found.copied(want, why)
	return found, nil
}

// copied notes whether the copy of the recorded version can be used.
func (f *Found) copied(want journal.Artifact, why string) {
	f.Copied = why == ""
	if !f.Copied {
		f.Unusable = want.SHA
		f.Reason = strings.TrimPrefix(f.Reason+"; "+why, "; ")
	}
}

// storeError is one that is not the artifact's.
type storeError struct{ error }

func (e *storeError) Unwrap() error { return e.error }

func (f *Folder) look(ctx context.Context, want journal.Artifact, o flow.Output, copies *Copies, found *Found) error {
	t, err := f.find(want.Path)
	if err != nil {
		return err
	}
	defer t.Close()
	if !copies.Looks {
		_ = t.Dir.Remove(f.temp(t)) // what a killed process left: it may be a second name of the artifact
	}
	if t.Info == nil {
		found.State = journal.ArtifactMissing
		if want.SHA == "" {
			found.State = journal.ArtifactIntact
		}
		return nil
	}
	if strings.HasSuffix(want.Path, "/") {
		return f.lookTree(ctx, t, want, o, copies, found)
	}
	r, err := f.read(ctx, t, 0, false)
	if err != nil {
		return err
	}
	found.Artifact, found.info = r.artifact(want.Path), r.info
	switch {
	case r.sha == want.SHA:
		found.State, found.Copy, found.Call = journal.ArtifactIntact, want.Copy, want.Call
		return nil
	case r.size == 0 && want.SHA != "":
		found.State = journal.ArtifactEmpty
		return nil
	case r.size < want.Size:
		cut, err := f.cut(ctx, t, want, copies, found)
		if cut || err != nil {
			return err
		}
	}
	return f.edited(ctx, o, copies, found)
}

// cut says whether what lies there is the beginning of what is recorded. Without a copy that cannot
// be known.
func (f *Folder) cut(ctx context.Context, t *files.Target, want journal.Artifact, copies *Copies, found *Found) (bool, error) {
	whole, why, err := copies.open(ctx, want.Copy, want.SHA)
	if err != nil {
		return false, &storeError{err}
	}
	if want.Copy != "" {
		found.copied(want, why)
	}
	if whole == nil {
		return false, nil
	}
	r, err := f.read(ctx, t, CopyLimit, false)
	if err != nil {
		return false, err
	}
	if !bytes.HasPrefix(whole, r.content) || r.size >= want.Size {
		return false, nil // or it was written to since
	}
	found.Artifact, found.info, found.State = r.artifact(want.Path), r.info, journal.ArtifactCut
	return true, nil
}

// edited takes a version that somebody else wrote.
func (f *Folder) edited(ctx context.Context, o flow.Output, copies *Copies, found *Found) error {
	t, err := f.take(ctx, o, copies, !copies.Looks)
	if err != nil && t.SHA != "" {
		return &storeError{err} // it was read, and could not be made durable or kept
	}
	if err != nil {
		return err
	}
	found.Artifact, found.State, found.Invalid, found.NoCopy, found.Content = t.Artifact, journal.ArtifactEdited, t.Invalid, t.NoCopy, t.Content
	return nil
}
