//go:build linux

// Package marks says what effects are recognized by: each carries the number of its world and its
// step, so one that happens twice, or that nobody asked for, is seen.
package marks

import (
	"fmt"
	"regexp"
)

// form is what every effect carries: the number of its world, and its step.
const form = `mark-\d+-[a-z]+`

// In is the mark of a step in a world. All worlds' marks are of one length: what a tool says of a
// file that holds them, such as its size, is the same in all.
func In(world int, letters string) string { return fmt.Sprintf("mark-%06d-%s", world, letters) }

func Find(text string) []string {
	var out []string
	seen := map[string]bool{}
	for _, m := range regexp.MustCompile(form).FindAllString(text, -1) {
		if !seen[m] {
			seen[m] = true
			out = append(out, m)
		}
	}
	return out
}
