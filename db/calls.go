package db

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"agent/db/dbsqlc"
	"agent/recovery/journal"
)

// CallRow is a call of a run.
type CallRow struct {
	Run    string
	Thread string
	journal.Place
	ID          string
	Tool        string
	Effect      journal.Effect
	Fingerprint string
	Phase       journal.Phase
	Outcome     journal.Outcome // empty until it is settled, as are Applied and How
	Applied     journal.Applied
	How         journal.How
	Resolved    journal.Word
	ProposedSeq int64
	StartedSeq  int64 // 0: never started
	SettledSeq  int64 // 0: not yet
	Started     time.Time
	Settled     time.Time
	Proposal    journal.Proposal // as the model asked for it
	Result      *journal.Result  // nil until it is settled
}

// Calls lists a run's calls in their order, with arguments and results.
func (s Queries) Calls(ctx context.Context, run string) ([]CallRow, error) {
	var out []CallRow
	err := s.read(ctx, "list the calls of run "+run, func(q *dbsqlc.Queries) error {
		rows, err := q.CallsOfRun(ctx, run)
		if err != nil {
			return err
		}
		out, err = s.callRows(ctx, q, rows)
		return err
	})
	return out, err
}

// Call reads one call. The id is whole; *UnknownIDError when there is none, *AmbiguousError when
// two runs made the same one.
func (s Queries) Call(ctx context.Context, id string) (CallRow, error) {
	var out CallRow
	err := s.read(ctx, "read call "+id, func(q *dbsqlc.Queries) error {
		rows, err := q.CallsBetween(ctx, id, id+"\x00", MaxNamed)
		if err == nil {
			out, err = s.onlyCall(ctx, q, id, rows)
		}
		return err
	})
	return out, err
}

// cutCall is Call, faster for a call whose result shows only a part of its output: that one is in
// an index, while others are looked for among all.
func (s Queries) cutCall(ctx context.Context, id string) (CallRow, error) {
	var out CallRow
	found := false
	err := s.read(ctx, "read call "+id, func(q *dbsqlc.Queries) error {
		rows, err := q.CutCalls(ctx, id)
		if err == nil && len(rows) > 0 {
			found = true
			out, err = s.onlyCall(ctx, q, id, rows)
		}
		return err
	})
	if err != nil || found {
		return out, err
	}
	return s.Call(ctx, id)
}

func (s Queries) onlyCall(ctx context.Context, q *dbsqlc.Queries, id string, rows []dbsqlc.CallRow) (CallRow, error) {
	switch len(rows) {
	case 0:
		return CallRow{}, &UnknownIDError{Kind: 'c', Text: id}
	case 1:
	default:
		return CallRow{}, &AmbiguousError{Text: id, Candidates: DescribeAll(rows, DescribeCall)}
	}
	list, err := s.callRows(ctx, q, rows)
	if err != nil {
		return CallRow{}, err
	}
	return list[0], nil
}

// MaxNamed is how many of what fits an id an error names.
const MaxNamed = 10

// DescribeAll is what an error names.
func DescribeAll[T any](rows []T, f func(T) string) []string {
	out := make([]string, 0, len(rows))
	for _, r := range rows {
		out = append(out, f(r))
	}
	return out
}

// DescribeCall is a call as an error names it.
func DescribeCall(c dbsqlc.CallRow) string {
	word := c.Outcome
	if word == "" {
		word = c.Phase
	}
	place := journal.Place{Turn: int(c.Turn), Index: int(c.Idx)}
	return fmt.Sprintf("%s, %s, call %s of run %s", c.Tool, word, place, c.Run)
}

// Unknown says whether the call's outcome is unknown and nothing settled it since.
func (c *CallRow) Unknown() bool {
	return c.Outcome == journal.OutcomeUnknown && !c.Resolved.Settles()
}

