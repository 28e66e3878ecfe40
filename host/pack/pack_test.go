package pack

import (
	"bytes"
	"crypto/ecdh"
	"crypto/rand"
	"errors"
	"io"
	"testing"
	"time"
)

func aPack(t testing.TB, to *Address) []byte {
	t.Helper()
	var b bytes.Buffer
	w, err := NewWriter(&b, Header{ID: "m-1", From: "s-A", Made: time.Unix(1, 0).UTC()}, to)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range []Record{{About: &About{Thread: "t-1"}}, {Body: bytes.Repeat([]byte("large "), 40<<10)}, {Run: &Run{ID: "r-1"}}} {
		if err := w.Write(r); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func read(data []byte, key *ecdh.PrivateKey) (n int, err error) {
	r, err := NewReader(bytes.NewReader(data))
	if err == nil {
		err = r.Open(key)
	}
	for err == nil {
		if _, err = r.Next(); err == nil {
			n++
		}
	}
	return n, err
}

// Issue 16: a pack that is cut off, changed anywhere, longer, or sealed to another store is
// refused.
func TestPackIsWhole(t *testing.T) {
	key, err := ecdh.X25519().GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	to := NewAddress("s-B", 1, key)
	if back, err := ParseAddress(to.String()); err != nil || back.String() != to.String() {
		t.Fatalf("%s is read as %s: %v", to, back, err)
	}
	for _, seal := range []*Address{nil, &to} {
		data := aPack(t, seal)
		if n, err := read(data, key); n != 4 || err != io.EOF {
			t.Fatalf("%d records: %v", n, err)
		}
		for i := range data {
			bad := bytes.Clone(data)
			bad[i] ^= 1
			if _, err := read(bad, key); err == io.EOF {
				t.Fatalf("byte %d was changed, and nobody noticed", i)
			}
			if _, err := read(data[:i], key); err == io.EOF {
				t.Fatalf("it was cut off at %d, and nobody noticed", i)
			}
		}
		if _, err := read(append(bytes.Clone(data), 'x'), key); err == io.EOF {
			t.Fatal("something stands behind its end, and nobody noticed")
		}
	}
	other, err := ecdh.X25519().GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := read(aPack(t, &to), other); !errors.Is(err, ErrSealed) {
		t.Fatal(err)
	}
}
