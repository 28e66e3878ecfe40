package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"

	"agent/host/stream"
	"agent/recovery"
	"agent/recovery/fault"
)

// logLimit bounds log/agent.log: what is older lies in agent.log.1, and before that nothing is kept.
const logLimit = 1 << 20

// logger writes ids, counts, reasons and errors, never content, into log/agent.log of the state folder. It is an observer,
// so a slow disk holds up nothing, and it opens its file with the first thing to say. The journal is the record; the log
// is for whoever looks for what this binary did at what time.
type logger struct {
	path    string
	verbose io.Writer // nil: the file only
	log     *slog.Logger
	file    *os.File
	failed  error
	done    chan struct{}
}

// logTo is where the log is shown beside its file.
func (a *app) logTo() io.Writer {
	if a.verbose {
		return a.Err
	}
	return nil
}

// newLogger logs every fact of the hub until it closes.
func newLogger(home string, verbose io.Writer, hub *stream.Hub) *logger {
	l := &logger{path: filepath.Join(home, "log", "agent.log"), verbose: verbose, done: make(chan struct{})}
	obs := hub.Observe(0)
	go func() {
		defer close(l.done)
		for {
			e, err := obs.Next(context.Background())
			if err != nil {
				return // closed, or so slow that the journal is the better log
			}
			if e.Fact != nil && l.ready() {
				l.fact(e.Run, *e.Fact)
			}
		}
	}()
	return l
}

// ready opens the log once. Without one the journal still says everything.
func (l *logger) ready() bool {
	if l.log != nil || l.failed != nil {
		return l.failed == nil
	}
	l.file, l.failed = openLog(l.path)
	if l.failed != nil {
		return false
	}
	var w io.Writer = l.file
	if l.verbose != nil {
		w = io.MultiWriter(l.file, l.verbose)
	}
	l.log = newLog(w)
	return true
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

func openLog(path string) (*os.File, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, fmt.Errorf("make the log's folder: %v", err)
	}
	if info, err := os.Stat(path); err == nil && info.Size() > logLimit {
		if err := os.Rename(path, path+".1"); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("put the old log aside: %v", err)
		}
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the log: %v", err)
	}
	return f, nil
}

func (l *logger) fact(run string, e recovery.Event) {
	attrs := []any{"run", run, "seq", e.Seq, "turn", e.Turn}
	switch b := e.Body.(type) {
	case recovery.RunClaimed:
		attrs = append(attrs, "epoch", b.Epoch, "version", b.Version)
	case recovery.RunInterrupted:
		attrs = append(attrs, "cause", b.Cause)
	case recovery.ModelAnswered:
		attrs = append(attrs, "calls", len(b.Calls), "stop", b.Stop)
	case recovery.CallJudged:
		attrs = append(attrs, "call", b.Place.String(), "attempt", b.Attempt, "verdict", b.Verdict)
	case recovery.CallStarted:
		attrs = append(attrs, "call", b.Place.String(), "attempt", b.Attempt)
	case recovery.CallSettled:
		attrs = append(attrs, "call", b.Place.String(), "outcome", b.Result.Outcome, "applied", b.Result.Applied,
			"how", b.Result.How, "took", b.Result.Took, "bytes", b.Result.Size)
	case recovery.RequestOpened:
		attrs = append(attrs, "request", b.Request.ID, "kind", b.Request.Kind)
	case recovery.RequestAnswered:
		attrs = append(attrs, "request", b.ID)
	case recovery.RequestClosed:
		attrs = append(attrs, "request", b.ID, "status", b.Status)
	case recovery.RunStopping:
		attrs = append(attrs, "why", b.Why)
	}
	l.log.Info(string(e.Body.Kind()), attrs...)
}

// close waits for the last fact; the hub is closed before. It says why there was no log.
func (l *logger) close() error {
	<-l.done
	if l.file == nil {
		return l.failed
	}
	return l.file.Close()
}
