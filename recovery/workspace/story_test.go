package workspace

import (
	"agent/recovery/journal"
	"fmt"
	"strings"
	"testing"
	"time"
)

// at is a version in short: "" is nothing, "x" a file that the store keeps, "git:x" one of git's,
// "dir" a folder, "->x" a link, "big:x" a file that is not kept, "socket" what cannot be. A mode
// follows after a blank.
func at(text string) *journal.FileVersion {
	text, mode, _ := strings.Cut(text, " ")
	v := &journal.FileVersion{Mode: 0o644, Size: 3}
	if mode != "" {
		fmt.Sscanf(mode, "%o", &v.Mode)
	}
	switch name, rest, _ := strings.Cut(text, ":"); {
	case text == "":
		return nil
	case text == "dir":
		v.Kind, v.Size = journal.FileFolder, 0
		if mode == "" {
			v.Mode = 0o755
		}
	case text == "socket":
		v.Kind, v.Stamp = journal.FileSpecial, "1"
	case strings.HasPrefix(text, "->"):
		*v = journal.FileVersion{Kind: journal.FileLink, Link: journal.LinkTarget(text[2:])}
	case name == "git":
		v.Git = rest
	case name == "big":
		v.Lost, v.Stamp = journal.LeftTooLarge, rest
	default:
		v.Kept, v.Stamp, _ = strings.Cut(text, "@")
	}
	return v
}

// call, moved, tool and outside are steps: what a call of a turn changed, what git did under it,
// what a file tool wrote, and what changed while no call was under way. Those of calls are taken
// back.
func call(turn int, path, before, after string) Step {
	return step(turn, journal.ProofWhile, path, before, after)
}

func moved(turn int, path, before, after string) Step {
	return step(turn, journal.ProofGit, path, before, after)
}

func tool(turn int, path, before, after string) Step {
	return step(turn, journal.ProofTool, path, before, after)
}

func outside(turn int, path, before, after string) Step {
	s := step(turn, journal.ProofOutside, path, before, after)
	s.During, s.Take = nil, false
	return s
}

func step(turn int, proof journal.FileProof, path, before, after string) Step {
	return Step{Run: "r-1", Turn: turn, During: &journal.Place{Turn: turn}, Take: true, Time: time.Unix(int64(turn), 0),
		Change: journal.NewFileChange(path, proof, at(before), at(after))}
}

// kept is a step that is not taken back.
func kept(s Step) Step {
	s.Take = false
	return s
}

func shared(s Step) Step {
	s.Shared = true
	return s
}

// say puts an item into a line.
func say(i Item) string {
	line := fmt.Sprintf("%s %s: %s -> %s, %d %s", i.Kind, i.Name(), word(i.Now), word(i.Want), i.By.Turn, i.Proof)
	if i.Shared {
		line += " shared"
	}
	if !i.Since.IsZero() {
		line += fmt.Sprintf(" since %d", i.Since.Unix())
	}
	if i.Reason != "" {
		line += " " + string(i.Reason)
	}
	if i.Overwrite {
		line += " overwritten"
	}
	return line
}

func word(v *journal.FileVersion) string {
	switch {
	case v == nil:
		return "-"
	case v.Kind == journal.FileLink:
		return "->" + string(v.Link)
	case v.Kind != journal.FileRegular:
		return fmt.Sprintf("%s %o", v.Kind, v.Mode)
	case v.Git != "":
		return fmt.Sprintf("git:%s %o", v.Git, v.Mode)
	}
	return fmt.Sprintf("%s%s %o", v.Kept, v.Lost, v.Mode)
}

type story struct {
	name      string
	steps     []Step
	disk      map[string]string // what differs from what the last step left
	overwrite []string
	want      []string
}

