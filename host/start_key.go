package host

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"agent/db"
	"agent/host/drive"
	"agent/host/owner"
	"agent/recovery"
	"agent/recovery/journal"
)

// Asked is a request for a run as it was given. What was left out is zero, and so is what this
// program works out, such as the model that is asked by default or a limit of config.toml: it may
// be another one when the same request comes again. What only shows a run, or is of the process
// that drives it, is no part of it.
type Asked struct {
	Prompt    string         `json:"prompt"` // of a file, its text
	Task      string         `json:"task,omitempty"`
	Input     string         `json:"input,omitempty"`
	Folder    string         `json:"folder"`           // absolute
	Thread    string         `json:"thread,omitempty"` // as it was named; AskedNewest for the newest one of the folder
	Model     string         `json:"model,omitempty"`
	BaseURL   string         `json:"base_url,omitempty"`
	Effort    journal.Effort `json:"effort,omitempty"`
	NoCompact bool           `json:"no_compact,omitempty"`
	Images    []string       `json:"images,omitempty"` // SHA-256 of each
	Mode      journal.Mode   `json:"mode,omitempty"`
	MaxTurns  *int           `json:"max_turns,omitempty"`
	MaxTokens *int64         `json:"max_tokens,omitempty"`
	MaxCost   *int64         `json:"max_cost,omitempty"` // millionths of a US dollar
	Timeout   *time.Duration `json:"timeout,omitempty"`
	Expire    time.Duration  `json:"expire,omitempty"`
	Rules     string         `json:"rules,omitempty"`

	OutputSchema json.RawMessage `json:"output_schema,omitempty"`
	Dirs         []journal.Dir   `json:"dirs,omitempty"`
}

// AskedNewest is Asked.Thread of a request that goes on with the newest thread of its folder.
const AskedNewest = "newest"

// Digest tells requests apart: the SHA-256 of the request as JSON, in hexadecimal digits.
func (a Asked) Digest() string {
	text, err := json.Marshal(a)
	if err != nil {
		panic(err) // texts and numbers always encode
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// maxStartKey bounds a start key, bytes.
const maxStartKey = 200

// CheckStartKey refuses what no run can be found by again.
func CheckStartKey(key string) error {
	plain := key != "" && len(key) <= maxStartKey
	for i := range len(key) {
		plain = plain && key[i] >= ' ' && key[i] <= '~'
	}
	if !plain {
		return fmt.Errorf("a start key has 1 to %d printable ASCII characters", maxStartKey)
	}
	return nil
}

// KeyReusedError says that a start key was first given with another request.
type KeyReusedError struct{ Key, Run string }

func (e *KeyReusedError) Error() string {
	return fmt.Sprintf("start a run with key %s: run %s has that key and was asked for something else; another request takes another key", e.Key, e.Run)
}

// Reuse is what a repeated start comes to: the run that has its start key, which is never started a
// second time. One that was interrupted, or has its answer, is carried on here; one that has ended,
// waits for a person, or is driven by another process is reported as it stands. It says false where
// no run has the key, or none was given.
func (h *Host) Reuse(ctx context.Context, req StartRequest) (out drive.Outcome, found bool, err error) {
	if req.StartKey == "" {
		return out, false, nil
	}
	if h.Store.Redact(req.StartKey) != req.StartKey {
		return out, false, fmt.Errorf("start a run: %w; choose another one", db.ErrSecretKey)
	}
	run, digest, err := h.Store.StartedWith(ctx, req.StartKey)
	switch {
	case err != nil || run == "":
		return out, false, err
	case digest != req.StartDigest:
		return out, false, &KeyReusedError{Key: req.StartKey, Run: run}
	}
	h.Note(run, "run %s has the start key %s: nothing new is started", run, req.StartKey)
	out, err = h.carryOn(ctx, run, req.Shown)
	out.Reused = true
	return out, true, err
}

// carryOn resumes a run that has something to do and that nobody drives.
func (h *Host) carryOn(ctx context.Context, run string, shown func(drive.Plan)) (drive.Outcome, error) {
	row, err := h.Store.Run(ctx, run)
	if err != nil {
		return drive.Outcome{}, err
	}
	if row.Status.Terminal() || row.Status == recovery.StatusWaiting && row.Pending != nil {
		return h.finished(ctx, run)
	}
	out, err := h.Resume(ctx, run, drive.Changes{}, shown)
	var held *owner.HeldError
	var done *drive.FinishedError
	switch {
	case errors.As(err, &done):
		return h.Finished(done.State), nil
	case errors.As(err, &held):
		out, err = h.finished(ctx, run)
		out.Owner = held.Holder
	}
	return out, err
}
