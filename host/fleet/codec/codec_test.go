package codec_test

import (
	"bytes"
	"crypto/hkdf"
	"crypto/sha256"
	"errors"
	"strings"
	"testing"

	"go.temporal.io/api/common/v1"
	"go.temporal.io/sdk/temporal"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"agent/fleet/codec"
)

// testKey is a key of a fleet with a name.
type testKey string

func (k testKey) Fleet() string { return "f-" + string(k) }

func (k testKey) Derive(purpose string) []byte {
	out, err := hkdf.Key(sha256.New, []byte(k), nil, purpose, 32)
	if err != nil {
		panic(err)
	}
	return out
}

const canary = "the secret prompt"

func TestWhatIsSealedCanBeOpenedByTheFleetAlone(t *testing.T) {
	data, _, err := codec.Converters(testKey("one"))
	if err != nil {
		t.Fatal(err)
	}
	sealed, err := data.ToPayloads(canary, map[string]string{"a": canary})
	if err != nil {
		t.Fatal(err)
	}
	if b, _ := proto.Marshal(sealed); bytes.Contains(b, []byte(canary)) {
		t.Fatalf("a sealed payload has the text in the clear: %q", b)
	}
	var text string
	var table map[string]string
	if err := data.FromPayloads(sealed, &text, &table); err != nil || text != canary || table["a"] != canary {
		t.Fatalf("opened as %q, %v: %v", text, table, err)
	}
	other, _, err := codec.Converters(testKey("two"))
	if err != nil {
		t.Fatal(err)
	}
	err = other.FromPayloads(sealed, &text, &table)
	var foreign *codec.ForeignError
	if !errors.As(err, &foreign) || foreign.Fleet != "f-one" || foreign.Own != "f-two" {
		t.Fatalf("another fleet's key gave %v", err)
	}
}

func TestTwoSealingsOfOneTextDiffer(t *testing.T) {
	c, err := codec.New(testKey("one"))
	if err != nil {
		t.Fatal(err)
	}
	in := []*common.Payload{{Data: []byte(canary)}, {Data: []byte(canary)}}
	out, err := c.Encode(in)
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Equal(out[0].Data, out[1].Data) {
		t.Fatal("the same text is sealed to the same bytes")
	}
}

func TestWhatWasNotSealedIsRefused(t *testing.T) {
	c, err := codec.New(testKey("one"))
	if err != nil {
		t.Fatal(err)
	}
	sealed, err := c.Encode([]*common.Payload{{Data: []byte(canary)}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Decode([]*common.Payload{{Data: []byte(canary)}}); !errors.Is(err, codec.ErrOpen) {
		t.Errorf("an open payload gave %v", err)
	}
	for i := range sealed[0].Data {
		damaged := proto.CloneOf(sealed[0])
		damaged.Data[i] ^= 1
		if _, err := c.Decode([]*common.Payload{damaged}); err == nil {
			t.Fatalf("a payload with another byte %d was opened", i)
		}
	}
}

func TestErrorsAreSealed(t *testing.T) {
	_, failures, err := codec.Converters(testKey("one"))
	if err != nil {
		t.Fatal(err)
	}
	failure := failures.ErrorToFailure(temporal.NewApplicationErrorWithCause(canary, "drive", errors.New(canary), canary))
	b, err := protojson.Marshal(failure)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(b), canary) || strings.Contains(string(b), "codec_test") {
		t.Fatalf("an error is in the clear: %s", b)
	}
	if back := failures.FailureToError(failure); !strings.Contains(back.Error(), canary) {
		t.Fatalf("the error came back as %v", back)
	}
}
