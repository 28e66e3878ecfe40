package config

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// KeepContents is how many bytes of contents are kept where nobody says otherwise.
const KeepContents = 2 << 30

type keepKeys struct {
	Contents *string `toml:"contents"`
}

// keep reads how much is kept; 0 when not said.
func (c *checker) keep(k *keepKeys) int64 {
	if k == nil || k.Contents == nil {
		return 0
	}
	n, err := Size(*k.Contents)
	if err != nil {
		c.wrong([]string{"keep", "contents"}, "contents: %v", err)
	}
	return n
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
