package maintain

import (
	"context"
	"testing"

	"agent/db"
	"agent/db/dbtest"
)

// What the row of a run says of its start key is what its journal says, and repair restores it: a
// key that was lost would start the same work a second time.
func TestStartKeyOfTheJournal(t *testing.T) {
	ctx := context.Background()
	s := openStore(t, dbtest.StateDir(t))
	facts := dbtest.Started("r-7k2m9qx4", "t-7k2m9qx4")
	c := dbtest.Created("r-7k2m9qx4", "t-7k2m9qx4")
	c.StartKey, c.StartDigest = "nightly", "0123"
	facts[0].Body = c
	if _, err := s.Create(ctx, db.ThreadRef{ID: c.Thread, Folder: c.Folder, New: true}, facts); err != nil {
		t.Fatal(err)
	}
	if list, err := Differences(ctx, s); err != nil || len(list) > 0 {
		t.Fatalf("%v %v", list, err)
	}
	for column, value := range map[string]string{"start_key": "", "start_digest": "4567"} {
		if err := spoil(t, s, "UPDATE runs SET "+column+" = ?", value); err != nil {
			t.Fatal(err)
		}
		if list, err := Differences(ctx, s); err != nil || len(list) != 1 {
			t.Errorf("%s was changed: %v %v", column, list, err)
		}
		repairAll(t, s)
		if run, digest, err := s.StartedWith(ctx, "nightly"); err != nil || run != c.Run || digest != "0123" {
			t.Errorf("after the repair of %s the run is %q (%s): %v", column, run, digest, err)
		}
	}
}
