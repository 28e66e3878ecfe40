package backup

import (
	"crypto/ecdh"
	"crypto/hpke"
	"crypto/pbkdf2"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
)

const (
	publicPrefix  = "agent-public-1-"
	privatePrefix = "agent-private-1-"

	// passes is what OWASP asks of PBKDF2 with HMAC-SHA-256 (2023).
	passes   = 600_000
	saltSize = 16
)

// ErrWrongKey says that a sealed key does not open with what was given.
var ErrWrongKey = errors.New("the key does not open with this")

// NewKeys makes a pair of keys, as texts: what seals, and what opens.
func NewKeys() (public, private string, err error) {
	k, err := ecdh.X25519().GenerateKey(rand.Reader)
	if err != nil {
		return "", "", fmt.Errorf("make a key: %w", err)
	}
	return publicPrefix + encoded(k.PublicKey().Bytes()), privatePrefix + encoded(k.Bytes()), nil
}

func encoded(b []byte) string { return base64.RawURLEncoding.EncodeToString(b) }

func decoded(text, prefix, what string) ([]byte, error) {
	rest, ok := strings.CutPrefix(strings.TrimSpace(text), prefix)
	b, err := base64.RawURLEncoding.DecodeString(rest)
	if !ok || err != nil {
		return nil, fmt.Errorf("this is no %s key: it begins with %s", what, prefix)
	}
	return b, nil
}

// Recipient is who a key is sealed to: a public key, or whoever knows a passphrase.
type Recipient struct {
	public *ecdh.PublicKey
	salt   []byte // of a passphrase
}

// ToPublic seals to a public key.
func ToPublic(text string) (Recipient, error) {
	b, err := decoded(text, publicPrefix, "public")
	if err != nil {
		return Recipient{}, err
	}
	k, err := ecdh.X25519().NewPublicKey(b)
	if err != nil {
		return Recipient{}, fmt.Errorf("read the public key: %v", err)
	}
	return Recipient{public: k}, nil
}

// ToPassphrase seals to whoever knows it.
func ToPassphrase(passphrase string) (Recipient, error) {
	salt := make([]byte, saltSize)
	rand.Read(salt) // never fails: crypto/rand ends the process instead
	k, err := ofPassphrase(passphrase, salt)
	if err != nil {
		return Recipient{}, err
	}
	return Recipient{public: k.PublicKey(), salt: salt}, nil
}

func ofPassphrase(passphrase string, salt []byte) (*ecdh.PrivateKey, error) {
	b, err := pbkdf2.Key(sha256.New, passphrase, salt, passes, 32)
	if err != nil {
		return nil, fmt.Errorf("work a key out of the passphrase: %w", err)
	}
	k, err := ecdh.X25519().NewPrivateKey(b)
	if err != nil {
		return nil, fmt.Errorf("work a key out of the passphrase: %w", err)
	}
	return k, nil
}

// sealedFor is what a sealed key is bound to.
const sealedFor = "agent: the key of a state folder"

// sealed is the salt, which is empty for a public key, and what HPKE makes of the key.
func (r Recipient) sealed(key []byte) (salt, sealed []byte, err error) {
	to, err := hpke.NewDHKEMPublicKey(r.public)
	if err == nil {
		sealed, err = hpke.Seal(to, hpke.HKDFSHA256(), hpke.AES256GCM(), []byte(sealedFor), key)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("seal the key: %w", err)
	}
	return r.salt, sealed, nil
}

// Opener opens a sealed key.
type Opener struct {
	private    *ecdh.PrivateKey
	passphrase string
	key        []byte
}

// WithPrivate opens what was sealed to the public key of the pair.
func WithPrivate(text string) (Opener, error) {
	b, err := decoded(text, privatePrefix, "private")
	if err != nil {
		return Opener{}, err
	}
	k, err := ecdh.X25519().NewPrivateKey(b)
	if err != nil {
		return Opener{}, fmt.Errorf("read the private key: %v", err)
	}
	return Opener{private: k}, nil
}

// WithPassphrase opens what was sealed to whoever knows it.
func WithPassphrase(text string) Opener { return Opener{passphrase: text} }

// WithKey is for who has the store's key itself.
func WithKey(key []byte) Opener { return Opener{key: key} }

// IsPrivate says whether a text is meant to be a private key.
func IsPrivate(text string) bool { return strings.HasPrefix(strings.TrimSpace(text), privatePrefix) }

// opened gives the store's key.
func (o Opener) opened(salt, sealed []byte) ([]byte, error) {
	k := o.private
	switch {
	case o.key != nil:
		return o.key, nil
	case len(sealed) == 0:
		return nil, fmt.Errorf("%w: there is none in the backup", ErrWrongKey)
	case k == nil && len(salt) == 0:
		return nil, fmt.Errorf("%w: it was sealed to a public key", ErrWrongKey)
	case k == nil:
		var err error
		if k, err = ofPassphrase(o.passphrase, salt); err != nil {
			return nil, err
		}
	}
	from, err := hpke.NewDHKEMPrivateKey(k)
	if err != nil {
		return nil, fmt.Errorf("open the key: %w", err)
	}
	key, err := hpke.Open(from, hpke.HKDFSHA256(), hpke.AES256GCM(), []byte(sealedFor), sealed)
	if err != nil {
		return nil, ErrWrongKey
	}
	return key, nil
}
