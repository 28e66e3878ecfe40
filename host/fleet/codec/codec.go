// Package codec seals what a fleet gives to its engine. The engine stores and routes ids, states
// and the names of hosts; prompts, questions, answers and errors it holds only as sealed payloads,
// which nobody opens who does not have the fleet's key.
package codec

import (
	"crypto/aes"
	"crypto/cipher"
	"errors"
	"fmt"

	"go.temporal.io/api/common/v1"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
	"google.golang.org/protobuf/proto"
)

const (
	encoding = "binary/agent-fleet" // of a sealed payload
	keyField = "agent-fleet-key"    // in its metadata: the fleet's id
	purpose  = "agent-fleet payload"
)

// Key is what is needed of a fleet's key.
type Key interface {
	Fleet() string // its id, which anybody may know
	Derive(purpose string) []byte
}

// ForeignError says that a payload was sealed with the key of another fleet.
type ForeignError struct{ Fleet, Own string }

func (e *ForeignError) Error() string {
	return fmt.Sprintf("this was sealed with the key of fleet %s, and the key here is that of fleet %s", e.Fleet, e.Own)
}

// ErrOpen says that somebody who has no key of a fleet wrote a payload.
var ErrOpen = errors.New("this was not sealed with a fleet's key")

// Codec seals payloads. It implements converter.PayloadCodec.
type Codec struct {
	fleet string
	aead  cipher.AEAD
}

// New makes the codec of the fleet that has a key.
func New(key Key) (*Codec, error) {
	block, err := aes.NewCipher(key.Derive(purpose))
	if err != nil {
		return nil, fmt.Errorf("make the codec of fleet %s: %w", key.Fleet(), err)
	}
	aead, err := cipher.NewGCMWithRandomNonce(block)
	if err != nil {
		return nil, fmt.Errorf("make the codec of fleet %s: %w", key.Fleet(), err)
	}
	return &Codec{fleet: key.Fleet(), aead: aead}, nil
}

// Encode seals payloads.
func (c *Codec) Encode(in []*common.Payload) ([]*common.Payload, error) {
	out := make([]*common.Payload, len(in))
	for i, p := range in {
		plain, err := proto.Marshal(p)
		if err != nil {
			return nil, fmt.Errorf("seal a payload: %w", err)
		}
		out[i] = &common.Payload{
			Metadata: map[string][]byte{converter.MetadataEncoding: []byte(encoding), keyField: []byte(c.fleet)},
			Data:     c.aead.Seal(nil, nil, plain, []byte(encoding+" "+c.fleet)),
		}
	}
	return out, nil
}

// Decode opens payloads, and refuses those that were never sealed: whoever can write to the engine
// and has no key has nothing to say to a fleet.
func (c *Codec) Decode(in []*common.Payload) ([]*common.Payload, error) {
	out := make([]*common.Payload, len(in))
	for i, p := range in {
		if string(p.GetMetadata()[converter.MetadataEncoding]) != encoding {
			return nil, ErrOpen
		}
		if fleet := string(p.GetMetadata()[keyField]); fleet != c.fleet {
			return nil, &ForeignError{Fleet: fleet, Own: c.fleet}
		}
		plain, err := c.aead.Open(nil, nil, p.GetData(), []byte(encoding+" "+c.fleet))
		if err != nil {
			return nil, errors.New("open a payload: it is damaged, or was not made by this fleet")
		}
		out[i] = &common.Payload{}
		if err := proto.Unmarshal(plain, out[i]); err != nil {
			return nil, fmt.Errorf("open a payload: %w", err)
		}
	}
	return out, nil
}

// Converters are what clients and workers of the fleet convert data and errors with: the texts of
// errors and their stack traces are sealed too.
func Converters(key Key) (converter.DataConverter, converter.FailureConverter, error) {
	c, err := New(key)
	if err != nil {
		return nil, nil, err
	}
	data := converter.NewCodecDataConverter(converter.GetDefaultDataConverter(), c)
	return data, temporal.NewDefaultFailureConverter(temporal.DefaultFailureConverterOptions{
		DataConverter: data, EncodeCommonAttributes: true,
	}), nil
}
