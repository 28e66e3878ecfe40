package maintain

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"agent/db"
	"agent/db/sqlitefile"
)

// SchemaDifference is a table, index, view or trigger that is not as the migrations make it.
type SchemaDifference struct {
	Kind, Name string
	What       string
	repair     []string // statements that make it right; none where only a copy helps
}

// Repairable says whether RepairSchema can make it right.
func (d SchemaDifference) Repairable() bool { return len(d.repair) > 0 }

func (d SchemaDifference) String() string { return fmt.Sprintf("%s %s %s", d.Kind, d.Name, d.What) }

// SchemaDifferences compares every object of the schema with what the migrations make in an empty
// database.
func SchemaDifferences(ctx context.Context, s *db.Store) ([]SchemaDifference, error) {
	r, err := db.NewReplay(ctx, s)
	if err != nil {
		return nil, err
	}
	const query = "SELECT type, name, sql FROM sqlite_schema WHERE name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY type = 'view', type = 'index', name"
	want, err := sqlitefile.Records(ctx, r.Conn, query)
	var have []sqlitefile.Record
	if err == nil {
		have, err = sqlitefile.Records(ctx, s.File().Readers(), query)
	}
	var damage string
	if err == nil {
		damage, err = damageOfWords(ctx, s)
	}
	if err := errors.Join(err, r.Close()); err != nil {
		return nil, fmt.Errorf("compare the schema of %s: %w", s.File().Path(), s.File().Explain(err))
	}
	return wholeWords(schemaDifferences(have, want), have, want, damage), nil
}

func schemaDifferences(have, want []sqlitefile.Record) []SchemaDifference {
	var out []SchemaDifference
	named := func(list []sqlitefile.Record, r sqlitefile.Record) sqlitefile.Record {
		i := slices.IndexFunc(list, func(o sqlitefile.Record) bool { return o["type"] == r["type"] && o["name"] == r["name"] })
		if i < 0 {
			return nil
		}
		return list[i]
	}
	for _, w := range want {
		kind, name, text := fmt.Sprint(w["type"]), fmt.Sprint(w["name"]), fmt.Sprint(w["sql"])
		d := SchemaDifference{Kind: kind, Name: name, repair: []string{text}}
		switch h := named(have, w); {
		case h == nil:
			d.What = "is missing"
		case h["sql"] == w["sql"]:
			continue
		default:
			d.What = "is not as it was made"
			d.repair = []string{"DROP " + strings.ToUpper(kind) + " " + name, text}
			if kind == "table" {
				d.repair = nil // its rows would go with it
			}
		}
		out = append(out, d)
	}
	for _, h := range have {
		if named(want, h) == nil {
			out = append(out, SchemaDifference{Kind: fmt.Sprint(h["type"]), Name: fmt.Sprint(h["name"]), What: "was added by somebody else"})
		}
	}
	return out
}

// RepairSchema makes missing tables, indexes and views again, replaces indexes and views that are
// others, and builds every index anew from its table. Rows of a table that was lost are made by
// Repair.
func RepairSchema(ctx context.Context, s *db.Store) ([]SchemaDifference, error) {
	if !s.File().Writable() {
		return nil, fmt.Errorf("repair the schema: %w", db.ErrReadOnly)
	}
	list, err := SchemaDifferences(ctx, s)
	if err != nil {
		return nil, err
	}
	list = slices.DeleteFunc(list, func(d SchemaDifference) bool { return !d.Repairable() })
	err = s.File().Write(ctx, func(t *sqlitefile.Tx) error {
		for _, d := range list {
			if ofWords(d.Name) {
				continue
			}
			for _, text := range d.repair {
				if err := t.Once(text); err != nil {
					return fmt.Errorf("%s %s: %w", d.Kind, d.Name, err)
				}
			}
		}
		return t.Once("REINDEX")
	})
	if err != nil {
		return nil, fmt.Errorf("repair the schema of %s: %w", s.File().Path(), s.File().Explain(err))
	}
	if at := slices.IndexFunc(list, func(d SchemaDifference) bool { return ofWords(d.Name) }); at >= 0 {
		if err := repairWords(ctx, s, list[at]); err != nil {
			return slices.Delete(list, at, at+1), err
		}
	}
	return list, nil
}
