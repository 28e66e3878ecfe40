//go:build linux

// Command stress runs tests again and again on a busy machine: what depends on time, on the order
// of processes or on the number of processors fails here before it fails in company.
//
//	go run ./scripts/stress [-n 30] [-limit 120] [-clock 15m] [-race] [-list] [PACKAGE TEST...]...
//	go run ./scripts/stress -company FILE [-out FILE] [-shaky scripts/shaky.txt]
//
// Each test runs n times beside eight busy loops: a third as it is, a third with GOMAXPROCS=1, a
// third with GOMAXPROCS=4. Every tenth run is stopped on its way for two seconds. A script is
// TestScripts/NAME; a package alone means all of its tests. AGENT_TESTS=whole is set.
//
// Without names, it runs the tests that are new or that changed since the last landing
// (agent/scripts/landed/change); package pick has the rule. With -limit, only as many run as fit in
// so many seconds of processor time, the cheapest first, and with -clock too, no further one begins
// after that time. Those left out are printed. -list prints what would run.
//
// It exits 0 if all passed; 1 if one failed, with its output and the command that repeats it; 2 if
// nothing ran, if what was asked for is not there or skips itself, or if there was no load. The
// processor time of the busy loops is appended, in seconds, to the file that AGENT_CPU_APART names.
//
// With -company, the file has what failed in a run of .ci/run, in the form of package
// agent/scripts/ci/red. Package company has the rule by which a test is tried again and excepted.
// What stays red is written as it was read; an exception is printed as the line that
// scripts/shaky.txt is to have. It exits 0 if nothing stays red, 1 if something does, and 2 if it
// could not look, with what was not decided among what stays red.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"agent/scripts/stress/company"
	"agent/scripts/stress/load"
)

// loops is how many processes keep the machine busy.
const loops = 8

// apart is the variable with the file to which the processor time of the load is appended.
const apart = "AGENT_CPU_APART"

func main() {
	if len(os.Args) == 2 && os.Args[1] == load.Argument {
		load.Spin()
	}
	ctx, end := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer end()
	program, err := os.Executable()
	if err != nil {
		fmt.Fprintln(os.Stderr, "stress:", err)
		os.Exit(2)
	}

	s := &stress{root: ".", program: program, loops: loops, company: retry{company.Tries, company.Limit}, stdout: os.Stdout, stderr: os.Stderr}
	os.Exit(s.main(ctx, os.Args[1:]))
}

// stress is one call of this command.
type stress struct {
	root    string // the folder with go.mod
	program string // which is the load generator, too
	loops   int

	n       int
	limit   time.Duration // of processor time; 0 is none
	clock   time.Duration // after which no test begins; 0 is never
	race    bool
	timeout time.Duration
	company retry

	stdout, stderr io.Writer
}

// retry is how often a test that failed in company runs under load, and in how much processor time.
type retry struct {
	tries int
	limit time.Duration
}

// errUsage is an error that was printed, with the usage.
var errUsage = errors.New("usage")

// main runs the command and returns its exit code.
func (s *stress) main(ctx context.Context, args []string) int {
	code, err := s.do(ctx, args)
	if err != nil && !errors.Is(err, errUsage) {
		fmt.Fprintln(s.stderr, "stress:", err)
	}
	return code
}

func (s *stress) do(ctx context.Context, args []string) (int, error) {
	flags := flag.NewFlagSet("stress", flag.ContinueOnError)
	flags.SetOutput(s.stderr)
	flags.IntVar(&s.n, "n", 30, "`runs` of each test")
	seconds := flags.Float64("limit", 0, "`seconds` of processor time for all tests; the cheapest run, 0 is no limit")
	flags.DurationVar(&s.clock, "clock", 0, "`time` after which no further test begins, with -limit; 0 is never")
	flags.BoolVar(&s.race, "race", false, "build the tests with the race detector")
	flags.DurationVar(&s.timeout, "timeout", 10*time.Minute, "`time` after which a run fails")
	list := flags.Bool("list", false, "print what would run")

	var f files
	flags.StringVar(&f.reds, "company", "", "`file` of what failed among all tests, to be tried again")
	flags.StringVar(&f.shaky, "shaky", "scripts/shaky.txt", "`file` of the tests that were excepted")
	flags.StringVar(&f.out, "out", "", "`file` for what stays red; standard output without it")

	if err := flags.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return 0, errUsage
		}
		return 2, errUsage
	}
	if s.n < 1 || *seconds < 0 || s.timeout <= 0 || s.clock < 0 {
		return 2, fmt.Errorf("nothing would run with -n %d -limit %v -timeout %v", s.n, *seconds, s.timeout)
	}

	s.limit = time.Duration(*seconds * float64(time.Second))
	if f.reds != "" {
		if flags.NArg() > 0 {
			return 2, fmt.Errorf("-company has its tests from %s, and none are named beside it", f.reds)
		}
		return s.inCompany(ctx, f)
	}

	chosen, err := s.choose(ctx, flags.Args())
	if err != nil {
		return 2, err
	}
	if *list {
		for _, test := range chosen.tests {
			fmt.Fprintln(s.stdout, test)
		}
		return 0, nil
	}
	if len(chosen.tests) == 0 {
		fmt.Fprintf(s.stdout, "no test is new or changed since %s\n", chosen.base)
		return 0, nil
	}
	return s.try(ctx, chosen)
}

// beside runs something beside the load, and keeps the processor time that the load used. The load
// is at fault where it could not start or ended on the way.
func (s *stress) beside(do func() error) error {
	busy, err := load.Start(s.program, s.loops)
	if err != nil {
		return err
	}
	err = do()
	used, lost := busy.Stop()
	return errors.Join(err, lost, keepApart(os.Getenv(apart), used))
}

// keepApart appends the processor time of the load to a file, for whoever counts that of a step.
func keepApart(file string, used time.Duration) error {
	if file == "" {
		return nil
	}
	f, err := os.OpenFile(filepath.Clean(file), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o644)
	if err != nil {
		return fmt.Errorf("keep the processor time of the load: %w", err)
	}
	_, err = f.WriteString(strconv.FormatFloat(used.Seconds(), 'f', 2, 64) + "\n")
	return errors.Join(err, f.Close())
}
