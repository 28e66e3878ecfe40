package main

import (
	"fmt"
	"strings"
	"time"

	"agent/fleet/client"
	"agent/fleet/custody"
)

// runView is a run as --json prints it.
type runView struct {
	Version int               `json:"version"`
	Run     string            `json:"run_id"`
	Existed bool              `json:"existed,omitempty"` // it was there under its key
	Status  string            `json:"status"`
	Exit    int               `json:"exit_code"`
	Host    string            `json:"host,omitempty"`
	Since   time.Time         `json:"since"`
	Began   time.Time         `json:"began"`
	Ended   *time.Time        `json:"ended,omitempty"`
	By      string            `json:"by,omitempty"`
	Repo    string            `json:"repo,omitempty"`
	Request *custody.Request  `json:"pending_request,omitempty"`
	Reason  string            `json:"reason,omitempty"`
	Turn    *custody.Progress `json:"progress,omitempty"`
	Beat    *time.Time        `json:"beat,omitempty"`
	Text    string            `json:"text,omitempty"`
	Unknown []string          `json:"unknown,omitempty"`
	Next    []string          `json:"next"`
}

func viewOf(row client.Row) runView {
	v := runView{
		Version: 1, Run: row.Run, Status: row.Status, Exit: exitOf(row), Host: row.Host, Since: row.Since, Began: row.Began,
		Ended: row.Ended, By: row.By, Repo: row.Repo, Request: row.Request, Reason: row.Reason, Turn: row.Progress, Beat: row.Beat,
		Next: []string{},
	}
	if row.Report != nil {
		v.Text, v.Unknown = row.Report.Text, row.Report.Unknown
	}
	if row.Next != "" {
		v.Next = append(v.Next, row.Next)
	}
	return v
}

// exitOf is the exit code of a command that waited for the run.
func exitOf(row client.Row) int {
	unknown := row.Report != nil && row.Report.Exit == exitUnknown
	switch row.Status {
	case "completed":
		if unknown {
			return exitUnknown
		}
		return 0
	case "failed":
		return exitFailed
	case "cancelled":
		return exitCancelled
	case "waiting":
		if unknown {
			return exitUnknown
		}
		return exitWaiting
	case "parked":
		return exitInterrupted
	}
	return 0
}

// still reports whether a run stands still: it ended, or a person has to come.
func still(row client.Row) bool {
	return row.Over() || row.Status == "waiting" || row.Status == "parked"
}

// placeOf says in a few words how far a run is.
func placeOf(row client.Row) string {
	switch {
	case row.Status == "waiting" && row.Request != nil:
		return row.Request.Place
	case row.Progress != nil && row.Progress.Call != "":
		return fmt.Sprintf("turn %d %s", row.Progress.Turn, row.Progress.Call)
	case row.Progress != nil:
		return fmt.Sprintf("turn %d", row.Progress.Turn)
	case row.Status == "queued" && time.Since(row.Began) < client.Young:
		return "is being offered"
	case row.Lacks == client.Slot:
		return "no free slot"
	case row.Lacks == client.Labels:
		return "no host of labels"
	case row.Lacks == client.Hosts:
		return "no worker"
	case row.Status == "queued":
		return "no host has it"
	case row.Report != nil && row.Status == "unreachable":
		return fmt.Sprintf("turn %d, log at %d", row.Report.Turn, row.Report.Place)
	case row.Report != nil:
		return fmt.Sprintf("turn %d", row.Report.Turn)
	}
	return ""
}

// lineOf says where a run is, as attach and --wait print it.
func lineOf(row client.Row) string {
	var b strings.Builder
	fmt.Fprintf(&b, "run %s %s", row.Run, row.Status)
	if row.Host != "" {
		fmt.Fprintf(&b, " on %s", row.Host)
	}
	if place := placeOf(row); place != "" && row.Status != "queued" && row.Status != "waiting" {
		fmt.Fprintf(&b, ", %s", place)
	}
	if row.Progress != nil && row.Progress.Later != "" {
		fmt.Fprintf(&b, "; %s", row.Progress.Later)
	}
	if row.Request != nil {
		fmt.Fprintf(&b, "; question %s: %s", row.Request.ID, oneLine(row.Request.Text))
	}
	if row.Reason != "" {
		fmt.Fprintf(&b, "; %s", oneLine(row.Reason))
	}
	return b.String()
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// fleetText is what a run ended with, without what agent says to do next: a fleet has no threads.
func fleetText(text string) string {
	var out []string
	for _, part := range strings.Split(text, "\n\n") {
		if !strings.HasPrefix(strings.TrimSpace(part), "To go on from this block") {
			out = append(out, part)
		}
	}
	return strings.Join(out, "\n\n")
}
