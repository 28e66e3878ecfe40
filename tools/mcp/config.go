package mcp

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Where a definition of servers comes from.
const (
	FromPerson    = "person"    // mcp.json beside the person's config.toml
	FromWorkspace = "workspace" // .mcp.json of a workspace: anybody's
)

// Time limits of a server that says none.
const (
	DefaultStart = 10 * time.Second
	DefaultCall  = 10 * time.Minute
)

// Server is one entry of mcpServers: either Command or URL is set.
type Server struct {
	Name     string
	From     string // FromPerson or FromWorkspace
	Command  string
	Args     []string
	Env      []Pair // added to what commands get, in the order of the file
	Dir      string // where the command starts; "" for the workspace
	URL      string
	Headers  []Pair
	Trusted  bool          // its annotations are believed
	Disabled bool          // it is not started
	Only     []string      // names of the tools that are taken; nil for all
	Call     time.Duration // longest call
	Start    time.Duration // longest start
}

// Pair is a name with its value.
type Pair struct{ Name, Value string }

// File is what a file of definitions says.
type File struct {
	Servers []Server // in the order of the file
	Notes   []string // what is not known here and does nothing, with its place
}

// PlaceError is something wrong at a place in a file. It shows no line of the file, which may hold
// a key.
type PlaceError struct {
	File         string
	Line, Column int // from 1; columns in bytes
	Message      string
}

func (e *PlaceError) Error() string {
	return fmt.Sprintf("%s:%d:%d: %s", e.File, e.Line, e.Column, e.Message)
}

// reader reads one file of definitions.
type reader struct {
	*document
	from   string
	getenv func(string) (string, bool)
	out    File
	all    []error
	left   int // errors and notes beyond manyWrong
}

// manyWrong is how many things of one file are reported: anybody can write the file of a workspace.
const manyWrong = 50

// Read reads a file of definitions. Variables are expanded in the person's file; in a workspace's
// they are refused, since an expansion could carry a key away, and so is trusted. The error names
// everything that is wrong, each part a *PlaceError.
func Read(file, from string, text []byte, getenv func(string) (string, bool)) (File, error) {
	d, err := parseDocument(file, text)
	if err != nil {
		return File{}, err
	}
	r := &reader{document: d, from: from, getenv: getenv}
	r.file(d.root)
	if r.left > 0 && len(r.all) > 0 {
		r.all = append(r.all, r.at(d.root, fmt.Sprintf("%d more things are wrong in this file", r.left)))
	} else if r.left > 0 {
		r.out.Notes = append(r.out.Notes, fmt.Sprintf("%s: %d more keys are not known here and do nothing", file, r.left))
	}
	return r.out, errors.Join(r.all...)
}

func (r *reader) wrong(n *node, format string, args ...any) {
	if len(r.all) == manyWrong {
		r.left++
		return
	}
	r.all = append(r.all, r.at(n, fmt.Sprintf(format, args...)))
}

func (r *reader) file(root *node) {
	if root.kind != object {
		r.wrong(root, `the file wants an object: {"mcpServers": {...}}`)
		return
	}
	servers := root.member("mcpServers")
	switch {
	case servers == nil:
		r.wrong(root, "mcpServers is missing")
	case servers.kind != object:
		r.wrong(servers, "mcpServers wants an object of servers by their names")
	default:
		for _, m := range servers.members {
			r.server(m)
		}
	}
}

// known are the keys of a server, and what each wants.
func (r *reader) server(m *node) {
	const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-"
	s := Server{Name: m.name, From: r.from, Call: DefaultCall, Start: DefaultStart}
	if s.Name == "" || len(s.Name) > 64 || strings.Trim(s.Name, letters) != "" {
		r.wrong(m, "a server's name has 1 to 64 letters, digits, _, . and -")
		return
	}
	if m.kind != object {
		r.wrong(m, "%s wants an object with command or url", s.Name)
		return
	}
	kind := ""
	for _, k := range m.members {
		if !r.key(&s, &kind, k) {
			r.unknown(k)
		}
	}
	r.whole(&s, kind, m)
	r.out.Servers = append(r.out.Servers, s)
}

