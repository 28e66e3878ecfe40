package log_test

import (
	"bytes"
	"fmt"
	"sync/atomic"
	"testing"

	"agent/fleet/log"
	"agent/fleet/log/pgtest"
)

// BenchmarkCreate is a put of 2 kB: by one driver, and by many of other runs beside each other.
func BenchmarkCreate(b *testing.B) {
	for name, url := range map[string]func(b *testing.B) string{
		"dir": func(b *testing.B) string { return "dir:" + b.TempDir() },
		"postgres": func(b *testing.B) string {
			s := pgtest.Start(b, "fsync=on")
			return s.URL(s.Dir) + "&pool_max_conns=16"
		},
	} {
		b.Run(name, func(b *testing.B) {
			l, err := log.Open(b.Context(), url(b), "bench")
			if err != nil {
				b.Fatal(err)
			}
			defer l.Close()
			entry := bytes.Repeat([]byte("0123456789abcdef"), 128)
			var runs atomic.Int64
			b.Run("alone", func(b *testing.B) {
				root := fmt.Sprintf("r-alone%d", runs.Add(1))
				for i := range b.N {
					if err := l.Create(b.Context(), root, int64(i+1), entry); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "puts/s")
			})
			b.Run("16", func(b *testing.B) {
				b.SetParallelism(8)
				b.RunParallel(func(p *testing.PB) {
					root := fmt.Sprintf("r-many%d", runs.Add(1))
					for place := int64(1); p.Next(); place++ {
						if err := l.Create(b.Context(), root, place, entry); err != nil {
							b.Error(err)
							return
						}
					}
				})
				b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "puts/s")
			})
		})
	}
}
