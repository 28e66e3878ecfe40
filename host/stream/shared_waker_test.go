package stream_test

import (
	"testing"
	"testing/synctest"

	"agent/host/stream"
)

// source gives the hints of a test, and says when it is closed.
type source struct{ hints, done chan struct{} }

func (s source) C() <-chan struct{}    { return s.hints }
func (s source) Done() <-chan struct{} { return s.done }
func (s source) Close()                { close(s.done) }

// The runs of a process share one watch, which ends with the last of them; one that left is hinted
// at no more.
func TestRunsShareOneWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var opened []source
		shared := stream.SharedWaker{Open: func(...string) (stream.HintSource, error) {
			opened = append(opened, source{make(chan struct{}), make(chan struct{})})
			return opened[len(opened)-1], nil
		}}
		var runs []*stream.Subscription
		for range 3 {
			s, err := shared.Subscribe("agent.db")
			if err != nil {
				t.Fatal(err)
			}
			runs = append(runs, s)
		}
		runs[0].Close()
		runs[0].Close()
		opened[0].hints <- struct{}{}
		for _, s := range runs[1:] {
			<-s.C()
			s.Close()
		}
		synctest.Wait()
		if len(runs[0].C()) != 0 || len(opened) != 1 {
			t.Errorf("%d watches; the run that left has %d hints", len(opened), len(runs[0].C()))
		}
		select {
		case <-opened[0].done:
		default:
			t.Error("the watch outlives the last run")
		}
	})
}
