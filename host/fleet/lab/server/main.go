// Temporal-server is Temporal's server as one process on a SQLite file: the engine of the lab, and
// of a first try on one machine. It has no web interface and asks for no credentials.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
)

// settings are what the command line says.
type settings struct {
	port       int
	ip         string
	db         string
	namespaces []string
	attributes []string // keywords
	lists      []string // lists of keywords
	log        string
}

func main() {
	s, err := parse(os.Args[1:], os.Stderr)
	if errors.Is(err, flag.ErrHelp) {
		return
	}
	if err == nil {
		err = serve(s, os.Stdout)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "temporal-server:", err)
		os.Exit(1)
	}
}

// parse reads the command line.
func parse(args []string, w io.Writer) (settings, error) {
	f := flag.NewFlagSet("temporal-server", flag.ContinueOnError)
	f.SetOutput(w)
	port := f.Int("port", 7233, "`PORT` of the front end")
	ip := f.String("ip", "127.0.0.1", "`ADDRESS` that the front end listens on")
	db := f.String("db", "", "SQLite `FILE` of the state; made where it is missing")
	names := f.String("namespace", "default", "`NAMES` to create, with commas between them")
	attributes := f.String("search-attributes", "AgentStatus,AgentHost,AgentRepo,AgentUser",
		"keyword `NAMES` that the namespaces have")
	lists := f.String("list-attributes", "AgentQuestion", "`NAMES` of lists of keywords that they have")
	level := f.String("log", "error", "`LEVEL` of the log on stderr: debug, info, warn or error")
	if err := f.Parse(args); err != nil {
		return settings{}, err
	}
	if *db == "" || f.NArg() > 0 {
		return settings{}, errors.New("wants -port PORT and -db FILE, and no other arguments")
	}
	return settings{
		port: *port, ip: *ip, db: *db, log: *level,
		namespaces: list(*names), attributes: list(*attributes), lists: list(*lists),
	}, nil
}

// list takes a list apart at its commas; an empty one has no members.
func list(s string) []string {
	if s == "" {
		return nil
	}
	return strings.Split(s, ",")
}
