package db

import (
	"context"
	"crypto/rand"
	"database/sql"
	"embed"

	"agent/db/blob"
	"agent/db/dbsqlc"
	"agent/db/identity"
	"agent/db/keep"
	marks "agent/db/mark"
	"agent/db/sqlitefile"
	"agent/db/vault"
)

// migrations holds the files 00001_name.sql, 00002_… in goose's format. A released one is never
// edited.
//
//go:embed migrations/*.sql
var migrations embed.FS

// knownSchema is the number of the last migration; a test compares it with the files.
const knownSchema = 6

// layouts are the layouts of the formats from 1 to knownSchema, each the digest of all migrations
// up to it. A database whose layout is another one was made by a build that was never released,
// when a migration had another text.
func layouts() []int { return []int{0xdd318, 0x255550, 0x9e354, 0x732393, 0x6b7bd8, 0x57f2bf} }

// trialLayouts are those of formats that builds made which were never released, where their numbers
// are given to other formats now.
func trialLayouts() []int { return []int{0x441b1d, 0x3b2bb4} }

// applicationID marks a database as ours: "agnt" read as a number.
const applicationID = 0x61676e74

// format is the database of a state folder, as far as no store has to be open to know it.
func format() sqlitefile.Format {
	return sqlitefile.Format{
		Name: FileName, ApplicationID: applicationID, Migrations: migrations, Layouts: layouts(), TrialLayouts: trialLayouts(),
		Probe:  "SELECT EXISTS (SELECT 1 FROM runs)",
		Beside: []string{vault.KeyName, marks.Folder, blob.Folder, keep.Folder, "locks", "calls", "live", "log", "left", ".key-*", "token", "serve.*", ".serve-*"},
	}
}

// format adds what the store looks at while its database is opened.
func (s *Store) format() sqlitefile.Format {
	f := format()
	f.Missing = s.missing
	f.Prepare = func(dir string, fresh bool) (err error) {
		s.key, err = vault.OpenKey(dir, fresh)
		return err
	}
	f.Fill = func(ctx context.Context, conn *sql.Conn, file string) error {
		at, err := identity.Of(file)
		if err != nil {
			return err
		}
		return dbsqlc.New(conn).SetStore(ctx, dbsqlc.SetStoreParams{
			ID: newStoreID(), KeyMac: vault.KeyMAC(s.key), Inode: at.Inode, Born: at.Born, Machine: at.Machine,
		})
	}
	f.Check = func(ctx context.Context, f *sqlitefile.File) error {
		s.file = f
		return s.checkKey(ctx)
	}
	return f
}

// newStoreID names a store for good: no other one has the name.
func newStoreID() string { return "s-" + rand.Text() }

// IsOwnName says whether agent makes files of this name in its state folder.
func IsOwnName(name string) bool { return format().Owns(name) }
