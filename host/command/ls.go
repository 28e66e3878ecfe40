package command

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v3"

	"agent/db"
	"agent/host"
	"agent/host/markdown"
	"agent/recovery"
	"agent/recovery/fault"
	"agent/tools/process"
)

const lsHelp = `Lists runs from the newest to the oldest: without a flag the 20 newest and
everything interrupted or waiting. Each line ends with the command that
brings the run forward. Questions are compared with their digests; what else
stands here comes from the list of runs, which agent doctor compares with the
record.

EXAMPLE
   agent ls
   agent ls --interrupted
   agent ls --dir .
   agent ls --all --json

EXIT STATUS
   0 listed, also when there is nothing; 1 the state folder cannot be used;
   2 wrong usage`

func (a *app) lsCommand() *cli.Command {
	return &cli.Command{
		Name:        "ls",
		Usage:       "list runs",
		Description: lsHelp,
		Flags: []cli.Flag{
			&cli.BoolFlag{Name: "interrupted", Usage: "only runs that can be resumed"},
			&cli.BoolFlag{Name: "waiting", Usage: "only runs that wait for a person"},
			&cli.BoolFlag{Name: "all", Usage: "every run"},
			jsonFlag(),
		},
		Action: a.ls,
	}
}

// runJSON is a run as ls shows it. Fields are only ever added.
//
// Over budget: at most 26 fields: one object of --json, which only ever grows
type runJSON struct {
	ID         string          `json:"id"`
	Thread     string          `json:"thread_id"`
	Status     recovery.Status `json:"status"`
	Cause      recovery.Cause  `json:"cause,omitempty"`
	Detail     string          `json:"detail,omitempty"`
	StopReason string          `json:"stop_reason,omitempty"`
	Folder     string          `json:"folder"`
	Prompt     string          `json:"prompt"` // its beginning
	Model      string          `json:"model"`
	Mode       recovery.Mode   `json:"mode"`
	Turns      int             `json:"num_turns"`
	MaxTurns   int             `json:"max_turns"` // 0: no limit
	Calls      int             `json:"num_calls"`
	NumUnknown int             `json:"num_unknown"` // calls whose outcome is unknown, also those that a person left so
	Unknown    []unknownJSON   `json:"unknown"`     // those on which no person has decided
	Fruitless  int             `json:"fruitless"`   // resumes in a row that brought nothing forward
	Created    time.Time       `json:"created_at"`
	Updated    time.Time       `json:"updated_at"`
	Ended      *time.Time      `json:"ended_at,omitempty"`
	Place      *placeJSON      `json:"place,omitempty"`
	Owner      *ownerJSON      `json:"owner,omitempty"`
	Asked      *requestJSON    `json:"pending_request,omitempty"`
	Damage     string          `json:"damage,omitempty"`   // why what it asks cannot be shown
	Unmarked   bool            `json:"unmarked,omitempty"` // found without its owner; the state folder could not be written
	Next       []string        `json:"next"`

	Request *recovery.Request `json:"-"` // what Asked shows
}

type placeJSON struct {
	Turn  int            `json:"turn"`
	Index int            `json:"index"`
	Call  string         `json:"call_id"`
	Tool  string         `json:"tool"`
	Phase recovery.Phase `json:"phase"`
}

type ownerJSON struct {
	PID  int    `json:"pid"`
	Host string `json:"host"`
}

type lsJSON struct {
	Version int       `json:"version"`
	Runs    []runJSON `json:"runs"`
	Older   int       `json:"older"`            // runs that are not listed; ls --all lists them
	Behind  string    `json:"behind,omitempty"` // how the database is older than its folder, which knows of more
}

func (a *app) ls(ctx context.Context, c *cli.Command) error {
	if err := noArguments(c); err != nil {
		return err
	}
	f := db.Filter{Interrupted: c.Bool("interrupted"), Waiting: c.Bool("waiting"), All: c.Bool("all")}
	if f.All && (f.Interrupted || f.Waiting) {
		return &usageError{errors.New("give --all, or --interrupted and --waiting")}
	}
	v := lsJSON{Version: 1, Runs: []runJSON{}}
	s, err := a.open(ctx, useRead)
	switch {
	case errors.Is(err, db.ErrNoState):
		a.printRuns(c, v, `no runs yet: agent run "prompt" starts one`)
		return nil
	case err != nil:
		return err
	}
	if v.Runs, err = s.list(ctx, f); err == nil {
		v.Older = s.older
		if b := s.Store.Behind(); b != nil {
			v.Behind = b.What
		}
		nothing := a.nothingListed(f)
		if v.Behind != "" {
			nothing = "no such run is in this database"
		}
		a.printRuns(c, v, nothing)
	}
	return errors.Join(err, s.unlessBehind(), s.close())
}

