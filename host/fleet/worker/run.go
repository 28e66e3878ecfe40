package worker

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"go.temporal.io/sdk/activity"
	sdk "go.temporal.io/sdk/client"
	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
	"google.golang.org/grpc"

	"agent/fleet/client"
	"agent/fleet/custody"
	fleetlog "agent/fleet/log"
	"agent/fleet/log/replay"
	"agent/fleet/witness"
)

// Run is a worker until ctx ends. Then it takes no further run and lets go of those that it has;
// their drivers go on. It refuses to begin, and takes nothing, where something that it needs is not
// as it has to be.
func Run(ctx context.Context, c Config) error {
	if err := c.Check(); err != nil {
		return err
	}
	if err := os.MkdirAll(c.Home, 0o700); err != nil {
		return err
	}
	h := &Host{
		Config: c, logger: c.Logger, engine: newEngine(), slots: newSlots(c.Slots),
		places: map[string]*place{}, held: map[string]chan struct{}{},
	}
	first := Agent{Path: c.Agent, Home: c.Home, Witness: c.Witness}
	if h.unlogged() {
		first.Witness = ""
	}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	h.homes = &homes{first: first, eyes: map[string]*eye{}, ctx: ctx}
	if err := checkAgent(ctx, first); err != nil {
		return err
	}
	took, err := h.openLog(ctx)
	if err != nil {
		return err
	}
	defer h.record.log.Close() // each entry is durable as it is made
	conn, err := h.connect(ctx)
	if err != nil {
		return err
	}
	defer conn.Close() // nothing is under way when it goes
	if err := h.alone(ctx, conn); err != nil {
		return err
	}
	if h.socket, err = witness.Listen(c.Witness); err != nil {
		return err
	}
	done := make(chan error, 1)
	go func() {
		err := witness.Serve(ctx, h.socket, h.record.log, c.Key, witness.Options{By: c.Name, Namespace: h.namespace(), Hold: h.holds, On: h.witnessed})
		stop(err)
		done <- err
	}()
	go h.keepSocket(ctx)
	a := h.adopt(ctx)
	workers, err := h.listen(conn.Engine())
	if err != nil {
		return err
	}
	fmt.Fprintln(c.Stdout, h.line(took, a))
	<-ctx.Done()
	h.slots.close()
	for _, w := range workers {
		w.Stop()
	}
	return <-done
}

// checkAgent refuses a program that is not agent, or is too old.
func checkAgent(ctx context.Context, a Agent) error {
	version, err := a.version(ctx)
	if err != nil {
		return fmt.Errorf("ask %s for its version: %w", a.Path, err)
	}
	if !a.knowsWitness(ctx) {
		return fmt.Errorf("%s is agent %s, which is too old for a fleet: it knows no witness; install a newer one", a.Path, version)
	}
	return nil
}

// openLog opens the log and reads one entry, if there is one: it has to be this fleet's.
func (h *Host) openLog(ctx context.Context) (took time.Duration, err error) {
	ctx, cancel := context.WithTimeout(ctx, checkTime)
	defer cancel()
	var l fleetlog.Log = noLog{}
	if !h.unlogged() {
		if l, err = fleetlog.Open(ctx, h.Log, h.namespace()); err != nil {
			return 0, err
		}
	}
	h.record = &record{log: l, key: h.Key, namespace: h.namespace(), host: h.Name, seen: time.Now()}
	begun := time.Now()
	enough := errors.New("one is enough")
	err = l.Roots(ctx, func(root string) error {
		if _, err := replay.One(ctx, l, h.Key.Sealer(h.namespace(), root), 1); err != nil {
			return err
		}
		return enough
	})
	if err != nil && !errors.Is(err, enough) {
		return 0, errors.Join(fmt.Errorf("look at the log: %w", err), l.Close())
	}
	return time.Since(begun), nil
}

// connect connects to the engine, and looks whether the namespace is that of the fleet.
func (h *Host) connect(ctx context.Context) (*client.Client, error) {
	o := h.Config.Engine
	o.Identity, o.Logger = h.identity(), log.NewStructuredLogger(h.logger)
	o.Dial = append(o.Dial, grpc.WithChainUnaryInterceptor(h.engine.intercept))
	return client.Connect(ctx, o)
}

