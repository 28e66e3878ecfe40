// Fleet-figures measures what a fleet costs beside the bare engine: in the same engine, and one
// after the other. The lab runs it, which has the engine and the workers; it prints a JSON object.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"agent/fleet/seal"
)

// settings are what the command line says.
type settings struct {
	engine, log, agent string
	key                seal.Key
	n, workers         int
	limit              time.Duration
	run                string
}

const namespace = "default"

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "fleet-figures:", err)
		os.Exit(1)
	}
}

func run(args []string, w io.Writer) error {
	f := flag.NewFlagSet("fleet-figures", flag.ContinueOnError)
	var s settings
	f.StringVar(&s.engine, "engine", "127.0.0.1:7233", "`HOST:PORT` of the engine")
	f.StringVar(&s.log, "log", "", "`URL` of the fleet's log")
	f.StringVar(&s.agent, "agent", "agent", "`PATH` of the program agent")
	key := f.String("key-file", "", "`FILE` with the fleet's key")
	f.IntVar(&s.n, "n", 30, "measure `N` times, or with N runs")
	f.IntVar(&s.workers, "workers", 8, "the bare engine has `N` workers")
	f.DurationVar(&s.limit, "limit", 10*time.Minute, "begin no run of a crowd after this `TIME`")
	f.StringVar(&s.run, "run", "", "the `RUN` that was taken over")
	if err := f.Parse(args); err != nil {
		return err
	}
	if f.NArg() != 1 {
		return errors.New("wants one of dispatch, rate, crowd, takeover and witness")
	}
	var err error
	if s.key, err = seal.ReadFile(*key); err != nil {
		return err
	}
	out, err := s.measure(context.Background(), f.Arg(0))
	if err != nil {
		return fmt.Errorf("measure %s: %w", f.Arg(0), err)
	}
	return json.NewEncoder(w).Encode(out)
}

func (s settings) measure(ctx context.Context, what string) (any, error) {
	ctx, cancel := context.WithTimeout(ctx, s.limit+20*time.Minute)
	defer cancel()
	if what == "witness" {
		return s.witness(ctx)
	}
	m, err := newMeter(ctx, s)
	if err != nil {
		return nil, err
	}
	defer m.close()
	switch what {
	case "dispatch":
		return m.dispatch(ctx)
	case "rate":
		return m.rates(ctx)
	case "crowd":
		return m.crowd(ctx)
	case "takeover":
		return m.takeover(ctx)
	}
	return nil, errors.New("there is no such figure")
}

// median is the middle of some times, in milliseconds.
func median(all []time.Duration) float64 {
	if len(all) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(all))
	return sorted[len(sorted)/2].Seconds() * 1000
}
