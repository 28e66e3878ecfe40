//go:build linux

package plan

import (
	"hash/fnv"
	"math/rand/v2"
)

// Sample takes n of all, by chance but with as many kinds among them as possible.
func Sample[T any](all []T, n int, seed uint64, kind func(T) string) []T {
	order := rand.New(rand.NewPCG(seed, 0)).Perm(len(all))
	var out []T
	used, taken := map[string]int{}, map[int]bool{}
	for round := 0; len(out) < min(n, len(all)); round++ {
		for _, i := range order {
			if k := kind(all[i]); len(out) < n && used[k] == round && !taken[i] {
				used[k]++
				taken[i] = true
				out = append(out, all[i])
			}
		}
	}
	return out
}

// Pick chooses a number below n that follows from the words alone.
func Pick(n int, words ...string) int {
	h := fnv.New32a()
	for _, w := range words {
		_, _ = h.Write([]byte(w + "\x00")) // a hash takes everything
	}
	return int(h.Sum32() % uint32(n))
}
