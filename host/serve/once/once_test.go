package once

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
)

// What many ask for at once is done once, and each is given the same; then it is done again.
func TestDo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var g Group[int]
		did, end := 0, make(chan struct{})
		work := func() (int, error) {
			did++
			<-end
			return did, errors.New("as it is")
		}
		got := make(chan int, 10)
		for range cap(got) {
			go func() {
				v, err := g.Do(t.Context(), "a", work)
				if err == nil || err.Error() != "as it is" {
					t.Error(err)
				}
				got <- v
			}()
		}
		synctest.Wait()
		if v, err := g.Do(t.Context(), "b", func() (int, error) { return 7, nil }); v != 7 || err != nil {
			t.Errorf("another one waits: %d, %v", v, err)
		}
		if n := g.Waiting(); n != cap(got)-1 {
			t.Errorf("%d wait", n)
		}
		gone, leave := context.WithCancel(t.Context())
		leave()
		if _, err := g.Do(gone, "a", work); !errors.Is(err, context.Canceled) {
			t.Errorf("who left waits: %v", err)
		}
		close(end)
		for range cap(got) {
			if v := <-got; v != 1 {
				t.Errorf("it was done %d times", v)
			}
		}
		if n := g.Waiting(); n != 0 {
			t.Errorf("%d wait although it is done", n)
		}
		if v, err := g.Do(t.Context(), "a", func() (int, error) { return 8, nil }); v != 8 || err != nil {
			t.Errorf("later: %d, %v", v, err)
		}
	})
}

// Who waits for what does not come back is not left waiting.
func TestDoBroken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var g Group[int]
		end, got := make(chan struct{}), make(chan error)
		go func() {
			defer func() { _ = recover() }() // as a server does
			_, _ = g.Do(t.Context(), "a", func() (int, error) { <-end; panic("broken") })
		}()
		synctest.Wait()
		go func() {
			_, err := g.Do(t.Context(), "a", func() (int, error) { return 0, nil })
			got <- err
		}()
		synctest.Wait()
		close(end)
		if err := <-got; !errors.Is(err, errBroken) {
			t.Error(err)
		}
	})
}
