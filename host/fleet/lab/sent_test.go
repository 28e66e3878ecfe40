package lab_test

import (
	"encoding/base64"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"agent/fleet/lab"
)

// A schema and a picture go to the host with the prompt, and the next host has them from the log.
func TestASchemaAndAPictureOutliveTheirHost(t *testing.T) {
	t.Parallel()
	l, h := lab.OneHost(t)
	log := lab.Model(l, `{"stories": [
		{"prompt": "who is it", "turns": [{"calls": [{"tool": "ask_user", "args": {"question": "May I look?"}}]}, {"text": "Ada"}]},
		{"prompt": "it is not JSON", "turns": [{"text": "{\"name\": \"Ada\"}"}]}]}`)
	file := func(name, text string) string {
		path := filepath.Join(l.Dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	picture := "\x89PNG\r\n\x1a\n" + strings.Repeat("a picture ", 100)
	schema, image := file("person.json", `{"type": "object", "required": ["name"]}`), file("p.png", picture)
	ask := func(schema string) (string, int) {
		out, errs, code := l.Call("run", "--key", "sent", "--mode", "yolo", "--model", "fake/model", "--output-schema", schema, "--image", image, "who is it")
		return strings.TrimSpace(out) + errs, code
	}
	out, code := ask(schema)
	id, _, _ := strings.Cut(out, "run ")
	if code != 0 {
		t.Fatalf("it was not begun: %s", out)
	}
	asked := l.Until(id, "waiting", time.Minute, lab.Run.Rests)
	if asked.Asked == nil {
		t.Fatalf("it is %+v", asked)
	}
	if left, err := filepath.Glob(filepath.Join(h.Home(), "fleet", "prompts", "*")); err != nil || len(left) > 0 {
		t.Errorf("files are left: %q, %v", left, err)
	}
	if out, code := ask(file("other.json", `true`)); code != 1 || !strings.Contains(out, "was asked for in other words") {
		t.Errorf("with another schema it is the same request: exit %d: %s", code, out)
	}
	h.Lose()
	l.Host("h-02")
	l.Do("move", id, "--host-is-gone")
	l.Do("answer", asked.Asked.ID, "yes")
	if r := l.Until(id, "ended", 3*time.Minute, lab.Run.Ended); r.Status != "completed" || r.Host != "h-02" || r.Text != `{"name": "Ada"}` {
		t.Errorf("it ended as %+v", r)
	}
	b, err := os.ReadFile(log)
	lines := strings.Split(strings.TrimSpace(string(b)), "\n")
	if last := lines[len(lines)-1]; err != nil || !strings.Contains(last, base64.StdEncoding.EncodeToString([]byte(picture))) {
		t.Errorf("the model was asked without the picture: %v: %s", err, last)
	}
}
