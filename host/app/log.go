package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"

	"agent/db"
	"agent/host"
	"agent/host/logfile"
	"agent/host/owner"
	"agent/host/stream"
	"agent/recovery/fault"
	"agent/recovery/journal"
)

// logLimit bounds log/agent.log; bytes. One older file of the same size is kept beside it, as
// agent.log.1.
const logLimit = 1 << 20

// logWriter writes ids, counts and reasons, never content, into log/agent.log of the state folder:
// one line when a run is claimed, one for each turn, one for its end, and one for whatever went
// wrong. It is an observer, so a slow disk holds up nothing, and it opens its file with the first
// line. The journal is the record; the log is for whoever looks for what this binary did at what
// time.
type logWriter struct {
	path    string
	verbose io.Writer // nil: the file only
	log     *slog.Logger
	file    *logfile.File
	failed  error
	done    chan struct{}
	turns   map[string]*turnLine // by run
}

// turnLine gathers what becomes the one line of a turn.
type turnLine struct {
	turn     int
	calls    int
	outcomes map[journal.Outcome]int
	unknown  []string // places of calls
	verdicts []string
	asked    []string // ids of questions
	bytes    int64
}

// logTo is where the log is shown beside its file.
func (a *App) logTo() io.Writer {
	if a.Verbose {
		return a.Complaints
	}
	return nil
}

// newLogger logs what the hub publishes until it closes.
func newLogger(home string, verbose io.Writer, hub *stream.Hub) *logWriter {
	l := &logWriter{path: logPath(home), verbose: verbose, done: make(chan struct{}), turns: map[string]*turnLine{}}
	obs := hub.Observe(0)
	go func() {
		defer close(l.done)
		for {
			e, err := obs.Next(context.Background())
			if err != nil {
				break // closed, or so slow that the journal is the better log
			}
			switch {
			case e.Fact != nil:
				l.fact(e.Run, *e.Fact)
			case e.Note != "" && e.Warn && !e.Quotes:
				l.line(slog.LevelWarn, "warning", "run", e.Run, "reason", e.Note)
			}
		}
		for run := range l.turns {
			l.turn(run)
		}
	}()
	return l
}

func logPath(home string) string { return filepath.Join(home, "log", "agent.log") }

// line writes one line. The log is opened once; without one the journal still says everything.
func (l *logWriter) line(level slog.Level, msg string, attrs ...any) {
	if l.log == nil && l.failed == nil {
		l.file, l.failed = logfile.Open(l.path, logLimit)
		if l.failed == nil {
			var w io.Writer = l.file
			if l.verbose != nil {
				w = io.MultiWriter(l.file, l.verbose)
			}
			l.log = newLog(w)
		}
	}
	if l.failed == nil {
		l.log.Log(context.Background(), level, msg, attrs...)
	}
}

// newLog writes lines that carry the clock's time and this process's number.
func newLog(w io.Writer) *slog.Logger {
	clock := func(groups []string, a slog.Attr) slog.Attr {
		if len(groups) == 0 && a.Key == slog.TimeKey {
			a.Value = slog.TimeValue(fault.Now())
		}
		return a
	}
	return slog.New(slog.NewJSONHandler(w, &slog.HandlerOptions{ReplaceAttr: clock})).With("pid", os.Getpid())
}

// fact writes the line of a fact, or gathers it for the line of its turn.
func (l *logWriter) fact(run string, e journal.Event) {
	t := l.turns[run]
	if t == nil {
		t = &turnLine{outcomes: map[journal.Outcome]int{}}
		l.turns[run] = t
	}
	msg, at := string(e.Body.Kind()), []any{"run", run, "seq", e.Seq, "turn", e.Turn}
	switch b := e.Body.(type) {
	case journal.RunClaimed:
		l.line(slog.LevelInfo, msg, append(at, "epoch", b.Epoch, "version", b.Version)...)
	case journal.ModelFailed:
		l.line(slog.LevelWarn, msg, append(at, "fault", b.Fault, "tries", b.Tries, "again", b.Again, "wait", b.Wait)...)
	case journal.RunStopping:
		l.line(slog.LevelWarn, msg, append(at, "why", b.Why)...)
	case journal.ModelAnswered:
		t.turn, t.calls = e.Turn, len(b.Calls)
	case journal.CallJudged:
		t.turn, t.verdicts = e.Turn, append(t.verdicts, b.Place.String()+" "+string(b.Verdict))
	case journal.CallSettled:
		t.turn = e.Turn
		t.settled(b)
	case journal.RequestOpened:
		t.turn, t.asked = e.Turn, append(t.asked, b.Request.ID)
	case journal.TurnSettled:
		t.turn = e.Turn
		l.turn(run)
	case journal.RunInterrupted:
		l.turn(run)
		l.line(slog.LevelWarn, msg, append(at, "cause", b.Cause)...)
	case journal.RunCompleted, journal.RunFailed, journal.RunCancelled:
		l.turn(run)
		l.line(slog.LevelInfo, msg, at...)
	}
}

