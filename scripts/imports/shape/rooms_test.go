package shape

import (
	"strings"
	"testing"
)

func TestRooms(t *testing.T) {
	text := func(lines int) string { return "package a\n" + strings.Repeat("// x\n", lines-1) }
	files := map[string]string{
		"main.go":                text(1),
		"host/host.go":           text(2),
		"host/serve/a.go":        text(3),
		"host/serve/page/a.go":   text(4),
		"host/serve/page/x/a.go": text(5),
		"host/model/a.go":        text(6), // a wing
		"host/model/wire/a.go":   text(7),
		"host/model/wire/x/a.go": text(8),
	}
	rooms := []string{"    15 host/model/wire", "    12 host/serve", "     6 host/model", "     2 host", "     1 ."}
	expect(t, "biggest-room", files, 15, rooms...)
	expect(t, "lines", files, 36, rooms...)
	expect(t, "packages", files, 8, "m/host/serve/page/x", "m/host/serve/page", "m/host/serve", "m/host/model/wire/x", "m/host/model/wire", "m/host/model", "m/host", "m")
}

// complete is a module that has all folders of the tables.
func complete() map[string]string {
	files := map[string]string{"host/command/serve.go": "package command\n"}
	for _, folder := range []string{"db", "tools", "recovery", "host/serve", "host/acp", "host/model/wire"} {
		files[folder+"/a.go"] = "package a\n"
	}
	return files
}

// What was moved while the tables were not: the figure would count nothing.
func TestFoldersOfTheTablesExist(t *testing.T) {
	if problems := module(t, complete()).MissingFolders(); len(problems) > 0 {
		t.Errorf("a module that has all of them: %v", problems)
	}
	for file, want := range map[string][]string{
		"db/a.go":               {"the table of refused layers names db, and no package is there"},
		"host/acp/a.go":         {"the table of refused layers names host/acp, and no package is there"},
		"host/model/wire/a.go":  {"the table of wings names host/model, and no package is there"},
		"host/command/serve.go": {"the table of refused layers names host/command, and no package is there", "the table of refused layers names host/command/serve.go, and no package is there"},
	} {
		files := complete()
		delete(files, file)
		files["moved/a.go"] = "package a\n"
		files[strings.TrimSuffix(file, ".go")+"_test.go"] = "package a\n" // a test is no package
		var texts []string
		for _, p := range module(t, files).MissingFolders() {
			if p.File != "scripts/imports/shape/layers.go" || p.Line != 1 {
				t.Errorf("without %s: at %s:%d", file, p.File, p.Line)
			}
			texts = append(texts, p.Text)
		}
		if strings.Join(texts, "\n") != strings.Join(want, "\n") {
			t.Errorf("without %s: %q, want %q", file, texts, want)
		}
	}
}
