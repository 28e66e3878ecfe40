package logtest

import (
	"bytes"
	"fmt"
	"sync/atomic"
	"testing"

	"agent/fleet/log"
)

// Bench measures how long an entry of 2 kB takes, and how many a second 16 writers have taken.
func Bench(b *testing.B, l log.Log) {
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
}
