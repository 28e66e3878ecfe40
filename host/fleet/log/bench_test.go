package log_test

import (
	"testing"

	"agent/fleet/log"
	"agent/fleet/log/logtest"
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
			logtest.Bench(b, l)
		})
	}
}
