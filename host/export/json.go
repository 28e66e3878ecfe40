package export

import (
	"bytes"
	"encoding/json"
	"fmt"

	"agent/host/view"
)

// JSON is a transcript for programs, as one object.
func JSON(v view.Export) ([]byte, error) {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, fmt.Errorf("write the runs as JSON: %w", err)
	}
	return out.Bytes(), nil
}

// Missing says what of runs, or of those below them, could not be read; nil where all was.
func Missing(runs []view.ExportedRun) error {
	for _, r := range runs {
		if len(r.Unread) > 0 {
			return fmt.Errorf("export run %s: not all of it could be read, and the rest was written: %s", r.Run.ID, r.Unread[0])
		}
		if err := Missing(r.Below); err != nil {
			return err
		}
	}
	return nil
}
