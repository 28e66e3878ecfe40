package db

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"agent/recovery/journal"
)

// envWriter makes the test binary a process that writes turns to the run that it names, until it is
// killed.
const envWriter = "AGENT_DB_TEST_WRITER"

func TestMain(m *testing.M) {
	if spec := os.Getenv(envWriter); spec != "" {
		if err := writeTurns(spec); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// writeTurns goes on with a run, dir:run:turns, and prints the last sequence number once it is
// durable.
func writeTurns(spec string) error {
	part := strings.Split(spec, ":")
	turns, err := strconv.Atoi(part[2])
	if err != nil {
		return err
	}
	ctx := context.Background()
	s, err := Open(ctx, part[0], Options{NoBallast: true, FirstAfterCrash: len(part) > 3})
	if err != nil {
		return err
	}
	h, err := claimForTest(ctx, s, part[1])
	if err != nil {
		return err
	}
	for range turns {
		a, b := turnFacts(h.Turns+1, fmt.Sprintf("c-%08d", h.Seq), strings.Repeat("x", rand.IntN(3000)))
		for _, e := range [][]journal.Event{a, b[:2]} {
			if h, err = s.Append(ctx, h, e, AppendOptions{}); err != nil {
				return err
			}
			fmt.Println(h.Seq)
		}
		if h, err = s.Append(ctx, h, b[2:], AppendOptions{}); err != nil {
			return err
		}
	}
	return s.Close()
}

func claimForTest(ctx context.Context, s *Store, run string) (Head, error) {
	h, err := s.Head(ctx, run)
	if errors.As(err, new(*UnknownIDError)) {
		thread := "t-" + run[2:]
		return s.Create(ctx, ThreadRef{ID: thread, Folder: "/", New: true}, append(events(createdFact(run, thread), journal.RunClaimed{Epoch: 1}),
			inTurn(1, journal.ModelRequested{})...))
	}
	if err != nil {
		return h, err
	}
	return s.Append(ctx, h, events(journal.RunInterrupted{Cause: journal.CauseCrash}, journal.RunClaimed{Epoch: h.Epoch + 1}), AppendOptions{})
}

func writerProcess(t *testing.T, spec string) (*exec.Cmd, *bufio.Scanner) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), envWriter+"="+spec)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return cmd, bufio.NewScanner(out)
}

// Promise 2: what was reported as written is there after SIGKILL at any moment, the journal has no
// gap, and the next process goes on from it.
// CF-17, CF-18.
func TestKilledWriter(t *testing.T) {
	dir := stateDir(t)
	var acked int64
	for round := range rounds(t, 12) {
		spec := dir + ":r-killkill:100000"
		if round%2 == 1 {
			spec += ":after-crash"
		}
		cmd, out := writerProcess(t, spec)
		for left := rand.IntN(40); left >= 0 && out.Scan(); left-- {
			n, err := strconv.ParseInt(out.Text(), 10, 64)
			if err != nil {
				t.Fatal(out.Text())
			}
			acked = n
		}
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		for out.Scan() { // what it said before it died counts too
			if n, err := strconv.ParseInt(out.Text(), 10, 64); err == nil {
				acked = n
			}
		}
		if err := cmd.Wait(); err == nil {
			t.Fatal("the writer was not killed")
		}
		s, err := Open(context.Background(), dir, Options{NoBallast: true})
		if err != nil {
			t.Fatal(err)
		}
		var last int64
		for e, err := range s.Load(context.Background(), "r-killkill", 0) {
			if err != nil {
				t.Fatalf("round %d: %v", round, err)
			}
			last = e.Seq
		}
		if last < acked {
			t.Fatalf("round %d: fact %d was reported and %d is the last one", round, acked, last)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	s := openStore(t, dir)
	if list, _ := damages(t, s); len(list) > 0 {
		t.Errorf("%q", list)
	}
}

// Two processes with a run each share the database: neither is starved, nothing fails, nothing is
// lost; a third one reads all the while.
func TestTwoProcesses(t *testing.T) {
	dir := stateDir(t)
	openStore(t, dir)
	const turns = 60
	s := openStore(t, dir)
	stop, reading := make(chan struct{}), make(chan error, 1)
	go func() {
		for {
			select {
			case <-stop:
				reading <- nil
				return
			default:
				if _, err := s.Runs(context.Background(), Filter{}); err != nil {
					reading <- err
					return
				}
			}
		}
	}()
	one, oneOut := writerProcess(t, fmt.Sprintf("%s:r-processa:%d", dir, turns))
	two, twoOut := writerProcess(t, fmt.Sprintf("%s:r-processb:%d", dir, turns))
	drained := make(chan int, 2)
	for _, out := range []*bufio.Scanner{oneOut, twoOut} {
		go func() {
			n := 0
			for out.Scan() {
				n++
			}
			drained <- n
		}()
	}
	for range 2 {
		select {
		case n := <-drained:
			if n != 2*turns {
				t.Errorf("a process wrote %d batches and not %d", n, 2*turns)
			}
		case <-time.After(5 * time.Minute):
			t.Fatal("a process is stuck")
		}
	}
	for _, cmd := range []*exec.Cmd{one, two} {
		if err := cmd.Wait(); err != nil {
			t.Error(err)
		}
	}
	close(stop)
	if err := <-reading; err != nil {
		t.Errorf("the reader was disturbed: %v", err)
	}
	for _, run := range []string{"r-processa", "r-processb"} {
		if got := loadAll(t, s, run); len(got) != 3+turns*5 {
			t.Errorf("%s has %d facts", run, len(got))
		}
	}
}

// Opening and closing the database's files beside the store, as any library may, costs nothing that
// was written: neither what this process writes after another one has come and gone, nor that
// one's.
func TestFilesOpenedBesideTheStore(t *testing.T) {
	dir := stateDir(t)
	s := openStore(t, dir)
	h := startRun(t, s, "r-besidebe")
	for n := 1; n <= 5; n++ {
		for _, end := range []string{"", "-wal", "-shm"} {
			if _, err := os.ReadFile(s.file.Path() + end); err != nil {
				t.Fatal(err)
			}
		}
		cmd, out := writerProcess(t, fmt.Sprintf("%s:r-otherpr%d:1", dir, n))
		for out.Scan() {
		}
		if err := cmd.Wait(); err != nil {
			t.Fatal(err)
		}
		a, b := turnFacts(n, fmt.Sprintf("c-b%07d", n), "out")
		h = appendAll(t, s, h, append(a, b...), AppendOptions{})
	}
	fresh := openStore(t, dir) // sees what is on the disk, and not what this process's connections believe
	if got := loadAll(t, fresh, h.Run); len(got) != int(h.Seq) {
		t.Errorf("%d facts, %d were written", len(got), h.Seq)
	}
	for n := 1; n <= 5; n++ {
		if got := loadAll(t, fresh, fmt.Sprintf("r-otherpr%d", n)); len(got) != 8 {
			t.Errorf("the other process has %d facts", len(got))
		}
	}
}
