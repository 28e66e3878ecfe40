package worker

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"agent/fleet/log"
	"agent/fleet/log/replay"
	"agent/fleet/seal"
	"agent/host/pack"
)

// record is what the worker reads of the log, and how long it has been out of reach.
type record struct {
	log       log.Log
	key       seal.Key
	namespace string
	host      string

	mu   sync.Mutex
	seen time.Time // when the log last answered
	why  string    // why it does not; "" while it does
}

// recordTime bounds one look at the log.
const recordTime = 20 * time.Second

// stand is how far a run is in the log.
type stand struct {
	Place int64  // the last one; 0 for none
	Facts int64  // of the run itself
	Wrote int64  // the place of the last entry with facts
	By    string // the host that wrote it
	Epoch int64
	At    time.Time
}

// SilentLogError says that the log could not be read. It may be back later, or answer another host.
type SilentLogError struct {
	Run string
	Err error
}

func (e *SilentLogError) Error() string {
	return fmt.Sprintf("read the log of run %s: %v", e.Run, e.Err)
}

// Unwrap is what the log said.
func (e *SilentLogError) Unwrap() error { return e.Err }

// stand reads how far a run is in the log.
func (r *record) stand(ctx context.Context, run string) (s stand, err error) {
	ctx, cancel := context.WithTimeout(ctx, recordTime)
	defer cancel()
	state := replay.NewState(run)
	err = state.CatchUp(ctx, r.log, r.key.Sealer(r.namespace, run), func(place int64, e seal.Entry) error {
		if !e.Fence() {
			s.Wrote, s.By, s.At = place, e.By, e.At
		}
		return nil
	})
	r.note(err)
	if errors.As(err, new(*seal.DamageError)) || errors.As(err, new(*seal.ForeignError)) {
		return s, fmt.Errorf("read the log of run %s: %w", run, err)
	}
	if err != nil {
		return s, &SilentLogError{run, err}
	}
	s.Place, s.Epoch, s.Facts = state.Place, state.Epoch, state.Runs[run].Facts
	return s, nil
}

// last is the last place of a run in the log.
func (r *record) last(ctx context.Context, run string) (int64, error) {
	ctx, cancel := context.WithTimeout(ctx, recordTime)
	defer cancel()
	place, err := r.log.Last(ctx, run)
	r.note(err)
	return place, err
}

// by is the host whose entry is the last one of a run; "" for none.
func (r *record) by(ctx context.Context, run string) (string, error) {
	place, err := r.last(ctx, run)
	if err != nil || place == 0 {
		return "", err
	}
	ctx, cancel := context.WithTimeout(ctx, recordTime)
	defer cancel()
	e, err := replay.One(ctx, r.log, r.key.Sealer(r.namespace, run), place)
	return e.By, err
}

// note keeps when the log last answered.
func (r *record) note(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err == nil {
		r.seen, r.why = time.Now(), ""
		return
	}
	r.why = err.Error()
}

// silent is for how long the log has not answered, and why.
func (r *record) silent() (time.Duration, string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.why == "" {
		return 0, ""
	}
	return time.Since(r.seen), r.why
}

// pack writes all of a run that is in the log into a file, for one state folder.
func (r *record) pack(ctx context.Context, run, to, folder string) (path string, err error) {
	address, err := pack.ParseAddress(to)
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return "", fmt.Errorf("make a pack of run %s: %w", run, err)
	}
	f, err := os.Create(filepath.Join(folder, run+".pack"))
	if err != nil {
		return "", fmt.Errorf("make a pack of run %s: %w", run, err)
	}
	_, err = replay.Pack(ctx, r.log, r.key, r.namespace, run, address, f)
	if e := f.Close(); err == nil {
		err = e
	}
	if err != nil {
		_ = os.Remove(f.Name()) // what went wrong before is what counts
		return "", err
	}
	return f.Name(), nil
}

// fence shuts out whoever drives a run.
func (r *record) fence(ctx context.Context, run, why string) error {
	_, err := replay.Fence(ctx, r.log, r.key, r.namespace, run, r.host, why)
	return err
}

// end has nobody go on with a run, or begin it.
func (r *record) end(ctx context.Context, run, why string) error {
	_, err := replay.End(ctx, r.log, r.key, r.namespace, run, r.host, why)
	return err
}
