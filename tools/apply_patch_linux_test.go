package tools

import (
	"fmt"
	"testing"

	"agent/recovery"
)

// A patch that SIGKILL ends anywhere, again and again, is finished file by file, and no file is done twice: the first hunk would
// fit a second time.
func TestKilledPatch(t *testing.T) {
	points := []string{"write.temp_durable"}
	for n := range 6 {
		points = append(points, fmt.Sprintf("write.renamed:%d", n+1))
	}
	for _, first := range points {
		t.Run(first, func(t *testing.T) {
			if first != "write.renamed:2" {
				onlyWhole(t)
			}
			for _, second := range append([]string{""}, points...) {
				b := fivefoldBench(t)
				c, err := b.prepare("apply_patch", b.call("apply_patch", args{"patch": fivefold}))
				if err != nil {
					t.Fatal(err)
				}
				for _, point := range []string{first, second} {
					if point == "" || !b.die("apply_patch", c, point) {
						continue // fewer files were left than the point counts
					}
					i := b.tool("apply_patch").(Inspector).Inspect(b.context(), c)
					switch i.Answer {
					case recovery.InspectionHappened:
					case recovery.InspectionNotHappened:
						// The next attempt gets what was recorded before the first.
						c.Attempt++
						if c, err = b.prepare("apply_patch", c); err != nil {
							t.Fatalf("%s, %s: %v", first, second, err)
						}
						continue
					default:
						t.Fatalf("%s, %s: %+v", first, second, i)
					}
				}
				i := b.tool("apply_patch").(Inspector).Inspect(b.context(), c)
				if i.Answer == recovery.InspectionNotHappened {
					b.act(c)
				}
				if i := b.tool("apply_patch").(Inspector).Inspect(b.context(), c); i.Answer != recovery.InspectionHappened {
					t.Fatalf("%s, %s: %+v", first, second, i)
				}
				if got := b.contents(); got != fivefoldDone {
					t.Errorf("%s, %s: %s", first, second, got)
				}
			}
		})
	}
}
