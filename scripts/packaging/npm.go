package main

import (
	_ "embed"
	"encoding/json"
	"path"
	"strings"
)

// scope is whose packages they are on npm. It must belong to whoever publishes them.
const scope = "@agent-runs"

//go:embed launcher.sh
var launcher string

// manifest is the package.json of a package.
type manifest struct {
	Name         string            `json:"name"`
	Version      string            `json:"version"`
	Description  string            `json:"description"`
	License      string            `json:"license"`
	OS           []string          `json:"os"`
	CPU          []string          `json:"cpu"`
	Bin          map[string]string `json:"bin,omitempty"`
	Man          []string          `json:"man,omitempty"`
	Optional     map[string]string `json:"optionalDependencies,omitempty"`
	PreferUnplug bool              `json:"preferUnplugged"` // a program cannot be started inside of an archive
}

func (t target) node() (system, cpu string) {
	return t.os, map[string]string{"amd64": "x64", "arm64": "arm64"}[t.arch]
}

// platform is the name of the package that holds the binary of a target.
func (t target) platform() string {
	system, cpu := t.node()
	return scope + "/agent-" + system + "-" + cpu
}

// platformPackage writes the package of one binary.
func (r *release) platformPackage(t target, binary file) error {
	system, cpu := t.node()
	binary.path = "bin/agent"
	return r.node(manifest{
		Name: t.platform(), Version: r.version, License: "MIT", OS: []string{system}, CPU: []string{cpu}, PreferUnplug: true,
		Description: "The program of " + scope + "/agent for " + system + " on " + cpu,
	}, append([]file{binary}, r.texts()...))
}

// mainPackage writes the package that people install. npm takes the one binary that fits the
// machine, and the launcher replaces itself with it.
func (r *release) mainPackage() error {
	m := manifest{
		Name: scope + "/agent", Version: r.version, License: "MIT", OS: []string{"linux", "darwin"}, CPU: []string{"x64", "arm64"},
		Description: "host AI agents that survive anything", Bin: map[string]string{"agent": "launcher.sh"}, Optional: map[string]string{},
	}
	for _, t := range targets() {
		m.Optional[t.platform()] = r.version
	}
	for _, page := range r.pages() {
		m.Man = append(m.Man, page.path)
	}
	start := file{"launcher.sh", 0o755, []byte(strings.ReplaceAll(launcher, "SCOPE", scope))}
	return r.node(m, append(append([]file{start}, r.texts()...), r.pages()...))
}

// texts are what must go with every copy.
func (r *release) texts() []file {
	var all []file
	for _, f := range r.common {
		if path.Dir(f.path) == "." {
			all = append(all, f)
		}
	}
	return all
}

// node writes a package under the name that npm pack gives it.
func (r *release) node(m manifest, files []file) error {
	text, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return err
	}
	data, err := packed("package", append([]file{{"package.json", 0o644, append(text, '\n')}}, files...), r.time)
	if err != nil {
		return err
	}
	return r.write(strings.ReplaceAll(strings.TrimPrefix(m.Name, "@"), "/", "-")+"-"+r.version+".tgz", data)
}