// Doubts lists the calls that the twin guard compares with: those of the runs of a thread and of
// all runs below them, except those of one run. The thread is that of the run at the top. The
// outcome of such a call is unknown, or was until a person said that it happened. Their arguments
// have their true values; of a secret that cannot be restored the placeholder stays.
func (s Queries) Doubts(ctx context.Context, thread, exceptRun string) ([]journal.Unknown, error) {
	var out []journal.Unknown
	err := s.read(ctx, "look for unknown outcomes in thread "+thread, func(q *dbsqlc.Queries) error {
		n, err := q.CountUnknownOfThread(ctx, thread, exceptRun)
		if err != nil {
			return err
		}
		if n.Told != n.Found {
			what := fmt.Sprintf("calls with an unknown outcome in thread %s: %d, and %d by its runs", thread, n.Found, n.Told)
			return &CorruptError{Path: s.file.Path(), What: what}
		}
		rows, err := q.DoubtsOfThread(ctx, thread, exceptRun)
		if err != nil {
			return err
		}
		calls, err := s.callRows(ctx, q, rows)
		if err != nil {
			return err
		}
		out = make([]journal.Unknown, 0, len(calls))
		for _, c := range calls {
			u := journal.Unknown{
				Run: c.Run, ID: c.ID, Place: c.Place, Tool: c.Tool, Args: c.Proposal.Args, Fingerprint: c.Fingerprint, StartedAt: c.Started,
				Resolved: c.Resolved,
			}
			if c.Result != nil {
				u.Alive = len(c.Result.Alive) > 0
			}
			var lost []Unrecoverable // its fingerprint is what counts
			if u.Args, err = s.vault.Restore(ctx, u.Args, &lost); err != nil {
				return err
			}
			out = append(out, u)
		}
		return nil
	})
	return out, err
}

// Output is the whole output of a settled call and its size, also where the model saw only a part
// of it. Secrets are placeholders.
func (s Queries) Output(ctx context.Context, callID string) (io.ReaderAt, int64, error) {
	data, err := s.output(ctx, callID)
	return bytes.NewReader(data), int64(len(data)), err
}

// TrueInput is what was piped into a run, for its model: with the secrets in their places. A run
// that nothing was piped into is an error.
func (s Queries) TrueInput(ctx context.Context, run string) (io.ReaderAt, int64, error) {
	for e, err := range s.Restored(ctx, run, 0, func(Unrecoverable) {}) { // their placeholders stand for what is lost
		if err != nil {
			return nil, 0, err
		}
		if c, ok := e.Body.(journal.RunCreated); ok && c.Input != "" {
			return strings.NewReader(c.Input), int64(len(c.Input)), nil
		}
		break // the first fact is the one
	}
	return nil, 0, fmt.Errorf("read what was piped into run %s: nothing was", run)
}

// TrueOutput is Output for the model of a run: with the secrets in their places.
func (s Queries) TrueOutput(ctx context.Context, callID string) (io.ReaderAt, int64, error) {
	data, err := s.output(ctx, callID)
	if err != nil {
		return nil, 0, err
	}
	var lost []Unrecoverable // their placeholders say it
	data, err = s.vault.Restore(ctx, data, &lost)
	return bytes.NewReader(data), int64(len(data)), err
}