// What a person may meet, and what becomes of each path.
func stories() []story {
	return []story{
		{"a file tool wrote it", []Step{tool(3, "a", "1", "2")}, nil, nil, []string{"restore a: 2 644 -> 1 644, 3 tool"}},
		{"several calls wrote it: it is as before the first", []Step{tool(3, "a", "1", "2"), call(4, "a", "2", "3")}, nil, nil, []string{"restore a: 3 644 -> 1 644, 3 while"}},
		{"what calls did before the position stays", []Step{kept(call(2, "a", "0", "1")), call(3, "a", "1", "2")}, nil, nil, []string{"restore a: 2 644 -> 1 644, 3 while"}},
		{"a call made it", []Step{call(3, "a", "", "2")}, nil, nil, []string{"remove a: 2 644 -> -, 3 while"}},
		{"a call removed it", []Step{call(3, "a", "1", "")}, nil, nil, []string{"restore a: - -> 1 644, 3 while"}},
		{"a call made it and removed it", []Step{call(3, "a", "", "1"), call(4, "a", "1", "")}, nil, nil, []string{"same a: - -> -, 3 while"}},
		{"a call renamed it", []Step{call(3, "new", "", "1"), call(3, "old", "1", "")}, nil, nil, []string{"remove new: 1 644 -> -, 3 while", "restore old: - -> 1 644, 3 while"}},
		{"its mode alone changed", []Step{call(3, "a", "1 644", "1 755")}, nil, nil, []string{"restore a: 1 755 -> 1 644, 3 while"}},
		{"a link leads elsewhere", []Step{call(3, "a", "->x", "->y")}, nil, nil, []string{"restore a: ->y -> ->x, 3 while"}},
		{"a link where a file was", []Step{call(3, "a", "1", "->y")}, nil, nil, []string{"restore a: ->y -> 1 644, 3 while"}},
		{"an empty folder is gone", []Step{call(3, "a", "dir 700", "")}, nil, nil, []string{"restore a: - -> dir 700, 3 while"}},
		{"a name that is not UTF-8", []Step{call(3, "a\xff", "1", "2")}, nil, nil, []string{"restore a\xff: 2 644 -> 1 644, 3 while"}},

		{"a person edits while a command runs: it counts as the call's", []Step{call(3, "a", "1", "2")}, nil, nil, []string{"restore a: 2 644 -> 1 644, 3 while"}},
		{"a person puts it back while a command runs", []Step{call(3, "a", "1", "2"), call(4, "a", "2", "1")}, nil, nil, []string{"same a: 1 644 -> 1 644, 3 while"}},
		{"two runs had calls under way", []Step{shared(tool(3, "a", "1", "2")), tool(4, "a", "2", "3")}, nil, nil, []string{"restore a: 3 644 -> 1 644, 3 tool shared"}},
		{"another run's call wrote it in between", []Step{call(3, "a", "1", "2"), kept(call(4, "a", "2", "3")), call(5, "a", "3", "4")}, nil, nil, []string{"yours a: 4 644 -> 1 644, 3 while since 4"}},
		{"an editor reformats it after the run", []Step{call(3, "a", "1", "2"), outside(5, "a", "2", "3")}, nil, nil, []string{"yours a: 3 644 -> 1 644, 3 while since 5"}},
		{"a server left running writes later", []Step{call(3, "log", "", "1"), outside(3, "log", "1", "2"), call(4, "b", "1", "2")}, nil, nil,
			[]string{"restore b: 2 644 -> 1 644, 4 while", "yours log: 2 644 -> -, 3 while since 3"}},
		{"a person edits it in between", []Step{call(3, "a", "1", "2"), outside(4, "a", "2", "3"), call(4, "a", "3", "4")}, nil, nil, []string{"yours a: 4 644 -> 1 644, 3 while since 4"}},
		{"a person edited it before", []Step{outside(3, "a", "0", "1"), call(3, "a", "1", "2")}, nil, nil, []string{"restore a: 2 644 -> 1 644, 3 while"}},
		{"a person puts it back", []Step{call(3, "a", "1", "2"), outside(4, "a", "2", "1")}, nil, nil, []string{"same a: 1 644 -> 1 644, 3 while"}},
		{"a person alone changed it", []Step{outside(4, "a", "1", "2")}, nil, nil, nil},
		{"a person changed it just now", []Step{call(3, "a", "1", "2")}, map[string]string{"a": "3"}, nil, []string{"yours a: 3 644 -> 1 644, 3 while"}},
		{"a person changed its mode just now", []Step{call(3, "a", "1", "2")}, map[string]string{"a": "2 600"}, nil, []string{"yours a: 2 600 -> 1 644, 3 while"}},
		{"a person removed what a call made", []Step{call(3, "a", "", "2")}, map[string]string{"a": ""}, nil, []string{"same a: - -> -, 3 while"}},
		{"asked for by name", []Step{call(3, "a", "1", "2"), outside(4, "a", "2", "3"), call(3, "b", "", "2")}, map[string]string{"b": "3"}, []string{"a", "b"},
			[]string{"yours a: 3 644 -> 1 644, 3 while since 4 overwritten", "yours b: 3 644 -> -, 3 while overwritten"}},
		{"while the host was away somebody changed it", []Step{call(3, "a", "1", "2"), call(6, "a", "5", "6")}, nil, nil, []string{"yours a: 6 644 -> 1 644, 3 while since 6"}},

		{"the store's name and git's of one content cannot be compared", []Step{call(3, "a", "1", "2"), call(4, "a", "git:2", "3")}, nil, nil, []string{"yours a: 3 644 -> 1 644, 3 while since 4"}},
		{"but nobody touched the file in between", []Step{call(3, "a", "1", "2@s"), stamped(call(4, "a", "git:2", "3"), "s")}, nil, nil, []string{"restore a: 3 644 -> 1 644, 3 while"}},
		{"or it was touched", []Step{call(3, "a", "1", "2@s"), stamped(call(4, "a", "git:2", "3"), "t")}, nil, nil, []string{"yours a: 3 644 -> 1 644, 3 while since 4"}},

		{"a call ran rm -rf .git src", []Step{call(3, "src", "dir", ""), call(3, "src/a", "git:1", ""), call(3, "src/b", "2", "")}, nil, nil,
			[]string{"restore src: - -> dir 755, 3 while", "restore src/a: - -> git:1 644, 3 while", "restore src/b: - -> 2 644, 3 while"}},
		{"it is too large to be kept", []Step{call(3, "a", "big:1", "big:2")}, nil, nil, []string{"lost a: too_large 644 -> too_large 644, 3 while too_large"}},
		{"too large, and nobody changed it in the end", []Step{call(3, "a", "big:1", "big:2"), call(4, "a", "big:2", "big:1")}, nil, nil, []string{"same a: too_large 644 -> too_large 644, 3 while"}},
		{"too large, and somebody else's", []Step{call(3, "a", "big:1", "big:2"), outside(4, "a", "big:2", "3")}, nil, nil, []string{"yours a: 3 644 -> too_large 644, 3 while since 4"}},
		{"too large, and asked for by name", []Step{call(3, "a", "big:1", "2")}, map[string]string{"a": "3"}, []string{"a"}, []string{"lost a: 3 644 -> too_large 644, 3 while too_large"}},
		{"a call removed a socket", []Step{call(3, "a", "socket", "")}, nil, nil, []string{"lost a: - -> special 644, 3 while special"}},
		{"a call made what is too large", []Step{call(3, "a", "", "big:2")}, nil, nil, []string{"yours a: too_large 644 -> -, 3 while too_large"}},
		{"and it is asked for by name", []Step{call(3, "a", "", "big:2")}, nil, []string{"a"}, []string{"yours a: too_large 644 -> -, 3 while overwritten"}},

		{"a call switched the branch", []Step{moved(3, "a", "git:1", "git:2")}, nil, nil, []string{"git a: git:2 644 -> git:1 644, 3 git"}},
		{"and switched back", []Step{moved(3, "a", "git:1", "git:2"), moved(4, "a", "git:2", "git:1")}, nil, nil, []string{"same a: git:1 644 -> git:1 644, 3 git"}},
		{"and edited on the other one: its edits are its own", []Step{moved(3, "a", "git:1", "git:2"), call(4, "a", "git:2", "3"), tool(5, "a", "3", "4")}, nil, nil,
			[]string{"restore a: 4 644 -> git:2 644, 4 while"}},
		{"and a person edited before the call did", []Step{moved(3, "a", "git:1", "git:2"), outside(4, "a", "git:2", "3"), call(4, "a", "3", "4")}, nil, nil, []string{"restore a: 4 644 -> 3 644, 4 while"}},
		{"git's, though asked for by name", []Step{moved(3, "a", "git:1", "git:2"), outside(4, "a", "git:2", "3")}, nil, []string{"a"}, []string{"git a: 3 644 -> git:1 644, 3 git"}},
		{"edited, put back, and moved by git", []Step{call(2, "a", "git:1", "2"), call(3, "a", "2", "git:1"), moved(4, "a", "git:1", "git:3")}, nil, nil, []string{"git a: git:3 644 -> git:1 644, 2 while"}},
		{"work that was not committed, edited, committed and moved", []Step{call(2, "a", "1", "2"), moved(4, "a", "2", "git:3")}, nil, nil, []string{"restore a: git:3 644 -> 1 644, 2 while"}},
		{"made, committed, and another one put there by git", []Step{call(2, "a", "", "1"), moved(4, "a", "1", "git:2")}, nil, nil, []string{"git a: git:2 644 -> -, 2 while"}},
		{"git checkout -f over work that was not committed", []Step{call(3, "a", "1", "git:2"), moved(3, "b", "git:1", "git:2")}, nil, nil,
			[]string{"restore a: git:2 644 -> 1 644, 3 while", "git b: git:2 644 -> git:1 644, 3 git"}},
		{"a person switched the branch since", []Step{call(3, "a", "git:1", "2"), outside(5, "a", "2", "git:3"), outside(5, "b", "git:1", "git:3")}, nil, nil, []string{"yours a: git:3 644 -> git:1 644, 3 while since 5"}},

		{"a folder that a call made", []Step{call(3, "d", "", "dir"), call(3, "d/a", "", "1")}, nil, nil, []string{"remove d: dir 755 -> -, 3 while", "remove d/a: 1 644 -> -, 3 while"}},
		{"with a person's file in it", []Step{call(3, "d", "", "dir"), call(3, "d/a", "", "1"), outside(4, "d/b", "", "1")}, nil, nil, []string{"yours d: dir 755 -> -, 3 while", "remove d/a: 1 644 -> -, 3 while"}},
		{"with a file in it that no step knows", []Step{call(3, "d", "", "dir")}, map[string]string{"d/b": "1"}, []string{"d"}, []string{"yours d: dir 755 -> -, 3 while"}},
		{"with what a person edited, asked for by name", []Step{call(3, "d", "", "dir"), call(3, "d/a", "", "1"), outside(4, "d/a", "1", "2")}, nil, []string{"d/a"},
			[]string{"remove d: dir 755 -> -, 3 while", "yours d/a: 2 644 -> -, 3 while since 4 overwritten"}},
		{"with git's files in it", []Step{call(3, "d", "", "dir"), moved(3, "d/a", "", "git:1")}, nil, nil, []string{"git d: dir 755 -> -, 3 while", "git d/a: git:1 644 -> -, 3 git"}},
		{"a folder where a file was", []Step{call(3, "d", "1", "dir"), call(3, "d/a", "", "1")}, nil, nil, []string{"restore d: dir 755 -> 1 644, 3 while", "remove d/a: 1 644 -> -, 3 while"}},
		{"and a person's file in it", []Step{call(3, "d", "1", "dir"), outside(4, "d/a", "", "1")}, nil, nil, []string{"yours d: dir 755 -> 1 644, 3 while"}},
		{"a file where a folder was", []Step{call(3, "d", "dir", "1"), call(3, "d/a", "2", "")}, nil, nil, []string{"restore d: 1 644 -> dir 755, 3 while", "restore d/a: - -> 2 644, 3 while"}},
		{"and a person edited that file", []Step{call(3, "d", "dir", "1"), call(3, "d/a", "2", ""), outside(4, "d", "1", "3")}, nil, nil,
			[]string{"yours d: 3 644 -> dir 755, 3 while since 4", "yours d/a: - -> 2 644, 3 while"}},
		{"a call removed its folder with a person's file in it", []Step{call(3, "d", "", "dir 700"), outside(4, "d/a", "", "1"), call(4, "d", "dir 700", ""), call(4, "d/a", "1", "")}, nil, nil,
			[]string{"restore d: - -> dir 700, 3 while", "restore d/a: - -> 1 644, 4 while"}},
	}
}

