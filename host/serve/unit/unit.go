// Package unit writes the files by which systemd and launchd start a server when its person logs
// in.
package unit

import (
	"fmt"
	"strings"
)

// Kinds are the programs that can start a server when its person logs in.
func Kinds() []string { return []string{"systemd", "launchd"} }

// Text is the text of a file with which such a program starts exe as a server of the state folder
// home, and where the file belongs.
func Text(kind, exe, home string) string {
	if kind == "launchd" {
		return fmt.Sprintf(launchd, text(exe), text(home))
	}
	return fmt.Sprintf(systemd, strings.ReplaceAll(word(exe), "$", "$$"), word("AGENT_HOME="+home))
}

// KillMode leaves the runs going when the server is stopped or started again.
const systemd = `# ~/.config/systemd/user/agent.service
#   systemctl --user enable --now agent
#   loginctl enable-linger    # so that it goes on after you log out
[Unit]
Description=agent serve

[Service]
ExecStart=%s serve
Environment=%s
KillMode=process
Restart=on-failure

[Install]
WantedBy=default.target
`

const launchd = `<?xml version="1.0" encoding="UTF-8"?>
<!-- ~/Library/LaunchAgents/agent.serve.plist
     launchctl load -w ~/Library/LaunchAgents/agent.serve.plist -->
<plist version="1.0">
<dict>
	<key>Label</key><string>agent.serve</string>
	<key>ProgramArguments</key><array><string>%s</string><string>serve</string></array>
	<key>EnvironmentVariables</key><dict><key>AGENT_HOME</key><string>%s</string></dict>
	<key>RunAtLoad</key><true/>
	<key>AbandonProcessGroup</key><true/>
	<key>KeepAlive</key><dict><key>SuccessfulExit</key><false/></dict>
</dict>
</plist>
`

// word is one word of a unit file, in quotes and without what systemd replaces (systemd.syntax(7),
// systemd.unit(5)).
func word(s string) string {
	return `"` + strings.NewReplacer("\\", "\\\\", `"`, "\\\"", "%", "%%").Replace(s) + `"`
}

// text is a text of a property list.
func text(s string) string {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(s)
}
