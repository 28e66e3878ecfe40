package page

import (
	"context"
	"database/sql"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/chromedp/chromedp"
	_ "modernc.org/sqlite" // the rows of many runs are copied by it

	"agent/host/serve/servetest"
	"agent/recovery/journal"
)

const mostNodes = 4000

func (b *tab) nodes() int { return eval[int](b, `document.querySelectorAll("*").length`) }

// However many runs and facts there are, the page has a part of them in its document
// (promise 13).
func TestManyRunsAndFacts(t *testing.T) {
	w := newWorld(t, stories())
	const runs, turns = 10_000, 2_000 // five facts a turn
	long := "r-zzzzzzzz"
	w.journals(func(ctx context.Context, j *servetest.Journals) error {
		const id = "r-00000000"
		if err := j.Begin(ctx, id, "t"+id[1:],
			journal.Event{Body: journal.RunCreated{Run: id, Thread: "t" + id[1:], By: "anna", Prompt: "prompt number 0", Folder: "/w", Model: "m", Mode: journal.ModeAsk}},
			journal.Event{Body: journal.RunClaimed{Epoch: 1, PID: 1}},
			journal.Event{Turn: 1, Body: journal.RunCompleted{Text: "done"}}); err != nil {
			return err
		}
		if err := w.copies(ctx, runs-2); err != nil {
			return err
		}
		if err := j.Begin(ctx, long, "t-zzzzzzzz", journal.Event{Body: journal.RunCreated{Run: long, Thread: "t-zzzzzzzz", By: "anna", Prompt: "the long one", Folder: "/w", Model: "m", Mode: journal.ModeAsk}},
			journal.Event{Body: journal.RunClaimed{Epoch: 1, PID: 1}}, journal.Event{Turn: 1, Body: journal.ModelRequested{}}); err != nil {
			return err
		}
		for from := 1; from <= turns; from += 50 {
			var events []journal.Event
			for n := from; n < from+50; n++ {
				events = append(events, turn(long, n)...)
			}
			if err := j.Add(ctx, long, events...); err != nil {
				return err
			}
		}
		return j.Add(ctx, long, journal.Event{Turn: turns + 1, Body: journal.RunCompleted{Text: "done"}})
	})
	w.serve()
	b := w.login(open(t))
	b.shows("the long one")
	most := b.nodes()
	look := func() { most = max(most, b.nodes()) }
	for range 12 { // to the end of what is loaded, again and again
		eval[any](b, `(async () => { const s = document.querySelector("#list .scroller"); s.scrollTop = s.scrollHeight; await new Promise(requestAnimationFrame); return 0; })()`)
		look()
	}
	// A frame may pass before the next runs are there: then it has to be asked for them again.
	b.until(`(() => {
		const s = document.querySelector("#list .scroller");
		s.scrollTop = s.scrollHeight;
		return Number(document.querySelector("#list li:last-child").getAttribute("aria-posinset")) > 300;
	})()`)
	look()
	b.at(long)
	b.shows("Turn 2000")
	took := eval[float64](b, `performance.getEntriesByType("resource").filter((e) => e.name.includes("/facts")).at(-1).duration`)
	for range 60 { // upwards, over many pages
		eval[any](b, `(async () => { const s = document.querySelector(".run .scroller"); s.scrollTop = 0; await new Promise(requestAnimationFrame); await new Promise(requestAnimationFrame); return 0; })()`)
		look()
	}
	b.until(`(() => {
		document.querySelector(".run .scroller").scrollTop = 0;
		return Number(document.querySelector(".turn").dataset.turn) < 1900;
	})()`)
	first := eval[int](b, `Number(document.querySelector(".turn").dataset.turn)`)
	gap := eval[bool](b, `[...document.querySelectorAll(".turn")].some((el, i, all) => i > 0 && Number(el.dataset.turn) !== Number(all[i - 1].dataset.turn) + 1)`)
	if gap {
		t.Error("the turns have a gap")
	}
	b.press("g")
	b.shows("Turn 2000")
	look()
	t.Logf("at most %d nodes; upwards to turn %d; a page of facts in %.0f ms", most, first, took)
	if most > mostNodes {
		t.Errorf("%d nodes, at most %d", most, mostNodes)
	}
	figure(t, "page: a run of 10,000 facts among 10,000 runs, from the choice to its last turn", b.opens(long, "2000"), "ms", 300)
	b.do(chromedp.Reload())
	b.shows("Turn 2000")
	figure(t, "page: the first of 10,000 runs, as the server gives them", eval[float64](b, `(async () => {
		const took = [];
		for (let i = 0; i < 9; i++) {
			const began = performance.now();
			await (await fetch("/v1/runs?limit=100", { headers: { Authorization: "Bearer " + localStorage.getItem("agent.session") } })).json();
			took.push(performance.now() - began);
		}
		return took.sort((a, b) => a - b)[4];
	})()`), "ms", 10)
	b.clean(w.page)
}

// copies makes rows of runs that are as the first one: the list of runs is made of these alone.
func (w *world) copies(ctx context.Context, n int) error {
	db, err := sql.Open("sqlite", filepath.Join(w.home, "agent.db"))
	if err != nil {
		return err
	}
	defer db.Close() // what it wrote is committed
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // after the commit it does nothing
	const numbers = "WITH RECURSIVE k (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM k WHERE i < ?) "
	const columns = "folder, model, mode, status, stop_reason, epoch, last_seq, turns, version, tools, created_at, updated_at, ended_at"
	for _, q := range []string{
		numbers + "INSERT INTO threads SELECT printf('t-%08d', i), printf('%08d', i), folder, created_at FROM k, threads WHERE id = 't-00000000'",
		numbers + "INSERT INTO runs (id, thread, words, " + columns + ") SELECT printf('r-%08d', i), printf('t-%08d', i), printf('prompt number %d', i), " + columns + " FROM k, runs WHERE id = 'r-00000000'",
	} {
		if _, err := tx.ExecContext(ctx, q, n); err != nil {
			return err
		}
	}
	return tx.Commit()
}

// turn are five facts: a turn with one call, and the question to the model for the next.
func turn(run string, n int) []journal.Event {
	place := journal.Place{Turn: n, Attempt: 1}
	return []journal.Event{
		{Turn: n, Body: journal.ModelAnswered{Blocks: []journal.Block{{Kind: journal.BlockText, Text: fmt.Sprintf("This is what I do in turn %d.", n)}}, Stop: journal.AnswerCalls,
			Calls: []journal.Proposal{{ID: fmt.Sprintf("c-%08d", n), Tool: "shell", Args: args(map[string]any{"command": fmt.Sprintf("echo %d", n)}), Effect: journal.EffectRead, Fingerprint: fingerprint, Decision: journal.DecisionAllow}}}},
		{Turn: n, Body: journal.CallStarted{Place: place}},
		{Turn: n, Body: journal.CallSettled{Place: place, Fingerprint: fingerprint,
			Result: journal.Result{Outcome: journal.OutcomeOK, Applied: journal.AppliedYes, How: journal.HowExecuted, Content: "out", Size: 3}}},
		{Turn: n, Body: journal.TurnSettled{Checkpoint: fmt.Sprintf("%s@%d", run, n)}},
		{Turn: n + 1, Body: journal.ModelRequested{}},
	}
}
