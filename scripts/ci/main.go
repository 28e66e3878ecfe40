// Command ci is what .ci/run does that a shell does badly:
//
//	ci tree CHECKOUT FOLDER < NAMES   make the folder hold these files (NUL after each name)
//	ci test -reds FILE -step NAME -repeat PREFIX COMMAND...
//	                                  run a go test -json, print it as without -json, and add
//	                                  what failed to the file
//	ci reds FILE                      print what failed; exit 1 if something did
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"

	"agent/scripts/ci/gotest"
	"agent/scripts/ci/red"
	"agent/scripts/ci/tree"
)

func main() {
	code, err := run(os.Args[1:], os.Stdin, os.Stdout)
	if err != nil {
		fmt.Fprintln(os.Stderr, "ci:", err)
	}
	os.Exit(code)
}

// run returns the exit code: 1 for what failed, 2 for what could not be done.
func run(args []string, in io.Reader, out io.Writer) (int, error) {
	if len(args) == 0 {
		return 2, errors.New("there are tree, test and reds")
	}
	switch args[0] {
	case "tree":
		return update(args[1:], in, out)
	case "test":
		return test(args[1:], out)
	case "reds":
		return show(args[1:], out)
	}
	return 2, fmt.Errorf("no command %q: there are tree, test and reds", args[0])
}

func update(args []string, in io.Reader, out io.Writer) (int, error) {
	if len(args) != 2 {
		return 2, errors.New("use: ci tree CHECKOUT FOLDER < NAMES")
	}
	list, err := io.ReadAll(in)
	if err != nil {
		return 2, fmt.Errorf("read the names: %w", err)
	}
	names := strings.FieldsFunc(string(list), func(c rune) bool { return c == 0 })
	if len(names) == 0 {
		return 2, fmt.Errorf("%s has no files: nothing is copied, and nothing removed", args[0])
	}
	actions, err := tree.Update(args[0], args[1], names)
	if err != nil {
		return 2, err
	}
	fmt.Fprintf(out, "%s: %d names, %d changes\n", args[1], len(names), len(actions))
	return 0, nil
}

func test(args []string, out io.Writer) (int, error) {
	flags := flag.NewFlagSet("ci test", flag.ContinueOnError)
	reds := flags.String("reds", "", "`file` that failures are added to")
	step := flags.String("step", "tests", "`name` of the step")
	repeat := flags.String("repeat", "go test", "`command` that tests are run again with")
	if err := flags.Parse(args); err != nil {
		return 2, nil // it has printed why
	}
	if flags.NArg() == 0 {
		return 2, errors.New("name the COMMAND behind ci test [-reds FILE] [-step NAME] [-repeat PREFIX]")
	}

	c := exec.Command(flags.Arg(0), flags.Args()[1:]...)
	c.Stderr = os.Stderr
	events, err := c.StdoutPipe()
	if err != nil {
		return 2, err
	}
	if err := c.Start(); err != nil {
		return 2, fmt.Errorf("start the tests: %w", err)
	}
	r := gotest.Reader{Out: out, Module: "agent"}
	failures, err := r.Read(events)
	if err != nil {
		c.Process.Kill() // it may have ended by itself
		return 2, errors.Join(err, c.Wait())
	}

	ended := c.Wait()
	if *reds != "" && len(failures) > 0 {
		if err := red.Append(*reds, gotest.Reds(*step, *repeat, failures)); err != nil {
			return 2, err
		}
	}
	if ended == nil && len(failures) == 0 {
		return 0, nil
	}
	fmt.Fprintln(out, "FAIL")
	// go test ends with 1 where tests failed. Where it was killed, packages were not even begun.
	if exit := (*exec.ExitError)(nil); errors.As(ended, &exit) && exit.ExitCode() != 1 {
		return 2, fmt.Errorf("go test did not come to its end: %w", ended)
	}
	if len(failures) == 0 {
		return 2, fmt.Errorf("go test: %w, and no package failed", ended)
	}
	return 1, nil
}

func show(args []string, out io.Writer) (int, error) {
	if len(args) != 1 {
		return 2, errors.New("use: ci reds FILE")
	}
	text, err := os.ReadFile(args[0])
	if err != nil {
		return 2, err
	}
	failures, err := red.Parse(args[0], string(text))
	if err != nil {
		return 2, err
	}
	for _, line := range red.Lines(failures) {
		fmt.Fprintln(out, line)
	}
	return min(len(failures), 1), nil
}
