// Command manual writes what is installed beside the binary and made from its commands: a manual
// page for agent and for each command, and the completions of the shells. It writes the same bytes
// for the same commands, version and time.
//
//	go run -tags urfave_cli_no_template ./scripts/manual -version 1.2.3 -o FOLDER
//
// The date of the pages is that of SOURCE_DATE_EPOCH. Pages are made here and not by cli-docs,
// since the descriptions are no Markdown: their examples and tables would be filled like prose.
package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/urfave/cli/v3"

	"agent/host/command"
	"agent/host/help"
)

func main() {
	version := flag.String("version", "", "the `VERSION` that the pages name")
	out := flag.String("o", "", "write into `FOLDER`")
	flag.Parse()
	if err := write(*version, *out); err != nil {
		fmt.Fprintln(os.Stderr, "manual:", err)
		os.Exit(1)
	}
}

func write(version, out string) error {
	seconds, err := strconv.ParseInt(os.Getenv("SOURCE_DATE_EPOCH"), 10, 64)
	if err != nil || version == "" || out == "" {
		return errors.New("give -version, -o and SOURCE_DATE_EPOCH, the time of the commit in seconds")
	}
	topics, err := help.Topics()
	if err != nil {
		return err
	}
	root := command.Tree()
	m := manual{version: version, date: time.Unix(seconds, 0).UTC().Format(time.DateOnly)}
	files := map[string]string{"man/agent.1": m.root(root, topics)}
	for _, c := range root.VisibleCommands() {
		files["man/agent-"+c.Name+".1"] = m.command(c)
	}
	for shell, name := range map[string]string{"bash": "agent.bash", "zsh": "_agent", "fish": "agent.fish"} {
		if files["completions/"+name], err = completion(shell); err != nil {
			return err
		}
	}
	for name, text := range files {
		path := filepath.Join(out, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// completion is what agent completion prints for a shell.
func completion(shell string) (string, error) {
	var out bytes.Buffer
	std := command.Standard()
	std.Out = &out
	if code := command.Main([]string{"agent", "completion", shell}, std); code != 0 {
		return "", fmt.Errorf("agent completion %s ended with %d", shell, code)
	}
	return out.String(), nil
}

// usage is how a command is called, without its name.
func usage(c *cli.Command) string {
	if c.ArgsUsage == "" {
		return "[options]"
	}
	return "[options] " + c.ArgsUsage
}
