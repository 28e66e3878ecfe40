package host

import (
	"context"
	"os"
	"path/filepath"

	"agent/host/stream"
	"agent/recovery"
)

// liveText copies the model's text and reasoning into the run's live file as it comes, for observers in other processes. It is an
// observer itself, so a slow disk never holds up the reader of the model's stream. Losing it loses nothing: the answer
// is a fact. All methods work on nil.
type liveText struct {
	dir, run string
	file     *stream.Live // nil until there is something to write: to make a file costs as much as a commit
	obs      *stream.Observer
	done     chan struct{}
}

// openLive begins with the run's first request to a model.
func (d *driver) openLive() {
	if d.live != nil {
		return
	}
	l := &liveText{dir: filepath.Join(d.h.Home, "live"), run: d.state.Created.Run, done: make(chan struct{})}
	if err := stream.ClearLive(l.dir, l.run); err != nil {
		d.h.warn(l.run, "live text for other processes: %v", err)
		return
	}
	l.obs = d.h.Hub.Observe(0, l.run)
	d.live = l
	go func() {
		defer close(l.done)
		for {
			e, err := l.obs.Next(context.Background())
			if err != nil {
				return // closed, or too slow: who watches from elsewhere sees the facts
			}
			if l.take(e) != nil {
				return // a disk that takes no live text keeps no facts either, and that is said where it matters
			}
		}
	}()
}

// take writes a piece of an answer, and empties the file behind the fact that the answer became or that says that there is
// none. They come in order.
func (l *liveText) take(e stream.Event) error {
	switch {
	case e.Fact != nil:
		switch e.Fact.Body.(type) {
		case recovery.ModelAnswered, recovery.ModelFailed:
			return l.reset()
		}
	case e.Text != "", e.Reasoning != "":
		return l.write(e)
	case e.Void:
		return l.reset()
	}
	return nil
}

func (l *liveText) write(e stream.Event) error {
	if l.file == nil {
		f, err := stream.OpenLive(l.dir, l.run)
		if err != nil {
			return err
		}
		l.file = f
	}
	if e.Text != "" {
		return l.file.Text(e.Turn, e.Text)
	}
	return l.file.Reasoning(e.Turn, e.Reasoning)
}

func (l *liveText) reset() error {
	if l.file == nil {
		return nil
	}
	return l.file.Reset()
}

func (l *liveText) close() {
	if l == nil {
		return
	}
	l.obs.Close()
	<-l.done
	if l.file != nil {
		_ = l.file.Close() // nothing durable is in it
	}
}

// dropLive removes what an owner left of a run that has ended: a part of an answer that never became a fact.
func (d *driver) dropLive() {
	if d.dead == nil && d.state.Status.Terminal() {
		_ = os.Remove(filepath.Join(d.h.Home, "live", d.state.Created.Run)) // mostly it is not there; doctor finds one that stays
	}
}