func (a *app) nothingListed(f db.Filter) string {
	where := a.inFolder()
	switch {
	case f.Interrupted && f.Waiting:
		return "no run is interrupted or waiting" + where
	case f.Interrupted:
		return "no run is interrupted" + where
	case f.Waiting:
		return "no run waits for a person" + where
	case where != "":
		return "no run was started" + where
	}
	return `no runs yet: agent run "prompt" starts one`
}

// list reads the rows and completes them with what only the locks know: who drives a run, and which runs nobody does.
func (s *session) list(ctx context.Context, f db.Filter) ([]runJSON, error) {
	rows, older, err := s.runsHere(ctx, f)
	if err != nil {
		return nil, err
	}
	s.older = older
	marks := map[string]host.Mark{}
	if s.lock == nil || len(s.lost) > 0 { // what could not be marked is only shown
		if rows, err = s.unmarked(ctx, f, rows, marks); err != nil {
			return nil, err
		}
	}
	out := make([]runJSON, 0, len(rows))
	later := map[string]bool{} // threads of which a newer run was listed
	for _, row := range rows {
		v := runView(row)
		if m, ok := marks[row.ID]; ok {
			v.Status, v.Cause, v.Detail, v.Unmarked = recovery.StatusInterrupted, m.Cause, m.Detail, true
		}
		if err := s.owned(&v); err != nil {
			return nil, err
		}
		v.Unknown = s.undecided(ctx, row.Undecided)
		v.Next = nextFor(v, !later[v.Thread], fault.Now())
		later[v.Thread] = true
		out = append(out, v)
	}
	return out, nil
}

// unmarked adds the runs that lost their owner to a list in which they belong.
func (s *session) unmarked(ctx context.Context, f db.Filter, rows []db.RunRow, marks map[string]host.Mark) ([]db.RunRow, error) {
	lost, err := s.Look(ctx, false)
	if err != nil {
		return nil, err
	}
	only, err := s.app.only()
	if err != nil {
		return nil, err
	}
	for _, m := range lost {
		marks[m.Run] = m
		there := slices.ContainsFunc(rows, func(r db.RunRow) bool { return r.ID == m.Run })
		if there || (f.Waiting && !f.Interrupted) {
			continue
		}
		row, err := s.Store.Run(ctx, m.Run)
		if err != nil {
			return nil, err
		}
		if only == "" || row.Folder == s.Store.Clean(only) {
			rows = append(rows, row)
		}
	}
	slices.SortFunc(rows, func(a, b db.RunRow) int { return int(b.No - a.No) })
	return rows, nil
}

// owned fills in who drives the run.
func (s *session) owned(v *runJSON) error {
	if v.Status.Terminal() {
		return nil
	}
	who, ok, err := s.Owner(v.ID)
	if err == nil && ok {
		v.Owner = &ownerJSON{PID: who.PID, Host: who.Host}
	}
	return err
}

func runView(r db.RunRow) runJSON {
	v := runJSON{
		ID: r.ID, Thread: r.Thread, Status: r.Status, Cause: r.Cause, Detail: r.Detail, StopReason: r.StopReason,
		Folder: r.Folder, Prompt: r.Prompt, Model: r.Model, Mode: r.Mode, Turns: r.Turns, MaxTurns: r.MaxTurns,
		Calls: r.Calls, NumUnknown: r.Unknown, Unknown: []unknownJSON{}, Fruitless: r.Fruitless, Created: r.Created, Updated: r.Updated,
	}
	if !r.Ended.IsZero() {
		v.Ended = &r.Ended
	}
	if p := r.Open; p != nil {
		v.Place = &placeJSON{Turn: p.Turn, Index: p.Index, Call: p.ID, Tool: p.Tool, Phase: p.Phase}
	}
	switch p := r.Pending; {
	case p == nil:
	case p.Damaged != nil:
		v.Damage = p.Damaged.Error()
	default:
		asked := requestView(*p)
		v.Request, v.Asked = &p.Request, &asked
	}
	return v
}

// continues says whether the run failed and its thread can go on from there.
func (r runJSON) continues(newest bool) bool {
	return newest && r.Status == recovery.StatusFailed
}

