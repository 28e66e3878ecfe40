package diff

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"agent/recovery/journal"
)

// gitMode is the mode that git gives a version; "" where git has none of its kind.
func gitMode(v *journal.FileVersion) string {
	switch {
	case v == nil:
		return ""
	case v.Kind == journal.FileLink:
		return "120000"
	case v.Kind != journal.FileRegular:
		return ""
	case v.Mode&0o100 != 0:
		return "100755"
	}
	return "100644"
}

// header is what stands before the hunks of a path. Modes are those of git; "" is nothing there.
// named says that the two lines with the names follow, as they do where hunks do.
func header(name, before, after string, named bool) string {
	a, b := quoted("a/"+name), quoted("b/"+name)
	text := fmt.Sprintf("diff --git %s %s\n", a, b)
	switch {
	case before == "":
		text += "new file mode " + after + "\n"
		a = "/dev/null"
	case after == "":
		text += "deleted file mode " + before + "\n"
		b = "/dev/null"
	case before != after:
		text += "old mode " + before + "\nnew mode " + after + "\n"
	}
	if named {
		text += "--- " + ended(a) + "\n+++ " + ended(b) + "\n"
	}
	return text
}

// noText stands for hunks where there are none to show, behind the header. git refuses to apply it,
// and what comes with it; without a line between the two it would take it for prose. The ids of
// contents stay out of it: they are plain hashes, from which a short secret can be found out.
func noText(name, before, after string) string {
	a, b, index := quoted("a/"+name), quoted("b/"+name), ""
	switch {
	case before == "":
		a = "/dev/null"
	case after == "":
		b = "/dev/null"
	case before == after:
		index = "index 0000000..0000000 " + after + "\n"
	}
	return fmt.Sprintf("%sBinary files %s and %s differ\n", index, a, b)
}

// ended marks the end of a name that has a space, as git does.
func ended(name string) string {
	if strings.Contains(name, " ") {
		return name + "\t"
	}
	return name
}

// quoted is a name as git writes it, one line whatever it holds. Letters of other scripts stay
// readable, as with core.quotePath=false.
func quoted(name string) string {
	var b strings.Builder
	plain := true
	for i := 0; i < len(name); {
		r, n := utf8.DecodeRuneInString(name[i:])
		switch {
		case r == '"' || r == '\\':
			plain = false
			b.WriteString(`\` + string(r))
		case r == utf8.RuneError && n == 1, !unicode.IsPrint(r):
			plain = false
			for _, c := range []byte(name[i : i+n]) {
				b.WriteString(escaped(c))
			}
		default:
			b.WriteString(name[i : i+n])
		}
		i += n
	}
	if plain {
		return name
	}
	return `"` + b.String() + `"`
}

// escaped is a byte as it stands in a quoted name.
func escaped(c byte) string {
	if i := strings.IndexByte("\a\b\t\n\v\f\r", c); i >= 0 {
		return `\` + "abtnvfr"[i:i+1]
	}
	return fmt.Sprintf(`\%03o`, c)
}
