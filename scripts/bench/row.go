//go:build linux

package main

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"runtime"
	"slices"
	"strconv"
	"time"
)

// row is one line of the table.
type row struct {
	Measure string  `json:"measure"`
	Figure  string  `json:"figure"` // what is measured, in words
	Value   float64 `json:"value"`
	Unit    string  `json:"unit"`
	Limit   float64 `json:"limit,omitempty"` // in the same unit; 0 where there is none
	Beside  string  `json:"beside,omitempty"`
	// Ratio is how many times worse the value is than the limit: 1 reaches it, less than 1 beats
	// it. 0 where there is no limit.
	Ratio float64 `json:"ratio,omitempty"`
	Note  string  `json:"note,omitempty"` // why it is above 1.5, or what must be known to read it
}

// cost is a figure of which less is better.
func cost(figure string, value float64, unit string, limit float64, beside string) row {
	return row{Figure: figure, Value: value, Unit: unit, Limit: limit, Beside: beside, Ratio: value / limit}
}

// rate is a figure of which more is better.
func rate(figure string, value float64, unit string, limit float64, beside string) row {
	return row{Figure: figure, Value: value, Unit: unit, Limit: limit, Beside: beside, Ratio: limit / value}
}

// plain is a figure without a limit.
func plain(figure string, value float64, unit string) row {
	return row{Figure: figure, Value: value, Unit: unit}
}

// because adds what explains the row.
func (r row) because(note string) row {
	r.Note = note
	return r
}

// median is the middle of the durations, in the unit.
func median(all []time.Duration, unit time.Duration) float64 {
	if len(all) == 0 {
		return math.NaN()
	}
	sorted := slices.Sorted(slices.Values(all))
	return float64(sorted[len(sorted)/2]) / float64(unit)
}

// takeTurns takes the tasks one after the other, n times, beginning with another one each time, and
// gives the durations of each.
func takeTurns(n int, tasks ...func() error) ([][]time.Duration, error) {
	out := make([][]time.Duration, len(tasks))
	for i := range n {
		for k := range tasks {
			task := (i + k) % len(tasks)
			began := time.Now()
			if err := tasks[task](); err != nil {
				return out, err
			}
			out[task] = append(out[task], time.Since(began))
		}
	}
	return out, nil
}

// number writes three digits that count.
func number(v float64) string {
	switch {
	case math.IsNaN(v):
		return "-"
	case v != 0 && math.Abs(v) < 100:
		return strconv.FormatFloat(v, 'g', 3, 64)
	}
	return strconv.FormatFloat(math.Round(v), 'f', 0, 64)
}

// print writes the table as Markdown.
func print(out io.Writer, rows []row) {
	fmt.Fprintf(out, "\n| | figure | value | beside it, in the same run | ratio |\n|---|---|---|---|---|\n")
	for _, r := range rows {
		beside, ratio := "", ""
		if r.Limit != 0 {
			beside = number(r.Limit) + " " + r.Unit + " " + r.Beside
			ratio = strconv.FormatFloat(r.Ratio, 'f', 2, 64)
		}
		fmt.Fprintf(out, "| %s | %s | %s %s | %s | %s |\n", r.Measure, r.Figure, number(r.Value), r.Unit, beside, ratio)
	}
	for _, r := range rows {
		if r.Note != "" {
			fmt.Fprintf(out, "\n%s, %s: %s", r.Measure, r.Figure, r.Note)
		}
	}
	fmt.Fprintln(out)
}

// write keeps the rows for programs; an empty path keeps nothing.
func write(path string, quick bool, rows []row) error {
	if path == "" {
		return nil
	}
	b, err := json.MarshalIndent(map[string]any{
		"version": 1, "quick": quick, "processors": runtime.NumCPU(), "go": runtime.Version(), "rows": rows,
	}, "", "  ")
	if err != nil {
		return fmt.Errorf("write the figures: %v", err)
	}
	if err := os.WriteFile(path, append(b, '\n'), 0o644); err != nil {
		return fmt.Errorf("write the figures: %v", err)
	}
	return nil
}
