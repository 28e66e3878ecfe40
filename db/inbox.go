package db

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"agent/db/dbsqlc"
	"agent/recovery"
)

// Kinds of messages to a run's owner.
const (
	MessageCancel = "cancel"     // end the run
	MessageRuling = "resolution" // a person's decision on a call whose outcome is unknown
	MessageTell   = "tell"       // what a person says to the run's model
)

// MessageKinds lists the kinds of messages.
func MessageKinds() []string { return []string{MessageCancel, MessageRuling, MessageTell} }

// InboxRow is a message that a run's owner has not taken up yet.
type InboxRow struct {
	ID     int64
	Kind   string
	Body   json.RawMessage
	By     string
	Posted time.Time
}

// Messages are what persons leave for the owners of runs.
type Messages struct{ *core }

// Inbox lists what waits for the run's owner, in the order in which it came and with its true
// values. The owner takes a message up by naming it in AppendOptions.Consume.
func (s Messages) Inbox(ctx context.Context, run string) ([]InboxRow, error) {
	var out []InboxRow
	err := s.read(ctx, "read the inbox of run "+run, func(q *dbsqlc.Queries) error {
		rows, err := q.Messages(ctx, run)
		if err != nil {
			return err
		}
		out = make([]InboxRow, 0, len(rows))
		for _, r := range rows {
			body, err := s.RestoreText(ctx, r.Body)
			if err != nil {
				return err
			}
			by, err := s.RestoreText(ctx, r.Sender)
			if err != nil {
				return err
			}
			out = append(out, InboxRow{ID: r.ID, Kind: r.Kind, Body: json.RawMessage(body), By: by, Posted: timeOf(r.CreatedAt)})
		}
		return nil
	})
	return out, err
}

// PutInbox leaves a message for the run's owner and returns its number. A message that waits
// already is not left twice: a second cancel, or the same word on the same call, returns the first
// one's number. What is for a model comes too late for a run that has ended: *EndedError.
func (s Messages) PutInbox(ctx context.Context, run, kind string, body json.RawMessage, by string) (int64, error) {
	if !s.file.Writable() {
		return 0, fmt.Errorf("leave a message for run %s: %w", run, ErrReadOnly)
	}
	if len(body) == 0 {
		body = json.RawMessage("{}")
	}
	data, secrets, err := s.vault.Encode(body)
	if err != nil {
		return 0, fmt.Errorf("leave a message for run %s: %w", run, err)
	}
	by, more, err := s.vault.EncodeText(by)
	if err != nil {
		return 0, fmt.Errorf("leave a message for run %s: %w", run, err)
	}
	secrets = append(secrets, more...)
	var id int64
	err = s.write(ctx, func(t *tx) error {
		r, err := t.q.GetRun(context.Background(), run)
		if errors.Is(err, sql.ErrNoRows) {
			return &UnknownIDError{Kind: 'r', Text: run}
		}
		if err != nil {
			return err
		}
		if kind == MessageTell && recovery.Status(r.Status).Terminal() {
			return &EndedError{Run: run, Status: recovery.Status(r.Status)}
		}
		if kind == MessageCancel {
			id, err = t.q.FindCancel(context.Background(), r.No)
		} else {
			id, err = t.q.FindMessage(context.Background(), r.No, kind, string(data))
		}
		if !errors.Is(err, sql.ErrNoRows) {
			return err
		}
		if err := s.vault.Add(t.q, secrets); err != nil {
			return err
		}
		id, err = t.q.AddMessage(context.Background(), dbsqlc.AddMessageParams{
			RunNo: r.No, Kind: kind, Body: string(data), Sender: by, CreatedAt: s.now().UnixMicro(),
		})
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("leave a message for run %s: %w", run, err)
	}
	s.vault.Stored("", secrets)
	return id, nil
}

// DropMessages takes messages from a run's inbox that no fact can follow from, such as a word on a
// call that has its last one. It is conditional on h like Append, of which it is the part without
// facts.
func (s Messages) DropMessages(ctx context.Context, h Head, ids []int64) error {
	if !s.file.Writable() {
		return fmt.Errorf("drop messages for run %s: %w", h.Run, ErrReadOnly)
	}
	err := s.write(ctx, func(t *tx) error {
		r, err := t.q.GetRunByNo(context.Background(), h.No)
		if err != nil {
			return err
		}
		if r.LastSeq != h.Seq || r.Epoch != h.Epoch || r.Status != string(h.Status) {
			return ErrLostRace
		}
		for _, id := range ids {
			if err := consumeMessage(t, id, h.No, h.Seq); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("drop messages for run %s: %w", h.Run, err)
	}
	return nil
}

// unheard refuses the completion of a run to whose model a person says something at that moment.
func unheard(t *tx, h Head) error {
	if h.Status != recovery.StatusCompleted {
		return nil
	}
	_, err := t.q.UntakenMessage(context.Background(), h.No, MessageTell)
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	if err == nil {
		err = ErrMessageWaits
	}
	return err
}
