package config

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// KeepContents is how many bytes of contents are kept where nobody says otherwise.
const KeepContents = 2 << 30

type keepKeys struct {
	Contents *string `toml:"contents"`
	Older    *string `toml:"older"`
	Runs     *int    `toml:"runs"`
}

// Prune says which finished threads are removed. The zero value removes none.
type Prune struct {
	Older time.Duration // whose last fact is older; 0 when not said
	Runs  int           // but for those of the newest runs, so many; 0 when not said
}

// keep reads how much is kept; 0 when not said.
func (c *checker) keep(k *keepKeys) (contents int64, prune Prune) {
	if k == nil {
		return 0, prune
	}
	var err error
	if k.Contents != nil {
		if contents, err = Size(*k.Contents); err != nil {
			c.wrong([]string{"keep", "contents"}, "contents: %v", err)
		}
	}
	if k.Older != nil {
		if prune.Older, err = Age(*k.Older); err != nil {
			c.wrong([]string{"keep", "older"}, "older: %v", err)
		}
	}
	if k.Runs != nil {
		if prune.Runs = *k.Runs; prune.Runs < 1 {
			c.wrong([]string{"keep", "runs"}, "runs: %d is no number of runs from 1", prune.Runs)
		}
	}
	return contents, prune
}

// Age reads how old something is, such as 12h or 30d.
func Age(text string) (time.Duration, error) {
	bad := fmt.Errorf("%q is no age, such as 30d or 12h", text)
	for unit, each := range map[string]time.Duration{"d": 24 * time.Hour, "h": time.Hour} {
		number, ok := strings.CutSuffix(strings.TrimSpace(text), unit)
		if !ok {
			continue
		}
		n, err := strconv.Atoi(number)
		if err != nil || n < 1 || n > 100*366*24 {
			return 0, bad
		}
		return time.Duration(n) * each, nil
	}
	return 0, bad
}

// Size reads a size such as 500MiB or 2GiB, in bytes.
func Size(text string) (int64, error) {
	bad := fmt.Errorf("%q is no size, such as 500MiB or 2GiB", text)
	for unit, bytes := range map[string]float64{"MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40} {
		number, ok := strings.CutSuffix(strings.TrimSpace(text), unit)
		if !ok {
			continue
		}
		n, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
		if err != nil || !(n > 0) || n*bytes > math.MaxInt64/2 {
			return 0, bad
		}
		return int64(n * bytes), nil
	}
	return 0, bad
}
