package testbin

import (
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"
)

func TestDistrust(t *testing.T) {
	for _, c := range []struct {
		mode        fs.FileMode
		owner, user int
		want        string
	}{
		{0o755, 1001, 1001, ""},
		{0o700 | fs.ModeDir, 1001, 1001, ""},
		{0o755, 0, 1001, ""},
		{0o777, 1001, 1001, "B may be written by others (0777, owner 1001): set AGENT_TESTBIN to a folder of yours"},
		{0o777 | fs.ModeSticky | fs.ModeDir, 0, 0, "B may be written by others (0777, owner 0): set AGENT_TESTBIN to a folder of yours"},
		{0o775, 1001, 1001, "B may be written by others (0775, owner 1001): set AGENT_TESTBIN to a folder of yours"},
		{0o755, 1002, 1001, "B may be written by others (0755, owner 1002): set AGENT_TESTBIN to a folder of yours"},
		{0o755, 1001, 0, "B may be written by others (0755, owner 1001): set AGENT_TESTBIN to a folder of yours"},
	} {
		got := ""
		if err := distrust("B", c.mode, c.owner, c.user); err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("%v of %d, used by %d: %q, want %q", c.mode, c.owner, c.user, got, c.want)
		}
	}
}

func TestContains(t *testing.T) {
	const want = "src-0123"
	for _, before := range []int{0, 1, 1<<20 - 4, 1<<20 - 1, 1 << 20, 3 << 20} {
		text := strings.Repeat("s", before) + want + "rest"
		if ok, err := contains(strings.NewReader(text), want); err != nil || !ok {
			t.Errorf("behind %d bytes: %v %v", before, ok, err)
		}
		if ok, err := contains(strings.NewReader(strings.Replace(text, want, "src-0124", 1)), want); err != nil || ok {
			t.Errorf("another text behind %d bytes: %v %v", before, ok, err)
		}
	}
	if ok, err := contains(iotest.OneByteReader(strings.NewReader("xx"+want)), want); err != nil || !ok {
		t.Errorf("byte by byte: %v %v", ok, err)
	}
	if _, err := contains(iotest.ErrReader(fs.ErrPermission), want); err == nil {
		t.Error("what cannot be read is taken for a text that is not there")
	}
}

func TestOutdated(t *testing.T) {
	var all []state
	for i := range mostKept + 3 {
		all = append(all, state{fmt.Sprint(i), time.Unix(int64(100-i), 0)})
	}
	if got, want := outdated(all, "x"), []string{"8", "9", "10"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if got, want := outdated(all, "9"), []string{"8", "10"}; !slices.Equal(got, want) {
		t.Errorf("with 9 in use: %q, want %q", got, want)
	}
	if got := outdated(all[:mostKept], "x"); got != nil {
		t.Errorf("of as many as are kept: %q", got)
	}
}
