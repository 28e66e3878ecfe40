package relate

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"agent/recovery/journal"
	"agent/recovery/workspace/origin"
)

// lab is a repository in which git is used as a person would, read by git's plain commands. What
// looks would have seen of runs is kept beside it.
type lab struct {
	t        *testing.T
	base     string
	dir      string
	clock    int
	trailer  string // kept, lost or forged
	known    Known
	versions map[string][]origin.Version
	runs     []string
	seen     map[string]bool
	lines    int // of logs/HEAD that were read
}

func newLab(t *testing.T, trailer string) *lab {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	l := &lab{t: t, base: base, dir: filepath.Join(base, "work"), clock: 1_700_000_000, trailer: trailer,
		versions: map[string][]origin.Version{}, runs: []string{"r-one", "r-two", "r-decoy"}, seen: map[string]bool{}}
	l.must(os.Mkdir(l.dir, 0o700))
	l.git("init", "-q", "-b", "main")
	l.git("config", "user.email", "a@b")
	l.git("config", "user.name", "a")
	for _, name := range []string{"a", "b", "c", "p"} {
		l.write(name, numbered(name, 20)...)
	}
	l.git("add", "-A")
	l.git("commit", "-qm", "base")
	l.read()
	return l
}

// numbered is the lines of a file: no line is in two of them.
func numbered(name string, n int) []string {
	var out []string
	for i := range n {
		out = append(out, fmt.Sprintf("%s %d", name, i))
	}
	return out
}

// with is the lines of a file with one put in behind a line.
func with(lines []string, behind int, more ...string) []string {
	return slices.Insert(slices.Clone(lines), behind, more...)
}

func (l *lab) must(err error) {
	l.t.Helper()
	if err != nil {
		l.t.Fatal(err)
	}
}

func (l *lab) run(in string, env []string, words ...string) (string, error) {
	l.clock += 10
	date := strconv.Itoa(l.clock) + " +0000"
	cmd := exec.Command("git", words...)
	cmd.Dir, cmd.Stdin = l.dir, strings.NewReader(in)
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + l.base, "GIT_CONFIG_NOSYSTEM=1", "LC_ALL=C", "GIT_EDITOR=true",
		"GIT_COMMITTER_DATE=" + date, "FILTER_BRANCH_SQUELCH_WARNING=1"}, env...)
	if !slices.Contains([]string{"cherry-pick", "rebase", "filter-branch"}, words[0]) && !slices.Contains(words, "--amend") {
		cmd.Env = append(cmd.Env, "GIT_AUTHOR_DATE="+date)
	}
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func (l *lab) git(words ...string) string {
	l.t.Helper()
	return l.gitEnv(nil, words...)
}

func (l *lab) gitEnv(env []string, words ...string) string {
	l.t.Helper()
	out, err := l.run("", env, words...)
	if err != nil {
		l.t.Fatalf("git %v: %v %s", words, err, out)
	}
	return strings.TrimSuffix(out, "\n")
}

func (l *lab) write(name string, lines ...string) {
	l.t.Helper()
	l.must(os.WriteFile(filepath.Join(l.dir, name), []byte(strings.Join(lines, "\n")+"\n"), 0o600))
}

func (l *lab) content(name string) origin.Content {
	data, err := os.ReadFile(filepath.Join(l.dir, name))
	if err != nil {
		return origin.Content{State: origin.Absent}
	}
	return origin.Content{Bytes: data}
}

// look records what is on disk, as a look would: before a call for nobody, after it for a run.
func (l *lab) look(owner int, name string, back bool) {
	l.versions[name] = append(l.versions[name], origin.Version{Content: l.content(name), Owner: owner, Back: back})
}

// call has a run write a file.
func (l *lab) call(run int, name string, lines ...string) {
	l.look(origin.Nobody, name, false)
	l.write(name, lines...)
	l.look(run, name, false)
}

// message is a message with a trailer as the corpus has it.
func (l *lab) message(subject, id string) string {
	switch l.trailer {
	case "kept":
		return subject + "\n\nAgent-Checkpoint: " + id + "\n"
	case "forged":
		return subject + "\n\nAgent-Checkpoint: k-decoy\n"
	}
	return subject
}

