package acp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"time"

	protocol "github.com/coder/acp-go-sdk"

	"agent/host"
	"agent/host/app"
	"agent/host/view"
	"agent/recovery/journal"
)

// session is a thread as an editor has it open.
type session struct {
	*editor
	id      protocol.SessionId
	cwd     string
	servers int // that the editor names, and that are not started

	opening sync.Mutex // held while it is loaded or resumed
	turning sync.Mutex // held while another run comes to be shown

	mu     sync.Mutex
	busy   bool // a prompt is under way
	ended  bool // its end was asked for
	stop   func()
	shows  *following // the run that is shown; nil for none
	mode   string     // of the next runs, as are model and effort; "" for that of the configuration
	model  string
	effort string
}

// asIs is the choice of what the configuration or the thread has.
const asIs = "default"

func (e *editor) open(id, cwd string, servers int) (*session, error) {
	if info, err := os.Stat(cwd); !filepath.IsAbs(cwd) || err != nil || !info.IsDir() {
		return nil, wrong("cwd %q is no absolute path of a folder", cwd)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	s := e.sessions[protocol.SessionId(id)]
	if s == nil {
		s = &session{editor: e, id: protocol.SessionId(id), stop: func() {}}
		e.sessions[s.id] = s
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cwd, s.servers = cwd, servers
	return s, nil
}

func (e *editor) session(id protocol.SessionId) (*session, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if s := e.sessions[id]; s != nil {
		return s, nil
	}
	return nil, wrong("session %q is not open: session/new or session/load goes before", id)
}

func (e *editor) newSession(_ context.Context, p protocol.NewSessionRequest) (protocol.NewSessionResponse, error) {
	if len(p.AdditionalDirectories) > 0 {
		return protocol.NewSessionResponse{}, wrong("additionalDirectories are not offered here: agent run --add-dir takes more folders")
	}
	s, err := e.open(host.NewThreadID(), p.Cwd, len(p.McpServers))
	if err != nil {
		return protocol.NewSessionResponse{}, err
	}
	return protocol.NewSessionResponse{SessionId: s.id, Modes: s.modes(), ConfigOptions: s.options()}, nil
}

// earlier opens a session whose thread is there.
func (e *editor) earlier(ctx context.Context, id protocol.SessionId, cwd string, servers int) (*session, []app.RunRow, error) {
	if id == "" {
		return nil, nil, wrong("say which session: session/list has those that are here")
	}
	rows, err := e.Folder.Store.ThreadRuns(ctx, string(id))
	if err != nil {
		return nil, nil, fmt.Errorf("read session %s: %w", id, err)
	}
	if _, err := e.session(id); len(rows) == 0 && err != nil {
		return nil, nil, wrong("session %q is not here: session/list has those that are", id)
	}
	s, err := e.open(string(id), cwd, servers)
	if err == nil && s.underWay() {
		return nil, nil, &protocol.RequestError{Code: -32600, Message: errBusy.Error()}
	}
	return s, rows, err
}

func (s *session) underWay() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.busy
}

// loadSession shows all of the thread, then what happens now.
func (e *editor) loadSession(ctx context.Context, p protocol.LoadSessionRequest) (protocol.LoadSessionResponse, error) {
	s, rows, err := e.earlier(ctx, p.SessionId, p.Cwd, len(p.McpServers))
	if err != nil {
		return protocol.LoadSessionResponse{}, err
	}
	s.opening.Lock()
	defer s.opening.Unlock()
	s.leave()
	for i, row := range rows {
		if i == len(rows)-1 && !row.Status.Terminal() {
			break
		}
		if err := s.replay(ctx, row); err != nil {
			return protocol.LoadSessionResponse{}, err
		}
	}
	if err := s.showsOn(ctx, rows, true); err != nil {
		return protocol.LoadSessionResponse{}, err
	}
	return protocol.LoadSessionResponse{Modes: s.modes(), ConfigOptions: s.options()}, nil
}

// resumeSession shows what happens now, and nothing of what was.
func (e *editor) resumeSession(ctx context.Context, p protocol.ResumeSessionRequest) (protocol.ResumeSessionResponse, error) {
	s, rows, err := e.earlier(ctx, p.SessionId, p.Cwd, len(p.McpServers))
	if err == nil {
		s.opening.Lock()
		defer s.opening.Unlock()
		err = s.showsOn(ctx, rows, false)
	}
	if err != nil {
		return protocol.ResumeSessionResponse{}, err
	}
	return protocol.ResumeSessionResponse{Modes: s.modes(), ConfigOptions: s.options()}, nil
}

// showsOn shows the newest run, where it has not ended. It returns when what was is shown.
func (s *session) showsOn(ctx context.Context, rows []app.RunRow, whole bool) error {
	if len(rows) == 0 || rows[len(rows)-1].Status.Terminal() {
		return nil
	}
	what := showing{from: now}
	if whole {
		what = showing{prompt: true, title: len(rows) == 1}
	}
	f, err := s.follow(rows[len(rows)-1].ID, what)
	if err != nil {
		return err
	}
	select {
	case <-f.caught:
	case <-f.over:
	case <-ctx.Done():
	}
	return nil
}

// leave ends the showing of a run, which goes on.
func (s *session) leave() {
	s.mu.Lock()
	f := s.shows
	s.shows = nil
	s.mu.Unlock()
	if f != nil {
		f.stop()
		<-f.over
	}
}

// mostListed is how many runs are looked at for a page of sessions.
const mostListed = 100

func (e *editor) listSessions(ctx context.Context, p protocol.ListSessionsRequest) (protocol.ListSessionsResponse, error) {
	v := protocol.ListSessionsResponse{Sessions: []protocol.SessionInfo{}}
	f := app.Filter{All: true, Limit: mostListed}
	if p.Cwd != nil {
		f.Folder = *p.Cwd
	}
	var err error
	if f.Before = 1 << 62; p.Cursor != nil {
		if f.Before, err = strconv.ParseInt(*p.Cursor, 10, 64); err != nil {
			return v, wrong("cursor %q is none of session/list", *p.Cursor)
		}
	}
	rows, err := e.Folder.Store.Runs(ctx, f)
	if err != nil {
		return v, fmt.Errorf("list sessions: %w", err)
	}
	for _, row := range rows {
		all, err := e.Folder.Store.ThreadRuns(ctx, row.Thread)
		if err != nil {
			return v, fmt.Errorf("list sessions: %w", err)
		}
		if len(all) == 0 || all[len(all)-1].ID != row.ID {
			continue // its thread is listed where its newest run is
		}
		title, updated := view.PromptStart(all[0].Prompt), row.Updated.Format(time.RFC3339)
		v.Sessions = append(v.Sessions, protocol.SessionInfo{SessionId: protocol.SessionId(row.Thread), Cwd: row.Folder, Title: &title, UpdatedAt: &updated})
	}
	if len(rows) == mostListed {
		next := strconv.FormatInt(rows[len(rows)-1].No, 10)
		v.NextCursor = &next
	}
	return v, nil
}

// What may be chosen for the runs of a session, by the names that an editor uses.
const (
	choiceMode   = "mode"
	choiceModel  = "model"
	choiceEffort = "effort"
)

// choices are the mode that a run in a folder gets where none is chosen, and the models that are
// known. A configuration that cannot be read is reported where a run begins.
func (e *editor) choices(folder string) (journal.Mode, []string) {
	conf, err := e.App.Settings(folder)
	if err != nil {
		return journal.ModeAsk, nil
	}
	limits, _ := conf.Workspace.Tighten(conf.Defaults)
	var models []string
	for _, m := range e.App.Models(e.ctx, conf).Models {
		models = append(models, m.Name)
	}
	return cmp.Or(limits.Mode, journal.ModeAsk), models
}

// modeNames say what a mode makes of calls.
func modeNames() map[journal.Mode]string {
	return map[journal.Mode]string{
		journal.ModePlan: "reads only, and asks whether its plan is carried out",
		journal.ModeAsk:  "reads at once; everything else is asked about",
		journal.ModeAuto: "reads and writes in the folder at once; everything else is asked about",
		journal.ModeYolo: "everything runs at once that no rule holds back",
	}
}

func (s *session) modes() *protocol.SessionModeState {
	s.mu.Lock()
	defer s.mu.Unlock()
	mode, _ := s.choices(s.cwd)
	state := &protocol.SessionModeState{CurrentModeId: protocol.SessionModeId(cmp.Or(s.mode, string(mode)))}
	for _, m := range journal.Modes() {
		does := modeNames()[m]
		state.AvailableModes = append(state.AvailableModes, protocol.SessionMode{Id: protocol.SessionModeId(m), Name: string(m), Description: &does})
	}
	return state
}

// options are the choices of the session. They hold from its next prompt.
func (s *session) options() []protocol.SessionConfigOption {
	s.mu.Lock()
	defer s.mu.Unlock()
	mode, models := s.choices(s.cwd)
	option := func(id, name string, about protocol.SessionConfigOptionCategory, now string, values []string, says func(string) string) protocol.SessionConfigOption {
		var list protocol.SessionConfigSelectOptionsUngrouped
		if !slices.Contains(values, now) {
			values = append([]string{now}, values...)
		}
		for _, v := range values {
			does := says(v)
			list = append(list, protocol.SessionConfigSelectOption{Value: protocol.SessionConfigValueId(v), Name: v, Description: &does})
		}
		return protocol.SessionConfigOption{Select: &protocol.SessionConfigOptionSelect{
			Id: protocol.SessionConfigId(id), Name: name, Category: &about, CurrentValue: protocol.SessionConfigValueId(now), Type: "select",
			Options: protocol.SessionConfigSelectOptions{Ungrouped: &list},
		}}
	}
	var modes []string
	for _, m := range journal.Modes() {
		modes = append(modes, string(m))
	}
	efforts := []string{asIs}
	for _, v := range journal.Efforts() {
		efforts = append(efforts, string(v))
	}
	configured := func(v string) string {
		if v == asIs {
			return "that of the session, else of config.toml"
		}
		return v
	}
	return []protocol.SessionConfigOption{
		option(choiceMode, "Approval mode", protocol.SessionConfigOptionCategoryMode, cmp.Or(s.mode, string(mode)), modes,
			func(v string) string { return modeNames()[journal.Mode(v)] }),
		option(choiceModel, "Model", protocol.SessionConfigOptionCategoryModel, cmp.Or(s.model, asIs), append([]string{asIs}, models...), configured),
		option(choiceEffort, "Effort", protocol.SessionConfigOptionCategoryThoughtLevel, cmp.Or(s.effort, asIs), efforts, configured),
	}
}

// choose sets what the next runs of the session get.
func (s *session) choose(what, value string) error {
	switch what {
	case choiceMode:
		if !slices.Contains(journal.Modes(), journal.Mode(value)) {
			return wrong("there is no mode %q: choose plan, ask, auto or yolo", value)
		}
	case choiceEffort:
		if value != asIs && !slices.Contains(journal.Efforts(), journal.Effort(value)) {
			return wrong("there is no effort %q: choose default, none, low, medium or high", value)
		}
	case choiceModel:
	default:
		return wrong("there is no option %q: choose mode, model or effort", what)
	}
	if value == asIs {
		value = ""
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	*map[string]*string{choiceMode: &s.mode, choiceModel: &s.model, choiceEffort: &s.effort}[what] = value
	return nil
}

func (e *editor) setMode(_ context.Context, p protocol.SetSessionModeRequest) (protocol.SetSessionModeResponse, error) {
	s, err := e.session(p.SessionId)
	if err == nil {
		err = s.choose(choiceMode, string(p.ModeId))
	}
	return protocol.SetSessionModeResponse{}, err
}

func (e *editor) setOption(_ context.Context, p protocol.SetSessionConfigOptionRequest) (protocol.SetSessionConfigOptionResponse, error) {
	if p.ValueId == nil {
		return protocol.SetSessionConfigOptionResponse{}, wrong("an option is set by one of its values")
	}
	s, err := e.session(p.ValueId.SessionId)
	if err == nil {
		err = s.choose(string(p.ValueId.ConfigId), string(p.ValueId.Value))
	}
	if err != nil {
		return protocol.SetSessionConfigOptionResponse{}, err
	}
	if p.ValueId.ConfigId == choiceMode {
		s.update(s.id, protocol.SessionUpdate{CurrentModeUpdate: &protocol.SessionCurrentModeUpdate{CurrentModeId: protocol.SessionModeId(p.ValueId.Value)}})
	}
	return protocol.SetSessionConfigOptionResponse{ConfigOptions: s.options()}, nil
}

// newest is the newest run of the session; nil where none is recorded.
func (s *session) newest(ctx context.Context) (*app.RunRow, error) {
	rows, err := s.Folder.Store.ThreadRuns(ctx, string(s.id))
	if err != nil {
		return nil, fmt.Errorf("read session %s: %w", s.id, err)
	}
	if len(rows) == 0 {
		return nil, nil
	}
	return &rows[len(rows)-1], nil
}

var errBusy = errors.New("a prompt of this session is under way: session/cancel ends it, and its end is its answer")
