package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/goreleaser/nfpm/v2"
	_ "github.com/goreleaser/nfpm/v2/deb" // makes them
	"github.com/goreleaser/nfpm/v2/files"
	_ "github.com/goreleaser/nfpm/v2/rpm"
)

// systemPackages writes the deb and the rpm of a target.
func (r *release) systemPackages(t target) error {
	stage, err := os.MkdirTemp("", "agent-packaging-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(stage)
	for _, format := range []string{"deb", "rpm"} {
		if err := r.systemPackage(t, format, filepath.Join(stage, format)); err != nil {
			return fmt.Errorf("make the %s for %s: %w", format, t, err)
		}
	}
	return nil
}

func (r *release) systemPackage(t target, format, stage string) (err error) {
	contents, err := r.installed(t, format, stage)
	if err != nil {
		return err
	}
	info := nfpm.WithDefaults(&nfpm.Info{
		Name: "agent", Arch: t.arch, Platform: t.os, Version: r.version, Release: "1", MTime: r.time,
		Section: "devel", Priority: "optional", License: "MIT", Maintainer: "the authors of agent",
		Description: "host AI agents that survive anything\nIt writes down every fact before acting on it, and continues after any kill.",
		Overridables: nfpm.Overridables{
			Contents: contents, Recommends: []string{"ca-certificates", "git"},
			RPM: nfpm.RPM{Summary: "host AI agents that survive anything", BuildHost: "localhost"},
		},
	})
	if err := nfpm.PrepareForPackager(info, format); err != nil {
		return err
	}
	packager, err := nfpm.Get(format)
	if err != nil {
		return err
	}
	out, err := os.Create(filepath.Join(r.out, r.name(t, "."+format)))
	if err != nil {
		return err
	}
	if err := packager.Package(info, out); err != nil {
		out.Close()
		return err
	}
	return out.Close()
}

// installed is where a package puts its files. What is read from the disk is laid into the stage.
func (r *release) installed(t target, format, stage string) (files.Contents, error) {
	all := files.Contents{r.content(r.binary(t), "/usr/bin/agent", 0o755)}
	for _, f := range r.common {
		to, data := place(format, f.path), f.data
		if strings.HasSuffix(to, ".gz") {
			var err error
			if data, err = compressed(data); err != nil {
				return nil, err
			}
		}
		from := filepath.Join(stage, f.path)
		if err := os.MkdirAll(filepath.Dir(from), 0o755); err != nil {
			return nil, err
		}
		if err := os.WriteFile(from, data, 0o644); err != nil {
			return nil, err
		}
		all = append(all, r.content(from, to, 0o644))
	}
	return all, nil
}

func (r *release) content(from, to string, mode os.FileMode) *files.Content {
	return &files.Content{Source: from, Destination: to, FileInfo: &files.ContentFileInfo{Owner: "root", Group: "root", Mode: mode, MTime: r.time}}
}

// place is where a system of the format looks for a file.
func place(format, path string) string {
	zsh := map[string]string{"deb": "vendor-completions", "rpm": "site-functions"}[format]
	licenses := map[string]string{"deb": "doc/agent/copyright", "rpm": "licenses/agent/LICENSE"}[format]
	switch dir, name := filepath.Split(path); {
	case dir == "man/":
		return "/usr/share/man/man1/" + name + ".gz"
	case name == "agent.bash":
		return "/usr/share/bash-completion/completions/agent"
	case name == "_agent":
		return "/usr/share/zsh/" + zsh + "/_agent"
	case name == "agent.fish":
		return "/usr/share/fish/vendor_completions.d/agent.fish"
	case name == "LICENSE":
		return "/usr/share/" + licenses
	}
	return "/usr/share/doc/agent/" + path
}
