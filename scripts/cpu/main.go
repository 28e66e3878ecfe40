// Command cpu counts what a command costs, and compares it with a record.
//
//	cpu [-to FILE] NAME COMMAND...   run the command; add "NAME SECONDS" to the file
//	cpu -report FILE -kind cold|warm|none [-clock SECONDS]
//	                                 compare the seconds of the file with scripts/cost.txt
//	cpu -update NAME [FILE...]       lower the record of NAME to what these files have: cost.cold
//	                                 and cost.warm, which .ci/run leaves
//	cpu -check                       look at scripts/cost.txt
//
// The seconds are those that the command and all that it started spent in user and in system mode,
// processes among them whose parents ended first. What the command leaves running is named and
// killed. Seconds that are added, a number a line, to the file that AGENT_CPU_APART names are the
// load of a test and no cost: they are printed apart.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"agent/scripts/landed/change"
)

// apartVariable names the file for seconds that are no cost.
const apartVariable = "AGENT_CPU_APART"

// costFile is the record, below the folder of go.mod.
const costFile = "scripts/cost.txt"

const usage = "use: cpu [-to FILE] NAME COMMAND..., cpu -report FILE -kind cold|warm|none, cpu -update NAME [FILE...], cpu -check"

// options are the flags.
type options struct {
	to, report, kind, update string
	check                    bool
	clock                    int
}

func main() {
	code, err := run(os.Args[1:], os.Stdout, os.Stderr)
	if err != nil {
		fmt.Fprintln(os.Stderr, "cpu:", err)
	}
	os.Exit(code)
}

// run returns the exit code: that of the command, 1 for a red, 2 for what could not be done.
func run(args []string, out, errs io.Writer) (int, error) {
	var o options
	flags := flag.NewFlagSet("cpu", flag.ContinueOnError)
	flags.SetOutput(errs)
	flags.StringVar(&o.to, "to", "", "`file` that the seconds are added to")
	flags.StringVar(&o.report, "report", "", "compare the seconds of this `file` with the record")
	flags.StringVar(&o.kind, "kind", "none", "which record: `cold` or warm, or none")
	flags.IntVar(&o.clock, "clock", 0, "`seconds` that have passed")
	flags.StringVar(&o.update, "update", "", "lower the record of this `name`")
	flags.BoolVar(&o.check, "check", false, "look at the record")
	if err := flags.Parse(args); err != nil {
		return 2, nil // it has printed why
	}

	rest := flags.Args()
	switch {
	case o.check && len(rest) == 0:
		return onError(checkRecord(out))
	case o.update != "":
		return onError(lower(o.update, rest, out))
	case o.report != "" && len(rest) == 0 && (o.kind == "none" || o.kind == cold || o.kind == warm):
		return report(o, out)
	case !o.check && o.report == "" && len(rest) >= 2:
		return count(rest[0], rest[1:], o.to, errs)
	}
	return 2, errors.New(usage)
}

// count runs the command, prints what it cost, and adds that to a file.
func count(name string, command []string, to string, errs io.Writer) (int, error) {
	if strings.ContainsAny(name, " \t\n#") || name == "" {
		return 2, fmt.Errorf("%q is no name: it is the first column of a file", name)
	}
	apart, remove, err := apartFile()
	if err != nil {
		return 2, err
	}
	defer remove()
	before, err := sumFile(apart)
	if err != nil {
		return 2, err
	}

	code, seconds, err := supervise(command, errs)
	if err != nil {
		return code, err
	}
	after, err := sumFile(apart)
	if err != nil {
		return 2, err
	}

	load := ""
	if after > before {
		load = fmt.Sprintf(", load %.1f s apart", after-before)
	}
	seconds = max(seconds-(after-before), 0)
	fmt.Fprintf(errs, "cpu: %s %.1f s%s\n", name, seconds, load)
	if to != "" {
		if err := appendLine(to, fmt.Sprintf("%s %.1f", name, seconds)); err != nil {
			return 2, err
		}
	}
	return code, nil
}

