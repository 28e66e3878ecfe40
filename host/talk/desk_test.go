package talk

import (
	"context"
	"io"
	"os"
	"slices"
	"testing"
)

// What is typed while a run ends is taken or kept, and never dropped. // issue 17, part 3
func TestHearingLosesNothing(t *testing.T) {
	type read struct {
		line string
		err  error
	}
	ended := read{"", os.ErrDeadlineExceeded}
	for name, c := range map[string]struct {
		begun       string
		reads       []read
		taken, left []string
		text        string
	}{
		"a line":                         {"", []read{{"one\n", nil}, ended}, []string{"one"}, nil, ""},
		"a line of another system":       {"", []read{{"one\r\n", nil}, ended}, []string{"one"}, nil, ""},
		"a line as the reading ends":     {"", []read{{"one\n", context.Canceled}, ended}, []string{"one"}, nil, ""},
		"one too late":                   {"", []read{{"late\n", nil}, {"one\n", nil}, ended}, []string{"one"}, []string{"late"}, ""},
		"two lines":                      {"", []read{{"one\\\n", nil}, {"two\n", nil}, ended}, []string{"one\ntwo"}, nil, ""},
		"the first of two":               {"", []read{{"one\\\n", nil}, ended}, nil, nil, "one\n"},
		"the second of two":              {"one\n", []read{{"two\n", nil}, ended}, []string{"one\ntwo"}, nil, ""},
		"part of a line":                 {"", []read{{"on", context.Canceled}}, nil, nil, "on"},
		"Ctrl-D in a line":               {"", []read{{"on", io.EOF}, {"e\n", nil}, ended}, []string{"one"}, nil, ""},
		"Ctrl-D alone":                   {"", []read{{"", io.EOF}, {"one\n", nil}, ended}, []string{"one"}, nil, ""},
		"an empty line":                  {"", []read{{"\n", nil}, ended}, nil, nil, ""},
		"a terminal that says it is out": {"on", slices.Repeat([]read{{"", io.EOF}}, mostEnds+1), nil, nil, "on"},
	} {
		t.Run(name, func(t *testing.T) {
			var taken []string
			h := &hearing{text: c.begun, take: func(text string) bool {
				if text != "late" {
					taken = append(taken, text)
				}
				return text != "late"
			}}
			reads := c.reads
			h.read(context.Background(), func(context.Context) (string, error) {
				r := reads[0]
				reads = reads[1:]
				return r.line, r.err
			})
			if len(reads) != 0 || !slices.Equal(taken, c.taken) || !slices.Equal(h.left, c.left) || h.text != c.text {
				t.Errorf("took %q, left %q, kept %q; %d reads not made", taken, h.left, h.text, len(reads))
			}
		})
	}
}
