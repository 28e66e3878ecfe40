package acp

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"

	protocol "github.com/coder/acp-go-sdk"

	"agent/host"
	"agent/host/app"
	"agent/host/input"
	"agent/host/launch"
	"agent/host/view"
	"agent/recovery/journal"
)

// asked is what a prompt holds.
type asked struct {
	text     string
	pictures [][]byte
}

// read puts the parts of a prompt together.
func read(parts []protocol.ContentBlock) (asked, error) {
	var a asked
	var text []string
	for _, p := range parts {
		switch {
		case p.Text != nil && p.Text.Type == "text":
			text = append(text, p.Text.Text)
		case p.ResourceLink != nil:
			text = append(text, pathOf(p.ResourceLink.Uri))
		case p.Resource != nil && p.Resource.Resource.TextResourceContents != nil:
			r := p.Resource.Resource.TextResourceContents
			text = append(text, pathOf(r.Uri)+":\n"+fenced(r.Text))
		case p.Image != nil:
			data, err := base64.StdEncoding.DecodeString(p.Image.Data)
			if err == nil {
				_, err = input.Picture(data)
			}
			if err != nil {
				return a, wrong("picture %d of the prompt: %v", len(a.pictures)+1, err)
			}
			a.pictures = append(a.pictures, data)
		default:
			return a, wrong("the prompt has a part that is neither text, nor a picture, nor a file")
		}
	}
	a.text = strings.TrimSpace(strings.Join(text, "\n"))
	if _, err := input.Text([]byte(a.text)); err != nil {
		return a, wrong("the prompt: %v", err)
	}
	switch err := input.CheckPictures(len(a.pictures)); {
	case err != nil:
		return a, wrong("the prompt: %v", err)
	case a.text == "" || a.text == "-":
		return a, wrong("the prompt says nothing")
	case len(a.text) > input.MaxPrompt:
		return a, wrong("the prompt is larger than %d MiB; put the bulk into a file of the folder and name it", input.MaxPrompt>>20)
	}
	return a, nil
}

// pathOf is the path that a file's address names, and any other address as it is.
func pathOf(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "file" || u.Path == "" {
		return address
	}
	return u.Path
}

// fenced is a text between fences that it has none of.
func fenced(text string) string {
	fence := "```"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	return fence + "\n" + strings.TrimRight(text, "\n") + "\n" + fence
}

// prompt has a run carry out a prompt, and answers once that has ended or a question of it is left
// open. The run does not end with the request.
func (e *editor) prompt(ctx context.Context, p protocol.PromptRequest) (protocol.PromptResponse, error) {
	none := protocol.PromptResponse{}
	s, err := e.session(p.SessionId)
	if err != nil {
		return none, err
	}
	a, err := read(p.Prompt)
	if err != nil {
		return none, err
	}
	ctx, done, err := s.begin(ctx)
	if err != nil {
		return none, err
	}
	defer done()
	begun(ctx)
	f, err := s.carry(ctx, a)
	if err == nil && f != nil {
		return s.wait(ctx, f)
	}
	switch {
	case s.isEnded():
		return protocol.PromptResponse{StopReason: protocol.StopReasonCancelled}, nil
	case err != nil:
		return none, err
	}
	return protocol.PromptResponse{StopReason: protocol.StopReasonEndTurn}, nil
}

// begin has one prompt of the session be under way until done.
func (s *session) begin(ctx context.Context) (context.Context, func(), error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.busy {
		return nil, nil, &protocol.RequestError{Code: -32600, Message: errBusy.Error()}
	}
	ctx, stop := context.WithCancel(ctx)
	s.busy, s.ended, s.stop = true, false, stop
	return ctx, func() {
		stop()
		s.mu.Lock()
		defer s.mu.Unlock()
		s.busy = false
	}, nil
}

func (s *session) isEnded() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ended
}

// wait waits for the end of a run, or for a question that is left open.
func (s *session) wait(ctx context.Context, f *following) (protocol.PromptResponse, error) {
	for {
		select {
		case <-f.over:
			return f.ended(context.WithoutCancel(ctx))
		case <-f.left:
			if s.isEnded() { // what an editor answers to all questions then
				continue
			}
			return protocol.PromptResponse{StopReason: protocol.StopReasonEndTurn}, nil
		case <-ctx.Done():
			if !s.isEnded() {
				return protocol.PromptResponse{}, protocol.NewRequestCancelled(nil)
			}
		}
		if s.isEnded() { // the run is asked to end, which is its own last fact
			select {
			case <-f.over:
				return f.ended(context.WithoutCancel(ctx))
			case <-s.ctx.Done():
				return protocol.PromptResponse{}, protocol.NewRequestCancelled(nil)
			}
		}
	}
}

