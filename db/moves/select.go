package moves

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"

	"agent/db"
	"agent/db/dbsqlc"
	"agent/db/keep"
	"agent/recovery"
	"agent/recovery/journal"
)

// Thread is one that goes.
type Thread struct {
	db.ThreadRow
	Source bool // it only goes along, since another one was forked from it
}

// Run is one that goes, with where it stood when it was looked at.
type Run struct {
	ID      string
	No      int64
	Thread  string
	Status  recovery.Status
	Cause   journal.Cause
	LastSeq int64
	Root    string // the run at the top; "" for that one
	Words   string
	Source  bool // of a thread that only goes along
}

// Selection is what goes with a thread.
type Selection struct {
	Thread  string // that persons know
	Threads []Thread
	Runs    []Run // in the order in which they began
}

// Select finds what goes with the thread of a run.
func Select(ctx context.Context, s *db.Store, run string) (sel Selection, err error) {
	row, err := s.Run(ctx, run)
	if err != nil {
		return sel, err
	}
	sel.Thread = cmp.Or(row.RootThread, row.Thread)
	seen := map[string]bool{}
	for at := sel.Thread; at != "" && !seen[at]; {
		seen[at] = true
		if at, err = sel.add(ctx, s, at, at != sel.Thread); err != nil {
			return sel, err
		}
	}
	slices.SortFunc(sel.Runs, func(a, b Run) int { return cmp.Compare(a.No, b.No) })
	return sel, nil
}

// add takes in a thread with the runs below its runs, and gives the thread that it was forked from.
func (sel *Selection) add(ctx context.Context, s *db.Store, thread string, source bool) (from string, err error) {
	var rows []dbsqlc.Run
	ids := map[int64]string{}
	err = db.Read(ctx, s, "see what goes with thread "+thread, func(q *dbsqlc.Queries) error {
		rows, err = q.RunsOfFamilies(ctx, thread)
		return err
	})
	if err != nil || len(rows) == 0 {
		return "", err
	}
	threads := map[string]bool{}
	for _, r := range rows {
		ids[r.No] = r.ID
		sel.Runs = append(sel.Runs, Run{
			ID: r.ID, No: r.No, Thread: r.Thread, Status: recovery.Status(r.Status), Cause: journal.Cause(r.Cause), LastSeq: r.LastSeq,
			Root: ids[r.RootNo], Words: r.Words, Source: source,
		})
		if !threads[r.Thread] {
			threads[r.Thread] = true
			t, err := s.Thread(ctx, r.Thread)
			if err != nil {
				return "", err
			}
			sel.Threads = append(sel.Threads, Thread{t, source})
		}
	}
	return origin(ctx, s, rows[0].ID, thread)
}

// origin is the thread that the first run of another one was forked from; "" for none.
func origin(ctx context.Context, s *db.Store, first, thread string) (string, error) {
	var created journal.RunCreated
	for e, err := range s.Load(ctx, first, 0) {
		if err != nil {
			return "", err
		}
		created, _ = e.Body.(journal.RunCreated)
		break
	}
	if created.From == nil {
		return "", nil
	}
	row, err := s.Run(ctx, created.From.Run)
	if errors.As(err, new(*db.UnknownIDError)) {
		return "", nil // it was removed, and the model is not shown it any more
	}
	if from := cmp.Or(row.RootThread, row.Thread); err == nil && from != thread {
		return from, nil
	}
	return "", err
}

// Names are what facts name, by their names.
type Names struct {
	Kept         map[string]bool
	Lists        map[string]bool // of Kept: lists of files
	Bodies       map[string]bool // of outputs, in hexadecimal
	Environments map[string]bool
	Secrets      map[string]bool

	find, held *regexp.Regexp
}

// NewNames begins with none.
func NewNames() *Names {
	return &Names{
		Kept: map[string]bool{}, Lists: map[string]bool{}, Bodies: map[string]bool{}, Environments: map[string]bool{}, Secrets: map[string]bool{},
		find: regexp.MustCompile(`"(kept|copy|manifest|blob|env)":"([0-9A-Za-z_-]{10,64})"`), // no other member of a fact is called so
		held: regexp.MustCompile(`\[secret:[^\]\[:"]{1,64}:([0-9a-z]{10,52})\]`),
	}
}

// Without is those that another has not.
func (n *Names) Without(other *Names) *Names {
	out := NewNames()
	for _, pair := range [][3]map[string]bool{
		{n.Kept, other.Kept, out.Kept}, {n.Lists, other.Lists, out.Lists}, {n.Bodies, other.Bodies, out.Bodies},
		{n.Environments, other.Environments, out.Environments}, {n.Secrets, other.Secrets, out.Secrets},
	} {
		for name := range pair[0] {
			if !pair[1][name] {
				pair[2][name] = true
			}
		}
	}
	return out
}

// Join adds those of another.
func (n *Names) Join(other *Names) {
	maps.Copy(n.Kept, other.Kept)
	maps.Copy(n.Lists, other.Lists)
	maps.Copy(n.Bodies, other.Bodies)
	maps.Copy(n.Environments, other.Environments)
	maps.Copy(n.Secrets, other.Secrets)
}

// Add takes in what a body names, a fact's or an output.
func (n *Names) Add(body []byte) {
	for _, m := range n.find.FindAllSubmatch(body, -1) {
		name := string(m[2])
		switch string(m[1]) {
		case "blob":
			n.Bodies[name] = true
		case "env":
			n.Environments[name] = true
		case "manifest":
			n.Lists[name], n.Kept[name] = true, true
		default:
			n.Kept[name] = true
		}
	}
	for _, m := range n.held.FindAllSubmatch(body, -1) {
		n.Secrets[string(m[1])] = true
	}
}

