package diff

import (
	"context"
	"fmt"
	"iter"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"agent/host/drive"
	"agent/host/undo"
	"agent/host/view"
	"agent/host/workspace"
	"agent/recovery/journal"
	pure "agent/recovery/workspace"
)

// Request is what is to be shown.
type Request struct {
	Run   string
	From  int      // the turn after which it begins; 0: before the run
	To    int      // the last turn that counts; undo.ToEnd: all
	All   bool     // what others changed meanwhile is shown too
	Paths []string // only these, and what lies below them
	Here  string   // the folder that they are seen from, if it is in the workspace; else they are seen from that
}

// Diff is what a run changed, before its contents are read.
type Diff struct {
	Run      string
	From, To int
	Folder   string
	Notes    []string // of the whole
	paths    []*changed
	source   source
}

// changed is one path.
type changed struct {
	name          string
	before, after *journal.FileVersion
	proof         journal.FileProof
	calls         []view.DiffCall
	others        []string // when somebody else changed it
	own           bool     // a call of the run did
}

// Read finds out which paths a run changed.
func Read(ctx context.Context, p *drive.Process, r Request) (*Diff, error) {
	h, err := undo.Single(ctx, p, journal.Position{Run: r.Run, Turn: r.From}, r.To)
	if err != nil {
		return nil, err
	}
	run := h.Runs[0]
	d := &Diff{Run: r.Run, From: r.From, To: min(r.To, run.Turns), Folder: h.Folder, Notes: run.Notes()}
	if d.source, err = newSource(p, h.Folder); err != nil {
		return nil, err
	}
	d.paths = d.meant(pathsOf(h.Steps, run.Phases, r.All), r)
	return d, nil
}

func newSource(p *drive.Process, folder string) (source, error) {
	contents, err := workspace.NewContents(p, folder)
	if err != nil {
		return source{}, err
	}
	return source{contents.Content, p.Store.Redact}, nil
}

// pathsOf puts the steps of each path together: what was before the first against what is after the
// last. Without all only those of calls count; a change of somebody else between two of them is in
// what is between the two.
func pathsOf(steps []pure.Step, phases map[string]string, all bool) []*changed {
	known := map[string]*changed{}
	var list []*changed
	var since = map[string][]string{} // of a path: when others changed it after the last call did
	for _, s := range steps {
		name := s.Change.Name()
		c := known[name]
		if !s.Take && !all {
			if c != nil {
				since[name] = append(since[name], s.Time.Local().Format("15:04:05"))
			}
			continue
		}
		if c == nil {
			c = &changed{name: name, before: s.Change.Before, proof: s.Change.Proof}
			known[name], list = c, append(list, c)
		}
		c.others = append(c.others, since[name]...)
		delete(since, name)
		c.add(s, phases[s.Run])
	}
	slices.SortFunc(list, func(a, b *changed) int { return strings.Compare(a.name, b.name) })
	return list
}

func (c *changed) add(s pure.Step, phase string) {
	c.after = s.Change.After
	if weaker(s.Change.Proof, c.proof) {
		c.proof = s.Change.Proof
	}
	if !s.Take {
		c.others = append(c.others, s.Time.Local().Format("15:04:05"))
		return
	}
	c.own = true
	call := view.DiffCall{Run: s.Run, Phase: phase}
	if s.During != nil {
		call.Place = &journal.Place{Turn: s.During.Turn, Index: s.During.Index}
	}
	if !slices.ContainsFunc(c.calls, call.Same) {
		c.calls = append(c.calls, call)
	}
}

// weaker says whether one proof says less than another.
func weaker(p, than journal.FileProof) bool {
	order := journal.FileProofs()
	return slices.Index(order, p) > slices.Index(order, than)
}

// meant leaves the paths that were asked for, and says which of those are none. Folders that are
// there for a file in them are left out: git has none.
func (d *Diff) meant(list []*changed, r Request) []*changed {
	for _, want := range r.Paths {
		rel := d.local(want, r.Here)
		if !slices.ContainsFunc(list, func(c *changed) bool { return within(c.name, rel) }) {
			d.Notes = append(d.Notes, want+": nothing changed there")
		}
	}
	return slices.DeleteFunc(slices.Clone(list), func(c *changed) bool {
		if len(r.Paths) > 0 && !slices.ContainsFunc(r.Paths, func(want string) bool { return within(c.name, d.local(want, r.Here)) }) {
			return true
		}
		return (folder(c.before) || folder(c.after)) && (c.before == nil || c.after == nil) &&
			slices.ContainsFunc(list, func(o *changed) bool { return strings.HasPrefix(o.name, c.name+"/") })
	})
}

func folder(v *journal.FileVersion) bool { return v != nil && v.Kind == journal.FileFolder }

// local is a path seen from the workspace.
func (d *Diff) local(name, here string) string {
	whole := name
	if !filepath.IsAbs(name) && here != "" {
		whole = filepath.Join(here, name)
	}
	if rel, err := filepath.Rel(d.Folder, whole); err == nil && filepath.IsLocal(rel) {
		name = rel
	}
	return path.Clean(filepath.ToSlash(name))
}

func within(name, above string) bool {
	return above == "." || name == above || strings.HasPrefix(name, above+"/")
}

// Files reads the contents of one path after the other, and shows what became of it.
func (d *Diff) Files(ctx context.Context) iter.Seq2[view.DiffFile, error] {
	return func(yield func(view.DiffFile, error) bool) {
		for _, c := range d.paths {
			f, ok, err := d.source.file(ctx, c.name, c.before, c.after)
			if err != nil {
				yield(f, fmt.Errorf("show what became of %s: %w", c.name, err))
				return
			}
			if !ok {
				continue // in the end nothing did
			}
			f.Proof, f.Calls, f.Others = c.proof, append(f.Calls, c.calls...), len(c.others) > 0
			if phases := f.Phases(); len(phases) > 0 {
				f.Notes = append(f.Notes, "changed by "+strings.Join(phases, ", "))
			}
			f.Notes = append(f.Notes, c.whose()...)
			if !yield(f, nil) {
				return
			}
		}
	}
}

// whose says what somebody else has in the change.
func (c *changed) whose() []string {
	if len(c.others) == 0 {
		return nil
	}
	seen := strings.Join(slices.Compact(c.others), ", ")
	if c.own {
		return []string{"somebody else changed it too, seen " + seen + ": that is in here"}
	}
	return []string{"not changed by a call: seen " + seen}
}

// View is the whole of it, for programs.
func (d *Diff) View(ctx context.Context) (view.Diff, error) {
	v := view.Diff{Version: 1, Run: d.Run, From: d.From, To: d.To, Files: []view.DiffFile{}}
	for f, err := range d.Files(ctx) {
		if err != nil {
			return v, err
		}
		v.Files = append(v.Files, f)
	}
	return v, nil
}
