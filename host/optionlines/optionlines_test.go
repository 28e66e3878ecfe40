package optionlines

import (
	"strings"
	"testing"
)

const help = `OPTIONS:
   --dir FOLDER                   work in FOLDER (default: the current one)
   --model MODEL                  MODEL to use, as agent models lists them (default: the thread's, else that of config.toml)
   --help, -h                     show help
   a description that is wider than the terminal is wrapped where it is written, and nothing is done about it here
`

// Lines of options that are too wide are broken, and nothing else changes, however the text comes.
func TestOptionLines(t *testing.T) {
	const indent = "                                  "
	broken := strings.Replace(help, " (default: the thread's, else that of config.toml)", "\n"+
		indent+"(default: the thread's, else that of\n"+indent+"config.toml)", 1)
	for size := 1; size <= len(help); size++ {
		var out strings.Builder
		w := New(&out, func() int { return 0 })
		for rest := help; rest != ""; {
			n := min(size, len(rest))
			if wrote, err := w.Write([]byte(rest[:n])); wrote != n || err != nil {
				t.Fatalf("wrote %d of %d bytes: %v", wrote, n, err)
			}
			rest = rest[n:]
		}
		if out.String() != broken {
			t.Fatalf("in pieces of %d bytes:\n%s\nwant:\n%s", size, out.String(), broken)
		}
	}
}

// Where the terminal leaves no room beside the options, their texts stand below them.
func TestOptionLinesInANarrowTerminal(t *testing.T) {
	for width, want := range map[int]string{
		60:  "   --dir FOLDER\n      work in FOLDER (default: the current one)\n",
		40:  "   --dir FOLDER\n      work in FOLDER (default: the\n      current one)\n",
		10:  "   --dir FOLDER\n      work\n      in\n      FOLDER\n      (default:\n      the\n      current\n      one)\n",
		200: "   --dir FOLDER                   work in FOLDER (default: the current one)\n",
	} {
		if got := optionLine("   --dir FOLDER                   work in FOLDER (default: the current one)\n", width); got != want {
			t.Errorf("in %d columns:\n%swant:\n%s", width, got, want)
		}
	}
}