func (s Queries) output(ctx context.Context, callID string) ([]byte, error) {
	c, err := s.cutCall(ctx, callID)
	if err != nil {
		return nil, err
	}
	if c.Result == nil {
		return nil, fmt.Errorf("read the output of call %s: it has no result", callID)
	}
	data := []byte(c.Result.Content)
	if c.Result.Blob != "" {
		err := s.read(ctx, "read the output of call "+callID, func(q *dbsqlc.Queries) error {
			var err error
			if data, err = s.named(ctx, q, c.Result.Blob); err != nil {
				return s.corrupt(c.Run, c.SettledSeq, "its output", err)
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return data, nil
}

// Trace is what a call's tool kept of it to look for it again, with its true values.
func (s Queries) Trace(ctx context.Context, callID string) (json.RawMessage, error) {
	c, err := s.Call(ctx, callID)
	if err != nil || c.Result == nil {
		return nil, err
	}
	var lost []Unrecoverable // a trace without them finds nothing
	return s.vault.Restore(ctx, c.Result.Data, &lost)
}

// callRows reads arguments and results from the journal, an answer with several calls once.
func (s Queries) callRows(ctx context.Context, q *dbsqlc.Queries, rows []dbsqlc.CallRow) ([]CallRow, error) {
	out := make([]CallRow, 0, len(rows))
	var answer journal.ModelAnswered
	var answerID int64
	for _, r := range rows {
		c := BriefCall(r)
		if id := FactID(r.RunNo, r.ProposedSeq); id != answerID {
			b, err := s.bodyAt(ctx, q, r.Run, r.RunNo, r.ProposedSeq)
			if err != nil {
				return nil, err
			}
			answer, _ = b.(journal.ModelAnswered)
			answerID = id
		}
		if c.Index >= len(answer.Calls) {
			return nil, s.corrupt(r.Run, r.ProposedSeq, "it does not hold call "+c.ID, nil)
		}
		c.Proposal = answer.Calls[c.Index]
		if c.Proposal.ID != c.ID || c.Proposal.Tool != c.Tool {
			return nil, s.corrupt(r.Run, r.ProposedSeq, "it asks for another call than "+c.Tool+" "+c.ID, nil)
		}
		c.Fingerprint = c.Proposal.Fingerprint
		if r.SettledSeq > 0 {
			b, err := s.bodyAt(ctx, q, r.Run, r.RunNo, r.SettledSeq)
			if err != nil {
				return nil, err
			}
			settled, ok := b.(journal.CallSettled)
			if !ok {
				return nil, s.corrupt(r.Run, r.SettledSeq, "it is not the result of call "+c.ID, nil)
			}
			c.Result, c.How = &settled.Result, settled.Result.How
		}
		out = append(out, c)
	}
	return out, nil
}

// BriefCall is a row of the view call_rows, without what the facts of the call say.
func BriefCall(r dbsqlc.CallRow) CallRow {
	c := CallRow{
		Run: r.Run, Thread: r.Thread, Place: journal.Place{Turn: int(r.Turn), Index: int(r.Idx), Attempt: int(r.Attempt)},
		ID: r.ID, Tool: r.Tool, Effect: journal.Effect(r.Effect),
		Phase: journal.Phase(r.Phase), Outcome: journal.Outcome(r.Outcome), Applied: journal.Applied(r.Applied),
		Resolved:    journal.Word(r.Resolved),
		ProposedSeq: r.ProposedSeq, StartedSeq: r.StartedSeq, SettledSeq: r.SettledSeq,
	}
	if r.StartedAt > 0 {
		c.Started = timeOf(r.StartedAt)
	}
	if r.SettledAt > 0 {
		c.Settled = timeOf(r.SettledAt)
	}
	return c
}

// CheckpointRow is the end of a settled turn.
type CheckpointRow struct {
	Seq       int64 // of the fact that holds it
	ID        string
	Turn      int
	TurnsLeft int
	Time      time.Time
	Digest    []byte // of the journal up to here
}

// Checkpoints lists a run's checkpoints from the oldest to the newest. They are the facts that
// settle its turns.
func (s Queries) Checkpoints(ctx context.Context, run string) ([]CheckpointRow, error) {
	h, err := s.Head(ctx, run)
	if err != nil {
		return nil, err
	}
	var out []CheckpointRow
	err = s.read(ctx, "list the checkpoints of run "+run, func(q *dbsqlc.Queries) error {
		rows, err := q.Checkpoints(ctx, FactID(h.No, 1), FactID(h.No, h.Seq))
		if err != nil {
			return err
		}
		out = make([]CheckpointRow, 0, len(rows))
		for _, r := range rows {
			if r.Body == nil {
				return s.corrupt(run, r.Seq, "it is too large for what it is", nil)
			}
			b, err := journal.Decode(journal.KindTurnSettled, int(r.V), []byte(*r.Body))
			if err != nil {
				return s.corrupt(run, r.Seq, err.Error(), nil)
			}
			end, _ := b.(journal.TurnSettled) // what its kind decodes to
			out = append(out, CheckpointRow{
				Seq: r.Seq, ID: end.Checkpoint, Turn: int(r.Turn), TurnsLeft: end.TurnsLeft, Time: timeOf(r.Time), Digest: r.Digest,
			})
		}
		return nil
	})
	return out, err
}
