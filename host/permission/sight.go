package permission

import (
	"encoding/json"
	"net"
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"agent/recovery/journal"
)

// shellArgs are what a rule looks at in a shell call.
type shellArgs struct {
	Command string `json:"command"`
	Shell   string `json:"shell"`
	Access  string `json:"access"`
}

// sight is a call as restricting rules see it.
type sight struct {
	q        Request
	commands []reached
	opaque   string
	access   int
	host     string
	method   string
}

func sightOf(q Request) sight {
	s := sight{q: q}
	switch q.Tool {
	case "shell":
		a := readShell(q.Args)
		s.access = rank(a.Access)
		r := reachOf(a.Command, a.Shell)
		s.commands, s.opaque = r.commands, r.opaque
	default:
		s.access = reaches(q)
		s.host, s.method = target(q)
	}
	return s
}

// readShell reads the arguments of a shell call. Those that cannot be read name a script that no
// rule covers.
func readShell(args json.RawMessage) shellArgs {
	var a shellArgs
	if json.Unmarshal(args, &a) != nil {
		return shellArgs{Command: "\x00"}
	}
	return a
}

// rank orders access; without one a command has all of it.
func rank(access string) int {
	if i := slices.Index(Accesses(), access); i >= 0 {
		return i
	}
	return len(Accesses()) - 1
}

// reaches is the access that a call of another tool than shell amounts to.
func reaches(q Request) int {
	switch q.Effect {
	case journal.EffectRead:
		return rank("read")
	case journal.EffectWriteLocal:
		return rank("write")
	}
	return rank("full")
}

// meets says how a deny or ask rule meets the call.
func (s sight) meets(r Rule) match {
	switch {
	case r.Access != "" && s.access < rank(r.Access):
		return misses
	case r.Command != "":
		p, err := parsePattern(r.Command)
		if err != nil {
			return perhaps // Check refuses it
		}
		best := misses
		for _, c := range s.commands {
			best = max(best, p.restricts(c))
		}
		return best
	case r.Path != "":
		return s.meetsPath(r)
	case r.Host != "" && !hostMatches(r.Host, s.host, true), r.Method != "" && r.Method != s.method:
		return misses
	}
	return meets
}

func (s sight) meetsPath(r Rule) match {
	if !slices.Contains(fileTools, s.q.Tool) {
		return misses
	}
	if len(s.q.Paths) == 0 {
		return perhaps
	}
	best := misses
	base, _ := doublestar.SplitPattern(r.Path)
	for _, p := range s.q.Paths {
		switch {
		case pathMatches(r.Path, p), pathMatches(r.Path+"/**", p):
			return meets
		case slices.Contains(walkers, s.q.Tool) && (p == "." || base == "." || strings.HasPrefix(base+"/", p+"/")):
			best = perhaps // what lies below is shown too
		}
	}
	return best
}

// beside says whether a path, as it is seen from the workspace, lies outside.
func beside(p string) bool { return path.IsAbs(p) || p == ".." || strings.HasPrefix(p, "../") }

func pathMatches(pattern, p string) bool {
	ok, err := doublestar.Match(pattern, path.Clean(p))
	return ok && err == nil // Check refuses a pattern that cannot be read
}

// target is the host with its port, and the method, that a call goes out with.
func target(q Request) (host, method string) {
	var a struct {
		URL    string `json:"url"`
		Method string `json:"method"`
	}
	if json.Unmarshal(q.Args, &a) != nil {
		return "", ""
	}
	if method = strings.ToUpper(a.Method); method == "" {
		method = "GET"
	}
	u, err := url.Parse(a.URL)
	if err != nil || u.Hostname() == "" {
		return "", method
	}
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[strings.ToLower(u.Scheme)]
	}
	return net.JoinHostPort(strings.TrimSuffix(strings.ToLower(u.Hostname()), "."), port), method
}

// hostMatches compares a rule's host with host:port. Without a port in it, an allow rule means the
// usual ones.
func hostMatches(pattern, target string, anyPort bool) bool {
	host, port, err := net.SplitHostPort(target)
	if err != nil {
		return anyPort && target == "" // what cannot be read is restricted by every rule
	}
	want := pattern
	if h, p, err := net.SplitHostPort(pattern); err == nil {
		if want = h; p != port {
			return false
		}
	} else if !anyPort && port != "80" && port != "443" {
		return false
	}
	if rest, ok := strings.CutPrefix(want, "*."); ok {
		return strings.HasSuffix(host, "."+rest)
	}
	return want == "*" || want == host
}
