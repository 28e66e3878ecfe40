package launch

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
)

// Receive reads the job in the driver, which holds on to nothing else of whoever started it: a lock
// or a pipe on another descriptor is waited for by others. gone is closed when nobody waits for the
// answer any more.
func Receive() (job Job, gone <-chan struct{}, err error) {
	closeOnExec(jobAt)
	letGo()
	from := os.NewFile(jobAt, "job")
	if job, err = receive(from); err != nil {
		return job, nil, errors.Join(err, from.Close())
	}
	over := make(chan struct{})
	go func() {
		defer close(over)
		_, _ = io.Copy(io.Discard, from) // nothing comes but the end
		_ = from.Close()                 // it was only read
	}()
	return job, over, nil
}

func receive(from io.Reader) (Job, error) {
	var job Job
	if err := json.NewDecoder(from).Decode(&job); err != nil {
		return job, fmt.Errorf("read the job: %w", err)
	}
	if job.Version != version || len(job.Args) == 0 {
		return job, fmt.Errorf("read the job: it is of another version of agent (%d)", job.Version)
	}
	return job, nil
}

// Reply takes the driver's answer, once.
type Reply struct {
	mu   sync.Mutex
	to   *os.File
	done bool
}

// OpenReply takes the descriptor that the driver was given. What the driver starts does not get it:
// whoever waits for the answer waits until nobody holds it.
func OpenReply() *Reply {
	closeOnExec(answerAt)
	return &Reply{to: os.NewFile(answerAt, "answer")}
}

// Send writes the answer; only the first one counts. That nobody listens any more changes nothing:
// the database has it too.
func (r *Reply) Send(a Answer) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.done || r.to == nil {
		return
	}
	r.done = true
	a.Version = version
	if text, err := json.Marshal(a); err == nil { // it holds nothing that could not be encoded
		_, _ = r.to.Write(append(text, '\n'))
	}
	_ = r.to.Close() // everything was written
}
