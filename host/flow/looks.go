package flow

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"

	"agent/host/drive"
	"agent/host/flow/artifact"
	"agent/recovery/flow"
	"agent/recovery/journal"
)

// look compares an artifact with a version of it.
func (f *carrying) look(ctx context.Context, p *drive.Process, want journal.Artifact) (flow.Look, error) {
	found, err := f.folder.Check(ctx, want, flow.Asked(f.s, want.Path), f.copies)
	if err != nil {
		return flow.Look{}, err
	}
	l := flow.Look{Artifact: found.Artifact, State: found.State, Detail: found.Reason, Copied: found.Copied, Invalid: found.Invalid}
	if l.State == journal.ArtifactEdited {
		l.Run, l.Call, err = f.writer(ctx, p, l.Artifact)
	}
	return l, err
}

// writer is the run that is under way and whose call, as recorded, wrote what lies at a path.
func (f *carrying) writer(ctx context.Context, p *drive.Process, a journal.Artifact) (run, call string, err error) {
	for _, x := range flow.UnderWay(f.s) {
		if x.Open.Part != journal.PartWork || x.Open.Mode == journal.ModePlan {
			continue
		}
		if _, there, err := f.engine.Carrier.Row(ctx, x.Open.Run); err != nil || !there {
			return "", "", err
		}
		s, err := drive.Alone(ctx, p, x.Open.Run)
		if err != nil {
			return "", "", fmt.Errorf("read run %s: %w", x.Open.Run, err)
		}
		if call := wrote(s, a.Path, a.SHA); call != "" {
			return x.Open.Run, call, nil
		}
	}
	return "", "", nil
}

// check looks at all artifacts that count.
func (f *carrying) check(ctx context.Context, h drive.Hands, a flow.Check) error {
	if f.looked == nil || f.looked.Epoch != f.s.Run.Epoch {
		fact, err := f.lookAtAll(ctx, h.Process(), a.Artifacts)
		if err != nil {
			return unlessEnded(ctx, err)
		}
		f.looked = &fact
	}
	f.record(h, *f.looked)
	f.looked = nil
	return nil
}

// lookAtAll is a look at artifacts, with what becomes of each.
func (f *carrying) lookAtAll(ctx context.Context, p *drive.Process, all []journal.Artifact) (journal.ArtifactsChecked, error) {
	looks, err := lookAt(ctx, f, p, all)
	if err != nil {
		return journal.ArtifactsChecked{}, err
	}
	return f.s.Cascade(looks, ""), nil
}

// lookAt compares artifacts, each with the version that is given.
func lookAt(ctx context.Context, f *carrying, p *drive.Process, all []journal.Artifact) ([]flow.Look, error) {
	var looks []flow.Look
	for _, want := range all {
		l, err := f.look(ctx, p, want)
		if err != nil {
			return nil, err
		}
		looks = append(looks, l)
	}
	return looks, nil
}

