package app

import (
	"context"
	"errors"
	"fmt"

	"agent/host/view"
	"agent/tools/mcp"
)

// A definition that names a file of the workspace, ./tools/server.js say, starts whatever the agent
// wrote there. So a server is allowed together with the digests of those files, the person's own
// servers too: these with what they find when they are first started in a folder, before anything
// acted there.

// scriptKey is how a server's files are kept: the person's and a workspace's may have one name.
func scriptKey(s mcp.Server) string { return s.From + ":" + s.Name }

// look reads the files that servers start from as they are now.
func (f *ServerFiles) look() error {
	f.scripts = map[string]map[string]string{}
	for _, list := range [][]mcp.Server{f.mine.Servers, f.theirs.Servers} {
		for _, s := range list {
			if s.Disabled {
				continue
			}
			files, err := s.Scripts(f.folder)
			if err != nil {
				return err
			}
			if len(files) > 0 {
				f.scripts[scriptKey(s)] = files
			}
		}
	}
	return nil
}

// take keeps what servers start from as it was looked at, also that it is nothing: a file that is
// there later is a change.
func (t *trusted) take(f *ServerFiles, list []mcp.Server) {
	if t.Scripts == nil {
		t.Scripts = map[string]map[string]map[string]string{}
	}
	if t.Scripts[f.folder] == nil {
		t.Scripts[f.folder] = map[string]map[string]string{}
	}
	for _, s := range list {
		files := f.scripts[scriptKey(s)]
		if files == nil {
			files = map[string]string{}
		}
		t.Scripts[f.folder][scriptKey(s)] = files
	}
}

// ChangedOwn lists the person's servers whose files in the workspace are not those that were
// allowed.
func (f *ServerFiles) ChangedOwn() ([]mcp.Server, error) {
	t, err := f.read()
	var out []mcp.Server
	for _, s := range f.mine.Servers {
		if was, known := t.Scripts[f.folder][scriptKey(s)]; known && mcp.Differences(was, f.scripts[scriptKey(s)]) != "" && !s.Disabled {
			out = append(out, s)
		}
	}
	return out, err
}

// ownAllowed returns the person's servers that may be started: not those whose files in the
// workspace changed since.
func (f *ServerFiles) ownAllowed(ctx context.Context, ask AskTrust) (list []mcp.Server, notes []string, err error) {
	t, err := f.read()
	if err != nil {
		return nil, nil, err
	}
	var keep []mcp.Server // first seen here, or just allowed
	for _, s := range f.mine.Servers {
		was, known := t.Scripts[f.folder][scriptKey(s)]
		why := mcp.Differences(was, f.scripts[scriptKey(s)])
		if known && why != "" && !s.Disabled {
			ok, err := f.askOwn(ctx, s, ask)
			if err != nil {
				return nil, nil, err
			}
			if !ok {
				notes = append(notes, fmt.Sprintf("MCP server %s is not started: %s", s.Name, f.notAllowed(why)))
				continue
			}
		}
		if s.Command != "" && !s.Disabled && (!known || why != "") {
			keep = append(keep, s)
		}
		list = append(list, s)
	}
	if len(keep) == 0 || f.trustAt == "" {
		return list, notes, nil
	}
	t.take(f, keep)
	if err := f.write(t); err != nil {
		notes = append(notes, fmt.Sprintf("a change of the files that MCP servers start from will not be noticed: %v", err))
	}
	return list, notes, nil
}

func (f *ServerFiles) notAllowed(why string) string {
	return fmt.Sprintf("what it starts from is not what was allowed (%s); see and allow it with: agent tools --trust --dir %s", why, view.ShellWord(f.folder))
}

func (f *ServerFiles) askOwn(ctx context.Context, s mcp.Server, ask AskTrust) (bool, error) {
	if ask == nil {
		return false, nil
	}
	f.Own, f.OwnOnly = []mcp.Server{s}, true
	ok, err := ask(ctx, f)
	if errors.Is(err, ErrNoAnswer) {
		return false, nil
	}
	return ok, err
}

// admit refuses a start, the first one or one in the middle of a run, from files that are not those
// that were allowed.
func (f *ServerFiles) admit(s mcp.Server) error {
	now, err := s.Scripts(f.folder)
	if err != nil {
		return err
	}
	if d := mcp.Differences(f.scripts[scriptKey(s)], now); d != "" {
		return errors.New(f.notAllowed(d))
	}
	return nil
}
