package view

import (
	"fmt"
	"strings"
	"time"

	"agent/recovery"
	"agent/recovery/journal"
)

// Exported is what export prints with --json about a pack. Fields are only ever added.
type Exported struct {
	Version  int         `json:"version"`
	Path     string      `json:"path"`
	PackID   string      `json:"pack_id"`
	Bytes    int64       `json:"bytes"`
	Made     time.Time   `json:"made_at"`
	StoreID  string      `json:"store_id"`
	To       string      `json:"to,omitempty"` // the address that it is sealed to
	Moved    bool        `json:"moved"`        // the runs go on there, and not here
	Key      bool        `json:"key"`          // secrets, kept files, environments and keys of calls are in it
	ThreadID string      `json:"thread_id"`
	Facts    int64       `json:"facts"`
	Runs     []PackedRun `json:"runs"`
	Below    int         `json:"runs_below"` // that these have made
	Flying   []CallAt    `json:"calls_without_result"`
}

// CallAt is a call of a run that moved which has no result: what tells how far it came stays.
type CallAt struct {
	Run  string `json:"run_id"`
	Call string `json:"place"`
	Tool string `json:"tool"`
}

// PackedRun is a run in a pack.
type PackedRun struct {
	Run    string `json:"run_id"`
	Status string `json:"status"`
	Facts  int64  `json:"facts"`
	Words  string `json:"prompt"`
}

// Text says what a pack has and has not.
func (v Exported) Text() string {
	var b strings.Builder
	what := "copied"
	if v.Moved {
		what = "moved"
	}
	fmt.Fprintf(&b, "%s thread %s: %s", what, v.ThreadID, Count(len(v.Runs), "run"))
	if v.Below > 0 {
		fmt.Fprintf(&b, ", %d below", v.Below)
	}
	fmt.Fprintf(&b, ", %s, %s", Count(int(v.Facts), "fact"), Bytes(v.Bytes))
	for _, c := range v.Flying {
		fmt.Fprintf(&b, "\ncall %s %s of run %s has no result: its outcome will be unknown there; to find out first, before the pack is taken in: agent resume --reclaim %s", c.Call, c.Tool, c.Run, c.Run)
	}
	switch {
	case v.Moved:
		b.WriteString("\nit goes on where the pack is taken in: agent import FILE; here it is only read")
	case v.Key:
		b.WriteString("\nit is a copy: where it is taken in, runs that had not ended ask before each call that acts")
	default:
		b.WriteString("\nit is a copy, without secrets, kept files and environments (--to has them sealed)")
	}
	return b.String()
}

// Imported is what import prints with --json. Fields are only ever added.
type Imported struct {
	Version    int          `json:"version"`
	Pack       string       `json:"pack"`
	PackID     string       `json:"pack_id"`
	Made       time.Time    `json:"made_at"`
	From       string       `json:"store_id"`
	Host       string       `json:"host"`
	By         string       `json:"by,omitempty"`
	Moved      bool         `json:"moved"`
	Key        bool         `json:"key"`
	ThreadID   string       `json:"thread_id"`
	New        bool         `json:"new"`                // something of it was not here
	Taken      *time.Time   `json:"taken_at,omitempty"` // when it was taken in before
	Runs       []ArrivedRun `json:"runs"`
	Below      int          `json:"runs_below"`
	Unfinished int          `json:"unfinished"`
	Behind     []BehindFile `json:"behind"` // files that are not as the runs left them
	BehindMore int          `json:"behind_more,omitempty"`
}

// ArrivedRun is a run of a pack.
type ArrivedRun struct {
	Run        string `json:"run_id"`
	Status     string `json:"status"`
	Facts      int64  `json:"facts"`
	Folder     string `json:"folder"`
	FolderGone bool   `json:"folder_gone,omitempty"`
	New        bool   `json:"new"`
	Guarded    bool   `json:"guarded,omitempty"` // it asks before each call that acts
	Words      string `json:"prompt"`
}

// StoreAddress is what import --id prints with --json. Fields are only ever added.
type StoreAddress struct {
	Version int    `json:"version"`
	Address string `json:"address"`
}

// Ended says whether a status is final.
func Ended(status string) bool { return recovery.Status(status).Terminal() }

// BehindFile is a file that is not in the folder as a run left it.
type BehindFile struct {
	Run  string `json:"run_id"`
	Path string `json:"path"`
	Gone bool   `json:"gone,omitempty"`
}

// WhatText says what a pack holds, before it is taken in.
func (v Imported) WhatText() string {
	var b strings.Builder
	what := "a copy of"
	if v.Moved {
		what = "it moves"
	}
	from := v.Host
	if v.By != "" {
		from = v.By + " on " + v.Host
	}
	fmt.Fprintf(&b, "%s thread %s, made by %s at %s", what, v.ThreadID, from, Stamp(v.Made))
	for _, r := range v.Runs {
		more := ""
		if !r.New {
			more = ", here already"
		}
		fmt.Fprintf(&b, "\n  %s  %s, %s%s: %s", r.Run, r.Status, Count(int(r.Facts), "fact"), more, r.Words)
		if r.FolderGone {
			fmt.Fprintf(&b, "\n    its folder %s is not here: --dir FOLDER says where it works from here on", r.Folder)
		}
	}
	return b.String()
}

// BehindText names the files that are not as the runs left them.
func (v Imported) BehindText() string {
	var b strings.Builder
	n := len(v.Behind) + v.BehindMore
	fmt.Fprintf(&b, "%s not as the run left them:", isOrAre(n))
	for i, f := range v.Behind {
		if i == 10 {
			fmt.Fprintf(&b, "\n  and %d more", n-i)
			break
		}
		what := "other content"
		if f.Gone {
			what = "not there"
		}
		fmt.Fprintf(&b, "\n  %s (%s)", f.Path, what)
	}
	return b.String()
}

func isOrAre(n int) string {
	if n == 1 {
		return "1 file is"
	}
	return fmt.Sprintf("%d files are", n)
}

// OneLine is the beginning of a text in one line.
func OneLine(text string) string {
	const most = 100
	line := []rune(strings.Join(strings.Fields(text), " "))
	if len(line) > most {
		return string(line[:most-1]) + "…"
	}
	return string(line)
}

// RestoredText says that a run was restored, or came from another store.
func RestoredText(b journal.RunRestored) string {
	how := "let the database count"
	if b.Pack != "" {
		how = "took it in"
	}
	return fmt.Sprintf("interrupted: %s; %s %s", CauseText(journal.CauseRestored, b.Reason), OrPerson(b.By), how)
}

// ExportedText says that a run went to another store.
func ExportedText(b journal.RunExported) string {
	return OrPerson(b.By) + " had it go to another store: " + b.Store()
}

// BehindText names files that are not as a run left them.
func BehindText(b journal.WorkspaceBehind) string {
	var names []string
	for _, f := range b.Files[:min(len(b.Files), 5)] {
		names = append(names, f.Path)
	}
	if more := len(b.Files) + b.More - len(names); more > 0 {
		names = append(names, fmt.Sprintf("and %d more", more))
	}
	return fmt.Sprintf("%s not in %s as the run left them: %s", Count(len(b.Files)+b.More, "file"), b.Folder, strings.Join(names, ", "))
}
