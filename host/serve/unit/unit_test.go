package unit

import (
	"encoding/xml"
	"io"
	"strings"
	"testing"
)

// Whatever a path holds, it is one word of the unit, and one text of the property list.
func TestUnit(t *testing.T) {
	const exe, home = `/opt/a b/"c"\d/50%/$x/agent`, "/home/ada & co/<state>"
	got := Text("systemd", exe, home)
	for _, want := range []string{
		`ExecStart="/opt/a b/\"c\"\\d/50%%/$$x/agent" serve` + "\n", `Environment="AGENT_HOME=/home/ada & co/<state>"` + "\n", "KillMode=process\n", "enable-linger",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not in\n%s", want, got)
		}
	}
	d := xml.NewDecoder(strings.NewReader(Text("launchd", exe, home)))
	var texts []string
	for {
		token, err := d.Token()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if c, ok := token.(xml.CharData); ok {
			texts = append(texts, string(c))
		}
	}
	if all := strings.Join(texts, "|"); !strings.Contains(all, "|"+exe+"|") || !strings.Contains(all, "|"+home+"|") {
		t.Errorf("%s", all)
	}
}
