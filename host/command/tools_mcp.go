package command

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/urfave/cli/v3"

	"agent/db"
	"agent/host/terminal"
	"agent/host/view"
	"agent/tools"
	"agent/tools/mcp"
)

func serverView(s mcp.Server) view.Server {
	v := view.Server{Name: s.Name, From: s.From, URL: s.URL, Trusted: s.Trusted, Disabled: s.Disabled}
	if s.Command != "" {
		v.Command = append([]string{s.Command}, s.Args...)
	}
	return v
}

func originView(t tools.Tool) *view.Origin {
	o, ok := mcp.OriginOf(t)
	if !ok {
		return nil
	}
	return &view.Origin{Server: o.Server.Name, Name: o.Remote, Trusted: o.Server.Trusted, Pin: o.Pin, Outward: o.Outward}
}

// servedTools are the tools here with those of MCP servers, which are started for it; end ends them.
func (a *commandLine) servedTools(ctx context.Context, c *cli.Command, home string, base *tools.Registry) (
	reg *tools.Registry, servers []view.Server, end func(), err error,
) {
	end = func() {}
	folder, err := a.folder(c.String("dir"))
	if err != nil {
		return nil, nil, end, err
	}
	f, err := a.findServers(folder)
	if err == nil {
		err = a.giveWord(ctx, c, f)
	}
	if err != nil {
		return nil, nil, end, err
	}
	list, said, err := a.allowed(ctx, f, nil)
	if err != nil {
		return nil, nil, end, err
	}
	secret := known()
	for _, s := range slices.Concat(f.mine.Servers, f.theirs.Servers) {
		servers = append(servers, serverView(s))
		secret = append(secret, secretsOf(s)...)
	}
	a.wipe = db.Wiper(secret) // no state folder is open that would know them
	a.sayAll(said)
	if len(namesOf(list)) == 0 {
		return base, servers, end, nil
	}
	o := a.mcpOptions(home, folder)
	o.Admit = f.admit
	set, said := a.startServers(ctx, mcp.NewPool(), list, o, func(st mcp.Started) {
		at := slices.IndexFunc(servers, func(v view.Server) bool { return v.Name == st.Server.Name && v.From == st.Server.From })
		servers[at].Tools, servers[at].Notes, servers[at].Started = st.Tools, st.Notes, st.Err == nil
		if st.Err != nil {
			servers[at].Error = a.cleaned(st.Err.Error())
		}
	})
	a.sayAll(said)
	reg, err = join(base, set)
	return reg, servers, set.Close, err
}

func (a *commandLine) sayAll(lines []string) {
	for _, line := range lines {
		a.Say(a.Err, "agent: %s", a.cleaned(line))
	}
}

// giveWord keeps what --trust or --distrust says of the folder's file, once all of it was shown.
func (a *commandLine) giveWord(ctx context.Context, c *cli.Command, f *found) error {
	yes, no := c.Bool("trust"), c.Bool("distrust")
	switch {
	case !yes && !no:
		return nil
	case yes && no:
		return usage(errors.New("give --trust or --distrust, not both"))
	}
	own, err := f.changedOwn()
	if err != nil {
		return err
	}
	f.own, f.ownOnly = own, f.digest == ""
	switch {
	case f.ownOnly && (no || len(own) == 0):
		return usage(fmt.Errorf("there is no %s to allow", f.workspace))
	case f.wrong != nil && yes:
		return usage(f.wrong)
	}
	yes, err = a.wordAbout(ctx, f, yes)
	if err == nil {
		err = f.keep(yes)
	}
	if err != nil {
		return err
	}
	if yes {
		a.Say(a.Err, "allowed, until the file or what they start from changes; agent tools --distrust takes it back")
	} else {
		a.Say(a.Err, "not allowed")
	}
	return nil
}

// wordAbout shows the file, and asks at a terminal whether what was seen is allowed. Elsewhere the flag is the word.
func (a *commandLine) wordAbout(ctx context.Context, f *found, wanted bool) (bool, error) {
	if wanted {
		if t, err := terminal.OpenPrompt(); err == nil {
			defer t.Close()
			yes, err := putTrust(ctx, t, f)
			if errors.Is(err, errNoAnswer) {
				err = errors.New("there is no decision on it, so nothing is changed")
			}
			return yes, err
		}
	}
	a.Say(a.Err, "%s", strings.TrimRight(f.shown(), "\n"))
	return wanted, nil
}

// printTool shows one tool with all that its server says of it.
func (a *commandLine) printTool(t view.Tool) {
	a.Say(a.Out, "%s", t.Name)
	if o := t.Server; o != nil {
		believed := "nothing it says of its tools is believed"
		if o.Trusted {
			believed = "trusted"
		}
		a.Say(a.Out, "  tool %q of MCP server %s (%s), pinned as %s", o.Name, o.Server, believed, o.Pin[:16])
	}
	for _, e := range t.Effects {
		a.Say(a.Out, "  %s", e.Text())
	}
	if t.Written != "" {
		a.Say(a.Out, "  in a runbook: - %s", t.Written)
	}
	a.Say(a.Out, "\n%s\n\n%s", strings.TrimSpace(t.Description), t.Schema)
}
