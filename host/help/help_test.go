package help_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"agent/host/help"
)

func topics(t *testing.T) []help.Topic {
	t.Helper()
	all, err := help.Topics()
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// Every file is a topic, and every topic a file.
func TestEveryFileIsATopic(t *testing.T) {
	files, err := filepath.Glob("*.md")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, topic := range topics(t) {
		names = append(names, topic.Name+".md")
	}
	slices.Sort(names)
	if !slices.Equal(files, names) {
		t.Errorf("the files are %v, the topics %v", files, names)
	}
}

// A topic is shown as it is written, so it has to fit a terminal of 80 columns. Its description has
// to fit the list of topics.
func TestTopicsFitATerminal(t *testing.T) {
	for _, topic := range topics(t) {
		n := 0
		for line := range strings.Lines(topic.Text) {
			n++
			if width := utf8.RuneCountInString(strings.TrimRight(line, "\n")); width > 80 {
				t.Errorf("%s.md:%d: %d columns, at most 80", topic.Name, n, width)
			}
			if strings.ContainsAny(line, "\t\r") || strings.TrimRight(line, " \n") != strings.TrimRight(line, "\n") {
				t.Errorf("%s.md:%d: a tab or a blank at the end", topic.Name, n)
			}
		}
		if strings.HasSuffix(topic.About, ".") || len(topic.About) > 62 {
			t.Errorf("%s: %q is shown in a list: one short line without a full stop", topic.Name, topic.About)
		}
		if strings.Count(topic.Text, "\n```")%2 != 0 {
			t.Errorf("%s: a block is never closed", topic.Name)
		}
	}
}

// A person looks for what they want to do in their own words.
func TestWordsOfAUser(t *testing.T) {
	for word, want := range map[string]string{
		"approve": "permissions", "deny": "permissions", "retry": "recovery", "undo": "undo", "rewind": "undo", "unknown": "recovery", "crash": "recovery", "hooks": "background",
		"fix": "recovery", "backup": "state", "timeout": "configuration", "proxy": "", "Docker": "",
	} {
		found := help.Speaking(topics(t), word, 3)
		if want == "" && len(found) > 0 || want != "" && !slices.Contains(found, want) {
			t.Errorf("%s is found in %v, not in %q", word, found, want)
		}
	}
	if found := help.Speaking(topics(t), "e", 3); len(found) > 0 {
		t.Errorf("a single letter is found in %v", found)
	}
}

func TestNear(t *testing.T) {
	names := []string{"run", "resume", "models", "models", "state", "permissions", "tools"}
	for word, want := range map[string]string{
		"perm": "permissions", "modles": "models", "resum": "resume", "permission": "permissions", "ru": "", "zzzz": "", "statte": "state", "hooks": "", "tool": "tools", "toolz": "tools",
	} {
		if got := strings.Join(help.Near(names, word), " "); got != want {
			t.Errorf("near %s: %q, want %q", word, got, want)
		}
	}
}

// The glossary is one place for at most 48 words, in order.
func TestGlossary(t *testing.T) {
	text, err := os.ReadFile("glossary.md")
	if err != nil {
		t.Fatal(err)
	}
	var words []string
	for line := range strings.Lines(string(text)) {
		cells := strings.Split(line, "|")
		if word := strings.TrimSpace(cells[min(1, len(cells)-1)]); len(cells) == 4 && word != "word" && !strings.HasPrefix(word, "-") {
			words = append(words, word)
		}
	}
	if len(words) < 20 || len(words) > 48 {
		t.Errorf("%d words, want 20 to 48", len(words))
	}
	if !slices.IsSorted(words) {
		t.Errorf("the words are not in order: %v", words)
	}
}
