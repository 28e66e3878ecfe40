package view

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"agent/recovery/journal"
)

// Age says how long ago something was, in the one unit that matters.
func Age(now, then time.Time) string {
	d := now.Sub(then)
	switch {
	case then.IsZero():
		return ""
	case d < time.Second:
		return "now"
	case d < time.Minute:
		return fmt.Sprintf("%ds", d/time.Second)
	case d < time.Hour:
		return fmt.Sprintf("%dm", d/time.Minute)
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh", d/time.Hour)
	}
	return fmt.Sprintf("%dd", d/(24*time.Hour))
}

// Ago is age in a sentence.
func Ago(now, then time.Time) string {
	if a := Age(now, then); a != "now" {
		return a + " ago"
	}
	return "just now"
}

// Bytes writes a number of bytes for people.
func Bytes(n int64) string {
	const kib, mib, gib = 1 << 10, 1 << 20, 1 << 30
	switch {
	case n < kib:
		return fmt.Sprintf("%d B", n)
	case n < mib:
		return fmt.Sprintf("%.1f KiB", float64(n)/kib)
	case n < gib:
		return fmt.Sprintf("%.1f MiB", float64(n)/mib)
	}
	return fmt.Sprintf("%.1f GiB", float64(n)/gib)
}

// Duration writes a span of time for people.
func Duration(d time.Duration) string {
	switch {
	case d < time.Millisecond:
		return d.Round(time.Microsecond).String()
	case d < time.Second:
		return d.Round(time.Millisecond).String()
	case d < time.Minute:
		return withoutSeconds(d.Round(100 * time.Millisecond))
	case d < time.Hour:
		return withoutSeconds(d.Round(time.Second))
	}
	return withoutSeconds(d.Round(time.Minute))
}

// withoutSeconds is a whole number of minutes without its zero seconds; another time stays as it
// is.
func withoutSeconds(d time.Duration) string {
	if text, whole := strings.CutSuffix(d.String(), "m0s"); whole {
		return text + "m"
	}
	return d.String()
}

// Count writes a number with its noun.
func Count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// Excerpt is the beginning and the end of a long text, by lines, with what is left out said. more
// says how to see all of it.
func Excerpt(text string, head, tail int, more string) string {
	return ExcerptOf(text, head, tail, more, true)
}

// ExcerptOf is excerpt of a text that may itself be a part: then nobody knows how many lines are
// left out.
func ExcerptOf(text string, head, tail int, more string, whole bool) string {
	text = strings.TrimRight(text, "\n")
	lines := strings.Split(text, "\n")
	for i, l := range lines {
		lines[i] = Clip(l)
	}
	if len(lines) <= head+tail+1 {
		return strings.Join(lines, "\n")
	}
	gap := fmt.Sprintf("… %d lines are not shown here%s", len(lines)-head-tail, more)
	if !whole {
		gap = "… the rest is not shown here" + more
	}
	out := append(append(lines[:head:head], gap), lines[len(lines)-tail:]...)
	return strings.Join(out, "\n")
}

// MaxLine is the most of one line that is shown, in bytes.
const MaxLine = 4 << 10

// Clip is a line of which too much is left out.
func Clip(line string) string { return Clipped(line, len(line)) }

// Clipped is the beginning of a line of size bytes, of which line may be only a part.
func Clipped(line string, size int) string {
	if size <= MaxLine {
		return line
	}
	end := min(MaxLine, len(line)-1)
	for end > 0 && line[end]&0xC0 == 0x80 {
		end-- // not inside a character
	}
	return line[:end] + fmt.Sprintf("… (%s in this line)", Bytes(int64(size)))
}

// Number writes a count in groups of three digits.
func Number(n int64) string {
	text := strconv.FormatInt(n, 10)
	for at := len(text) - 3; at > 0 && text[at-1] != '-'; at -= 3 {
		text = text[:at] + "," + text[at:]
	}
	return text
}

// After is a text as the end of a line.
func After(text string) string {
	if text == "" {
		return ""
	}
	return ", " + text
}

// ShellWord quotes what a shell would not take as one word.
func ShellWord(s string) string {
	const safe = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:=@%+,"
	if s != "" && strings.Trim(s, safe) == "" {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// Listed joins words: a, b or c.
func Listed(words []string) string {
	n := len(words)
	if n < 2 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:n-1], ", ") + " or " + words[n-1]
}

// Quoted is a text of the person as a message shows it.
func Quoted(text string) string {
	r := []rune(text)
	if len(r) > 60 {
		text = string(r[:59]) + "…"
	}
	return fmt.Sprintf("%q", text)
}

// ShortDigest is the beginning of a digest, enough to compare by eye.
func ShortDigest(digest string) string { return digest[:min(12, len(digest))] }

// Stamp is when something happened, on the person's clock.
func Stamp(t time.Time) string { return t.Local().Format(time.DateTime) }

// Tokens writes a number of tokens as people do.
func Tokens(n int64) string {
	switch {
	case n == 0:
		return "-"
	case n%1_000_000 == 0:
		return fmt.Sprintf("%dM", n/1_000_000)
	case n >= 1000:
		return fmt.Sprintf("%dk", n/1000)
	}
	return fmt.Sprint(n)
}

// DirText says what a run may do in a folder beside its workspace.
func DirText(home string, d journal.Dir) string {
	if d.Write {
		return "may write in " + Tilde(home, d.Path)
	}
	return "may read in " + Tilde(home, d.Path)
}

// Tilde shortens a path below a person's home folder.
func Tilde(home, path string) string {
	if home == "" || home == "/" {
		return path
	}
	if path == home {
		return "~"
	}
	if rest, ok := strings.CutPrefix(path, strings.TrimRight(home, "/")+"/"); ok {
		return "~/" + rest
	}
	return path
}
