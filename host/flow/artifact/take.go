package artifact

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"

	"agent/recovery/fault"
	"agent/recovery/flow"
	"agent/recovery/journal"
	"agent/tools/files"
)

// Taken is what lies at a path. Where nothing does, or nothing that can be an artifact, it has no
// hash.
type Taken struct {
	journal.Artifact
	Invalid string    // why it is not what was asked for; "": it is
	NoCopy  string    // why it has no copy, where it was to have one
	Changed time.Time // when it was last written or got its name, as the file system says
	Content []byte    // of a file of at most CopyLimit bytes
}

// Take makes an output durable, reads it, looks whether it is what was asked for, and copies it.
// The caller records it with the rows of copies. What a phase can do better is in Taken.Invalid;
// an error is one of the disk, of the store or of ctx, after which nothing may be recorded.
func (f *Folder) Take(ctx context.Context, o flow.Output, copies *Copies) (Taken, error) {
	t, err := f.take(ctx, o, copies, true)
	if errors.Is(err, errChanging) || errors.Is(err, fs.ErrPermission) {
		t.Invalid, err = fmt.Sprintf("it cannot be read: %v", err), nil
	}
	if err != nil {
		return t, fmt.Errorf("take %s: %w", o.Path, err)
	}
	return t, nil
}

// take does it, and syncs where asked. Without copies nothing is copied.
func (f *Folder) take(ctx context.Context, o flow.Output, copies *Copies, sync bool) (Taken, error) {
	taken := Taken{Artifact: journal.Artifact{Path: o.Path}}
	t, err := f.find(o.Path)
	if refused := (*RefusedError)(nil); errors.As(err, &refused) {
		taken.Invalid = refused.Why
		return taken, nil
	}
	if err != nil {
		return taken, err
	}
	defer t.Close()
	switch {
	case t.Info == nil:
		taken.Invalid = missing
		return taken, nil
	case o.Dir():
		return f.takeTree(ctx, t, o, sync)
	}
	own := f.own[t.Rel]
	durable := strings.HasPrefix(own, stamp(t.Info)+" ")
	r, err := f.read(ctx, t, CopyLimit, sync && !durable)
	if err == nil && durable && own != placed(r.info, r.sha) {
		durable = false
		r, err = f.read(ctx, t, CopyLimit, sync)
	}
	if err != nil {
		return taken, err
	}
	taken.Artifact, taken.Content, taken.Changed = r.artifact(o.Path), r.content, changed(r.info)
	if taken.Invalid = Invalid(o, r.size, r.content); taken.Invalid != "" {
		return taken, nil
	}
	if sync && !durable {
		err = f.syncFolders(t)
	}
	if err != nil {
		return taken, err
	}
	if sync {
		f.hit(fault.ArtifactSynced)
	}
	if copies == nil || o.NoCopy {
		return taken, nil
	}
	if taken.Copy, taken.NoCopy, err = copies.keep(ctx, r.size, r.content); err != nil {
		return taken, err
	}
	f.hit(fault.ArtifactCopied)
	return taken, nil
}

const missing = "it is not there"

// Before says what lies at the outputs of a phase that is about to begin, and copies it: whatever
// becomes of it there, nothing of a person's is lost. An error is a reason not to begin.
func (f *Folder) Before(ctx context.Context, outputs []flow.Output, copies *Copies) ([]Taken, error) {
	var all []Taken
	for _, o := range outputs {
		t, err := f.take(ctx, flow.Output{Path: o.Path, Empty: true}, copies, false)
		if err != nil {
			return nil, fmt.Errorf("look at what lies at %s: %w", o.Path, err)
		}
		if t.Invalid == missing {
			t.Invalid = ""
		}
		all = append(all, t)
	}
	return all, nil
}

// Fresh says whether a file was written since a look before its phase began: what lay there before,
// and nobody touched, is not what the phase made.
func Fresh(before, now journal.Artifact) bool {
	return now.SHA != "" && (before.SHA != now.SHA || before.Stamp != now.Stamp)
}

// changed is the later of the times at which a file was written and at which its name, its owner or
// its mode was set.
func changed(info fs.FileInfo) time.Time {
	at := info.ModTime()
	if c := time.Unix(0, files.IDOf(info).Ctime); c.After(at) {
		return c
	}
	return at
}

// output is what is asked of an artifact of which no phase says anything.
func output(a journal.Artifact) flow.Output {
	return flow.Output{Path: a.Path, Empty: true, NoCopy: strings.HasSuffix(a.Path, "/")}
}
