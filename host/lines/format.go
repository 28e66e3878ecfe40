package lines

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/urfave/cli/v3"

	"agent/host/app"
	"agent/host/watch"
)

// The formats of stdout.
const (
	formatText   = "text"
	formatJSON   = "json"        // one object
	formatStream = "stream-json" // an object for each event
)

// Flag is --output-format.
func Flag() cli.Flag {
	return &cli.StringFlag{Name: "output-format", Usage: "print stdout as `FORMAT`: text, json (as --json) or stream-json, an event a line: agent help scripting"}
}

// SinceFlag is --since.
func SinceFlag() cli.Flag {
	return &cli.StringFlag{Name: "since", Usage: "begin stream-json with the facts after `CURSOR`: the cursor of a line, a fact's number, or 0"}
}

// Read reads --output-format. What is no text is printed as with --json, which it sets: as one
// object, or by the Stream that it gives.
func Read(c *cli.Command, out io.Writer) (*Stream, error) {
	if !c.IsSet("output-format") {
		return nil, nil
	}
	f := c.String("output-format")
	switch {
	case f != formatText && f != formatJSON && f != formatStream:
		return nil, app.Usage(fmt.Errorf("--output-format %s: choose text, json or stream-json", f))
	case c.IsSet("json") && c.Bool("json") != (f == formatJSON):
		return nil, app.Usage(fmt.Errorf("--json and --output-format %s: leave one of the two out", f))
	case f == formatText:
		return nil, nil
	}
	err := c.Set("json", "true")
	if f == formatJSON {
		return nil, err
	}
	switch {
	case c.Bool("detach"):
		err = app.Usage(errors.New("--output-format stream-json: with --detach nothing of the run is seen here; take json, and then agent show --follow"))
	case c.Bool("dry-run"):
		err = app.Usage(errors.New("--output-format stream-json: a dry run drives nothing; take json"))
	}
	return New(out), err
}

// Since reads what of a run is shown: with --follow, and from where on.
func Since(c *cli.Command) (since *watch.Cursor, err error) {
	follow, streams := c.Bool("follow"), c.String("output-format") == formatStream
	text := c.String("since")
	switch {
	case streams && !follow:
		err = errors.New("--output-format stream-json goes with --follow; without it take json")
	case follow && (c.Bool("json") && !streams || c.Bool("calls")):
		err = errors.New("give --follow alone, or with --output-format stream-json: what it shows has no end yet")
	case c.IsSet("since") && !streams:
		err = errors.New("--since goes with --follow --output-format stream-json")
	case c.IsSet("since"):
		if since, err = watch.ParseCursor(text); err != nil || text == "" {
			err = fmt.Errorf("--since %q: give the cursor of a line as it stands there, such as 41-1a2b3c4d, a fact's number, or 0 for all facts", text)
		}
	}
	return since, app.Usage(err)
}

// Asked gives a Stream where a command line that could not be read asks for event lines; else nil.
func Asked(args []string, out io.Writer) *Stream {
	for i, arg := range args {
		name, value, set := strings.Cut(arg, "=")
		if arg == "--" {
			return nil
		}
		if name != "--output-format" && name != "-output-format" {
			continue
		}
		if !set && i+1 < len(args) {
			value = args[i+1]
		}
		if value == formatStream {
			return New(out)
		}
	}
	return nil
}
