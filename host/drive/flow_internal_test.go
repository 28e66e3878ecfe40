package drive

import (
	"errors"
	"fmt"
	"testing"

	"agent/db"
	"agent/recovery/journal"
)

// A flow whose facts match their digests and contradict each other is damaged, by name; one that a
// newer binary wrote is not (EX-55).
func TestUnfolded(t *testing.T) {
	bad := new(db.CorruptError)
	if err := unfolded("r-flow", errors.New("phase build has no item")); !errors.As(err, &bad) || bad.Run != "r-flow" || bad.What != "phase build has no item" {
		t.Error(err)
	}
	err := unfolded("r-flow", fmt.Errorf("apply: %w", &journal.UnknownFactError{What: "newer"}))
	if !errors.As(err, new(*journal.UnknownFactError)) || errors.As(err, &bad) {
		t.Error(err)
	}
}