// unlessEnded is an error, where it is not that the context has ended: the next step leaves then.
func unlessEnded(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// restore puts artifacts back, each once what is recorded of it is durable.
func (f *carrying) restore(ctx context.Context, h drive.Hands, a flow.Restore) error {
	for _, r := range a.Files {
		if err := h.Commit(ctx); err != nil {
			return err
		}
		fact, err := f.putBack(ctx, h, r)
		if errors.As(err, new(*artifact.RefusedError)) { // what lies there is a person's to move
			return f.unreadable(ctx, h, fmt.Errorf("%w; move it away, then resume", err))
		}
		if errors.As(err, new(*artifact.FolderError)) {
			return f.unreadable(ctx, h, err)
		}
		if err != nil {
			return unlessEnded(ctx, err)
		}
		f.record(h, fact)
		if fact.Kind() != journal.KindArtifactRestored {
			return nil // what follows from that is another state
		}
	}
	return nil
}

// putBack puts one artifact back. Where it cannot, or somebody wrote there meanwhile, what lies
// there now is looked at again.
func (f *carrying) putBack(ctx context.Context, h drive.Hands, r flow.Repair) (journal.Body, error) {
	found, err := f.folder.Check(ctx, r.Artifact, nil, &artifact.Copies{Contents: f.copies.Contents, Looks: true})
	if err != nil {
		return nil, err
	}
	unusable := ""
	if found.SHA == r.Over || found.SHA == r.Artifact.SHA || found.State != journal.ArtifactEdited && found.State != journal.ArtifactUnreadable {
		var fact journal.Body
		err := h.Writing(ctx, r.Artifact.Path, func() (err error) {
			fact, err = f.folder.Restore(ctx, r.Artifact, found, f.copies)
			return err
		})
		switch {
		case err == nil:
			return fact, nil
		case errors.As(err, new(*artifact.NoCopyError)):
			unusable = r.Artifact.SHA
		case !errors.As(err, new(*artifact.ChangedError)):
			return nil, err
		}
	}
	counts, _ := f.s.Counts(r.Artifact.Path)
	l, err := f.look(ctx, h.Process(), counts)
	if err != nil {
		return nil, err
	}
	fact := f.s.Cascade([]flow.Look{l}, "restore")
	if unusable != "" && len(fact.Artifacts) > 0 {
		fact.Artifacts[0].Unusable = unusable
	}
	return fact, nil
}

// list reads the items of an each phase.
func (f *carrying) list(ctx context.Context, h drive.Hands, a flow.List) error {
	l, err := f.look(ctx, h.Process(), a.Artifact)
	if err != nil {
		return unlessEnded(ctx, err)
	}
	var items []item
	var wrong error
	if l.SHA != "" {
		text, err := content(ctx, f.folder, l.Artifact)
		if err != nil {
			return unlessEnded(ctx, err)
		}
		items, wrong = readItems(text)
	}
	list := make([]journal.PhaseItem, len(items))
	for i := range items {
		list[i] = items[i].PhaseItem
	}
	fact := f.s.Listed(a, l, list, wrong)
	if left, ok := fact.(journal.RunInterrupted); ok {
		return f.unreadable(ctx, h, errors.New(left.Detail))
	}
	f.record(h, fact)
	return nil
}

// errChanged says that a file is another one than it was a moment before.
var errChanged = errors.New("it was written to meanwhile")

// content is what a file holds, exactly in this version; nil of a folder or a file that is too
// large to be shown.
func content(ctx context.Context, folder *artifact.Folder, a journal.Artifact) ([]byte, error) {
	t, err := folder.Take(ctx, flow.Output{Path: a.Path, Empty: true, NoCopy: true}, nil)
	if err == nil && t.SHA != a.SHA {
		err = fmt.Errorf("read %s: %w", a.Path, errChanged)
	}
	return t.Content, err
}

// item is one of a list, with what it says.
type item struct {
	journal.PhaseItem
	data string // canonical JSON
}

// readItems reads a list: a JSON array of texts, or of objects with a name.
func readItems(content []byte) ([]item, error) {
	var raw []json.RawMessage
	bad := &json.SyntaxError{}
	switch err := json.Unmarshal(content, &raw); {
	case errors.As(err, &bad):
		return nil, fmt.Errorf("it is no JSON (byte %d: %v)", bad.Offset, err)
	case err != nil, raw == nil: // null is no array either
		return nil, errors.New("it is no JSON array")
	}
	var out []item
	for i, r := range raw {
		var v any
		if err := json.Unmarshal(r, &v); err != nil {
			return nil, fmt.Errorf("item %d: %v", i+1, err)
		}
		data, err := json.Marshal(v) // keys in order, no white space
		if err != nil {
			return nil, fmt.Errorf("item %d: %v", i+1, err)
		}
		name, _ := v.(string)
		if o, ok := v.(map[string]any); ok {
			name, _ = o["name"].(string)
		}
		if name == "" {
			return nil, fmt.Errorf("item %d has no name: it is a text, or an object with the key name", i+1)
		}
		sum := sha256.Sum256(data)
		out = append(out, item{journal.PhaseItem{Name: name, Digest: hex.EncodeToString(sum[:])}, string(data)})
	}
	return out, nil
}
