package shape

import (
	"fmt"
	"slices"
	"strings"
)

// roomKinds are the measures of size.
func roomKinds() []kind {
	return []kind{
		{"lines", false, "lines of Go", lines},
		{"biggest-room", false, "lines of the biggest folder of level 2, in a wing of level 3", biggestRoom},
		{"packages", false, "packages", packages},
	}
}

// lines counts the lines of all files, without tests and generated code, with blank lines and
// comments, but for blank lines at the end.
func lines(m *Module) (float64, []string) {
	sum := 0
	for _, f := range m.files {
		sum += len(f.lines)
	}
	_, found := biggestRoom(m)
	return float64(sum), found
}

// biggestRoom is the number of lines of the room that has the most, counted as in lines. A room is
// a folder of level 2 with all below it; in a wing, of level 3. What is above belongs to a room of
// its own.
func biggestRoom(m *Module) (float64, []string) {
	sizes, biggest := map[string]int{}, 0
	for _, f := range m.files {
		sizes[room(f.folder)] += len(f.lines)
	}

	var found []string
	for name, n := range sizes {
		found = append(found, fmt.Sprintf("%6d %s", n, name))
		biggest = max(biggest, n)
	}
	_, found = ranked(found)
	return float64(biggest), found
}

// room is the room to which a folder belongs.
func room(folder string) string {
	parts, level := strings.Split(folder, "/"), 2
	if len(parts) > 2 && slices.Contains(wings(), parts[0]+"/"+parts[1]) {
		level = 3
	}
	return strings.Join(parts[:min(level, len(parts))], "/")
}

// packages counts the packages that have a file which is no test and was written by hand.
func packages(m *Module) (float64, []string) {
	var found []string
	for _, p := range m.packages {
		if len(p.files) > 0 {
			found = append(found, p.path)
		}
	}
	return ranked(found)
}
