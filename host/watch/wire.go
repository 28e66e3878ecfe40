package watch

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"agent/recovery/journal"
)

// mostString is how many bytes of one text of a fact an observer gets; the whole is in the journal.
const mostString = 32 << 10

// wireForm is a fact's body as observers get it: as it is stored, secrets as placeholders, without
// what only a provider can read (opaque), with the size of an image instead of its bytes, and with
// the digest and size of the system prompt instead of its text. A longer text than 32 KiB is its
// beginning; clipped names each such one by its path, with its size.
func wireForm(b journal.Body) (json.RawMessage, error) {
	data, err := json.Marshal(b)
	if err != nil || !heavy(b) && len(data) <= mostString {
		return data, err
	}
	var tree map[string]any
	d := json.NewDecoder(strings.NewReader(string(data)))
	d.UseNumber()
	if err := d.Decode(&tree); err != nil {
		return nil, err
	}
	if setup, ok := tree["setup"].(map[string]any); ok {
		lightSetup(setup)
	}
	if def, ok := tree["flow"].(map[string]any); ok {
		lightFlow(def)
	}
	if blocks, ok := tree["blocks"].([]any); ok {
		for _, b := range blocks {
			if b, ok := b.(map[string]any); ok {
				delete(b, "opaque")
				lightImage(b["image"])
			}
		}
	}
	clipped := map[string]int{}
	clip(tree, "", clipped)
	if len(clipped) > 0 {
		tree["clipped"] = clipped
	}
	return json.Marshal(tree)
}

// heavy says whether a body may hold what observers do not get.
func heavy(b journal.Body) bool {
	switch b := b.(type) {
	case journal.RunCreated:
		return b.Setup.System != "" || len(b.Setup.Images) > 0 || b.Flow != nil
	case journal.ModelAnswered:
		return slices.ContainsFunc(b.Blocks, func(b journal.Block) bool { return b.Opaque != nil || b.Image != nil })
	}
	return false
}

// lightFlow makes light how the models of a flow's phases are asked.
func lightFlow(def map[string]any) {
	setups, _ := def["setups"].(map[string]any) // a flow whose phases name no model has none
	for _, setup := range setups {
		if setup, ok := setup.(map[string]any); ok {
			lightSetup(setup)
		}
	}
}

func lightSetup(setup map[string]any) {
	if text, ok := setup["system"].(string); ok {
		sum := sha256.Sum256([]byte(text))
		setup["system"] = map[string]any{"digest": hex.EncodeToString(sum[:]), "bytes": len(text)}
	}
	if images, ok := setup["images"].([]any); ok {
		for _, i := range images {
			lightImage(i)
		}
	}
}

// lightImage replaces an image's base64 by the number of its bytes.
func lightImage(v any) {
	image, ok := v.(map[string]any)
	if !ok {
		return
	}
	data, _ := image["data"].(string) // an image without data has no bytes
	delete(image, "data")
	image["bytes"] = len(data)/4*3 - strings.Count(data[max(0, len(data)-2):], "=")
}

// clip cuts long texts below v.
func clip(v any, path string, clipped map[string]int) any {
	switch v := v.(type) {
	case string:
		if len(v) <= mostString {
			return v
		}
		end := mostString
		for !utf8.RuneStart(v[end]) {
			end--
		}
		clipped[path] = len(v)
		return v[:end]
	case map[string]any:
		for _, k := range slices.Sorted(maps.Keys(v)) {
			v[k] = clip(v[k], join(path, k), clipped)
		}
	case []any:
		for i := range v {
			v[i] = clip(v[i], join(path, strconv.Itoa(i)), clipped)
		}
	}
	return v
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}
