package lab

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// Model starts a model that says what a script says, and has all hosts know it as fake/model. It
// gives the file that gets what the model is asked.
func Model(l *Lab, script string) (asked string) {
	l.Helper()
	folder, err := testbin()
	if err != nil {
		l.Fatal(err)
	}
	l.write("script.json", script)
	p := start(l, "model", exec.Command(filepath.Join(folder, "modelserver"), "-protocol", "anthropic", "-key", "k",
		"-script", l.path("script.json"), "-addr-file", l.path("model.url"), "-log", l.path("model.log")))
	l.Cleanup(p.kill)
	var url []byte
	if !Wait(10*time.Second, func() bool { url, err = os.ReadFile(l.path("model.url")); return err == nil }) {
		l.Fatal(err)
	}
	l.write("config/agent/config.toml", fmt.Sprintf("[providers.fake]\nkind = \"anthropic\"\nbase_url = %q\napi_key_cmd = [\"echo\", \"k\"]\n", strings.TrimSpace(string(url))))
	return l.path("model.log")
}
