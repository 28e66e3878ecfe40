package child

import (
	"encoding/json"
	"strings"
	"testing"
)

// No tools are not all tools, and what git or this program obeys is no output (flows, section 9).
func TestCheckOfACall(t *testing.T) {
	for args, want := range map[string]string{
		`{"task":"x","tools":[]}`:                    "tools is an empty list",
		`{"task":"x","outputs":[".git/config"]}`:     "nothing is written into .git",
		`{"task":"x","outputs":["sub/.GIT/hooks"]}`:  "nothing is written into .GIT",
		`{"task":"x","outputs":["git~1/config"]}`:    "nothing is written into git~1",
		`{"task":"x","outputs":[".agent/x"]}`:        "nothing is written into .agent",
		`{"task":"x"}`:                               "",
		`{"task":"x","tools":null}`:                  "",
		`{"task":"x","outputs":["docs/.gitignore"]}`: "",
	} {
		err := (&Delegate{}).Check(json.RawMessage(args))
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, want %q", args, err, want)
		}
	}
}
