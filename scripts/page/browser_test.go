package page

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"agent/host/serve/servetest"
)

// browser is the one Chromium of these tests; each test has a profile of its own in it.
var browser context.Context //nolint:gochecknoglobals // TestMain sets it once

func TestMain(m *testing.M) {
	if code, ok := servetest.Hidden(os.Args); ok {
		os.Exit(code)
	}
	dir, err := os.MkdirTemp("", "page")
	if err != nil {
		panic(err)
	}
	code := withBrowser(m, dir)
	os.RemoveAll(dir) // what is left lies among the files that the system removes
	os.Exit(code)
}

func withBrowser(m *testing.M, dir string) int {
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.UserDataDir(filepath.Join(dir, "profile")), chromedp.NoSandbox, chromedp.DisableGPU, chromedp.WindowSize(1280, 800),
		chromedp.Flag("disable-quic", true), chromedp.Flag("disable-component-update", true), chromedp.Flag("disable-sync", true), chromedp.Flag("no-first-run", true),
		// For pages of other places: a name that leads here, and nothing in front of the server.
		chromedp.Flag("host-resolver-rules", "MAP evil.test 127.0.0.1"), chromedp.Flag("disable-features", "Translate,BlinkGenPropertyTrees,LocalNetworkAccessChecks"))
	alloc, stop := chromedp.NewExecAllocator(context.Background(), options...)
	defer stop()
	ctx, end := chromedp.NewContext(alloc)
	defer end()
	if err := chromedp.Do(ctx); err != nil {
		fmt.Fprintf(os.Stderr, "start Chromium: %v\n", err)
		return 1
	}
	browser = ctx
	return m.Run()
}

// tab is a tab of the browser, with all that it sent and all that went wrong in it.
type tab struct {
	t    *testing.T
	ctx  context.Context
	stop func() // closes it

	mu       sync.Mutex
	requests []*network.EventRequestWillBeSent
	unread   map[network.RequestID]string // addresses of the answers that are not here yet
	faults   []string                     // scripts that threw, and what was refused by the policy
}

// open opens a tab with a profile of its own; beside opens one with the same.
func open(t *testing.T) *tab {
	t.Helper()
	return newTab(t, browser, chromedp.WithNewBrowserContext())
}

func (b *tab) beside() *tab {
	b.t.Helper()
	return newTab(b.t, b.ctx)
}

func newTab(t *testing.T, parent context.Context, o ...chromedp.ContextOption) *tab {
	t.Helper()
	ctx, stop := chromedp.NewContext(parent, o...)
	t.Cleanup(stop)
	b := &tab{t: t, ctx: ctx, stop: stop, unread: map[network.RequestID]string{}}
	if err := chromedp.Listen(ctx, b.heard); err != nil {
		t.Fatal(err)
	}
	call(b, network.Enable, network.EnableParams{})
	call(b, emulation.SetFocusEmulationEnabled, emulation.SetFocusEmulationEnabledParams{Enabled: true})
	return b
}

// call sends a command of the protocol.
func call[P, R any](b *tab, c cdp.Command[P, R], params P) R {
	b.t.Helper()
	ctx, stop := context.WithTimeout(b.ctx, patience)
	defer stop()
	r, err := chromedp.Call(ctx, c, params)
	if err != nil {
		b.t.Fatalf("%s: %v", c.Method, err)
	}
	return r
}

func (b *tab) heard(e any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch e := e.(type) {
	case *network.EventRequestWillBeSent:
		b.requests = append(b.requests, e)
		b.unread[e.RequestID] = e.Request.URL
	case *network.EventLoadingFinished:
		delete(b.unread, e.RequestID)
	case *network.EventLoadingFailed:
		delete(b.unread, e.RequestID)
	case *runtime.EventExceptionThrown:
		b.faults = append(b.faults, e.ExceptionDetails.Text)
	case *page.EventJavascriptDialogOpening:
		b.faults = append(b.faults, "a dialog: "+e.Message)
	}
}

type step = chromedp.Action[chromedp.Void]

// do carries out steps, and fails the test where one cannot be.
func (b *tab) do(steps ...step) {
	b.t.Helper()
	if err := b.try(patience, steps...); err != nil {
		b.t.Fatalf("%v\n%s", err, b.seen())
	}
}

func (b *tab) try(wait time.Duration, steps ...step) error {
	ctx, stop := context.WithTimeout(b.ctx, wait)
	defer stop()
	return chromedp.Do(ctx, steps...)
}

