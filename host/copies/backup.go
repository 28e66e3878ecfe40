package copies

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"agent/db/backup"
	"agent/host/app"
	"agent/host/view"
)

// Recipient is who a backup's key is sealed to, and Opener what opens it.
type (
	Recipient = backup.Recipient
	Opener    = backup.Opener
)

// Backup makes one, while runs go on. Path is where nothing is yet; "" is a name of today in the
// folder here.
func Backup(ctx context.Context, s *app.Folder, path, here string, to *Recipient) (b view.Backup, err error) {
	now := s.Host.Now()
	if path == "" {
		path = filepath.Join(here, "agent-"+now.Local().Format("2006-01-02-150405")+".backup")
	}
	if path, err = filepath.Abs(path); err != nil {
		return b, fmt.Errorf("back up to %s: %w", path, err)
	}
	if inside(s.Home, path) {
		return b, fmt.Errorf("back up to %s: it is in the state folder; choose a place outside, best on another disk", path)
	}
	m, size, err := backup.Make(ctx, s.Store, path, backup.Options{Host: s.Self.Host, By: s.Version, To: to, Now: now})
	if errors.Is(err, fs.ErrExist) {
		return b, fmt.Errorf("back up to %s: a file is there already; choose another name", path)
	}
	if err != nil {
		return b, fmt.Errorf("back up %s: %w", s.Home, err)
	}
	b = view.Backup{
		Version: 1, Path: path, Bytes: size, Made: m.Made, StoreID: m.Store, Incarnation: m.Incarnation, Key: to != nil, Runs: runsOf(m), Missing: m.Missing,
	}
	if !s.CanWrite() {
		return b, nil
	}
	return b, s.Store.NoteBackup(ctx, now)
}

func runsOf(m backup.Manifest) []view.CopiedRun {
	list := []view.CopiedRun{}
	for _, r := range m.Runs {
		list = append(list, view.CopiedRun{Run: r.ID, Status: r.Status, Facts: r.Facts, Request: r.Request, Words: strings.Join(strings.Fields(r.Words), " ")})
	}
	return list
}

func inside(dir, path string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
}

// NewKey makes a pair of keys: the private one in a new file that only its owner reads, the public
// one is given back.
func NewKey(path string) (public string, err error) {
	public, private, err := backup.NewKeys()
	if err != nil {
		return "", err
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return "", fmt.Errorf("make a key: %w", err)
	}
	_, err = fmt.Fprintln(f, private)
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return "", fmt.Errorf("make a key: %w", err)
	}
	return public, nil
}

// ToKey reads who a backup's key is sealed to: a public key, or a file that holds one.
func ToKey(text string) (*Recipient, error) {
	if b, err := os.ReadFile(text); err == nil {
		text = string(b)
	}
	r, err := backup.ToPublic(text)
	if err != nil {
		return nil, fmt.Errorf("seal the key: %w; agent backup --new-key FILE makes a pair, and --to passphrase asks for one", err)
	}
	return &r, nil
}

// ToPassphrase is whoever knows it.
func ToPassphrase(text string) (*Recipient, error) {
	r, err := backup.ToPassphrase(text)
	return &r, err
}

// WithPassphrase opens what was sealed to whoever knows it.
func WithPassphrase(text string) *Opener {
	o := backup.WithPassphrase(text)
	return &o
}

// WithFile reads the file that opens a backup's key: a private key, or a store's own key.
func WithFile(path string) (*Opener, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read the key: %w", err)
	}
	if !backup.IsPrivate(string(b)) {
		o := backup.WithKey(b)
		return &o, nil
	}
	o, err := backup.WithPrivate(string(b))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	return &o, nil
}
