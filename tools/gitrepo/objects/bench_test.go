package objects

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// A repository to be measured is named by the environment: it takes a minute to make one of 50,000
// files.
func benchRepo(b *testing.B) (Repository, map[string]Indexed) {
	dir := os.Getenv("AGENT_BENCH_REPO")
	if dir == "" {
		b.Skip("AGENT_BENCH_REPO names no repository")
	}
	r, ok, err := Find(dir)
	if err != nil || !ok {
		b.Fatal(ok, err)
	}
	all, err := collected(r.Index())
	if err != nil {
		b.Fatal(err)
	}
	return r, all
}

func BenchmarkIndex(b *testing.B) {
	r, all := benchRepo(b)
	for b.Loop() {
		if _, err := r.Index(); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(len(all)), "files")
}

func BenchmarkConversions(b *testing.B) {
	r, all := benchRepo(b)
	for b.Loop() {
		of, err := conversions(r)
		if err != nil {
			b.Fatal(err)
		}
		for name := range all {
			of(name)
		}
	}
}

func named(all map[string]Indexed) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for _, e := range all {
			if !yield(e.Blob) {
				return
			}
		}
	}
}

func BenchmarkPin(b *testing.B) {
	r, all := benchRepo(b)
	base := benchFolder(b, r)
	for b.Loop() {
		dir := filepath.Join(base, "pin")
		if _, err := r.Pin(dir, named(all)); err != nil {
			b.Fatal(err)
		}
		b.StopTimer()
		if err := Remove(dir); err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
	}
}

// benchFolder is beside the repository: links need the same file system.
func benchFolder(b *testing.B, r Repository) string {
	base, err := os.MkdirTemp(filepath.Dir(r.Top), "bench-")
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { os.RemoveAll(base) })
	return base
}

// BenchmarkRead500 reads 500 blobs of a repository that is gone, with a git that is started anew.
func BenchmarkRead500(b *testing.B) {
	r, all := benchRepo(b)
	base := benchFolder(b, r)
	if out, err := exec.Command("cp", "-al", r.Git, filepath.Join(base, ".git")).CombinedOutput(); err != nil {
		b.Fatal(err, string(out))
	}
	gone, ok, err := Find(base)
	if err != nil || !ok {
		b.Fatal(ok, err)
	}
	p, err := gone.Pin(filepath.Join(base, "pin"), named(all))
	if err != nil {
		b.Fatal(err)
	}
	if err := os.RemoveAll(gone.Git); err != nil {
		b.Fatal(err)
	}
	var ids []string
	for _, e := range all {
		ids = append(ids, e.Blob)
	}
	for b.Loop() {
		for i := range 500 {
			if _, err := p.Read(context.Background(), ids[i*97%len(ids)], 1<<20); err != nil {
				b.Fatal(err)
			}
		}
		if err := p.Close(); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkSizes(b *testing.B) {
	r, all := benchRepo(b)
	p, err := r.Pin(filepath.Join(benchFolder(b, r), "pin"), named(all))
	if err != nil {
		b.Fatal(err)
	}
	var ids []string
	for _, e := range all {
		ids = append(ids, e.Blob)
	}
	for b.Loop() {
		if sizes, err := p.Sizes(context.Background(), ids); err != nil || len(sizes) != len(all) {
			b.Fatal(len(sizes), err)
		}
	}
}