// AddHidden is Add, and takes in what is only there once escapes are resolved: what a person made
// by hand may be written in any way.
func (n *Names) AddHidden(body []byte) {
	n.Add(body)
	var v any
	if json.Unmarshal(body, &v) == nil {
		n.walk(v)
	}
}

func (n *Names) walk(v any) {
	switch v := v.(type) {
	case string:
		n.Add([]byte(v))
		var inner any
		if json.Unmarshal([]byte(v), &inner) == nil {
			if _, text := inner.(string); !text || inner != v {
				n.walk(inner)
			}
		}
	case []any:
		for _, one := range v {
			n.walk(one)
		}
	case map[string]any:
		for name, one := range v {
			n.Add([]byte(name))
			if text, ok := one.(string); ok {
				n.Add(fmt.Appendf(nil, `"%s":"%s"`, name, text))
			}
			n.walk(one)
		}
	}
}

// Everything is what goes of a store beside facts: each is called once for each name that can be
// given back.
type Everything struct {
	Body    func(data []byte) error
	Kept    func(name string, data []byte, list bool) error // lists of files come last, behind what they name; nil: they stay
	Secret  func(id, rule string, value []byte) error
	Environ func(id string, variables []string) error

	Named func(manifest []byte) ([]string, error) // lists the contents that a list of files names
	Whole bool                                    // what is sealed goes too
}

// Gather gives what the facts of a selection name. Outputs may name secrets, and lists of files
// contents: these are found on the way.
func Gather(ctx context.Context, s *db.Store, sel Selection, e Everything) error {
	n := NewNames()
	for _, r := range sel.Runs {
		err := db.EachStored(ctx, s, r.ID, 0, r.LastSeq, func(f db.Stored) error {
			n.Add(f.Body)
			if f.Long {
				return e.Body(f.Body)
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return GatherNamed(ctx, s, n, e)
}

// GatherNamed is Gather for names that were read from facts.
func GatherNamed(ctx context.Context, s *db.Store, n *Names, e Everything) error {
	for _, name := range slices.Sorted(maps.Keys(n.Bodies)) {
		data, err := body(ctx, s, name)
		if err != nil {
			return err
		}
		n.Add(data)
		if err := e.Body(data); err != nil {
			return err
		}
	}
	if !e.Whole {
		return nil
	}
	var err error
	if e.Kept != nil {
		err = e.contents(ctx, s, n)
	}
	return errors.Join(err, e.environments(ctx, s, n), e.secrets(ctx, s, n))
}

// body reads an output by its name.
func body(ctx context.Context, s *db.Store, name string) (data []byte, err error) {
	hash, err := hex.DecodeString(name)
	if err != nil {
		return nil, fmt.Errorf("read output %s: %v", name, err)
	}
	err = db.Read(ctx, s, "read output "+name, func(q *dbsqlc.Queries) error {
		b, err := q.GetBlob(ctx, hash)
		if err == nil {
			data, err = s.Bodies().Open(b.Hash, b.Size, b.Encoding, b.Data)
		}
		return err
	})
	return data, err
}

func (e Everything) contents(ctx context.Context, s *db.Store, n *Names) error {
	kept, err := s.Contents()
	if err != nil {
		return err
	}
	give := func(name string, take func([]byte) error) error {
		data, err := kept.Get(ctx, name)
		if errors.As(err, new(*keep.LostError)) {
			return nil // it had to make room, or is no content: nobody gets it back here either
		}
		if err == nil {
			err = take(data)
		}
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(n.Lists)) {
		err := give(name, func(data []byte) error {
			list, err := e.Named(data)
			for _, one := range list {
				n.Kept[one] = true
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	for _, list := range []bool{false, true} {
		for _, name := range slices.Sorted(maps.Keys(n.Kept)) {
			if n.Lists[name] != list {
				continue
			}
			if err := give(name, func(data []byte) error { return e.Kept(name, data, list) }); err != nil {
				return err
			}
		}
	}
	return nil
}

func (e Everything) environments(ctx context.Context, s *db.Store, n *Names) error {
	for _, id := range slices.Sorted(maps.Keys(n.Environments)) {
		variables, err := s.Environment(ctx, id)
		if errors.As(err, new(*db.LostEnvironmentError)) {
			continue // as above
		}
		if err != nil {
			return err
		}
		if err := e.Environ(id, variables); err != nil {
			return err
		}
	}
	return nil
}

func (e Everything) secrets(ctx context.Context, s *db.Store, n *Names) error {
	for _, id := range slices.Sorted(maps.Keys(n.Secrets)) {
		rule, value, ok, err := db.Secret(ctx, s, id)
		if err != nil {
			return err
		}
		if !ok {
			continue // as above
		}
		if err := e.Secret(id, rule, value); err != nil {
			return err
		}
	}
	return nil
}

// InTheWay is why a run that has not ended cannot go yet: an answer, or something else that was
// left for it and not taken up.
func InTheWay(ctx context.Context, s *db.Store, no int64) (what string, err error) {
	err = db.Read(ctx, s, "see what was left for a run", func(q *dbsqlc.Queries) error {
		id, err := q.UntakenAnswer(ctx, no)
		if err == nil {
			what = "the answer to " + id
			return nil
		}
		if !errors.Is(err, sql.ErrNoRows) {
			return err
		}
		left, err := q.LeftForRun(ctx, no)
		if len(left) > 0 {
			what = "something that was left for it (" + left[0].Kind + ")"
		}
		return err
	})
	return what, err
}
