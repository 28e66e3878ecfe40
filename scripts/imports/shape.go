package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"

	"agent/scripts/imports/shape"
)

// shapeRecord is the record of the measures that may not rise.
const shapeRecord = "scripts/shape.txt"

// shapeOptions are the flags of the check shape. At most one of them is given.
type shapeOptions struct {
	list   string // the measure of which is listed what counts
	update string // the measure of which the record is lowered
}

// parseShape reads the flags behind the name of the check, and returns the arguments behind them.
func parseShape(args []string) (o shapeOptions, others []string, err error) {
	flags := flag.NewFlagSet("shape", flag.ContinueOnError)
	flags.SetOutput(io.Discard) // the error names the flag
	flags.StringVar(&o.list, "v", "", "list what this `measure` counts")
	flags.StringVar(&o.update, "update", "", "lower the record of this `measure` to its figure")
	if err := flags.Parse(args); err != nil {
		return o, nil, fmt.Errorf("shape: %w: give nothing, or one of -v MEASURE and -update MEASURE", err)
	}

	if flags.NFlag() > 1 {
		return o, nil, errors.New("shape: only one of -v and -update can be given")
	}
	if flags.NFlag() == 1 && o == (shapeOptions{}) {
		return o, nil, errors.New("shape: a flag has an empty value")
	}
	for _, name := range []string{o.list, o.update} {
		if name != "" && !slices.Contains(shape.Names(), name) {
			return o, nil, fmt.Errorf("shape: unknown measure %q: there are %s", name, strings.Join(shape.Names(), ", "))
		}
	}
	return o, flags.Args(), nil
}

// checkShape does what the flags ask for, and counts the violations.
func checkShape(tree fs.FS, o shapeOptions, stdout io.Writer) (violations int, err error) {
	if o.list != "" {
		return 0, listMeasure(tree, o.list, stdout)
	}
	text, err := fs.ReadFile(tree, shapeRecord)
	if err != nil {
		return 0, fmt.Errorf("read %s: %w", shapeRecord, err)
	}
	record, problems := shape.ReadRecord(shapeRecord, string(text))
	if len(problems) > 0 {
		return report(problems, stdout), nil
	}

	module, err := shape.Load(tree)
	if err != nil {
		return 0, err
	}
	problems = module.MissingFolders()
	if o.update != "" && len(problems) > 0 {
		return report(problems, stdout), nil
	}
	if o.update != "" {
		return lowerRecord(tree, record, measure(module, o.update), stdout)
	}

	measures := module.Measures()
	for _, m := range measures {
		fmt.Fprintln(stdout, record.Row(m))
	}
	problems = append(problems, record.Exceeded(measures)...)

	raised, err := raisedSinceLanding(tree, record)
	if err != nil {
		return 0, err
	}
	return report(append(problems, raised...), stdout), nil
}

// raisedSinceLanding compares the record with that of the last landing. A tree that keeps no state
// of before, or had no record then, raises nothing.
func raisedSinceLanding(tree fs.FS, record shape.Record) ([]shape.Problem, error) {
	landed, ok := tree.(interface {
		Was(name string) ([]byte, error)
	})
	if !ok {
		return nil, nil
	}

	text, err := landed.Was(shapeRecord)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("compare %s with the last landing: %w", shapeRecord, err)
	}
	older, problems := shape.ReadOlder(shapeRecord+" of the last landing", string(text))
	if len(problems) > 0 {
		return problems, nil
	}
	return record.Raised(older), nil
}

// report prints problems and counts them.
func report(problems []shape.Problem, stdout io.Writer) int {
	for _, p := range problems {
		fmt.Fprintln(stdout, finding{path: p.File, line: p.Line, text: p.Text})
	}
	fmt.Fprintf(stdout, "shape: %d violations\n", len(problems))
	return len(problems)
}

// measure is one measure of a module.
func measure(module *shape.Module, name string) shape.Measure {
	all := module.Measures()
	return all[slices.IndexFunc(all, func(m shape.Measure) bool { return m.Name == name })]
}

func listMeasure(tree fs.FS, name string, stdout io.Writer) error {
	module, err := shape.Load(tree)
	if err != nil {
		return err
	}
	m := measure(module, name)
	for _, line := range m.Found {
		fmt.Fprintln(stdout, line)
	}
	fmt.Fprintf(stdout, "%s: %s: %s\n", m.Name, shape.Figure(m.Value), m.Help)
	return nil
}

// lowerRecord writes the record with a lower value of one measure.
func lowerRecord(tree fs.FS, record shape.Record, m shape.Measure, stdout io.Writer) (violations int, err error) {
	disk, ok := tree.(interface {
		WriteFile(name string, text []byte) error
	})
	if !ok {
		return 0, fmt.Errorf("write %s: this tree is read-only", shapeRecord)
	}
	text, err := record.Lowered(m)
	if err != nil {
		fmt.Fprintln(stdout, err)
		return 1, nil
	}
	if err := disk.WriteFile(shapeRecord, []byte(text)); err != nil {
		return 0, fmt.Errorf("write %s: %w", shapeRecord, err)
	}
	fmt.Fprintf(stdout, "%s: the record of %s is %s\n", shapeRecord, m.Name, shape.Figure(m.Value))
	return 0, nil
}