func (r runJSON) continueWith() string { return "agent run --thread " + r.Thread + " continue" }

// expired says whether the open question can no longer be answered. Who drives the run closes it; else a resume does.
func (r runJSON) expired(now time.Time) bool {
	return r.Request != nil && r.Owner == nil && r.Request.Expires != nil && !now.Before(*r.Request.Expires)
}

// nextFor are the commands that bring a run forward, or show why it went no further, and then those that decide on its calls of
// unknown outcome.
func nextFor(v runJSON, newest bool, now time.Time) []string {
	return append(forward(v, newest, now), commandsOn(v.Unknown)...)
}

func forward(v runJSON, newest bool, now time.Time) []string {
	switch {
	case v.expired(now):
		return []string{"agent resume " + v.ID}
	case v.Request != nil:
		return answers(v.Request)
	case v.Cause == recovery.CauseCorrupt, v.Damage != "":
		return []string{"agent doctor"}
	case v.Owner != nil:
		return []string{"agent show --follow " + v.ID}
	case v.continues(newest):
		return []string{v.continueWith()}
	case v.Status == recovery.StatusFailed:
		return []string{"agent show " + v.ID}
	case v.Status.Terminal():
		return []string{}
	}
	return []string{"agent resume " + v.ID}
}

func (a *app) printRuns(c *cli.Command, v lsJSON, nothing string) {
	if c.Bool("json") {
		a.printJSON(v)
		return
	}
	if len(v.Runs) == 0 {
		a.say(a.Err, "%s", nothing)
		return
	}
	t := table{
		head: []string{"RUN", "STATUS", "AGE", "FOLDER", "PLACE", "PROMPT", "NEXT"},
		most: []int{0, 0, 0, 28, 28, 32, 0},
	}
	if f, ok := terminalFile(a.Out); ok {
		t.fit = terminalWidth(f)
	}
	now := fault.Now()
	for _, r := range v.Runs {
		next := ""
		if len(r.Next) > 0 {
			next = r.Next[0]
		}
		switch {
		case r.Request != nil && len(r.Next) > 1:
			next = toAnswer(r.Request.ID)
		case r.Status == recovery.StatusCompleted && len(r.Unknown) > 0:
			next = toAnswer(r.Unknown[0].ID)
		}
		t.add(r.ID, r.statusText(), age(now, r.Created), a.tilde(r.Folder), r.placeText(), promptWords(r.Prompt), next)
	}
	t.write(a.Out)
	if v.Older > 0 {
		a.say(a.Out, "%s: agent ls --all", count(v.Older, "older run"))
	}
}

// promptWords is a prompt's beginning without what only marks it up.
func promptWords(prompt string) string {
	var words []string
	lines := markdown.Lines(prompt)
	front, _ := markdown.FrontMatter(lines)
	for _, line := range lines[front:] {
		line = strings.TrimSpace(strings.TrimLeft(strings.TrimSpace(line), "#"))
		if line != "" && !strings.HasPrefix(line, "```") {
			words = append(words, line)
		}
	}
	return strings.Join(words, " ")
}

// statusText is the status with what explains it.
func (r runJSON) statusText() string {
	text := string(r.Status)
	switch {
	case r.Cause != "":
		text += " (" + string(r.Cause) + ")"
	case r.Owner != nil:
		text += " (" + process.Identity{PID: r.Owner.PID, Host: r.Owner.Host}.String() + ")"
	case r.expired(fault.Now()):
		text += " (" + string(r.Request.Kind) + ", expired)"
	case r.Request != nil:
		text += " (" + string(r.Request.Kind) + ")"
	case r.Damage != "":
		text += " (its question is damaged)"
	}
	if n := len(r.Unknown); n > 0 {
		text += fmt.Sprintf(", %d unknown", n)
	}
	if n := r.NumUnknown - len(r.Unknown); n > 0 {
		text += fmt.Sprintf(", %d left unknown", n)
	}
	return text
}

// placeText says how far the run came.
func (r runJSON) placeText() string {
	if p := r.Place; p != nil {
		return fmt.Sprintf("call %d.%d %s %s", p.Turn, p.Index, p.Tool, p.Phase)
	}
	if r.Status.Terminal() {
		return count(r.Turns, "turn") + ", " + count(r.Calls, "call")
	}
	if r.Turns == 0 {
		return "before turn 1"
	}
	return fmt.Sprintf("after turn %d", r.Turns)
}
