package command

import (
	"os"
	"testing"

	"agent/host/terminal"
)

// What would be started is shown, and asked about until there is an answer.
func TestAskTrust(t *testing.T) {
	term, out, keys, dropped := atTerminal(t)
	if _, err := keys.WriteString("perhaps\nYes\n"); err != nil {
		t.Fatal(err)
	}
	const shown = "/work/.mcp.json came with this folder and names MCP servers.\n"
	yes, err := putTrust(t.Context(), term, shown, "/work/.mcp.json")
	if err != nil || !yes || *dropped == 0 {
		t.Fatalf("%v %v, dropped %d", yes, err, *dropped)
	}
	equals(t, out.String(), `? /work/.mcp.json came with this folder and names MCP servers.
  yes  starts them, now and in every later run here, until the file or what they start from changes
  no   goes on without them, and does not ask again until the file changes
  (Ctrl-D goes on without them this time)
answer (yes/no):   say yes or no
answer (yes/no): `)
}

// keys is a console whose input is a pipe.
type keys struct {
	*os.File // read end
	shown    *written
}

func (k keys) Write(p []byte) (int, error) { return k.shown.Write(p) }

// atTerminal makes a terminal, what it shows, and what types on it.
func atTerminal(t *testing.T) (term *terminal.Prompt, shown *written, typed *os.File, dropped *int) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close(); _ = w.Close() }) // nothing is lost by it
	shown, dropped = &written{}, new(int)
	return terminal.NewPrompt(keys{r, shown}, func() { *dropped++ }), shown, w, dropped
}