// key takes one key of a server. It reports false for one that is not known.
func (r *reader) key(s *Server, kind *string, k *node) bool {
	switch k.name {
	case "type", "transport":
		*kind = r.text(k)
	case "command":
		s.Command = r.text(k)
	case "args":
		s.Args = r.texts(k)
	case "env":
		s.Env = r.pairs(k)
	case "cwd":
		s.Dir = r.text(k)
	case "url":
		s.URL = r.text(k)
	case "headers":
		s.Headers = r.pairs(k)
	case "disabled":
		s.Disabled = r.yes(k)
	case "trusted":
		if r.from == FromWorkspace {
			r.wrong(k, "trusted may not stand in the file of a workspace; who believes the server writes it into the mcp.json of their own")
		}
		s.Trusted = r.yes(k)
	case "timeout":
		s.Call = r.time(k)
	case "start_timeout":
		s.Start = r.time(k)
	case "tools":
		s.Only = r.texts(k)
	default:
		return false
	}
	return true
}

const serverKeys = "type, command, args, env, cwd, url, headers, timeout, start_timeout, tools, trusted, disabled"

// unknown refuses a key in the person's file. A workspace's file is shared with other programs, so
// there it is only said.
func (r *reader) unknown(k *node) {
	if r.from == FromPerson {
		r.wrong(k, "there is no %q; what may stand here: %s", k.name, serverKeys)
		return
	}
	if len(r.out.Notes) == manyWrong {
		r.left++
		return
	}
	r.out.Notes = append(r.out.Notes, r.at(k, fmt.Sprintf("%q is not known here and does nothing", k.name)).Error())
}

// whole checks what belongs together.
func (r *reader) whole(s *Server, kind string, m *node) {
	switch kind {
	case "", "stdio", "http", "streamable-http", "streamableHttp":
	case "sse":
		r.wrong(m.member2("type", "transport"), `"sse" is a transport that the protocol dropped in 2025; ask the server at its streamable HTTP address with "type": "http"`)
		return
	default:
		n := m.member2("type", "transport") // shown as it is written: with its variables, not with their values
		r.wrong(n, `there is no type %q; choose stdio or http`, n.text)
		return
	}
	remote := s.URL != "" || kind != "" && kind != "stdio"
	switch {
	case s.Command == "" && s.URL == "":
		r.wrong(m, "%s needs command or url", s.Name)
	case s.Command != "" && s.URL != "":
		r.wrong(m.member("url"), "say command or url, not both")
	case remote && s.URL == "":
		r.wrong(m, "type %s needs url", kind)
	case remote && kind == "stdio":
		r.wrong(m.member("url"), "type stdio needs command, not url")
	}
	if remote {
		r.remote(s, m)
	} else if len(s.Headers) > 0 {
		r.wrong(m.member("headers"), "headers belong to a server with url")
	}
	if s.Dir != "" && !filepath.IsAbs(s.Dir) && s.From == FromPerson {
		r.wrong(m.member("cwd"), "cwd wants an absolute path")
	}
}

func (r *reader) remote(s *Server, m *node) {
	for _, only := range []string{"args", "env", "cwd"} {
		if k := m.member(only); k != nil {
			r.wrong(k, "%s belongs to a server with command", only)
		}
	}
	if s.URL != "" {
		if err := CheckURL(s.URL); err != nil {
			r.wrong(m.member("url"), "url: %v", err)
		}
	}
	for _, h := range s.Headers {
		if strings.ContainsAny(h.Name+h.Value, "\r\n\x00") || h.Name == "" || strings.ContainsAny(h.Name, " :") {
			r.wrong(m.member("headers"), "header %q is none", h.Name)
		}
	}
}

