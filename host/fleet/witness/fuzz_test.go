package witness

import (
	"bufio"
	"bytes"
	"encoding/json"
	"testing"

	"agent/host/witness/line"
)

// FuzzLine has no line end the witness, and none read as a request that it is not.
func FuzzLine(f *testing.F) {
	for _, text := range []string{
		`{"v":1,"op":"hello","root":"r-root","agent":"0.1.0"}`,
		`{"v":1,"op":"append","root":"r-root","place":2,"epoch":1,"why":"claim","records":[{"run":{"id":"r-root","thread":"t-1","facts":1,"digest":"AA=="}},{"fact":{"turn":1,"kind":2,"v":1,"time":3}}]}`,
		`{"v":1,"v":2,"op":"hello"}`, "", "\n", "null", `{"V":1}`,
	} {
		f.Add([]byte(text + "\n"))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		in := bufio.NewReaderSize(bytes.NewReader(data), 16)
		for {
			text, err := readLine(in)
			if err != nil {
				return
			}
			q, err := parse(text)
			if err != nil {
				continue
			}
			if q.Op != line.Hello && q.Op != line.Append || q.Op == line.Append && q.Place < 1 {
				t.Errorf("%q is read as %+v", text, q)
			}
			again, err := json.Marshal(q)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := parse(again); err != nil {
				t.Errorf("%q: %v", again, err)
			}
		}
	})
}
