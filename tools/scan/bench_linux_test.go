package scan

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// BenchmarkTree lists 50,000 files in 10,000 folders, with 20,000 more in ignored ones: for the
// first time, and again where nothing changed.
func BenchmarkTree(b *testing.B) {
	dir := b.TempDir()
	put := func(rel string) {
		path := filepath.Join(dir, rel)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			b.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(rel), 0o644); err != nil {
			b.Fatal(err)
		}
	}
	for i := range 50_000 {
		rel := fmt.Sprintf("packages/area%02d/part%02d/module%d/file_number_%d.go", i/5000, i/50%100, i/5%10, i%5)
		put(rel)
	}
	for i := range 20_000 {
		put(fmt.Sprintf("node_modules/lib%d/f%d.js", i/20, i%20))
	}
	rules := "node_modules/\n/dist\n*.o\n*.log\n.env\n"
	for i := range 30 {
		rules += fmt.Sprintf("/build%d/out\ntmp%d/\n", i, i)
	}
	if err := os.WriteFile(filepath.Join(dir, ".gitignore"), []byte(rules), 0o644); err != nil {
		b.Fatal(err)
	}
	for name, known := range map[string]bool{"first": false, "again": true} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			least, tree := math.Inf(1), NewTree(dir) // the machine may have other work to do
			for b.Loop() {
				before := cpu(b)
				l, err := tree.List(Options{})
				if n := len(l.Changes); err != nil || n > 0 || l.Unseen("packages/x") || !l.Unseen("node_modules/lib1/f1.js") {
					b.Fatalf("%d changes, %v", n, err)
				}
				least = min(least, cpu(b)-before)
				if !known {
					tree = NewTree(dir)
				}
			}
			b.ReportMetric(least, "least-cpu-ms")
		})
	}
}

// cpu is how long this process computed, in milliseconds.
func cpu(b *testing.B) float64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return float64(u.Utime.Nano()+u.Stime.Nano()) / 1e6
}