// agent commits all that a run wrote, and links the commit.
func (l *lab) agent(run int, id, subject string) string {
	l.git("add", "-A")
	l.git("commit", "-qm", l.message(subject, id))
	return l.link(run, id)
}

func (l *lab) link(run int, id string) string {
	l.t.Helper()
	l.read()
	head := l.git("rev-parse", "HEAD")
	c := l.commit(head)
	share := Share{Run: l.runs[run], Place: journal.Place{Turn: 1}}
	for _, ch := range c.Changes {
		if l.versions[ch.Path] != nil {
			share.Paths = append(share.Paths, ch.Path)
		}
	}
	l.known.Linked = append(l.known.Linked, linkedOf(c, id, []Share{share}))
	return head
}

func linkedOf(c Commit, id string, shares []Share) Linked {
	return Linked{Checkpoint: id, ID: c.ID, Repo: c.Repo, Tree: c.Tree, Base: c.Base, Parents: c.Parents, Patch: c.Patch,
		Identity: c.Identity, ChangeIDs: c.ChangeIDs, Changes: c.Changes, Shares: shares}
}

// commit reads a commit.
func (l *lab) commit(id string) Commit {
	l.t.Helper()
	f := strings.Split(l.git("show", "-s", "--format=%T%n%P%n%an <%ae>%n%at%n%s", id), "\n")
	c := Commit{ID: id, Repo: "here", Tree: f[0], Parents: strings.Fields(f[1])}
	at, err := strconv.ParseInt(f[3], 10, 64)
	l.must(err)
	c.Identity = Identity{f[2], at, f[4]}
	if len(c.Parents) > 0 {
		c.Base = l.git("rev-parse", c.Parents[0]+"^{tree}")
	}
	body := l.git("show", "-s", "--format=%B", id)
	c.Reverts = strings.Contains("\n"+body, "\nThis reverts commit ")
	for line := range strings.Lines(l.git("show", "-s", "--format=%(trailers:key=Agent-Checkpoint,valueonly)", id)) {
		if line = strings.TrimSpace(line); line != "" {
			c.Trailers = append(c.Trailers, line)
		}
	}
	for _, word := range strings.Fields(body) {
		if strings.HasPrefix(word, "k-") && !slices.Contains(c.Trailers, word) {
			c.Mentions = append(c.Mentions, word)
		}
	}
	if len(c.Parents) > 1 {
		return c
	}
	c.Patch = l.patch(l.git("diff-tree", "-p", "--root", "--no-commit-id", id))
	words := strings.Split(l.git("diff-tree", "-r", "-z", "--root", "--no-renames", "--no-commit-id", id), "\x00")
	for i := 0; i+1 < len(words); i += 2 {
		w := strings.Fields(words[i])
		c.Changes = append(c.Changes, Change{words[i+1], blob(w[2]), blob(w[3])})
	}
	return c
}

func blob(id string) string {
	if strings.Trim(id, "0") == "" {
		return ""
	}
	return id
}

func (l *lab) patch(diff string) string {
	out, err := l.run(diff+"\n", nil, "patch-id", "--verbatim")
	l.must(err)
	id, _, _ := strings.Cut(out, " ")
	return strings.TrimSpace(id)
}

func (l *lab) blob(id string) origin.Content {
	if id == "" {
		return origin.Content{State: origin.Absent}
	}
	out, err := l.run("", nil, "cat-file", "blob", id)
	l.must(err)
	return origin.Content{Bytes: []byte(out)}
}

// read lists the commits on branches that were not read before, oldest first, with the verbs of the
// reflog.
func (l *lab) read() []Commit {
	l.t.Helper()
	data, _ := os.ReadFile(filepath.Join(l.dir, ".git", "logs", "HEAD"))
	all := strings.Split(strings.TrimSuffix(string(data), "\n"), "\n")
	verbs, of := map[string]string{}, map[string]string{}
	for _, line := range all[min(l.lines, len(all)):] {
		head, text, _ := strings.Cut(line, "\t")
		ids := strings.Fields(head)
		verb, _, _ := strings.Cut(text, ":")
		if len(ids) > 1 && verbs[ids[1]] == "" {
			verbs[ids[1]] = verb
			if strings.Contains(verb, "amend") {
				of[ids[1]] = ids[0]
			}
		}
	}
	l.lines = len(all)
	var out []Commit
	for _, id := range strings.Fields(l.git("rev-list", "--reverse", "--topo-order", "--branches")) {
		if l.seen[id] {
			continue
		}
		l.seen[id] = true
		c := l.commit(id)
		c.Verb, c.Of = verbs[id], of[id]
		if slices.ContainsFunc(all, func(line string) bool { return strings.Contains(line, id) && strings.Contains(line, "filter") }) {
			c.Verb = "filter-branch"
		}
		out = append(out, c)
	}
	return out
}

