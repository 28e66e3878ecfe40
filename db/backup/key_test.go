package backup

import (
	"bytes"
	"errors"
	"strings"
	"testing"
)

// A sealed key opens with what it was sealed to, and with nothing else.
func TestSealedKey(t *testing.T) {
	key := bytes.Repeat([]byte{7}, 32)
	public, private, err := NewKeys()
	if err != nil {
		t.Fatal(err)
	}
	_, other, err := NewKeys()
	if err != nil {
		t.Fatal(err)
	}
	to, err := ToPublic(" " + public + "\n")
	if err != nil {
		t.Fatal(err)
	}
	salt, sealed, err := to.sealed(key)
	if err != nil || bytes.Contains(sealed, key) {
		t.Fatalf("sealed %x, %v", sealed, err)
	}
	good, wrong := opener(t, private), opener(t, other)
	if got, err := good.opened(salt, sealed); err != nil || !bytes.Equal(got, key) {
		t.Errorf("opened %x, %v", got, err)
	}
	for name, o := range map[string]Opener{"another key": wrong, "a passphrase": WithPassphrase("seven")} {
		if _, err := o.opened(salt, sealed); !errors.Is(err, ErrWrongKey) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := good.opened(nil, nil); !errors.Is(err, ErrWrongKey) {
		t.Errorf("without a sealed key: %v", err)
	}
	sealed[len(sealed)-1] ^= 1
	if _, err := good.opened(salt, sealed); !errors.Is(err, ErrWrongKey) {
		t.Errorf("changed: %v", err)
	}
}

func opener(t *testing.T, private string) Opener {
	t.Helper()
	o, err := WithPrivate(private)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func TestPassphrase(t *testing.T) {
	key := bytes.Repeat([]byte{9}, 32)
	to, err := ToPassphrase("correct horse")
	if err != nil {
		t.Fatal(err)
	}
	salt, sealed, err := to.sealed(key)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := WithPassphrase("correct horse").opened(salt, sealed); err != nil || !bytes.Equal(got, key) {
		t.Errorf("opened %x, %v", got, err)
	}
	if _, err := WithPassphrase("another horse").opened(salt, sealed); !errors.Is(err, ErrWrongKey) {
		t.Errorf("another one: %v", err)
	}
}

func TestKeyTexts(t *testing.T) {
	public, private, err := NewKeys()
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"", private, public[:len(public)-2], strings.Replace(public, "-1-", "-2-", 1), public + "!"} {
		if _, err := ToPublic(text); err == nil {
			t.Errorf("%q is taken for a public key", text)
		}
	}
	for _, text := range []string{"", public, private[:len(private)-2]} {
		if _, err := WithPrivate(text); err == nil {
			t.Errorf("%q is taken for a private key", text)
		}
	}
}