// CheckURL refuses an address that no server is asked at: it must be https, or http on this
// machine, without a password.
func CheckURL(address string) error {
	u, err := url.Parse(address)
	switch {
	case err != nil, u != nil && u.Host == "":
		return errors.New("it is no address, such as https://host/mcp")
	case u.User != nil:
		return errors.New("a name or password in an address would be shown; use headers")
	case u.Scheme != "http" && u.Scheme != "https":
		return errors.New("this scheme is not spoken; use https, or http on this machine")
	case u.Scheme == "http" && !loopback(u.Hostname()):
		return errors.New("http is only for this machine (127.0.0.1, ::1, localhost); use https")
	}
	return nil
}

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

func (r *reader) text(n *node) string {
	if n.kind != text {
		r.wrong(n, "%s wants a text", n.name)
		return ""
	}
	if strings.IndexByte(n.text, 0) >= 0 {
		r.wrong(n, "%s holds a NUL character", n.name)
		return ""
	}
	return r.expand(n)
}

func (r *reader) texts(n *node) []string {
	out := []string{}
	if n.kind != array {
		r.wrong(n, "%s wants a list of texts", n.name)
		return out
	}
	for _, e := range n.members {
		e.name = n.name
		out = append(out, r.text(e))
	}
	return out
}

func (r *reader) pairs(n *node) []Pair {
	if n.kind != object {
		r.wrong(n, "%s wants an object of texts", n.name)
		return nil
	}
	var out []Pair
	for _, m := range n.members {
		if m.name == "" || strings.ContainsAny(m.name, "=\x00") {
			r.wrong(m, "%s: %q is no name", n.name, m.name)
			continue
		}
		out = append(out, Pair{m.name, r.text(m)})
	}
	return out
}

func (r *reader) yes(n *node) bool {
	if n.kind != boolean {
		r.wrong(n, "%s wants true or false", n.name)
	}
	return n.kind == boolean && n.text == "true"
}

// time reads a time with its unit: programs that share the format disagree about what a bare number
// means.
func (r *reader) time(n *node) time.Duration {
	t, err := time.ParseDuration(n.text)
	if n.kind != text || err != nil || t <= 0 {
		r.wrong(n, `%s wants a time with its unit, such as "30s" or "10m"`, n.name)
	}
	return t
}

// expand puts variables in: ${NAME}, or ${NAME:-otherwise}.
func (r *reader) expand(n *node) string {
	var b strings.Builder
	rest := n.text
	for {
		before, after, found := strings.Cut(rest, "${")
		b.WriteString(before)
		if !found {
			return b.String()
		}
		inner, behind, closed := strings.Cut(after, "}")
		name, otherwise, hasOther := strings.Cut(inner, ":-")
		switch value, there := "", false; {
		case !closed || !variable(name):
			b.WriteString("${")
			behind = after // it is no variable
		case r.from == FromWorkspace:
			r.wrong(n, "%s: ${%s} may not stand in the file of a workspace, which could carry a key away; write the server into the mcp.json of your own", n.name, name)
		default:
			if value, there = r.getenv(name); value == "" && hasOther {
				value, there = otherwise, true
			}
			if !there {
				r.wrong(n, "%s: the variable %s is not set; set it, or write ${%s:-otherwise}", n.name, name, name)
			}
			b.WriteString(value)
		}
		rest = behind
	}
}

func variable(name string) bool {
	const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_"
	return name != "" && strings.Trim(name, letters) == "" && (name[0] < '0' || name[0] > '9')
}

// Merge puts the servers of a workspace behind the person's. A name that the person's file has is
// the person's server.
func Merge(person, workspace []Server) (all []Server, hidden []string) {
	all = slices.Clone(person)
	for _, s := range workspace {
		if slices.ContainsFunc(person, func(p Server) bool { return p.Name == s.Name }) {
			hidden = append(hidden, s.Name)
			continue
		}
		all = append(all, s)
	}
	return all, hidden
}
