package pack

import (
	"crypto/ecdh"
	"crypto/hpke"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
)

// addressPrefix begins the address of a store.
const addressPrefix = "agent-store-1-"

// Address is where a pack can be sent: a store, as it is until a copy of it is declared to be
// one of its own.
type Address struct {
	Store       string
	Incarnation int64
	public      *ecdh.PublicKey
}

// NewAddress is the address of a store, given what its key gives for it.
func NewAddress(store string, incarnation int64, private *ecdh.PrivateKey) Address {
	return Address{store, incarnation, private.PublicKey()}
}

// ParseAddress reads what String has written.
func ParseAddress(text string) (Address, error) {
	wrong := fmt.Errorf("this is no address of a store: one begins with %s, and agent import --id prints it where the pack is to go", addressPrefix)
	rest, ok := strings.CutPrefix(strings.TrimSpace(text), addressPrefix)
	if !ok {
		return Address{}, wrong
	}
	var a Address
	var encoded string
	parts := strings.SplitN(rest, ".", 3)
	if len(parts) != 3 {
		return Address{}, wrong
	}
	a.Store, encoded = parts[0], parts[2]
	if _, err := fmt.Sscanf(parts[1], "%d", &a.Incarnation); err != nil {
		return Address{}, wrong
	}
	b, err := base64.RawURLEncoding.DecodeString(encoded)
	if err != nil {
		return Address{}, wrong
	}
	if a.public, err = ecdh.X25519().NewPublicKey(b); err != nil || a.String() != addressPrefix+rest {
		return Address{}, wrong
	}
	return a, nil
}

// String is the address as a person gives it.
func (a Address) String() string {
	return fmt.Sprintf("%s%s.%d.%s", addressPrefix, a.Store, a.Incarnation, base64.RawURLEncoding.EncodeToString(a.public.Bytes()))
}

// sealedFor is what the key of a pack is bound to.
const sealedFor = "agent: the key of a pack"

// seal puts the key of the blocks into a header.
func (h *Header) seal(to *Address, key []byte) error {
	if to == nil {
		h.Key = key
		return nil
	}
	public, err := hpke.NewDHKEMPublicKey(to.public)
	if err == nil {
		h.Key, err = hpke.Seal(public, hpke.HKDFSHA256(), hpke.AES256GCM(), []byte(sealedFor+" "+h.ID), key)
	}
	if err != nil {
		return fmt.Errorf("seal the pack: %w", err)
	}
	h.To = to.String()
	return nil
}

// ErrSealed says that a pack is sealed to another store.
var ErrSealed = errors.New("it is sealed to another store")

// open gives the key of the blocks.
func (h *Header) open(private *ecdh.PrivateKey) ([]byte, error) {
	if h.To == "" {
		return h.Key, nil
	}
	if private == nil {
		return nil, ErrSealed
	}
	from, err := hpke.NewDHKEMPrivateKey(private)
	if err != nil {
		return nil, fmt.Errorf("open the pack: %w", err)
	}
	key, err := hpke.Open(from, hpke.HKDFSHA256(), hpke.AES256GCM(), []byte(sealedFor+" "+h.ID), h.Key)
	if err != nil {
		return nil, ErrSealed
	}
	return key, nil
}

// Chain is the digest of a run's facts up to one, from that of the facts before it: SHA-256
// over the earlier digest, kind, version, turn, time and the SHA-256 of the body. Numbers of
// runs are no part of it, so it is the same in every store.
func Chain(before []byte, f *Fact) []byte {
	hash := f.Hash
	if hash == nil {
		sum := sha256.Sum256([]byte(f.Body))
		hash = sum[:]
	}
	b := make([]byte, sha256.Size, 2*sha256.Size+32)
	copy(b, before)
	for _, n := range []int64{f.Kind, f.V, f.Turn, f.Time} {
		b = binary.BigEndian.AppendUint64(b, uint64(n))
	}
	sum := sha256.Sum256(append(b, hash...))
	return sum[:]
}

// Name is the SHA-256 by which facts name a body.
func Name(body []byte) []byte {
	sum := sha256.Sum256(body)
	return sum[:]
}
