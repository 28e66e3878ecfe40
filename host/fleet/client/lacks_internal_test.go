package client

import (
	"strings"
	"testing"
	"time"

	"agent/fleet/custody"
)

func TestWhatAQueuedRunLacks(t *testing.T) {
	worker := func(host string, labels ...string) string {
		return WorkerIdentity(host, "/home (process)", true, labels)
	}
	const unless = ", unless it was lost just now or is drained"
	for name, x := range map[string]struct {
		labels, workers []string
		reason, status  string
		age             time.Duration
		lacks, says     string
	}{
		"all busy":         {workers: []string{worker("h-1"), worker("h-2", "gpu"), worker("h-2", "gpu")}, lacks: Slot, says: "no free slot at h-1, h-2" + unless},
		"some busy":        {labels: []string{"gpu"}, workers: []string{worker("h-1"), worker("h-2", "gpu", "linux")}, lacks: Slot, says: "no free slot at h-2" + unless},
		"no label":         {labels: []string{"gpu", "linux"}, workers: []string{worker("h-1", "linux"), worker("h-2", "gpu")}, lacks: Labels, says: "no worker that asked for work lately has them all"},
		"no worker":        {lacks: Hosts, says: "no worker has asked for work lately"},
		"excluded":         {workers: []string{worker("h-1")}, reason: "; not h-1: it was silent"},
		"one excluded":     {workers: []string{worker("h-1"), worker("h-2")}, reason: "; not h-1: it was silent", lacks: Slot, says: "no free slot at h-2" + unless},
		"older worker":     {labels: []string{"gpu"}, workers: []string{worker("h-1"), "agent-fleet worker h-2, /home on x (process 1)"}},
		"older, no labels": {workers: []string{"agent-fleet worker h-2, /home on x (process 1)"}, lacks: Slot, says: "no free slot at h-2" + unless},
		"just queued":      {workers: []string{worker("h-1")}, age: time.Nanosecond},
		"older custody":    {workers: []string{worker("h-1")}, reason: custody.AndLabels + "gpu"},
		"running":          {workers: []string{worker("h-1")}, status: "running"},
	} {
		r := Row{Where: custody.Where{Since: time.Now().Add(-time.Minute)}}
		r.Status, r.Reason, r.Labels = "queued", "waits"+x.reason, x.labels
		if x.status != "" {
			r.Status = x.status
		}
		if x.age > 0 {
			r.Since = time.Now()
		}
		got := r.lacking(x.workers)
		if want := strings.TrimSuffix(r.Reason+"; "+x.says, "; "); got.Lacks != x.lacks || got.Reason != want {
			t.Errorf("%s: it lacks %q: %s; want %s", name, got.Lacks, got.Reason, want)
		}
	}
}