// apartFile is the file for seconds that are no cost. Without one the command gets one, which any
// user may write.
func apartFile() (file string, remove func(), err error) {
	if file := os.Getenv(apartVariable); file != "" {
		return file, func() {}, nil
	}
	folder, err := os.MkdirTemp("", "cpu")
	if err != nil {
		return "", nil, err
	}
	file = filepath.Join(folder, "apart")
	err = errors.Join(os.Chmod(folder, 0o755), os.WriteFile(file, nil, 0o666), os.Chmod(file, 0o666), os.Setenv(apartVariable, file))
	return file, func() { os.RemoveAll(folder) }, err // what stays is an empty file in a folder for such
}

// sumFile adds the numbers of a file up, one a line. A file that does not exist has none.
func sumFile(file string) (float64, error) {
	text, err := os.ReadFile(file)
	if errors.Is(err, os.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	sum := 0.0
	for i, line := range strings.Split(string(text), "\n") {
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		seconds, err := number(line)
		if err != nil {
			return 0, fmt.Errorf("%s:%d: %w", file, i+1, err)
		}
		sum += seconds
	}
	return sum, nil
}

func appendLine(file, line string) error {
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o644)
	if err != nil {
		return err
	}
	if _, err := f.WriteString(line + "\n"); err != nil {
		f.Close() // the error of the write is the one to show
		return err
	}
	return f.Close()
}

// number reads seconds.
func number(text string) (float64, error) {
	n, err := strconv.ParseFloat(text, 64)
	if err != nil || !(n >= 0 && n < 1e9) {
		return 0, fmt.Errorf("%q is no number of seconds", text)
	}
	return n, nil
}

// onError is the exit code with an error.
func onError(err error) (int, error) {
	if err != nil {
		return 1, err
	}
	return 0, nil
}

// checkRecord refuses a broken record, and one that was raised in silence.
func checkRecord(out io.Writer) error {
	list, err := readRecord()
	if err != nil {
		return err
	}
	if find(list, total) == nil {
		return fmt.Errorf("%s has no line %s: a run that costs too much would not be seen", costFile, total)
	}
	earlier, err := landedRecord()
	if err != nil {
		return err
	}
	if err := errors.Join(raised(list, earlier)...); err != nil {
		return err
	}
	fmt.Fprintf(out, "%s: %d lines\n", costFile, len(list))
	return nil
}

func readRecord() ([]record, error) {
	text, err := os.ReadFile(costFile)
	if err != nil {
		return nil, err
	}
	return parseRecord(costFile, string(text))
}

// landedRecord is the record at the last landing; nil if there was none yet.
func landedRecord() ([]record, error) {
	c, err := change.Find(".")
	if err != nil {
		return nil, err
	}
	text, err := c.Was(costFile)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return parseRecord(costFile+" of the last landing", string(text))
}

// report prints the closing line of a run, what is dearer than its record, and a block for the
// record.
func report(o options, out io.Writer) (int, error) {
	text, err := os.ReadFile(o.report)
	if err != nil {
		return 2, err
	}
	spent, err := parseSpent(o.report, string(text))
	if err != nil {
		return 2, err
	}
	var list []record
	if o.kind != "none" {
		if list, err = readRecord(); err != nil {
			return 2, err
		}
	}

	lines, red := compare(list, spent, o.kind, o.clock)
	for _, line := range lines {
		fmt.Fprintln(out, line)
	}
	if red {
		return 1, nil
	}
	return 0, nil
}

// lower lowers a record to what was spent.
func lower(name string, files []string, out io.Writer) error {
	text, err := os.ReadFile(costFile)
	if err != nil {
		return err
	}
	if len(files) == 0 {
		return errors.New("name the files with what was spent, such as /var/cache/agent-tests/cost.warm")
	}
	updated := string(text)
	for _, file := range files {
		kind := strings.TrimPrefix(filepath.Ext(file), ".")
		if kind != cold && kind != warm {
			return fmt.Errorf("%s: its name ends neither in .cold nor in .warm", file)
		}
		seconds, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		spent, err := parseSpent(file, string(seconds))
		if err != nil {
			return err
		}
		if updated, err = lowered(costFile, updated, name, kind, spent); err != nil {
			return err
		}
	}
	if updated == string(text) {
		fmt.Fprintf(out, "%s: %s is not below its record\n", costFile, name)
		return nil
	}
	return os.WriteFile(costFile, []byte(updated), 0o644)
}
