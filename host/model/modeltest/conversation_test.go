package modeltest

import (
	"fmt"
	"testing"
)

func TestTheTurnIsReadFromTheConversation(t *testing.T) {
	script := Script{Turns: []Turn{{Text: "one", Calls: []Call{{Tool: "t"}}}, {Text: "two", Stop: StopPause}, {Text: "three", Calls: []Call{{Tool: "t"}}}, {Text: "four"}}}
	user := func(text string) entry { return entry{from: person, text: text} }
	model := func(text string, calls int) entry {
		return entry{from: assistant, text: text, calls: make([]said, calls)}
	}
	done := entry{from: results}
	sum := "The conversation is about to outgrow your context. Write a summary that stands"
	cut := "Your answer was cut off because it reached its length limit."
	tests := []struct {
		name    string
		entries []entry
		turn    int
		summary bool
	}{
		{"begin", []entry{user("go")}, 0, false},
		{"behind a call", []entry{user("go"), model("one", 1), done}, 1, false},
		{"paused", []entry{user("go"), model("one", 1), done, model("two", 0)}, 2, false},
		{"joined behind a pause", []entry{user("go"), model("one", 1), done, model("twothree", 1), done}, 3, false},
		{"apart behind a pause", []entry{user("go"), model("one", 1), done, model("two", 0), model("three", 1), done}, 3, false},
		{"told to go on behind a pause", []entry{user("go"), model("one", 1), done, model("two", 0), user("Go on."), model("three", 1), done}, 3, false},
		{"second prompt", []entry{user("go"), model("one", 1), done, user("more")}, 0, false},
		{"cut with text", []entry{user("go"), model("on", 0), user(cut)}, 1, false},
		{"cut without a word", []entry{user("go"), user(cut)}, 1, false},
		{"cut twice, joined", []entry{user("go\n" + cut + "\n" + cut)}, 2, false},
		{"summary", []entry{user("go"), model("one", 1), done, user(sum)}, 1, true},
		{"summary joined to a prompt", []entry{user("go\n" + sum)}, 0, true},
		{"behind a summary", []entry{user("s [turns done: 2]\n\ngo"), model("three", 1), done}, 3, false},
		{"summary behind a summary", []entry{user("s [turns done: 2]\n\ngo"), model("three", 1), done, user(sum)}, 3, true},
		{"a prompt behind a summarised one", []entry{user("s [turns done: 2]\n\ngo"), model("three", 1), done, user("more")}, 0, false},
	}
	for _, tt := range tests {
		p := locate(tt.entries, &script)
		if p.turn != tt.turn || p.summary != tt.summary {
			t.Errorf("%s: turn %d, summary %t, want %d, %t", tt.name, p.turn, p.summary, tt.turn, tt.summary)
		}
	}
}

func TestTheStoryIsTheOneThatThePromptNamesLast(t *testing.T) {
	script := Script{Stories: []Story{{Prompt: "tidy"}, {Prompt: "build"}}}
	for prompt, want := range map[string]int{"build it": 1, "tidy up": 0, "tidy, then build": 1, "build, then tidy": 0, "else": 2} {
		if got, _ := script.story(prompt); got != want {
			t.Errorf("%q is story %d, want %d", prompt, got, want)
		}
	}
}

// Anthropic reads from its cache what the client marked before, up to twenty blocks back; OpenAI
// what it saw before.
func TestTheCacheIsTheProviders(t *testing.T) {
	block := func(i int) string { return fmt.Sprintf("%04d%08188d", i, 0) } // 2048 tokens
	blocks := func(n int) []string {
		out := make([]string, n)
		for i := range out {
			out[i] = block(i)
		}
		return out
	}
	s := &Server{cache: map[string]bool{}}
	steps := []struct {
		ask                  *ask
		read, written, fresh int
	}{
		{&ask{model: "a", prefix: blocks(3), marks: []int{1, 2}}, 0, 4096, 2048},
		{&ask{model: "a", prefix: blocks(5), marks: []int{1, 4}}, 4096, 4096, 2048},
		{&ask{model: "a", prefix: blocks(40), marks: []int{40}}, 0, 40 * 2048, 0},
		{&ask{model: "b", prefix: blocks(2)}, 0, 0, 4096},
		{&ask{model: "b", prefix: blocks(3)}, 4096, 0, 2048},
	}
	for i, st := range steps {
		if r, w, f := s.cached(st.ask); r != st.read || w != st.written || f != st.fresh {
			t.Errorf("step %d: read %d, written %d, fresh %d, want %d, %d, %d", i+1, r, w, f, st.read, st.written, st.fresh)
		}
	}
}
