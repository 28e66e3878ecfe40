package files

import (
	"fmt"
	"testing"

	"agent/recovery"
	"agent/tools"
	"agent/tools/toolstest"
)

// A patch that SIGKILL ends anywhere, again and again, is finished file by file, and no file is
// done twice: the first hunk would fit a second time.
func TestKilledPatch(t *testing.T) {
	points := []string{"write.temp_durable"}
	for n := range 6 {
		points = append(points, fmt.Sprintf("write.renamed:%d", n+1))
	}
	for _, first := range points {
		t.Run(first, func(t *testing.T) {
			if first != "write.renamed:2" {
				toolstest.OnlyWhole(t)
			}
			for _, second := range append([]string{""}, points...) {
				b := fivefoldBench(t)
				c, err := b.Prepare("apply_patch", b.Call("apply_patch", args{"patch": fivefold}))
				if err != nil {
					t.Fatal(err)
				}
				for _, point := range []string{first, second} {
					if point == "" || !b.die("apply_patch", c, point) {
						continue // fewer files were left than the point counts
					}
					i := b.Tool("apply_patch").(tools.Inspector).Inspect(b.Context(), c)
					switch i.Answer {
					case recovery.InspectionHappened:
					case recovery.InspectionNotHappened:
						// The next attempt gets what was recorded before the first.
						c.Attempt++
						if c, err = b.Prepare("apply_patch", c); err != nil {
							t.Fatalf("%s, %s: %v", first, second, err)
						}
						continue
					default:
						t.Fatalf("%s, %s: %+v", first, second, i)
					}
				}
				i := b.Tool("apply_patch").(tools.Inspector).Inspect(b.Context(), c)
				if i.Answer == recovery.InspectionNotHappened {
					b.act(c)
				}
				if i := b.Tool("apply_patch").(tools.Inspector).Inspect(b.Context(), c); i.Answer != recovery.InspectionHappened {
					t.Fatalf("%s, %s: %+v", first, second, i)
				}
				if got := b.contents(); got != fivefoldDone {
					t.Errorf("%s, %s: %s", first, second, got)
				}
			}
		})
	}
}
