//go:build linux

package sandbox_test

import (
	"os"
	"os/exec"
	"slices"
	"testing"
	"time"

	"agent/tools/sandbox"
)

// BenchmarkTrue starts /bin/true plain and with each access, in turn, so that the machine is the same for all. The binary that is
// started again is AGENT_BENCH_EXE, the shipped one, where that is set. Metrics are medians
// and the least, in microseconds: under load only the least says what the work itself takes.
func BenchmarkTrue(b *testing.B) {
	exe := self
	if e := os.Getenv("AGENT_BENCH_EXE"); e != "" {
		exe = e
	}
	support := sandbox.Probe(exe)
	if !support.Namespaces {
		b.Skip("there are no namespaces here")
	}
	work, state, temp := b.TempDir(), b.TempDir(), b.TempDir()
	took := map[string][]float64{}
	for range b.N {
		for _, a := range append([]sandbox.Access{""}, sandbox.Accesses()...) {
			cmd := exec.Command("/bin/true")
			cmd.Dir = work
			begin := time.Now()
			if a != "" {
				p := sandbox.Profile{Access: a, Support: support, Workspace: work, Temp: temp, Hidden: []string{state}, Guarded: []string{temp}}
				if err := p.Wrap(cmd, exe); err != nil {
					b.Fatal(err)
				}
			}
			if err := cmd.Run(); err != nil {
				b.Fatal(a, err)
			}
			took["µs/"+string(a)] = append(took["µs/"+string(a)], float64(time.Since(begin).Nanoseconds())/1000)
		}
	}
	for name, all := range took {
		slices.Sort(all)
		if name == "µs/" {
			name += "plain"
		}
		b.ReportMetric(all[len(all)/2], name)
		b.ReportMetric(all[0], "least-"+name)
	}
	b.ReportMetric(0, "ns/op")
}