// judge relates a commit, as the host would: with the lines that looks saw, the ranges that end at
// linked commits, and the comparisons that are asked for.
func (l *lab) judge(c Commit) Verdict {
	l.t.Helper()
	c.Lines = map[string][]Part{}
	for _, ch := range c.Changes {
		c.Lines[ch.Path] = nil
		for _, b := range origin.Replay(l.versions[ch.Path]).Brought(l.blob(ch.Before), l.blob(ch.After)) {
			if b.Owner != origin.Nobody {
				c.Lines[ch.Path] = append(c.Lines[ch.Path], Part{l.runs[b.Owner], journal.Place{Turn: b.Version}, b.Added + b.Removed})
			}
		}
	}
	above := strings.Fields(l.git("rev-list", c.ID))
	k := l.known
	k.Linked = slices.Clone(k.Linked)
	on := strings.Fields(l.git("rev-list", "--branches"))
	for i, x := range k.Linked {
		if k.Linked[i].Replaced = !slices.Contains(on, x.ID); slices.Contains(above, x.ID) {
			c.Behind = append(c.Behind, x.ID)
		} else if len(c.Parents) == 1 {
			k.Ranges = append(k.Ranges, l.rangeTo(c, x.ID))
		}
	}
	for _, w := range Wants(c, k) {
		h := Held{Linked: w.Linked, Path: w.Path}
		history := origin.Replay([]origin.Version{{Content: l.blob(w.Before), Owner: origin.Nobody}, {Content: l.blob(w.After), Owner: 0}})
		for _, b := range history.Brought(l.blob(w.ToBefore), l.blob(w.ToAfter)) {
			if b.Owner == 0 {
				h.Lines += b.Added
			}
		}
		c.Held = append(c.Held, h)
	}
	v := Relate(c, k)
	if v.Relation == None {
		return v
	}
	if v.Checkpoint == "" {
		v.Checkpoint = "k-new"
	}
	for _, id := range append(slices.Clone(v.Also), v.Checkpoint) {
		l.known.Linked = append(l.known.Linked, linkedOf(c, id, v.Shares))
	}
	return v
}

func (l *lab) rangeTo(c Commit, tip string) Range {
	from := l.git("merge-base", c.Parents[0], tip)
	return Range{Repo: c.Repo, Commits: strings.Fields(l.git("rev-list", "--reverse", from+".."+tip)), Tree: l.git("rev-parse", tip+"^{tree}"),
		Base: l.git("rev-parse", from+"^{tree}"), Patch: l.patch(l.git("diff-tree", "-p", from, tip))}
}

// score counts the links of a part of the corpus.
type score struct{ right, wrong, missed int }

func (s *score) add(o score) {
	s.right, s.wrong, s.missed = s.right+o.right, s.wrong+o.wrong, s.missed+o.missed
}

func (s score) String() string {
	return fmt.Sprintf("%d right, %d false, %d missed: precision %.3f, recall %.3f", s.right, s.wrong, s.missed,
		float64(s.right)/float64(max(1, s.right+s.wrong)), float64(s.right)/float64(max(1, s.right+s.missed)))
}

// compare counts what the commits are linked to against what they are to be.
func compare(got, want []string) score {
	var s score
	for i := range max(len(got), len(want)) {
		g, w := idsAt(got, i), idsAt(want, i)
		for id := range g {
			if w[id] {
				s.right++
			} else {
				s.wrong++
			}
		}
		maps.DeleteFunc(w, func(id string, _ bool) bool { return g[id] })
		s.missed += len(w)
	}
	return s
}

func idsAt(list []string, i int) map[string]bool {
	out := map[string]bool{}
	if i < len(list) {
		for id := range strings.FieldsSeq(list[i]) {
			out[id] = true
		}
	}
	return out
}
