package page

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/fetch"
	"github.com/chromedp/chromedp"

	"agent/host/model/modeltest"
	"agent/scripts/testkit/testbin"
)

// attack is a page that tries all ways that a page has to another address, with the very credential
// that would be taken there. It gives what came of those that it can see.
const attack = `<!doctype html><title>attack</title><iframe name="frame"></iframe><script>
const base = %q, run = %q, auth = { Authorization: "Bearer " + %q };
const results = {}, tries = [];
const of = (name, f) => tries.push(f().then((r) => { results[name] = r; }, () => { results[name] = "failed"; }));
const status = (a) => a.type === "opaque" ? "opaque" : String(a.status);
const cancel = base + "/v1/runs/" + run + "/cancel", json = { ...auth, "Content-Type": "application/json" };
of("fetch", () => fetch(base + "/v1/runs", { headers: auth }).then(status));
of("fetch without a credential", () => fetch(base + "/v1/runs").then(status));
of("fetch of the page", () => fetch(base + "/").then(status));
of("fetch without answer", () => fetch(base + "/v1/runs", { mode: "no-cors" }).then(status));
of("post", () => fetch(cancel, { method: "POST", headers: json, body: "{}" }).then(status));
of("post without answer", () => fetch(cancel, { method: "POST", mode: "no-cors", body: "{}" }).then(status));
of("beacon", async () => String(navigator.sendBeacon(cancel, "{}")));
const element = (name, tag, set) => of(name, () => new Promise((done) => {
	const el = Object.assign(document.createElement(tag), set);
	el.onload = () => done("loaded");
	el.onerror = () => done("failed");
	document.body.append(el);
}));
addEventListener("DOMContentLoaded", async () => {
	element("image", "img", { src: base + "/v1/runs" });
	element("script", "script", { src: base + "/app.js" });
	element("module", "script", { type: "module", src: base + "/app.js" });
	element("style", "link", { rel: "stylesheet", href: base + "/app.css" });
	of("socket", () => new Promise((done) => {
		const s = new WebSocket(base.replace("http", "ws") + "/v1/events");
		s.onopen = () => done("opened");
		s.onerror = () => done("failed");
	}));
	of("stream", () => new Promise((done) => {
		const s = new EventSource(base + "/v1/runs/" + run + "/events");
		s.onopen = () => done("opened");
		s.onerror = () => { s.close(); done("failed"); };
	}));
	of("form", () => new Promise((done) => {
		const f = Object.assign(document.createElement("form"), { method: "post", action: cancel, target: "frame" });
		document.querySelector("iframe").onload = () => done("sent");
		document.body.append(f);
		f.submit();
	}));
	await Promise.all(tries);
	window.results = results;
});
</script>`

// answers are the statuses that the server's log has for requests, behind its first lines.
func (w *world) answers(behind int) (statuses []string, lines int) {
	w.t.Helper()
	text, err := os.ReadFile(filepath.Join(w.home, "log", "agent.log"))
	if err != nil {
		w.t.Fatal(err)
	}
	all := bytes.Split(bytes.TrimSpace(text), []byte("\n"))
	for _, line := range all[behind:] {
		var l struct {
			Msg, Method, Route string
			Status             int
		}
		if json.Unmarshal(line, &l) == nil && l.Msg == "request" {
			statuses = append(statuses, fmt.Sprintf("%d %s %s", l.Status, l.Method, l.Route))
		}
	}
	return statuses, len(all)
}

// A page of another place, also one whose name was bound to this address after it was loaded, gets
// no answer and changes nothing, by no way that a browser has (S6).
func TestPagesOfOtherPlaces(t *testing.T) {
	w := newWorld(t, stories(asks("deploy", "Which environment?", "staging"))).serve()
	run := w.waiting("deploy it")
	token, err := os.ReadFile(filepath.Join(w.home, "token"))
	if err != nil {
		t.Fatal(err)
	}
	text := func(base string) string { return fmt.Sprintf(attack, base, run, strings.TrimSpace(string(token))) }
	other := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		rw.Header().Set("Content-Type", "text/html")
		_, _ = fmt.Fprint(rw, text(w.page)) // the browser left
	}))
	t.Cleanup(other.Close)
	_, port, _ := strings.Cut(strings.TrimPrefix(w.page, "http://"), ":")
	rebound := "http://evil.test:" + port
	for _, c := range []struct{ name, at, base, refused string }{
		{"another port", other.URL, w.page, "403"},
		{"another site", strings.Replace(other.URL, "127.0.0.1", "evil.test", 1), w.page, "403"},
		{"a name that was bound to this address", rebound + "/attack", rebound, "421"},
	} {
		b := open(t)
		if c.base == rebound { // the page came from where the name led to before
			b.served(c.at, text(rebound))
		}
		_, before := w.answers(0)
		b.do(chromedp.Navigate(c.at))
		b.until("window.results")
		for way, result := range eval[map[string]string](b, "window.results") {
			switch result {
			case "failed", "opaque", "true", "sent", c.refused: // the log has how these were answered
			default:
				t.Errorf("%s, %s: %s", c.name, way, result)
			}
		}
		statuses, _ := w.answers(before)
		for _, s := range statuses {
			if !strings.HasPrefix(s, c.refused+" ") {
				t.Errorf("%s: answered %s", c.name, s)
			}
		}
		if len(statuses) < 12 {
			t.Errorf("%s: only %d requests came: %s", c.name, len(statuses), strings.Join(statuses, "; "))
		}
		if s := w.status(run); s != "waiting" {
			t.Fatalf("%s: the run is %s", c.name, s)
		}
	}
	// The control: the same request with the same credential, from where it may come.
	if status, _ := w.ask("POST", "/v1/runs/"+run+"/cancel", map[string]any{}); status != http.StatusAccepted {
		t.Errorf("the control was answered %d", status)
	}
	w.eventually("it is cancelled", func() bool { return w.status(run) == "cancelled" })
}