// seen is what stands in the tab, for the report of a failure.
func (b *tab) seen() string {
	ctx, stop := context.WithTimeout(b.ctx, patience)
	defer stop()
	text, err := chromedp.Run(ctx, chromedp.Evaluate[string](`location.href + "\n" + document.body.innerText`))
	if err != nil {
		text = err.Error()
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return "the page:\n" + text + "\nfaults: " + strings.Join(b.faults, "; ")
}

// eval evaluates an expression, or waits for what it promises.
func eval[T any](b *tab, expression string) T {
	b.t.Helper()
	ctx, stop := context.WithTimeout(b.ctx, patience)
	defer stop()
	v, err := chromedp.Run(ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	if err != nil {
		b.t.Fatalf("%s: %v\n%s", expression, err, b.seen())
	}
	return v
}

// until waits for an expression to be true.
func (b *tab) until(expression string) {
	b.t.Helper()
	tick := time.NewTicker(30 * time.Millisecond)
	defer tick.Stop()
	for late := time.After(patience); !eval[bool](b, "Boolean("+expression+")"); {
		select {
		case <-tick.C:
		case <-late:
			b.t.Fatalf("still not so: %s\n%s", expression, b.seen())
		}
	}
}

// shows waits for a text to stand in the page; lacks says that it does not.
func (b *tab) shows(text string) {
	b.t.Helper()
	b.until(fmt.Sprintf("document.body.innerText.includes(%s)", quoted(text)))
}

func (b *tab) lacks(text string) {
	b.t.Helper()
	if eval[bool](b, fmt.Sprintf("document.body.innerText.includes(%s)", quoted(text))) {
		b.t.Errorf("the page shows %q\n%s", text, b.seen())
	}
}

func quoted(text string) string {
	out, err := json.Marshal(text)
	if err != nil {
		panic(err) // a string is JSON
	}
	return string(out)
}

// login opens the page by a link of a person's terminal.
func (w *world) login(b *tab) *tab {
	w.t.Helper()
	b.do(chromedp.Navigate(w.link()))
	b.until(`document.getElementById("how").textContent === "connected"`)
	return b
}

// at has the page show a run, as its address says.
func (b *tab) at(place string) {
	b.t.Helper()
	eval[any](b, fmt.Sprintf("location.hash = %s; 0", quoted("#"+place)))
}

// press presses keys one after the other, and types texts.
func (b *tab) press(keys ...string) {
	b.t.Helper()
	for _, k := range keys {
		b.do(chromedp.KeyEvent(k))
	}
}

// key presses a key that is a command of the page: where the page takes it, no character is typed.
func (b *tab) key(k string) {
	b.t.Helper()
	for _, kind := range []input.DispatchKeyEventType{input.DispatchKeyEventTypeKeyDown, input.DispatchKeyEventTypeKeyUp} {
		call(b, input.DispatchKeyEvent, input.DispatchKeyEventParams{Type: kind, Key: k, Text: map[bool]string{true: k}[kind == input.DispatchKeyEventTypeKeyDown]})
	}
}

// focused is what the thing that has the focus says of itself.
func (b *tab) focused() string {
	b.t.Helper()
	return eval[string](b, `(document.activeElement.getAttribute("aria-label") || document.activeElement.labels?.[0]?.innerText || document.activeElement.innerText || "").trim()`)
}

// tabTo presses Tab until what has the focus says this, as a person does who looks for a button.
func (b *tab) tabTo(label string) {
	b.t.Helper()
	for range 60 {
		if b.focused() == label {
			return
		}
		b.press(kb.Tab)
	}
	b.t.Fatalf("Tab does not come to %q\n%s", label, b.seen())
}

// completes waits for the last text of a story, and for the end of its run.
func (b *tab) completes() {
	b.t.Helper()
	b.shows("That is done now.")
	b.shows("Completed")
}

// ready waits until the buttons of a card take what is meant.
func (b *tab) ready() {
	b.t.Helper()
	b.until(`document.querySelector(".card button") && !document.querySelector(".card.inert")`)
}

// click presses a button by its label, as clickOn does.
func (b *tab) click(label string) {
	b.t.Helper()
	b.clickOn(fmt.Sprintf("//button[normalize-space(.)=%s]", quoted(label)))
}

// clickOn clicks on an element, by XPath, once it stands still, nothing lies over it, and it takes
// what is meant: what is loaded above it would move it away from under the pointer, and what is
// drawn again is another one. Where it moves at that very moment, the click is done once more, as a
// person does it.
func (b *tab) clickOn(path string) {
	b.t.Helper()
	for range 3 {
		if b.clickOnce(path) {
			return
		}
		b.t.Logf("a click on %s met nothing that takes it", path)
	}
	b.t.Fatalf("%s takes no click\n%s", path, b.seen())
}

// clickOnce says whether the element took the click: a guard that keeps it from that lets it come
// no further.
func (b *tab) clickOnce(path string) bool {
	b.t.Helper()
	eval[any](b, fmt.Sprintf(`new Promise((done) => { // the page looks at itself once a frame
		document.evaluate(%q, document, null, 9).singleNodeValue?.scrollIntoView({ block: "nearest" });
		requestAnimationFrame(() => requestAnimationFrame(() => done(0)));
	})`, path))
	b.until(fmt.Sprintf(`((path) => {
		const el = document.evaluate(path, document, null, 9).singleNodeValue, box = el?.getBoundingClientRect(), was = window.steady;
		const still = el && was && was.el === el && was.top === box.top && was.left === box.left;
		if (el && !still) el.scrollIntoView({ block: "nearest" });
		const at = [box?.left + box?.width / 2, box?.top + box?.height / 2];
		window.steady = { el, top: box?.top, left: box?.left, times: still ? was.times + 1 : 0, at };
		return window.steady.times >= 3 && !el.closest(".inert") && el.contains(document.elementFromPoint(...at));
	})(%q)`, path))
	at := eval[[]float64](b, `(() => {
		const { at, el } = window.steady;
		delete window.steady;
		window.took = false;
		window.wasOpen = el.closest("details")?.open;
		document.addEventListener("click", (e) => { if (el.contains(e.target)) window.took = true; }, { once: true });
		return at;
	})()`)
	b.clickAt(at[0], at[1])
	// Another page has none. What was drawn again in that very moment was opened all the same, and
	// a second click would close it.
	return eval[bool](b, fmt.Sprintf(`window.took !== false || document.evaluate(%q, document, null, 9).singleNodeValue?.closest("details")?.open !== window.wasOpen`, path))
}

// clean says that no script threw, and that nothing was asked of another place than the page's own.
func (b *tab) clean(own string) {
	b.t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.faults) > 0 {
		b.t.Errorf("in the page: %s", strings.Join(b.faults, "; "))
	}
	for _, r := range b.requests {
		if u := r.Request.URL; !strings.HasPrefix(u, own+"/") && u != "about:blank" {
			b.t.Errorf("the page asked %s", u)
		}
	}
}
