package worker

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"agent/fleet/custody"
)

// The states of a run as agent names them.
const (
	completed   = "completed"
	failed      = "failed"
	cancelled   = "cancelled"
	waiting     = "waiting"
	interrupted = "interrupted"
	running     = "running"
)

// localRun is a run as agent ls and agent show describe it.
type localRun struct {
	ID      string        `json:"id"`
	Status  string        `json:"status"`
	Cause   string        `json:"cause"`
	Detail  string        `json:"detail"`
	Stop    string        `json:"stop_reason"`
	Folder  string        `json:"folder"`
	Turns   int           `json:"num_turns"`
	Unknown []unknownCall `json:"unknown"`
	Below   []unknownCall `json:"unknown_below"`
	Place   *localPlace   `json:"place"`
	Owner   *localOwner   `json:"owner"`
	Asked   *question     `json:"pending_request"`
	Parent  string        `json:"parent_run_id"`
}

type localOwner struct {
	PID  int    `json:"pid"`
	Host string `json:"host"`
}

type localPlace struct {
	Turn  int    `json:"turn"`
	Index int    `json:"index"`
	Call  string `json:"call_id"`
	Tool  string `json:"tool"`
	Phase string `json:"phase"`
}

// String is such as 2.0 confirm_action.
func (p *localPlace) String() string {
	if p == nil {
		return ""
	}
	return fmt.Sprintf("%d.%d %s", p.Turn, p.Index, p.Tool)
}

// unknownCall is a call whose outcome nobody knows.
type unknownCall struct {
	ID      string `json:"id"`
	Tool    string `json:"tool"`
	Summary string `json:"summary"`
}

func (u unknownCall) String() string { return fmt.Sprintf("%s %s: %s", u.ID, u.Tool, u.Summary) }

// question is an open question of a run.
type question struct {
	ID      string     `json:"id"`
	Kind    string     `json:"kind"`
	Message string     `json:"message"`
	Choices []string   `json:"choices"`
	Expires *time.Time `json:"expires_at"`
	Tool    string     `json:"tool"`
	Place   *struct {
		Turn  int `json:"turn"`
		Index int `json:"index"`
	} `json:"place"`
}

// shown is what agent show --json prints, as far as it is of use here.
type shown struct {
	Run   localRun `json:"run"`
	Calls []struct {
		Phase string `json:"phase"`
	} `json:"calls"`
	Facts []fact `json:"facts"`
}

// fact is one of a run's.
type fact struct {
	Seq  int64 `json:"seq"`
	Body struct {
		Text     string `json:"text"`
		Reason   string `json:"reason"`
		StartKey string `json:"start_key"`
	} `json:"body"`
}

// show describes a run; nil where the state folder does not have it.
func (a Agent) show(ctx context.Context, run string) (*shown, error) {
	if !a.knowsOf(run) {
		return nil, nil
	}
	var out shown
	err := a.call(ctx, &out, "show", "--json", run)
	if errors.As(err, new(*RefusedError)) {
		known, unlisted := a.knows(ctx, run)
		if unlisted != nil || !known {
			return nil, unlisted
		}
	}
	if err != nil {
		return nil, err
	}
	if out.Run.ID != run { // a name, or the beginning of another id
		return nil, nil
	}
	return &out, nil
}

// knowsOf reports whether a run may be in the state folder: none begins without its lock.
func (a Agent) knowsOf(run string) bool {
	_, err := os.Stat(filepath.Join(a.Home, "locks", run))
	return !errors.Is(err, fs.ErrNotExist)
}

// knows reports whether a run is among those of the state folder.
func (a Agent) knows(ctx context.Context, run string) (bool, error) {
	var out struct {
		Runs []localRun `json:"runs"`
	}
	err := a.call(ctx, &out, "ls", "--json", "--all")
	return slices.ContainsFunc(out.Runs, func(r localRun) bool { return r.ID == run }), err
}

// list describes the runs that are driven: of others there may be thousands.
func (a Agent) list(ctx context.Context) ([]localRun, error) {
	var out struct {
		Runs []localRun `json:"runs"`
	}
	err := a.call(ctx, &out, "ls", "--json", "--all", "--status=queued,running")
	return out.Runs, err
}

// unfinished describes all runs that have not ended, one after the other.
func (a Agent) unfinished(ctx context.Context, each func(localRun)) error {
	ctx, cancel := context.WithTimeout(ctx, commandTime)
	defer cancel()
	in, out := io.Pipe()
	read := make(chan error, 1)
	go func() {
		err := eachRun(json.NewDecoder(in), each)
		read <- errors.Join(err, in.CloseWithError(err))
	}()
	said, err := a.output(ctx, out, "ls", "--json", "--all", "--status=unfinished")
	_ = out.Close() // a pipe in memory
	if unread := <-read; err != nil || unread != nil {
		return a.unread("agent ls", cmp.Or(err, unread), said)
	}
	return nil
}

// eachRun reads the runs of a list.
func eachRun(d *json.Decoder, each func(localRun)) error {
	_, err := d.Token() // the brace
	for err == nil {
		var name json.Token
		if name, err = d.Token(); err != nil || name == "runs" {
			break
		}
		err = d.Decode(new(json.RawMessage))
	}
	if err == nil {
		var bracket json.Token
		if bracket, err = d.Token(); err == nil && bracket != json.Delim('[') {
			err = fmt.Errorf("its runs are %v", bracket)
		}
	}
	for err == nil && d.More() {
		var r localRun
		if err = d.Decode(&r); err == nil {
			each(r)
		}
	}
	if err == nil {
		_, err = d.Token()
	}
	return err
}

// ended reports whether nothing more becomes of a run.
func ended(status string) bool {
	return status == completed || status == failed || status == cancelled
}

// report is how far a run came.
func (s *shown) report() custody.Report {
	r := s.Run
	out := custody.Report{Status: r.Status, Cause: r.Cause, Detail: r.Detail, Turn: r.Turns}
	if n := len(s.Facts); n > 0 {
		last := s.Facts[n-1]
		out.Facts = last.Seq
		if ended(r.Status) {
			out.Text = last.Body.Text
			if out.Text == "" {
				out.Text = last.Body.Reason
			}
		}
	}
	for _, u := range append(r.Unknown, r.Below...) {
		out.Unknown = append(out.Unknown, u.String())
	}
	if r.Status == waiting && r.Asked != nil {
		out.Request = r.Asked.request()
	}
	out.Exit = exit(r.Status, len(out.Unknown) > 0)
	return out
}

// request is a question as the engine knows it.
func (q *question) request() *custody.Request {
	out := &custody.Request{
		ID: q.ID, Kind: q.Kind, Text: q.Message, Choices: q.Choices, Expires: q.Expires,
	}
	if q.Place != nil {
		out.Place = fmt.Sprintf("%d.%d %s", q.Place.Turn, q.Place.Index, q.Tool)
	}
	return out
}

// exit is the exit code that agent run would have had.
func exit(status string, unknown bool) int {
	switch {
	case unknown && (status == completed || status == waiting):
		return 5
	case status == completed:
		return 0
	case status == waiting:
		return 3
	case status == interrupted:
		return 4
	case status == cancelled:
		return 6
	}
	return 1
}
