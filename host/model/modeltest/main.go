package modeltest

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// Main runs a server as a command until ctx ends, and returns its exit code.
func Main(ctx context.Context, args []string, stderr io.Writer) int {
	err := serve(ctx, args, stderr)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return 2
	case err != nil:
		fmt.Fprintln(stderr, "modelserver:", err)
		return 1
	}
	return 0
}

func serve(ctx context.Context, args []string, stderr io.Writer) error {
	f := flag.NewFlagSet("modelserver", flag.ContinueOnError)
	f.SetOutput(stderr)
	protocol := f.String("protocol", "", "the only protocol to speak: anthropic, responses or chat; default all")
	script := f.String("script", "", "file with the script, in JSON")
	addrFile := f.String("addr-file", "", "file that gets the server's URL once it listens")
	log := f.String("log", "", "file that gets every exchange as a line of JSON")
	key := f.String("key", "", "key that requests must show; default "+DefaultKey)
	addr := f.String("addr", "", "loopback address to listen at; default 127.0.0.1:0")
	if err := f.Parse(args); err != nil {
		return flag.ErrHelp
	}
	o := Options{Key: *key, Addr: *addr}
	if *protocol != "" {
		o.Only = []Protocol{Protocol(*protocol)}
		if !strings.Contains(fmt.Sprint(Protocols()), *protocol) {
			return fmt.Errorf("unknown protocol %q: %v", *protocol, Protocols())
		}
	}
	if *script != "" {
		text, err := os.ReadFile(*script)
		if err != nil {
			return err
		}
		if o.Script, err = ParseScript(text); err != nil {
			return fmt.Errorf("%s: %w", *script, err)
		}
	}
	if *log != "" {
		file, err := os.OpenFile(*log, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
		if err != nil {
			return err
		}
		defer file.Close()
		o.Log = file
	}
	s, err := Start(o)
	if err != nil {
		return err
	}
	if *addrFile != "" {
		if err := announce(*addrFile, s.URL()); err != nil {
			return errors.Join(err, s.Close())
		}
	}
	fmt.Fprintln(stderr, "modelserver: listening at", s.URL())
	<-ctx.Done()
	return s.Close()
}

// announce writes the file whole or not at all, since others wait for it.
func announce(path, url string) error {
	t := filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+".new")
	if err := os.WriteFile(t, []byte(url+"\n"), 0o600); err != nil {
		return err
	}
	return os.Rename(t, path)
}
