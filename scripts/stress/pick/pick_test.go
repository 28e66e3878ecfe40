package pick

import (
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// earlier is a package before each change.
func earlier() map[string]string {
	return map[string]string{
		"a/one_test.go": `package a
import "testing"
const least = 3
func TestOne(t *testing.T) { helper(t) }
func TestTwo(t *testing.T) { _ = least + new(place).deeper }
func TestThree(t *testing.T) { new(world).look() }
func FuzzFour(f *testing.F) { f.Add(1) }
func Testlower() {}
`,
		"a/helper_test.go": `package a
import "testing"
type world struct{}
func (w *world) look() {}
func helper(t *testing.T) { deeper() }
func deeper() {}
func reads() []string { return []string{"testdata/pages/first.html"} }
`,
		"a/script_test.go": `package a
import "testing"
func TestScripts(t *testing.T) { run("testdata/script") }
func TestPages(t *testing.T) { reads() }
func run(string) {}
`,
		"a/testdata/script/reload.txt":  "exec true\n",
		"a/testdata/pages/first.html":   "<p>\n",
		"a/testdata/pages/second.html":  "<p>\n",
		"a/testdata/unnamed/third.html": "<p>\n",
		"a/a.go":                        "package a\n",
		"b/b_test.go":                   "package b\nimport \"testing\"\nfunc TestB(t *testing.T) {}\n",
	}
}

func TestChanged(t *testing.T) {
	all := "FuzzFour TestOne TestPages TestScripts TestThree TestTwo"
	for _, c := range []struct {
		name, file, from, to string
		want                 string // of package a, without its name
	}{
		{"nothing", "a/one_test.go", "", "", ""},
		{"a test", "a/one_test.go", "f.Add(1)", "f.Add(2)", "FuzzFour"},
		{"comment and layout", "a/one_test.go", "f.Add(1)", "\n\t// One.\n\tf.Add(\n1,\n)\n", ""},
		{"a new test", "a/one_test.go", "func Testlower", "func TestNew(t *testing.T) {}\nfunc Testlower", "TestNew"},
		{"what only looks like a test", "a/one_test.go", "func Testlower() {}", "func Testlower() { run(\"\") }", ""},
		{"a constant", "a/one_test.go", "least = 3", "least = 4", "TestTwo"},
		{"a helper's helper, not a field of its name", "a/helper_test.go", "deeper() {}", "deeper() { _ = 1 }", "TestOne"},
		{"a method", "a/helper_test.go", "look() {}", "look() { _ = 1 }", "TestThree"},
		{"a type", "a/helper_test.go", "type world struct{}", "type world struct{ n int }", "TestThree"},
		{"TestMain", "a/one_test.go", "func Testlower", "func TestMain(m *testing.M) {}\nfunc Testlower", all},
		{"a script", "a/testdata/script/reload.txt", "true", "false", "TestScripts/reload"},
		{"a removed script", "a/testdata/script/reload.txt", "exec true\n", "", ""},
		{"a file that is named", "a/testdata/pages/first.html", "<p>", "<b>", "TestPages"},
		{"a file whose folder is named", "a/testdata/pages/second.html", "<p>", "<b>", "TestPages"},
		{"a file that nothing names", "a/testdata/unnamed/third.html", "<p>", "<b>", all},
		{"no test", "a/a.go", "package a", "package a\nvar x int", ""},
		{"a removed file", "a/script_test.go", earlier()["a/script_test.go"], "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			files := earlier()
			files[c.file] = strings.Replace(files[c.file], c.from, c.to, 1)
			changed := []string{c.file}
			if files[c.file] == "" {
				delete(files, c.file)
			}
			compare(t, files, changed, c.want)
		})
	}
}

// A test that was moved to another file as it is has not changed; its new package has it newly.
func TestMoved(t *testing.T) {
	files := earlier()
	files["a/moved_test.go"] = files["a/script_test.go"]
	delete(files, "a/script_test.go")
	compare(t, files, []string{"a/moved_test.go", "a/script_test.go"}, "")

	files["c/moved_test.go"] = files["a/moved_test.go"]
	tests := changed(t, files, []string{"c/moved_test.go"})
	if want := []string{"c TestPages", "c TestScripts"}; !slices.Equal(tests, want) {
		t.Errorf("%v, want %v", tests, want)
	}
}

func TestSyntaxThatIsNone(t *testing.T) {
	files := earlier()
	files["a/one_test.go"] = "package"
	_, err := Changed(tree(t, files), []string{"a/one_test.go"}, before)
	if err == nil || !strings.Contains(err.Error(), "a/one_test.go:1:") {
		t.Errorf("error: %v", err)
	}
}

func TestIn(t *testing.T) {
	root := tree(t, earlier())
	tests, err := In(root, "a")
	if want := "FuzzFour TestOne TestPages TestScripts TestThree TestTwo"; err != nil || strings.Join(tests, " ") != want {
		t.Errorf("%v, %v, want %s", tests, err, want)
	}
	if tests, err := In(root, "missing"); err != nil || len(tests) > 0 {
		t.Errorf("of no folder: %v, %v", tests, err)
	}
}

func compare(t *testing.T, files map[string]string, names []string, want string) {
	t.Helper()
	var expected []string
	for _, name := range strings.Fields(want) {
		expected = append(expected, "a "+name)
	}
	if got := changed(t, files, names); !slices.Equal(got, expected) {
		t.Errorf("%v, want %v", got, expected)
	}
}

func changed(t *testing.T, files map[string]string, names []string) []string {
	t.Helper()
	tests, err := Changed(tree(t, files), names, before)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, test := range tests {
		got = append(got, test.String())
	}
	return got
}

func before(name string) ([]byte, error) {
	text, ok := earlier()[name]
	if !ok {
		return nil, fmt.Errorf("%s: %w", name, fs.ErrNotExist)
	}
	return []byte(text), nil
}

func tree(t *testing.T, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	for _, name := range slices.Sorted(maps.Keys(files)) {
		file := filepath.Join(root, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(files[name]), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return root
}
