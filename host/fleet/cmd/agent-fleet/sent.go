package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"

	"github.com/urfave/cli/v3"

	"agent/fleet/custody"
)

// As many pictures go with a prompt of agent, and as large is one; a schema is smaller.
const (
	mostImages = 20
	mostBytes  = 5 << 20
)

// sentFlags are the flags of agent run that name a file, which goes to the host with the prompt.
func sentFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "output-schema", Usage: "the answer must be JSON that the JSON Schema in `FILE` describes, or the run fails"},
		&cli.StringSliceFlag{Name: "image", Usage: "show the picture in `FILE` with the prompt (png, jpeg, gif, webp); may be given again"},
	}
}

// send reads the files that go with a prompt.
func send(c *cli.Command, r *custody.Run) error {
	add := func(flag, name string, is func([]byte) error) error {
		b, err := readSent(name)
		if err == nil {
			err = is(b)
		}
		if err != nil {
			return usage("--%s %s: %w", flag, name, err)
		}
		r.Send(flag, custody.File{Name: filepath.Base(name), Data: b})
		return nil
	}
	if c.IsSet("output-schema") {
		if err := add("output-schema", c.String("output-schema"), schema); err != nil {
			return err
		}
	}
	images := c.StringSlice("image")
	if len(images) > mostImages {
		return usage("--image: %d pictures; at most %d go with a prompt", len(images), mostImages)
	}
	for _, name := range images {
		if err := add("image", name, picture); err != nil {
			return err
		}
	}
	return nil
}

func readSent(name string) ([]byte, error) {
	if name == "" {
		return nil, errors.New("it is given and empty; name a file")
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, bare(err)
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, mostBytes+1))
	if len(b) > mostBytes {
		return nil, fmt.Errorf("it is larger than %d MiB", mostBytes>>20)
	}
	return b, bare(err)
}

// bare is an error without the file's name, which is said already.
func bare(err error) error {
	if at, ok := errors.AsType[*fs.PathError](err); ok {
		return at.Err
	}
	return err
}

// schema refuses what is no JSON Schema at the first look. Agent looks closer.
func schema(b []byte) error {
	var v any
	if err := json.Unmarshal(b, &v); err != nil {
		return fmt.Errorf("it is no JSON: %w", err)
	}
	switch v.(type) {
	case map[string]any, bool:
		return nil
	}
	return errors.New("it is no JSON Schema: that is an object")
}

func picture(b []byte) error {
	if !slices.Contains([]string{"image/png", "image/jpeg", "image/gif", "image/webp"}, http.DetectContentType(b)) {
		return errors.New("it is no png, jpeg, gif or webp picture")
	}
	return nil
}
