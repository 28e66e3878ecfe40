package main

import (
	"debug/buildinfo"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

// component is a module inside of a binary, as CycloneDX names it.
type component struct {
	Type       string     `json:"type"`
	Ref        string     `json:"bom-ref"`
	Name       string     `json:"name"`
	Version    string     `json:"version"`
	Purl       string     `json:"purl,omitempty"`
	Properties []property `json:"properties,omitempty"`
}

type property struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// bom is a CycloneDX document. It has no serial number, which would be another each time.
type bom struct {
	Format     string      `json:"bomFormat"`
	Spec       string      `json:"specVersion"`
	Version    int         `json:"version"`
	Metadata   metadata    `json:"metadata"`
	Components []component `json:"components"`
}

type metadata struct {
	Timestamp string    `json:"timestamp"`
	Component component `json:"component"`
}

// sbom writes which modules a binary was linked from, as the binary itself records them.
func (r *release) sbom(t target) error {
	info, err := r.modules(t)
	if err != nil {
		return err
	}
	b := bom{Format: "CycloneDX", Spec: "1.6", Version: 1, Metadata: metadata{
		Timestamp: r.time.Format(time.RFC3339),
		Component: component{Type: "application", Ref: "agent", Name: "agent", Version: r.version,
			Properties: []property{{"commit", r.revision}, {"GOOS", t.os}, {"GOARCH", t.arch}}},
	}}
	std := strings.TrimPrefix(info.GoVersion, "go")
	b.Components = []component{{Type: "library", Ref: "pkg:golang/std@" + std, Name: "std", Version: std, Purl: "pkg:golang/std@" + std}}
	for _, m := range info.Deps {
		purl := "pkg:golang/" + m.Path + "@" + m.Version
		b.Components = append(b.Components, component{Type: "library", Ref: purl, Name: m.Path, Version: m.Version, Purl: purl, Properties: []property{{"go.sum", m.Sum}}})
	}
	text, err := json.MarshalIndent(b, "", "  ")
	if err != nil {
		return err
	}
	return r.write(r.name(t, ".cdx.json"), append(text, '\n'))
}

func (r *release) modules(t target) (*buildinfo.BuildInfo, error) {
	info, err := buildinfo.ReadFile(r.binary(t))
	if err != nil {
		return nil, fmt.Errorf("read what the binary for %s is made of: %w", t, err)
	}
	return info, nil
}

// notices are the licenses of all that is linked, which must go with every copy.
func (r *release) notices(root string) (file, error) {
	modules := map[string]bool{}
	for _, t := range r.built() {
		info, err := r.modules(t)
		if err != nil {
			return file{}, err
		}
		for _, m := range info.Deps {
			modules[m.Path] = true
		}
	}
	out, err := goCommand(root, "list", "-m", "-f", "{{.Path}} {{.Dir}}", "all")
	if err != nil {
		return file{}, err
	}
	goroot, err := goCommand(root, "env", "GOROOT")
	if err != nil {
		return file{}, err
	}
	lines := []string{"The Go standard library " + strings.TrimSpace(goroot)}
	for line := range strings.Lines(out) {
		if name, _, _ := strings.Cut(line, " "); modules[name] {
			lines = append(lines, strings.TrimSpace(line))
			delete(modules, name)
		}
	}
	if len(modules) > 0 {
		return file{}, fmt.Errorf("read licenses: go list names no folder of %v", modules)
	}
	slices.Sort(lines)
	var text strings.Builder
	for _, line := range lines {
		at := strings.LastIndex(line, " ")
		if err := licenses(&text, line[:at], line[at+1:]); err != nil {
			return file{}, err
		}
	}
	return file{"THIRD-PARTY-LICENSES", 0o644, []byte(text.String())}, nil
}

// licenses adds the texts that a module has in its folder.
func licenses(text *strings.Builder, name, folder string) error {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return fmt.Errorf("read the license of %s: %w", name, err)
	}
	pattern, found := regexp.MustCompile(`(?i)^(licen[sc]e|copying|notice|patents)`), false
	for _, e := range entries {
		if e.IsDir() || !pattern.MatchString(e.Name()) {
			continue
		}
		data, err := os.ReadFile(filepath.Join(folder, e.Name()))
		if err != nil {
			return err
		}
		found = true
		fmt.Fprintf(text, "==== %s: %s\n\n%s\n\n", name, e.Name(), strings.TrimSpace(string(data)))
	}
	if !found {
		return fmt.Errorf("%s has no license in %s", name, folder)
	}
	return nil
}

func goCommand(root string, args ...string) (string, error) {
	c := exec.Command("go", args...)
	c.Dir = root
	c.Stderr = os.Stderr
	out, err := c.Output()
	if err != nil {
		return "", fmt.Errorf("go %s: %w", strings.Join(args, " "), err)
	}
	return string(out), nil
}
