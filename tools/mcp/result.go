package mcp

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"agent/recovery/journal"
	"agent/tools"
)

// Bounds of what is kept of a result, in bytes.
const (
	shownRoom = 32 << 10 // for the model
	keptRoom  = 1 << 20  // in the record
)

// result is what the server answered. An answer that says isError is known: the tool ran to its end
// and says that it failed.
func (t *tool) result(c tools.Call, res *sdk.CallToolResult) journal.Result {
	r := journal.Result{Outcome: journal.OutcomeOK, Applied: journal.AppliedYes, How: journal.HowExecuted}
	if t.effect == journal.EffectRead {
		r.Applied = journal.AppliedNo
	}
	if res.IsError {
		r.Outcome = journal.OutcomeError
	}
	whole := contentOf(res)
	if whole == "" && res.IsError {
		whole = "[the tool failed and gave no reason]"
	} else if whole == "" {
		whole = "[no output]"
	}
	r.Size = int64(len(whole))
	r.Content = whole
	if len(whole) > shownRoom {
		full, gone := whole, 0
		if len(full) > keptRoom {
			gone = len(full) - keptRoom
			full = fmt.Sprintf("%s\n[%d bytes are not kept]\n%s", head(full, keptRoom/2), gone, end(full, keptRoom/2))
		}
		r.Full = []byte(full)
		reads := "read_output with call " + c.ID + " reads them"
		if gone > 0 {
			reads = fmt.Sprintf("%d of those are not kept; read_output with call %s reads the others", gone, c.ID)
		}
		h, e := head(whole, shownRoom/2), end(whole, shownRoom/2)
		r.Content = fmt.Sprintf("%s\n[%d of %d bytes are left out here; %s]\n%s", h, len(whole)-len(h)-len(e), len(whole), reads, e)
	}
	return r
}

func head(s string, n int) string { return strings.ToValidUTF8(s[:n], "") }
func end(s string, n int) string  { return strings.ToValidUTF8(s[len(s)-n:], "") }

// contentOf is the content as text. What is no text is described.
func contentOf(res *sdk.CallToolResult) string {
	var parts []string
	said := map[string]bool{}
	for _, c := range res.Content {
		if p := partOf(c); p != "" {
			parts = append(parts, p)
			said[strings.TrimSpace(p)] = true
		}
	}
	if res.StructuredContent != nil {
		if text := compact(res.StructuredContent); text != "" && !repeats(said, text) {
			parts = append(parts, text)
		}
	}
	return strings.ToValidUTF8(strings.Join(parts, "\n"), "\uFFFD")
}

// repeats says whether a text is the structured content once more: servers give both, for clients
// that know but one.
func repeats(said map[string]bool, structured string) bool {
	for text := range said {
		var v any
		if json.Unmarshal([]byte(text), &v) == nil && compact(v) == structured {
			return true
		}
	}
	return false
}

// compact is a value as JSON, with letters as they are; "" for what is none.
func compact(v any) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if enc.Encode(v) != nil {
		return ""
	}
	return strings.TrimSuffix(b.String(), "\n")
}

func partOf(c sdk.Content) string {
	switch c := c.(type) {
	case *sdk.TextContent:
		return c.Text
	case *sdk.ImageContent:
		return described("image", c.MIMEType, c.Data)
	case *sdk.AudioContent:
		return described("audio", c.MIMEType, c.Data)
	case *sdk.ResourceLink:
		return fmt.Sprintf("[link to resource %s %s]", brief(c.URI, 500), brief(c.Name, 100))
	case *sdk.EmbeddedResource:
		if c.Resource == nil {
			return ""
		}
		if c.Resource.Blob == nil {
			return fmt.Sprintf("[resource %s]\n%s", brief(c.Resource.URI, 500), c.Resource.Text)
		}
		return described("resource "+brief(c.Resource.URI, 500), c.Resource.MIMEType, c.Resource.Blob)
	}
	return fmt.Sprintf("[content of a kind that is not known here: %T]", c)
}

// described stands for data that is no text.
func described(what, kind string, data []byte) string {
	sum := sha256.Sum256(data)
	return fmt.Sprintf("[%s, %s, %d bytes, SHA-256 %s]", what, brief(kind, 80), len(data), hex.EncodeToString(sum[:]))
}
