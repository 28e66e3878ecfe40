package markdown_test

import (
	"reflect"
	"testing"

	"agent/host/markdown"
)

func TestFrontMatter(t *testing.T) {
	for _, tt := range []struct {
		name, text string
		lines      int
		fields     []markdown.Field
	}{
		{"none", "# Title\n", 0, nil},
		{"empty text", "", 0, nil},
		{"one field", "---\nagent: runbook\n---\n# Title\n", 3, []markdown.Field{{Line: 2, Name: "agent", Value: "runbook"}}},
		{"quotes, a comment, CRLF and a byte order mark", "\ufeff---\r\nagent: \"runbook\" # what carries it out\r\n...\r\n", 3,
			[]markdown.Field{{Line: 2, Name: "agent", Value: "runbook"}}},
		{"others beside it", "---\ntitle: 'Release: one'\nlist:\n  agent: nested\n# note\nagent:\n---", 7,
			[]markdown.Field{{Line: 2, Name: "title", Value: "Release: one"}, {Line: 3, Name: "list"}, {Line: 6, Name: "agent"}}},
		{"empty", "---\n---\n", 2, nil},
		{"never closed", "---\nagent: runbook\n# Title\n", 0, nil},
		{"a rule across the page", "---\n\nagent: runbook\n---\n", 0, nil},
		{"a step inside", "---\nagent: runbook\n```sh\nrm x\n```\n---\n", 0, nil},
		{"not the first line", "\n---\nagent: runbook\n---\n", 0, nil},
		{"no space after the colon", "---\nagent:runbook\n---\n", 3, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			lines, fields := markdown.FrontMatter(markdown.Lines(tt.text))
			if lines != tt.lines || !reflect.DeepEqual(fields, tt.fields) {
				t.Errorf("%d lines, %+v", lines, fields)
			}
		})
	}
}