// namespace is that of the engine and of the log.
func (h *Host) namespace() string { return h.Config.Engine.Namespace }

// checkTime bounds the look at the log at the start.
const checkTime = 20 * time.Second

// letGo is how long a worker that stops waits for its activities.
const letGo = 5 * time.Second

// atHand is how many custodies of the fleet a worker keeps in memory, which is some 70 kB each. One
// that is not among them is read from the engine again when something happens to it: those that
// wait cost nothing here.
const atHand = 64

// listen begins to take work from the queues: those of this host, of all hosts, and of the pools.
func (h *Host) listen(c sdk.Client) (workers []worker.Worker, err error) {
	worker.SetStickyWorkflowCacheSize(atHand)
	own := worker.New(c, custody.HostQueue+h.Name, worker.Options{
		DisableWorkflowWorker: true, MaxConcurrentActivityExecutionSize: 2 * mostSlots,
		MaxHeartbeatThrottleInterval: beat, WorkerStopTimeout: letGo,
	})
	own.RegisterActivityWithOptions(h.Drive, activity.RegisterOptions{Name: custody.ActivityDrive})
	own.RegisterActivityWithOptions(h.Offer, activity.RegisterOptions{Name: custody.ActivityOffer})
	own.RegisterActivityWithOptions(h.identify, activity.RegisterOptions{Name: activityIdentify})
	own.RegisterActivityWithOptions(h.drain, activity.RegisterOptions{Name: activityDrain})
	all := worker.New(c, custody.CustodyQueue, worker.Options{WorkerStopTimeout: letGo})
	all.RegisterActivityWithOptions(h.Fence, activity.RegisterOptions{Name: custody.ActivityFence})
	all.RegisterActivityWithOptions(h.take, activity.RegisterOptions{Name: custody.ActivityTake})
	all.RegisterWorkflowWithOptions(Identify, workflow.RegisterOptions{Name: workflowIdentify})
	all.RegisterWorkflowWithOptions(Drain, workflow.RegisterOptions{Name: workflowDrain})
	all.RegisterWorkflow(custody.Custody)
	all.RegisterWorkflow(custody.Scheduled)
	workers = []worker.Worker{own, all}
	for _, queue := range pools(h.Labels) {
		fixed, err := worker.NewFixedSizeSlotSupplier(1)
		if err != nil {
			return nil, err
		}
		tuner, err := worker.NewCompositeTuner(worker.CompositeTunerOptions{
			WorkflowSlotSupplier: fixed, ActivitySlotSupplier: gate{h.slots}, LocalActivitySlotSupplier: fixed,
			NexusSlotSupplier: fixed, SessionActivitySlotSupplier: fixed,
		})
		if err != nil {
			return nil, err
		}
		w := worker.New(c, queue, worker.Options{
			DisableWorkflowWorker: true, Tuner: tuner, MaxConcurrentActivityTaskPollers: 1, WorkerStopTimeout: letGo,
		})
		w.RegisterActivityWithOptions(h.Offer, activity.RegisterOptions{Name: custody.ActivityOffer})
		workers = append(workers, w)
	}
	for _, w := range workers {
		if err := w.Start(); err != nil {
			return nil, fmt.Errorf("listen to the engine: %w", err)
		}
	}
	return workers, nil
}

// keepSocket makes the socket of the witness again when its folder was deleted: drivers need it.
func (h *Host) keepSocket(ctx context.Context) {
	t := time.NewTicker(time.Second)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.C:
		}
		if err := h.socket.Renew(); err != nil {
			h.logger.Warn("make the socket of the witness again", "error", err)
		}
	}
}

// witnessed notes what a driver says to its witness.
func (h *Host) witnessed(e witness.Event) {
	switch {
	case e.Reply.Later == handing:
	case e.Reply.Later != "":
		h.record.note(errors.New(e.Reply.Later))
	case e.Reply.OK != nil:
		h.record.note(nil)
		h.logged(e.Root, e.Reply.OK.Place, e.Reply.OK.Runs[e.Root].Facts)
	}
	if e.Reply.Fenced != nil {
		h.logger.Warn("fenced", "run", e.Root, "by", e.Reply.Fenced.By, "place", e.Reply.Fenced.Place)
	}
	h.ears.hear(e)
}
