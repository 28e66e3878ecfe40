//go:build race

package fault

import "os"

// Race is what a child that is this binary again needs of the environment where both have the race
// detector: its settings. Without them each such process waits for a second before it ends.
func Race() []string {
	if v, ok := os.LookupEnv("GORACE"); ok {
		return []string{"GORACE=" + v}
	}
	return nil
}
