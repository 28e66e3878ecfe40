package moves

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"agent/db"
	"agent/db/backup"
	"agent/db/moves"
	"agent/host"
	"agent/host/app"
	"agent/host/pack"
	"agent/host/view"
	"agent/host/witness"
	"agent/host/workspace"
	"agent/recovery/fault"
	"agent/tools/durable"
)

// ExportOptions say how runs go.
type ExportOptions struct {
	To   *pack.Address // the store that the pack is sealed to; nil for none: secrets are left out then
	Move bool          // the runs go on there, and not here
	Path string        // of the pack; "" is a name of its own in Here
	Here string
}

// making begins the names of packs that are being written.
const making = ".agent-export-"

// Export writes the pack of a run's thread. It is there whole or not at all.
func Export(ctx context.Context, s *app.Folder, run string, o ExportOptions) (v view.Exported, err error) {
	sel, err := moves.Select(ctx, s.Store, run)
	if err != nil {
		return v, err
	}
	path := o.Path
	if path == "" {
		path = filepath.Join(o.Here, run+".pack")
	}
	if path, err = filepath.Abs(path); err != nil {
		return v, fmt.Errorf("export to %s: %w", path, err)
	}
	if err := durable.Free(path); errors.Is(err, fs.ErrExist) {
		return v, fmt.Errorf("export to %s: a file is there already; choose another name", path)
	} else if err != nil {
		return v, fmt.Errorf("export to %s: %w", path, err)
	}
	h := pack.Header{ID: host.NewID("m"), Move: o.Move, Made: s.Host.Now().UTC().Truncate(time.Second)}
	if _, h.From, _, err = db.PackKey(ctx, s.Store); err != nil {
		return v, err
	}
	temp, err := temporary(path)
	if err != nil {
		return v, fmt.Errorf("export to %s: %w", path, err)
	}
	defer func() {
		if err != nil { // what went wrong says more
			_ = temp.Close()
			_ = os.Remove(temp.Name())
		}
	}()
	var left *leaving
	if o.Move {
		if left, err = leave(ctx, s, sel, h, o.To); err != nil {
			return v, err
		}
		defer func() { err = errors.Join(err, left.close()) }()
		sel, h = left.sel, left.header
		fault.Hit(fault.PackMarked)
	}
	if v, err = write(ctx, s, temp, sel, h, o.To); err == nil {
		err = named(temp, path)
	}
	if errors.Is(err, fs.ErrExist) {
		return v, fmt.Errorf("export to %s: a file is there already; choose another name", path)
	}
	if err != nil {
		return v, fmt.Errorf("export to %s: %w%s", path, err, again(o.Move))
	}
	v.Path = path
	if left != nil {
		v.Flying = append(v.Flying, left.flying...)
	}
	return v, nil
}

// again says what helps where runs are marked as gone, and there is no pack.
func again(move bool) string {
	if !move {
		return ""
	}
	return "; the runs are marked as moved: the same command writes the pack again, or agent resume --reclaim takes one back"
}

// temporary makes a file beside the place of a pack, and removes what was left of others.
func temporary(path string) (*os.File, error) {
	dir := filepath.Dir(path)
	backup.Sweep(dir, making)
	return os.CreateTemp(dir, backup.TempName(making))
}

// named syncs a pack and gives it its name.
func named(temp *os.File, path string) error {
	if err := temp.Sync(); err != nil {
		return err
	}
	if err := temp.Close(); err != nil {
		return err
	}
	fault.Hit(fault.PackSealed)
	return durable.Link(temp.Name(), path)
}

// write writes what a selection has.
func write(ctx context.Context, s *app.Folder, temp *os.File, sel moves.Selection, h pack.Header, to *pack.Address) (v view.Exported, err error) {
	w, err := pack.NewWriter(temp, h, to)
	if err != nil {
		return v, err
	}
	about := pack.About{Thread: sel.Thread, Host: s.Self.Host, By: s.Who, Agent: s.Version, Whole: to != nil, Runs: len(sel.Runs)}
	for _, r := range sel.Runs {
		about.Facts += r.LastSeq
	}
	if err := w.Write(pack.Record{About: &about}); err != nil {
		return v, err
	}
	if err := writeThreads(s.Store, w, sel, to != nil); err != nil {
		return v, err
	}
	if err := moves.Gather(ctx, s.Store, sel, everything(w, to != nil)); err != nil {
		return v, err
	}
	for _, r := range sel.Runs {
		if err := writeRun(ctx, s.Store, w, r); err != nil {
			return v, fmt.Errorf("run %s: %w", r.ID, err)
		}
	}
	if err := w.Close(); err != nil {
		return v, err
	}
	info, err := temp.Stat()
	if err != nil {
		return v, err
	}
	v = view.Exported{
		Version: 1, PackID: h.ID, Bytes: info.Size(), Made: h.Made, StoreID: h.From, Moved: h.Move, Key: to != nil, ThreadID: sel.Thread,
		Facts: about.Facts, Runs: []view.PackedRun{}, Flying: []view.CallAt{},
	}
	if to != nil {
		v.To = to.String()
	}
	for _, r := range sel.Runs {
		if r.Root == "" {
			v.Runs = append(v.Runs, view.PackedRun{Run: r.ID, Status: string(r.Status), Facts: r.LastSeq, Words: view.OneLine(r.Words)})
		} else {
			v.Below++
		}
	}
	return v, nil
}

func writeThreads(s *db.Store, w *pack.Writer, sel moves.Selection, whole bool) error {
	for _, t := range sel.Threads {
		r := pack.Thread{ID: t.ID, KeyOf: t.KeyOf, Folder: t.Folder, Created: t.Created, Source: t.Source}
		if whole {
			key, err := db.LineageKey(s, t.ID)
			if err != nil {
				return err
			}
			r.Key = key
		}
		if err := w.Write(pack.Record{Thread: &r}); err != nil {
			return err
		}
	}
	return nil
}

// everything writes what facts name.
func everything(w *pack.Writer, whole bool) moves.Everything {
	return moves.Everything{
		Whole: whole, Named: workspace.Named,
		Body: func(data []byte) error { return w.Write(pack.Record{Body: data}) },
		Kept: func(name string, data []byte, list bool) error {
			return w.Write(pack.Record{Kept: &pack.Kept{Name: name, List: list, Data: data}})
		},
		Secret: func(id, rule string, value []byte) error {
			return w.Write(pack.Record{Secret: &pack.Secret{ID: id, Rule: rule, Value: value}})
		},
		Environ: func(id string, variables []string) error {
			return w.Write(pack.Record{Environ: &pack.Environ{ID: id, Variables: variables}})
		},
	}
}

// writeRun writes a run with its facts. That they are all, their number and their digest say.
func writeRun(ctx context.Context, s *db.Store, w *pack.Writer, r moves.Run) error {
	head := pack.Run{ID: r.ID, Thread: r.Thread, Facts: r.LastSeq}
	err := db.EachStored(ctx, s, r.ID, 0, r.LastSeq, func(f db.Stored) error {
		fact := witness.Fact(f)
		head.Digest = pack.Chain(head.Digest, &fact)
		return nil
	})
	if err == nil {
		err = w.Write(pack.Record{Run: &head})
	}
	if err != nil {
		return err
	}
	return db.EachStored(ctx, s, r.ID, 0, r.LastSeq, func(f db.Stored) error {
		fact := witness.Fact(f)
		return w.Write(pack.Record{Fact: &fact})
	})
}
