package launch

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
)

// A driver answers with one line; whatever else comes is no answer.
func TestHear(t *testing.T) {
	for text, want := range map[string]string{
		"":   ErrNoAnswer.Error(),
		"{":  ErrNoAnswer.Error(),
		"\n": "read the answer",
		"{\"version\":1,\"ended\":{\"code\":2}}\n":                     "",
		"{\"version\":1}\n":                                            "another version",
		"{\"version\":2,\"ended\":{\"code\":2}}\n":                     "another version",
		"{\"version\":1,\"accepted\":{},\"ended\":{\"code\":2}}\n":     "another version",
		"{\"version\":1,\"accepted\":{\"run\":\"r-1\"}}\nmore of it\n": "",
	} {
		_, err := hear(strings.NewReader(text))
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

// A task of another version, or none, is refused: a binary may be replaced between two starts.
func TestReceive(t *testing.T) {
	for text, want := range map[string]bool{
		"": false, "null": false, `{"version":1}`: false, `{"version":2,"args":["run"]}`: false, `{"version":1,"args":["run"],"dir":"/"}`: true,
	} {
		if _, err := receive(strings.NewReader(text)); (err == nil) != want {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// A process that ends without one has not answered, and one that cannot be started is an error.
func TestStartWithoutAnswer(t *testing.T) {
	if _, err := Start(t.Context(), "/bin/true", os.Environ(), nil, Job{Args: []string{"run"}, Dir: "/"}); !errors.Is(err, ErrNoAnswer) {
		t.Errorf("%v", err)
	}
	if _, err := Start(t.Context(), "/nowhere/agent", os.Environ(), nil, Job{}); err == nil || errors.Is(err, ErrNoAnswer) {
		t.Errorf("%v", err)
	}
}

// Where the wait is ended, the process is asked to stop.
func TestStartIsStopped(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Start(ctx, "/bin/cat", os.Environ(), nil, Job{Args: []string{strings.Repeat("x", 1<<20)}, Dir: "/"}); err == nil {
		t.Error("it has an answer")
	}
}

// Jobs are the same where they ask for the same, to the last byte of a picture.
func TestDigest(t *testing.T) {
	one := Job{Args: []string{"run", "ab"}, Pictures: [][]byte{{1}}, Run: "r-1"}
	same := one
	same.Run, same.By = "r-2", "anna"
	if one.Digest() != same.Digest() {
		t.Error("the same request is another one")
	}
	for _, other := range []Job{
		{Args: []string{"runa", "b"}, Pictures: one.Pictures}, {Args: one.Args}, {Args: one.Args, Pictures: [][]byte{{2}}}, {Args: one.Args, Pictures: [][]byte{{1}, {}}},
	} {
		if other.Digest() == one.Digest() {
			t.Errorf("%+v is the same", other)
		}
	}
}
