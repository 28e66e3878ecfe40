package doctor

import (
	"context"
	"fmt"
	"time"

	"agent/db/prune"
	"agent/host"
)

// prunable is the age from which on what could go is named, where nothing says what goes.
const prunable = 30 * 24 * time.Hour

// Prunable says what agent prune would remove, and what an earlier one has left.
func Prunable(ctx context.Context, h *host.Host, older time.Duration, keep int, f *Findings) {
	const area = "old runs"
	want, command := prune.Want{Older: older, Keep: keep, Now: h.Now()}, "agent prune"
	if older == 0 && keep == 0 {
		want.Older, command = prunable, "agent prune --older 30d"
	}
	p, err := prune.Look(ctx, h.Store, want)
	if err != nil {
		f.Warn(area, "", "%v", err) // what is damaged is found by others
		return
	}
	if p.Found > 0 {
		f.Warn(area, "the next agent prune or agent rm removes the rest", "removed, and not all of it is gone yet: %s", count(p.Found, "run"))
	}
	if len(p.Go) > 0 {
		f.OK(area, "%s would remove %s with %s, about %.1f MiB of records", command, count(len(p.Go), "thread"), count(p.Runs(), "run"), float64(p.Bytes())/(1<<20))
	}
}

func count(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return fmt.Sprintf("%d %s", n, noun)
}