// served answers the request for one address with a text, instead of the server that is there.
func (b *tab) served(address, text string) {
	b.t.Helper()
	if err := chromedp.Listen(b.ctx, func(e any) {
		p, ok := e.(*fetch.EventRequestPaused)
		if !ok {
			return
		}
		go func() {
			_, err := chromedp.Call(b.ctx, fetch.FulfillRequest, fetch.FulfillRequestParams{
				RequestID: p.RequestID, ResponseCode: 200, ResponseHeaders: []*fetch.HeaderEntry{{Name: "Content-Type", Value: "text/html"}}, Body: []byte(text),
			})
			if err != nil && b.ctx.Err() == nil {
				b.t.Error(err)
			}
		}()
	}); err != nil {
		b.t.Fatal(err)
	}
	call(b, fetch.Enable, fetch.EnableParams{Patterns: []*fetch.RequestPattern{{URLPattern: address}}})
}

// A secret in what an MCP server gives is in no stream, no page of facts and no node of the page:
// one that its configuration has, and one that looks like one (S11).
func TestSecretOfAnMCPServer(t *testing.T) {
	const known, formed = "correct-horse-battery-staple-9431", "ghp_16C7e42F292c6912E7710c838347Ae178B4a"
	w := newWorld(t, stories(modeltest.Story{Prompt: "ask the server", Turns: []modeltest.Turn{
		{Text: "I ask the server.", Calls: []modeltest.Call{{Tool: "mcp__srv__env", Args: args(map[string]any{"text": "x"})}}}, says("That is done now."),
	}}))
	server := testbin.Fake(t, "mcptest")
	conf := filepath.Join(w.dir, "home", ".config", "agent")
	if err := os.MkdirAll(conf, 0o700); err != nil {
		t.Fatal(err)
	}
	text := args(map[string]any{"mcpServers": map[string]any{"srv": map[string]any{"command": server, "env": map[string]string{"TICKETS_TOKEN": known, "TICKETS_NOTE": "use " + formed}}}})
	if err := os.WriteFile(filepath.Join(conf, "mcp.json"), text, 0o600); err != nil {
		t.Fatal(err)
	}
	w.serve()
	run := w.run("ask the server", "--mode", "yolo")
	b := w.login(open(t))
	b.at(run)
	b.until(`document.querySelector(".done") && document.querySelector(".call")`)
	eval[any](b, `document.querySelectorAll("details").forEach((d) => { d.open = true; }); 0`)
	b.until(`document.querySelector(".output")?.innerText.includes("TICKETS_TOKEN=[secret:") && document.querySelector(".output").innerText.includes("TICKETS_NOTE=use [secret:")`)
	seen := map[string]string{"the page": eval[string](b, `document.documentElement.textContent + [...document.querySelectorAll("*")].flatMap((el) => [...el.attributes].map((a) => a.value)).join(" ")`)}
	for name, path := range map[string]string{"the stream": "/events?after=0", "the facts": "/facts?limit=500", "the run": ""} {
		seen[name] = eval[string](b, fmt.Sprintf(`fetch("/v1/runs/%s%s", { headers: { Authorization: "Bearer " + localStorage.getItem("agent.session") } }).then((a) => a.text())`, run, path))
	}
	for name, text := range seen {
		for _, secret := range []string{known, formed} {
			if strings.Contains(text, secret) {
				t.Errorf("%s has %s", name, secret)
			}
		}
		if name != "the run" && !strings.Contains(text, "[secret:") {
			t.Errorf("%s does not have the result", name)
		}
	}
	b.clean(w.page)
}
