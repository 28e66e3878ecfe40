//go:build unix

// Command testbin builds the program and the fakes for tests, unless that was done, and prints the
// folder that holds them:
//
//	go run ./scripts/testbin             agent and fakes
//	go run ./scripts/testbin -portable   agent-portable, as systems that are not Linux have it
//	go run ./scripts/testbin -race       agent-race, with the race detector
//
// Package agent/scripts/testkit/testbin has what that folder is, and does the same in a test.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"

	"agent/scripts/testkit/testbin"
)

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

func run(args []string, stdout, stderr io.Writer) int {
	var form testbin.Form
	f := flag.NewFlagSet("testbin", flag.ContinueOnError)
	f.SetOutput(stderr)
	f.BoolVar(&form.Portable, "portable", false, "build agent-portable")
	f.BoolVar(&form.Race, "race", false, "build agent-race")
	if err := f.Parse(args); err != nil {
		return 2
	}
	if f.NArg() > 0 {
		fmt.Fprintf(stderr, "testbin: no argument is known, and there is %q\n", f.Arg(0))
		return 2
	}

	folder, err := testbin.Make(form)
	if err != nil {
		fmt.Fprintln(stderr, err)
		return 1
	}
	fmt.Fprintln(stdout, folder)
	return 0
}
