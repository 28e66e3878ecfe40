package flags

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/urfave/cli/v3"

	"agent/host/app"
	"agent/host/schema"
)

// outputSchema reads the file of --output-schema; nil where none is given.
func outputSchema(c *cli.Command) (json.RawMessage, error) {
	name := c.String("output-schema")
	if name == "" {
		if c.IsSet("output-schema") {
			return nil, app.Usage(errors.New("--output-schema: name the file of the schema"))
		}
		return nil, nil
	}
	text, err := readSchema(name)
	if err != nil {
		var at *fs.PathError
		if errors.As(err, &at) {
			err = at.Err
		}
		return nil, app.Usage(fmt.Errorf("--output-schema %s: %v", name, err))
	}
	return text, nil
}

func readSchema(name string) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // it was only read
	text, err := io.ReadAll(io.LimitReader(f, schema.Limit+1))
	switch {
	case err != nil:
		return nil, err
	case len(text) > schema.Limit:
		return nil, fmt.Errorf("it is larger than %d MiB", schema.Limit>>20)
	}
	if err := schema.Check(text); err != nil {
		return nil, fmt.Errorf("it is no JSON Schema that can be used: %v", err)
	}
	return text, nil
}