func stamped(s Step, stamp string) Step {
	s.Change.Before.Stamp = stamp
	return s
}

// R2: what anybody but a call changed is left alone, and all else is as it was before.
func TestRewindStories(t *testing.T) {
	for _, s := range stories() {
		t.Run(s.name, func(t *testing.T) {
			var got []string
			for _, i := range s.plan().Items {
				got = append(got, say(i))
			}
			if a, b := strings.Join(got, "\n"), strings.Join(s.want, "\n"); a != b {
				t.Errorf("got\n%s\nwant\n%s", a, b)
			}
		})
	}
}

func (s story) plan() Plan {
	disk, over := map[string]*journal.FileVersion{}, map[string]bool{}
	last := Versions(s.steps)
	for _, path := range Paths(s.steps) {
		disk[path] = last[path]
	}
	for path, v := range s.disk {
		disk[path] = at(v)
	}
	for _, path := range s.overwrite {
		over[path] = true
	}
	return NewPlan(s.steps, disk, over)
}

// Acts are in an order in which each can be done.
func TestRewindActs(t *testing.T) {
	steps := []Step{
		call(3, "a", "1", "2"), call(3, "d", "dir", "1"), call(3, "d/in", "dir 700", ""), call(3, "d/in/x", "1", ""), call(3, "f", "->x", "dir"),
		call(3, "f/in", "", "dir"), call(3, "f/in/x", "", "1"), call(3, "g", "1", "2"), outside(4, "g", "2", "3"), call(3, "l", "1", "->x"),
	}
	var got []string
	for _, i := range (story{steps: steps}).plan().Acts() {
		got = append(got, fmt.Sprintf("%s: %s -> %s", i.Path, word(i.Now), word(i.Want)))
	}
	want := []string{
		"d: 1 644 -> -", "f/in/x: 1 644 -> -", "f/in: dir 755 -> -", "f: dir 755 -> -", "d: - -> dir 755", "d/in: - -> dir 700",
		"a: 2 644 -> 1 644", "d/in/x: - -> 1 644", "f: - -> ->x", "l: ->x -> 1 644",
	}
	if a, b := strings.Join(got, "\n"), strings.Join(want, "\n"); a != b {
		t.Errorf("got\n%s\nwant\n%s", a, b)
	}
}

