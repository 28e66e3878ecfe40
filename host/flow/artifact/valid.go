package artifact

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"agent/host/schema"
	"agent/recovery/flow"
)

// Invalid says why content is not what an output asks for; "" where it is. content is nil of a file
// that is longer than CopyLimit.
func Invalid(o flow.Output, size int64, content []byte) string {
	switch {
	case size == 0 && !o.Empty:
		return "it is empty"
	case size < o.Min:
		return fmt.Sprintf("it has %d bytes, at least %d are asked for", size, o.Min)
	case len(o.Has) == 0 && o.Match == "" && o.Schema == "":
		return ""
	case content == nil:
		return fmt.Sprintf("it has %d bytes, and what it must hold is looked for in at most %d", size, CopyLimit)
	}
	for _, want := range o.Has {
		if !hasLine(content, want) {
			return fmt.Sprintf("it has no line %q", want)
		}
	}
	if o.Match != "" {
		if re, err := regexp.Compile(o.Match); err != nil {
			return fmt.Sprintf("what it must match cannot be read: %v", err)
		} else if !re.Match(content) {
			return fmt.Sprintf("nothing in it matches %s", o.Match)
		}
	}
	if o.Schema == "" {
		return ""
	}
	if err := schema.Fit([]byte(o.SchemaText), content); err != nil {
		return fmt.Sprintf("it is not what the schema %s asks for: %v", o.Schema, err)
	}
	return ""
}

// hasLine compares without the white space at the ends of lines.
func hasLine(content []byte, want string) bool {
	want = strings.TrimSpace(want)
	return slices.ContainsFunc(bytes.Split(content, []byte("\n")), func(line []byte) bool {
		return string(bytes.TrimSpace(line)) == want
	})
}
