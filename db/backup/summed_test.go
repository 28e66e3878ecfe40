package backup

import (
	"bytes"
	"crypto/sha256"
	"io"
	"testing"
	"testing/iotest"

	"pgregory.net/rapid"

	"agent/scripts/testkit/seed"
)

// The hash is that of the pieces, however the bytes come.
func TestSummed(t *testing.T) {
	seed.Rapid(t)
	rapid.Check(t, func(t *rapid.T) {
		sizes := rapid.SliceOfN(rapid.SampledFrom([]int{0, 1, 1000, pieceSize - 1, pieceSize, pieceSize + 1, 3 * pieceSize}), 0, 4).Draw(t, "sizes")
		var all, out bytes.Buffer
		s := newSummed()
		for i, n := range sizes {
			part := bytes.Repeat([]byte{byte(i + 1)}, n)
			all.Write(part)
			var from io.Reader = bytes.NewReader(part)
			if i%2 == 1 {
				from = iotest.HalfReader(from)
			}
			if k, err := s.copy(&out, from); err != nil || k != int64(n) {
				t.Fatalf("%d of %d bytes, %v", k, n, err)
			}
		}
		want := sha256.New()
		for left := all.Bytes(); len(left) > 0; left = left[min(pieceSize, len(left)):] {
			sum := sha256.Sum256(left[:min(pieceSize, len(left))])
			want.Write(sum[:])
		}
		if !bytes.Equal(out.Bytes(), all.Bytes()) || !bytes.Equal(s.end(), want.Sum(nil)) {
			t.Fatalf("%v: another copy, or another hash", sizes)
		}
	})
}
