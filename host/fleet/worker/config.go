package worker

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"agent/fleet/client"
	"agent/fleet/custody"
	"agent/fleet/seal"
)

// Config is what a worker is started with.
type Config struct {
	Engine  client.Options
	Log     string // URL
	Key     seal.Key
	Name    string // of this host
	Slots   int
	Labels  []string
	Home    string // AGENT_HOME of the drivers
	Work    string // folder of the workspaces
	Agent   string // the program
	Witness string // path of the socket; "" for one in Home

	Logger *slog.Logger
	Stdout io.Writer
}

const (
	mostLabels = 5   // each set of them is a queue
	mostSlots  = 500 // the engine keeps a heartbeat for each
)

// Check refuses what cannot be meant, and completes the rest.
func (c *Config) Check() error {
	c.Labels = slices.Compact(slices.Sorted(slices.Values(c.Labels)))
	switch {
	case c.Name == "" || strings.ContainsAny(c.Name, " /,\n"):
		return fmt.Errorf("%q cannot be the name of a host: it has no space, comma or slash", c.Name)
	case c.Slots < 1 || c.Slots > mostSlots:
		return fmt.Errorf("%d slots: a worker has between 1 and %d", c.Slots, mostSlots)
	case len(c.Labels) > mostLabels:
		return fmt.Errorf("%d labels: a worker has at most %d", len(c.Labels), mostLabels)
	case slices.ContainsFunc(c.Labels, func(l string) bool {
		return l == "" || strings.ContainsAny(l, ", /") || strings.ContainsFunc(l, unicode.IsSpace)
	}):
		return errors.New("a label is not empty and has no blank, comma or slash")
	}
	for _, path := range []*string{&c.Home, &c.Work} {
		abs, err := filepath.Abs(*path)
		if err != nil || *path == "" {
			return fmt.Errorf("the folder %q cannot be used: %w", *path, err)
		}
		*path = abs
	}
	if c.Witness == "" {
		c.Witness = filepath.Join(c.Home, "fleet", "witness")
	}
	return nil
}

// pools are the queues of all sets of labels.
func pools(labels []string) []string {
	var out []string
	for set := range 1 << len(labels) {
		var of []string
		for i, l := range labels {
			if set&(1<<i) != 0 {
				of = append(of, l)
			}
		}
		slices.Sort(of)
		out = append(out, custody.PoolQueue+strings.Join(of, ","))
	}
	return out
}
