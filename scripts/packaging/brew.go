package main

import (
	_ "embed"
	"strings"
	"text/template"
)

//go:embed agent.rb
var formulaText string

// formula writes the Homebrew formula, where it is known what is downloaded.
func (r *release) formula() error {
	if r.url == "" {
		return nil
	}
	text, err := template.New("formula").Funcs(template.FuncMap{
		"archive": func(system, arch string) string {
			return strings.TrimSuffix(r.url, "/") + "/" + r.name(target{system, arch}, ".tar.gz")
		},
		"sum": func(system, arch string) (string, error) { return r.sum(r.name(target{system, arch}, ".tar.gz")) },
	}).Parse(formulaText)
	if err != nil {
		return err
	}
	var out strings.Builder
	if err := text.Execute(&out, r.version); err != nil {
		return err
	}
	return r.write("agent.rb", []byte(out.String()))
}
