package export

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"agent/host/markdown"
	"agent/host/stream"
	"agent/host/view"
	"agent/recovery/journal"
)

// Options is what a transcript is made with.
type Options struct {
	Now   time.Time                // by which an open question may have expired
	Tilde func(path string) string // shortens a path
}

// build puts runs into the order in which they are read.
func build(v view.Export, o Options) document {
	d := document{Level: 1}
	if v.Thread != "" {
		d.Title, d.Level = "Conversation "+v.Thread, 2
	}
	for _, r := range v.Runs {
		d.Runs = append(d.Runs, newSection(r, o, d.Level))
	}
	if d.Title == "" && len(d.Runs) > 0 {
		d.Title = d.Runs[0].Title
	}
	return d
}

func newSection(r view.ExportedRun, o Options, level int) section {
	s := section{ID: r.Run.ID, Status: string(r.Run.Status), Level: level, Unread: lined(r.Unread), Notes: lined(r.Notes)}
	b := &builder{run: r, o: o, calls: map[string]*call{}}
	for _, f := range r.Facts {
		b.fact(journal.Event{Seq: f.Seq, Turn: f.Turn, Time: f.Time, Body: f.Body})
	}
	b.left()
	s.Title, s.Pairs, s.Items = titleOf(r.Run, b.created.Prompt), pairs(r, b.created, o), b.items
	if r.Table != nil {
		s.Phases = phases(r.Table)
	}
	s.files(r.Diff)
	for _, c := range r.Below {
		s.Below = append(s.Below, newSection(c, o, level+1))
	}
	return s
}

// titleOf is what a run is called, or the first line of what was asked.
func titleOf(v view.Run, prompt string) string {
	switch {
	case v.Name != "":
		return line(v.Name)
	case v.Role != "" && strings.Contains(v.Role, "#"): // a part of a flow
		return line(v.Role)
	}
	lines := markdown.Lines(cmp.Or(prompt, v.Prompt))
	front, _ := markdown.FrontMatter(lines)
	title := ""
	for _, l := range lines[front:] {
		if strings.HasPrefix(strings.TrimSpace(l), "```") {
			continue
		}
		if title = line(strings.TrimLeft(strings.TrimSpace(l), "#")); title != "" {
			break
		}
	}
	if r := []rune(title); len(r) > 90 {
		title = strings.TrimSpace(string(r[:89])) + "…"
	}
	return cmp.Or(title, "Run "+v.ID)
}

// pairs is what is known of a run as a whole.
func pairs(r view.ExportedRun, c journal.RunCreated, o Options) (list []view.Pair) {
	v := r.Run
	add := func(name, value string) {
		if value != "" {
			list = append(list, view.Pair{Name: name, Value: line(value)})
		}
	}
	add("run", v.ID)
	add("status", v.StatusText(o.Now))
	if v.Detail != "" {
		add("why", v.Detail)
	} else {
		add("why", v.StopReason)
	}
	if v.Parent != "" {
		add("below", fmt.Sprintf("run %s, as %s", v.Parent, v.Role))
	}
	if !v.Status.Terminal() {
		add("place", v.PlaceText())
	}
	add("thread", v.Thread)
	if c.Previous != "" {
		add("after run", c.Previous)
	}
	add("folder", o.Tilde(v.Folder))
	for _, d := range c.Dirs {
		add("beside it", view.DirText("", d))
	}
	add("model", v.Model+view.ProviderText(c.Setup.Provider))
	add("mode", string(v.Mode)+", "+view.LimitText(c.Limits))
	add("started", stamp(v.Created)+" by "+view.OrPerson(r.By)+" with agent "+c.Version)
	if v.Ended != nil {
		add("ended", stamp(*v.Ended))
	} else {
		add("written", stamp(v.Updated)+"; it has not ended")
	}
	add("so far", r.Tally)
	if v.NumUnknown > 0 {
		add("unknown", view.Count(v.NumUnknown, "call")+" whose outcome is unknown")
	}
	if c.Source != "" {
		add("from", o.Tilde(c.Source))
	}
	return list
}

// stamp is when something happened, on a clock that is the same for every reader.
func stamp(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05 UTC") }

// line is a text on one line of the program's.
func line(text string) string { return strings.Join(strings.Fields(stream.Sanitize(text)), " ") }

func lined(texts []string) (list []string) {
	for _, t := range texts {
		list = append(list, line(t))
	}
	return list
}

// output is a text that stands as it is, but for control sequences.
func output(name, body string) text {
	return folded(text{Name: name, Body: strings.TrimRight(stream.Sanitize(body), "\n")})
}

// prose is a text that is read as sentences.
func prose(body string) text {
	return text{Prose: true, Body: strings.Trim(stream.Sanitize(body), "\n")}
}

func folded(t text) text {
	t.Fold = strings.Count(t.Body, "\n") >= foldLines || len(t.Body) > foldBytes
	return t
}
