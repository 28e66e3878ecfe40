package client

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"

	"go.temporal.io/api/enums/v1"

	"agent/fleet/custody"
)

// workerPrefix is before the name of the host in the identity of a worker.
const workerPrefix = "agent-fleet worker "

// WorkerIdentity is how the engine names a worker: no two that live have the same one.
func WorkerIdentity(host, home string, logged bool, labels []string) string {
	log := ""
	if !logged {
		log = withoutLog
	}
	return fmt.Sprintf("%s (process %d%s%s%s)", workerAt(host, home), os.Getpid(), log, withLabels, strings.Join(labels, " "))
}

// withLabels is before the labels in the identity of a worker; one of before that has none.
const withLabels = ", labels "

// labelsOf are the labels that an identity names.
func labelsOf(identity string) (labels []string, known bool) {
	_, rest, known := strings.Cut(strings.TrimPrefix(identity, place(identity)), withLabels)
	return strings.Fields(strings.TrimSuffix(rest, ")")), known
}

// hostOf is the name of the host that an identity names.
func hostOf(identity string) string {
	name, _, _ := strings.Cut(strings.TrimPrefix(identity, workerPrefix), ", ")
	return name
}

// withoutLog is in the identity of a worker that has no log.
const withoutLog = ", no log"

// workerAt is a worker of a state folder, whichever process it is.
func workerAt(host, home string) string {
	machine, err := os.Hostname()
	if err != nil {
		machine = "a machine without a name"
	}
	return fmt.Sprintf("%s%s, %s on %s", workerPrefix, host, home, machine)
}

// place is what an identity says beside the process.
func place(identity string) string {
	at, _, _ := strings.Cut(identity, " (process ")
	return at
}

// Namesakes are the workers of a host's name that have another state folder and were heard of
// lately. The engine does not know which of them are gone.
func (c *Client) Namesakes(ctx context.Context, host, home string) (out []string, err error) {
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	d, err := c.engine.DescribeTaskQueue(ctx, custody.HostQueue+host, enums.TASK_QUEUE_TYPE_ACTIVITY)
	if err != nil {
		return nil, fmt.Errorf("look for other workers of the name %s: %w", host, err)
	}
	for _, p := range d.GetPollers() {
		if place(p.GetIdentity()) != workerAt(host, home) {
			out = append(out, p.GetIdentity())
		}
	}
	return out, nil
}

// doubled finds names of hosts that workers of several state folders have.
func doubled(workers []string) (out []Finding) {
	at := map[string][]string{}
	var names []string
	for _, w := range workers {
		name, rest, found := strings.Cut(strings.TrimPrefix(place(w), workerPrefix), ", ")
		if !found || slices.Contains(at[name], rest) {
			continue
		}
		if at[name] == nil {
			names = append(names, name)
		}
		at[name] = append(at[name], rest)
	}
	for _, name := range names {
		if len(at[name]) > 1 {
			out = append(out, Finding{true, fmt.Sprintf("lately %d workers were named %s: %s; each needs a --host of its own",
				len(at[name]), name, strings.Join(at[name], " and "))})
		}
	}
	return out
}
