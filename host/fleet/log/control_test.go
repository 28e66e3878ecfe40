package log_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"agent/fleet/log"
	"agent/fleet/log/fake"
	"agent/fleet/log/logtest"
)

// fakeOpen opens a log in memory, one a namespace.
func fakeOpen(namespaces map[string]log.Log) logtest.Open {
	var mu sync.Mutex
	return func(_ context.Context, namespace string) (log.Log, error) {
		mu.Lock()
		defer mu.Unlock()
		if namespaces[namespace] == nil {
			namespaces[namespace] = fake.New()
		}
		return namespaces[namespace], nil
	}
}

// statThenRename creates an entry as some stores of objects in folders do: it looks whether the
// name is taken, and then renames its file to it.
type statThenRename struct {
	log.Log
	dir string
}

func (s *statThenRename) Create(_ context.Context, root string, place int64, entry []byte) error {
	name := filepath.Join(s.dir, root+"."+string(rune('a'+place%26))+string(rune('a'+place/26%26))+string(rune('a'+place/676%26)))
	f, err := os.CreateTemp(s.dir, "new-*")
	if err != nil {
		return err
	}
	_, err = f.Write(entry)
	if err := errors.Join(err, f.Close()); err != nil {
		return err
	}
	if _, err := os.Stat(name); !errors.Is(err, fs.ErrNotExist) {
		return errors.Join(os.Remove(f.Name()), log.ErrTaken)
	}
	if err := os.Rename(f.Name(), name); err != nil {
		return err
	}
	_ = s.Log.Create(context.Background(), root, place, entry) // for who reads
	return nil
}

// A store that looks first and writes then is found by the race for places.
func TestStatThenRenameDoesNotConform(t *testing.T) {
	dir := t.TempDir()
	open := fakeOpen(map[string]log.Log{})
	race := logtest.Checks(10_000)[0]
	err := race.Run(t.Context(), func(ctx context.Context, namespace string) (log.Log, error) {
		l, err := open(ctx, namespace)
		return &statThenRename{l, dir}, err
	})
	if err == nil {
		t.Fatal("four writers raced for 10000 places, and each had one winner: the check does not find what it is for")
	}
	t.Log(err)
}

// forgetful gives "taken" where it only lost the answer.
type forgetful struct{ log.Log }

func (f forgetful) Create(ctx context.Context, root string, place int64, entry []byte) error {
	err := f.Log.Create(ctx, root, place, entry)
	if err != nil {
		return log.ErrTaken
	}
	return nil
}

// overwriting writes an entry over another.
type overwriting struct {
	log.Log
	mu      *sync.Mutex
	entries map[string][]byte
}

func (o overwriting) Create(ctx context.Context, root string, place int64, entry []byte) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.entries[root] = entry
	return o.Log.Create(ctx, root, place, entry)
}

func (o overwriting) Read(ctx context.Context, root string, place int64) ([]byte, error) {
	if _, err := o.Log.Read(ctx, root, place); err != nil {
		return nil, err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.entries[root], nil
}

// Other stores that are wrong are found as well.
func TestOthersDoNotConform(t *testing.T) {
	inner := fakeOpen(map[string]log.Log{})
	o := overwriting{mu: &sync.Mutex{}, entries: map[string][]byte{}}
	for name, open := range map[string]logtest.Open{
		"unknown is not taken": func(ctx context.Context, namespace string) (log.Log, error) {
			l, err := inner(ctx, namespace)
			return forgetful{l}, err
		},
		"an entry stays": func(ctx context.Context, namespace string) (log.Log, error) {
			l, err := inner(ctx, namespace)
			o.Log = l
			return o, err
		},
		"namespaces": func(ctx context.Context, _ string) (log.Log, error) { return inner(ctx, "one for all") },
	} {
		for _, c := range logtest.Checks(100) {
			if c.Name != name {
				continue
			}
			if err := c.Run(t.Context(), open); err == nil {
				t.Errorf("%s: a store that does not do it passes", name)
			} else {
				t.Logf("%s: %v", name, err)
			}
		}
	}
}