// A summary counts what calls did in the end.
func TestSummarize(t *testing.T) {
	steps := []Step{
		call(1, "made", "", "1"), call(1, "edited", "1", "2"), call(2, "edited", "2", "3"), call(2, "gone", "1", ""), call(2, "back", "1", "2"), call(3, "back", "2", "1"),
		call(2, "mode", "1", "1 755"), call(2, "brief", "", "1"), call(3, "brief", "1", ""), outside(3, "theirs", "", "1"), kept(call(3, "earlier", "", "1")),
	}
	if got, want := Summarize(steps), (Summary{Added: 2, Changed: 2, Removed: 1}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	host := outside(4, "answer.md", "1", "")
	host.Take = true // the host's own, without a call
	if got, want := Summarize([]Step{host}), (Summary{Removed: 1}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}

// A plan reads what it is given once: 50,000 paths in deep folders are decided at once.
func BenchmarkPlan(b *testing.B) {
	var steps []Step
	for i := range 50_000 {
		steps = append(steps, call(1, fmt.Sprintf("a/b/c/d/%d/e/f/%d", i%500, i), "1", "2"), call(2, fmt.Sprintf("a/b/c/d/%d/e/f/%d", i%500, i), "2", "3"))
	}
	disk := Versions(steps)
	for b.Loop() {
		if p := NewPlan(steps, disk, nil); len(p.Acts()) != 50_000 {
			b.Fatal(len(p.Acts()))
		}
	}
}
