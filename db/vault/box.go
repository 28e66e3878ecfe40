package vault

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
)

// Box seals values with AES-256-GCM, each under an id with which alone it opens. What it gives is a
// nonce and the ciphertext.
type Box struct{ aead cipher.AEAD }

// NewBox works a key for one use out from the file key.
func NewBox(key []byte, use string) (*Box, error) {
	sealing, err := hkdf.Key(sha256.New, key, nil, use, 32)
	if err != nil {
		return nil, fmt.Errorf("derive a key: %w", err)
	}
	block, err := aes.NewCipher(sealing)
	if err != nil {
		return nil, fmt.Errorf("derive a key: %w", err)
	}
	aead, err := cipher.NewGCM(block)
	if err != nil {
		return nil, fmt.Errorf("derive a key: %w", err)
	}
	return &Box{aead}, nil
}

// Seal makes ciphertext that only this id can be opened with.
func (b *Box) Seal(id, raw []byte) []byte {
	nonce := make([]byte, b.aead.NonceSize(), b.aead.NonceSize()+len(raw)+b.aead.Overhead())
	rand.Read(nonce) // never fails: crypto/rand ends the process instead
	return b.aead.Seal(nonce, nonce, raw, id)
}

// ErrShut says that what was sealed does not open.
var ErrShut = errors.New("it was sealed with another key, or changed since")

// Open gives the value back.
func (b *Box) Open(id, sealed []byte) ([]byte, error) {
	n := b.aead.NonceSize()
	if len(sealed) < n {
		return nil, errors.New("it is cut off")
	}
	raw, err := b.aead.Open(nil, sealed[:n], sealed[n:], id)
	if err != nil {
		return nil, ErrShut
	}
	return raw, nil
}