// carry finds out what is to become of a prompt, and returns the run that is to be waited for; nil
// where there is none.
func (s *session) carry(ctx context.Context, a asked) (*following, error) {
	row, err := s.newest(ctx)
	if err == nil && row != nil && !row.Status.Terminal() {
		_, err = s.Folder.Reconcile(ctx, true) // its process may be gone
		if err == nil {
			row, err = s.newest(ctx)
		}
	}
	if err != nil {
		return nil, err
	}
	if row == nil || row.Status.Terminal() {
		return s.start(ctx, a, row == nil)
	}
	if p := row.Pending; p != nil && p.Damaged == nil && takesText(p.Request.Question) && len(a.pictures) == 0 {
		raw, err := view.ParseAnswer(p.Request.Question, a.text)
		if err != nil {
			return nil, wrong("answer %s: %v", p.ID, err)
		}
		f, err := s.shownRun(row.ID)
		if err == nil {
			f.forget()
			err = s.answer(p.ID, raw)
		}
		return f, err
	}
	return s.behind(ctx, *row, a)
}

// takesText says whether any text answers a question.
func takesText(q journal.Question) bool {
	return q.Kind == journal.RequestPlan || q.Kind == journal.RequestAskUser && len(q.Choices) == 0
}

// shownRun is the following of a run, which goes on or begins.
func (s *session) shownRun(run string) (*following, error) {
	s.mu.Lock()
	f := s.shows
	s.mu.Unlock()
	if f != nil && f.run == run {
		select {
		case <-f.over:
		default:
			return f, nil
		}
	}
	return s.follow(run, showing{from: now})
}

// start has a prompt carried out by a run of its own, the first of the session or a later one.
func (s *session) start(ctx context.Context, a asked, first bool) (*following, error) {
	job := launch.Job{Args: s.args(a, first), Pictures: a.pictures, Run: host.NewRunID(), By: s.by()}
	if first {
		job.Thread = string(s.id)
	}
	// It is not known yet whether there is something to cancel: what was begun is looked at first.
	sure := context.WithoutCancel(ctx)
	answer, err := s.Carrier.Start(sure, job)
	if err != nil && !errors.Is(err, launch.ErrNoAnswer) {
		return nil, fmt.Errorf("start a run: %w", err)
	}
	_, err = s.Folder.Store.Run(sure, job.Run)
	if missing := (*app.UnknownIDError)(nil); errors.As(err, &missing) {
		return s.notStarted(ctx, a, answer)
	}
	if err != nil {
		return nil, fmt.Errorf("read run %s: %w", job.Run, err)
	}
	if s.isEnded() {
		if err := s.cancelRun(job.Run); err != nil {
			return nil, err
		}
	}
	f, err := s.follow(job.Run, showing{title: first})
	if err == nil {
		s.nameServers(f)
	}
	return f, err
}

// notStarted is what follows where no run was recorded. Another process may have begun one in the
// session meanwhile: then the person chooses.
func (s *session) notStarted(ctx context.Context, a asked, answer launch.Answer) (*following, error) {
	if answer.Ended == nil {
		return nil, errors.New("start a run: its process ended before it recorded anything; agent doctor may say why")
	}
	if row, err := s.newest(ctx); err == nil && row != nil && !row.Status.Terminal() {
		return s.behind(ctx, *row, a)
	}
	return nil, s.refused(answer, "")
}

// nameServers says once which servers of the editor are not started.
func (s *session) nameServers(f *following) {
	s.mu.Lock()
	unused := s.servers
	s.servers = 0
	s.mu.Unlock()
	if unused > 0 {
		f.shown.thought(0, fmt.Sprintf("%s of the editor: not started here; name them in .mcp.json of the folder (agent help mcp)\n", view.Count(unused, "MCP server")))
	}
}

// args is the command line that carries a prompt out.
func (s *session) args(a asked, first bool) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	args := []string{"run", "--json", "--no-recover", "--dir=" + s.cwd}
	if !first {
		args = append(args, "--thread="+string(s.id))
	}
	for _, f := range [][2]string{{"mode", s.mode}, {"model", s.model}, {"effort", s.effort}} {
		if f[1] != "" {
			args = append(args, "--"+f[0]+"="+f[1])
		}
	}
	return append(args, "--ask-plan", "--", a.text)
}

// refused is why a process did not do what it was started for, in its words.
func (e *editor) refused(answer launch.Answer, run string) error {
	var r view.Refusal
	if json.Unmarshal([]byte(answer.Ended.Out), &r) != nil || r.Error == "" {
		lines := make([]string, len(answer.Notes))
		for i, line := range answer.Notes {
			lines[i] = strings.TrimPrefix(line, "agent: ")
		}
		r.Error = strings.Join(lines, "\n")
	}
	if r.Error == "" {
		r.Error = fmt.Sprintf("its process ended with status %d", answer.Ended.Code)
	}
	if r.RunID != "" {
		run = r.RunID
	}
	return &protocol.RequestError{Code: -32603, Message: e.App.Redacted(r.Error), Data: map[string]any{"run_id": run, "next": r.Next}}
}
