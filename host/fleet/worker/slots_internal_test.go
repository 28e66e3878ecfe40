package worker

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/worker"

	"agent/fleet/custody"
)

func host(slots int) *Host {
	return &Host{
		Config: Config{Name: "h-01"}, slots: newSlots(slots), places: map[string]*place{}, held: map[string]chan struct{}{},
	}
}

func TestAnOfferTakesAFreeSlotOnce(t *testing.T) {
	h := host(2)
	for _, run := range []string{"r-1", "r-1", "r-2"} {
		if got, err := h.Offer(t.Context(), custody.Offer{Run: run}); err != nil || got.Host != "h-01" || got.Queue != "host/h-01" {
			t.Fatalf("%s: %+v, %v", run, got, err)
		}
	}
	_, err := h.Offer(t.Context(), custody.Offer{Run: "r-3"})
	var app *temporal.ApplicationError
	if !errors.As(err, &app) || app.NonRetryable() || app.NextRetryDelay() != retryOffer {
		t.Errorf("a full host answers with %v", err)
	}
	done := h.slots.use("r-1")
	done()
	if _, err := h.Offer(t.Context(), custody.Offer{Run: "r-3"}); err != nil {
		t.Errorf("a slot became free: %v", err)
	}
}

func TestAHostThatLostARunDoesNotTakeIt(t *testing.T) {
	if _, err := host(1).Offer(t.Context(), custody.Offer{Run: "r-1", Not: []string{"h-00", "h-01"}}); err == nil {
		t.Error("it took it")
	}
}

func TestADrainedHostTakesNothing(t *testing.T) {
	h := host(1)
	h.slots.close()
	if _, err := h.Offer(t.Context(), custody.Offer{Run: "r-1"}); err == nil {
		t.Error("it took a run")
	}
}

func TestAFullHostDoesNotAsk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSlots(1)
		done := s.use("r-1")
		asks := make(chan error, 1)
		go func() {
			_, err := gate{s}.ReserveSlot(t.Context(), nil)
			asks <- err
		}()
		<-time.After(72 * time.Hour)
		select {
		case <-asks:
			t.Fatal("it asks for work while it is full")
		default:
		}
		done()
		if err := <-asks; err != nil {
			t.Error(err)
		}

		ctx, cancel := context.WithCancel(t.Context())
		defer s.use("r-2")()
		cancel()
		if _, err := (gate{s}).ReserveSlot(ctx, worker.SlotReservationInfo(nil)); !errors.Is(err, context.Canceled) {
			t.Errorf("a worker that stops: %v", err)
		}
	})
}

func TestEachSetOfLabelsIsAQueue(t *testing.T) {
	want := []string{"pool/", "pool/gpu=no", "pool/gpu=no,linux", "pool/linux"}
	if got := slices.Sorted(slices.Values(pools([]string{"gpu=no", "linux"}))); !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
	for _, labels := range [][]string{nil, {"linux"}, {"linux", "gpu=no"}} {
		if !slices.Contains(want, custody.Pool(labels)) {
			t.Errorf("a run with %q is offered on %s, which nobody asks", labels, custody.Pool(labels))
		}
	}
}

func TestWhatCannotBeMeantIsRefused(t *testing.T) {
	good := Config{Name: "h-01", Slots: 1, Home: "/h", Work: "/w"}
	if err := good.Check(); err != nil || good.Witness != "/h/fleet/witness" {
		t.Fatalf("%+v: %v", good, err)
	}
	for name, change := range map[string]func(*Config){
		"a name with a space": func(c *Config) { c.Name = "h 1" },
		"no name":             func(c *Config) { c.Name = "" },
		"no slots":            func(c *Config) { c.Slots = 0 },
		"no home":             func(c *Config) { c.Home = "" },
		"six labels":          func(c *Config) { c.Labels = []string{"a", "b", "c", "d", "e", "f"} },
		"a label with commas": func(c *Config) { c.Labels = []string{"a,b"} },
	} {
		c := Config{Name: "h-01", Slots: 1, Home: "/h", Work: "/w"}
		change(&c)
		if err := c.Check(); err == nil {
			t.Errorf("%s was accepted", name)
		}
	}
}