func (t *turnLine) settled(b journal.CallSettled) {
	t.outcomes[b.Result.Outcome]++
	t.bytes += b.Result.Size
	if b.Result.Outcome == journal.OutcomeUnknown {
		t.unknown = append(t.unknown, b.Place.String())
	}
}

// turn writes the line of a turn, if anything of one was seen.
func (l *logWriter) turn(run string) {
	t := l.turns[run]
	delete(l.turns, run)
	if t == nil || t.turn == 0 {
		return
	}
	attrs := []any{"run", run, "turn", t.turn, "calls", t.calls}
	if len(t.outcomes) > 0 {
		attrs = append(attrs, "outcomes", t.outcomes, "bytes", t.bytes)
	}
	for _, list := range []struct {
		name string
		of   []string
	}{{"unknown", t.unknown}, {"verdicts", t.verdicts}, {"asked", t.asked}} {
		if len(list.of) > 0 {
			attrs = append(attrs, list.name, list.of)
		}
	}
	l.line(slog.LevelInfo, "turn", attrs...)
}

// Close waits for the last line; the hub is closed before. It says why there was no log.
func (l *logWriter) close() error {
	<-l.done
	if l.file == nil {
		return l.failed
	}
	return l.file.Close()
}

// logged is an error that the log keeps, with the run that it is about: its text has ids and
// reasons and no content.
func logged(err error) (what, run string) {
	var held *owner.HeldError
	var corrupt *db.CorruptError
	var commit *db.CommitError
	switch {
	case errors.As(err, &held):
		return "claim refused", held.Run
	case errors.As(err, &corrupt) && corrupt.Run != "": // a state folder that cannot be used at all is left as it is
		return "claim refused", corrupt.Run
	case errors.Is(err, host.ErrFolder):
		return "claim refused", ""
	case errors.As(err, &commit):
		return "commit failed", ""
	case errors.Is(err, db.ErrLostRace):
		return "run lost", ""
	}
	return "", ""
}

// LogError appends what a command ends with, where the log keeps that, into the log of a state
// folder that is there; it makes none. What cannot be logged was printed.
func (a *App) LogError(err error) {
	var p *host.PanicError
	if errors.As(err, &p) {
		_ = a.LogPanic(p.Value, p.Stack) // see above
		return
	}
	if what, run := logged(err); what != "" {
		_ = a.appendLog(func(log *slog.Logger) { log.Error(what, "run", run, "reason", a.Redacted(err.Error())) }) // see above
	}
}

// LogPanic keeps the trace of a panic.
func (a *App) LogPanic(p any, trace []byte) error {
	return a.appendLog(func(log *slog.Logger) {
		log.Error("panic", "value", a.Redacted(fmt.Sprint(p)), "trace", a.Redacted(string(trace)))
	})
}

// OpenLog opens the log of a state folder for lines of a front door that lives long. It is safe for
// concurrent use.
func (a *App) OpenLog(home string) (*slog.Logger, io.Closer, error) {
	f, err := logfile.Open(logPath(home), logLimit)
	if err != nil {
		return nil, nil, err
	}
	var w io.Writer = f
	if a.Verbose {
		w = io.MultiWriter(f, a.Complaints)
	}
	return newLog(w), f, nil // the handler writes one line at a time
}

func (a *App) appendLog(write func(*slog.Logger)) error {
	home, err := a.Home()
	if err != nil {
		return err
	}
	if _, err := os.Stat(home); err != nil {
		return err
	}
	f, err := logfile.Open(logPath(home), logLimit)
	if err != nil {
		return err
	}
	write(newLog(f))
	return f.Close()
}
