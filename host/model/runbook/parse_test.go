package runbook

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
)

var update = flag.Bool("update", false, "write the golden files anew")

// golden runs got over every file of a folder and compares what it returns with the section "want".
func golden(t *testing.T, folder string, got func(t *testing.T, a *txtar.Archive) string) {
	files, err := filepath.Glob(filepath.Join("testdata", folder, "*.txtar"))
	if err != nil || len(files) == 0 {
		t.Fatalf("find the cases of %s: %v, %d files", folder, err, len(files))
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			a, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			have := got(t, a)
			last := len(a.Files) - 1
			if last < 0 || a.Files[last].Name != "want" {
				a.Files = append(a.Files, txtar.File{Name: "want"})
				last++
			}
			if *update {
				a.Files[last].Data = []byte(have)
				if err := os.WriteFile(file, txtar.Format(a), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if d := cmp.Diff(string(a.Files[last].Data), have); d != "" {
				t.Errorf("-want +got:\n%s", d)
			}
		})
	}
}

// section returns a file of the archive. A line that ends in · keeps the blanks before it, and ␍
// stands for a carriage return.
func section(t *testing.T, a *txtar.Archive, name string) string {
	for _, f := range a.Files {
		if f.Name == name {
			return strings.NewReplacer("·\n", "\n", "␍", "\r", "→", "\t").Replace(string(f.Data))
		}
	}
	t.Fatalf("the case has no section %q", name)
	return ""
}

// printSteps writes one line for each step, or the refusal.
func printSteps(steps []step, err error) string {
	if err != nil {
		return err.Error() + "\n"
	}
	var b strings.Builder
	for i, s := range steps {
		var before *step
		if i > 0 {
			before = &steps[i-1]
		}
		if news := s.news(before); news != "" {
			fmt.Fprintln(&b, news)
		}
		args, err := encode(s.arguments())
		if err != nil {
			return err.Error()
		}
		fmt.Fprintf(&b, "%d %s %s\n", s.line, s.tool, args)
	}
	return b.String()
}

func TestParse(t *testing.T) {
	golden(t, "parse", func(t *testing.T, a *txtar.Archive) string {
		steps, _, err := parse(section(t, a, "in.md"))
		return printSteps(steps, err)
	})
}

func TestParseRefusesWhatIsNoText(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"ok\n```sh\necho \xff\n```\n", "line 3: not valid UTF-8: a runbook is text"},
		{"```sh\necho \x00\n```\n", "line 2: holds a NUL byte: a runbook is text"},
	} {
		if _, _, err := parse(c.text); err == nil || err.Error() != c.want {
			t.Errorf("parse %q: got %v, want %s", c.text, err, c.want)
		}
	}
}

// A fingerprint is made from a call's arguments: the same runbook gives the same bytes, whatever
// its line ends.
func TestArgumentsAreByteStable(t *testing.T) {
	const book = "- search \"<a> & b\" src glob=*.go max=3 ignore_case=true\n- write_file x\n```\na\nb\n```\n```bash timeout=1h\necho \"é\" > <x>\n```\n"
	want := `1 search {"glob":"*.go","ignore_case":true,"max":3,"path":"src","pattern":"<a> & b"}
2 write_file {"content":"a\nb\n","path":"x"}
7 shell {"command":"echo \"é\" > <x>","shell":"bash","timeout":3600}
`
	for range 20 {
		for _, text := range []string{book, strings.ReplaceAll(book, "\n", "\r\n"), "\ufeff" + book} {
			steps, _, err := parse(text)
			if d := cmp.Diff(want, printSteps(steps, err)); d != "" {
				t.Fatalf("-want +got:\n%s", d)
			}
		}
	}
}

// A long prompt takes a time in proportion to its length, whatever it is made of.
func BenchmarkParse(b *testing.B) {
	for name, piece := range map[string]string{
		"prose": "some words\n", "blocks": "```sh\necho line >> log\n```\n", "items": "- read_file a\n", "nested": "- ",
		"ticks": "` `` ``` <!-- -->", "comments": "<!-- a --> b\n", "headings": "# a\n## b\n### c\n", "quotes": "'\"\\ ",
	} {
		b.Run(name, func(b *testing.B) {
			text := strings.Repeat(piece, 1<<20/len(piece)) + "x"
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				_, _, err := parse(text)
				_ = err // some of the texts are refused; they are read all the same
			}
		})
	}
}

// FuzzParse: whatever the text, its steps are the same at each reading and with other line ends,
// each stands at a line of its own and can be called, and a long text of the same takes no longer
// than its length accounts for.
func FuzzParse(f *testing.F) {
	files, err := filepath.Glob(filepath.Join("testdata", "parse", "*.txtar"))
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range files {
		a, err := txtar.ParseFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(a.Files[0].Data))
	}
	for _, text := range []string{"> - > - ", "```\n~~~\n", "- `", "<!--", "- read_file \"\\", "[a]: <", "\t- x\n\t\t```sh\n", "* * *\n- - -\n", "1) x\n2. y\n", "\u2028- read_file a\n", "```sh timeout=9999999999h\n```\n"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		steps, _, err := parse(text)
		unix := strings.ReplaceAll(text, "\r\n", "\n")
		dos, _, dosErr := parse(strings.ReplaceAll(unix, "\n", "\r\n"))
		if fmt.Sprint(err) != fmt.Sprint(dosErr) || !reflect.DeepEqual(steps, dos) {
			t.Fatalf("line ends change the steps:\n%v %v\n%v %v", steps, err, dos, dosErr)
		}
		if again, _, err2 := parse(text); fmt.Sprint(err) != fmt.Sprint(err2) || !reflect.DeepEqual(steps, again) {
			t.Fatalf("it is read as\n%v %v\nand as\n%v %v", steps, err, again, err2)
		}
		if len(text)%8 == 1 && len(text) < 200 { // a part of them, since it takes so much longer than the rest
			soon(t, strings.Repeat(text, 1<<17/len(text)))
		}
		lines := strings.Count(unix, "\n") + 1
		for i, s := range steps {
			if s.line < 1 || s.line > lines || i > 0 && s.line <= steps[i-1].line {
				t.Fatalf("step %d stands at line %d of %d", i, s.line, lines)
			}
			if err == nil {
				if _, err := s.call(i); err != nil {
					t.Fatal(err)
				}
			}
		}
	})
}

// soon parses a text of 128 KiB, which takes some tens of milliseconds. What looks at all lines for
// each line takes more than the minute, which no busy machine needs.
func soon(t *testing.T, text string) {
	t.Helper()
	began := time.Now()
	_, _, err := parse(text)
	_ = err // some of the texts are refused; they are read all the same
	if took := time.Since(began); took > time.Minute {
		t.Errorf("%d bytes of %.100q take %s", len(text), text, took)
	}
}
