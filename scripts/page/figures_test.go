package page

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/performance"

	"agent/scripts/streams/stage"
)

// figure notes what was measured, beside its limit, in the file that PAGE_FIGURES names: no test
// fails for the speed of a machine.
func figure(t *testing.T, what string, value float64, unit string, limit float64) {
	t.Helper()
	line := fmt.Sprintf("%-78s %7.1f %-2s  limit %4.0f %s\n", what, value, unit, limit, unit)
	t.Log(line)
	name := os.Getenv("PAGE_FIGURES")
	if name == "" {
		return
	}
	f, err := os.OpenFile(name, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err == nil {
		_, err = f.WriteString(line)
	}
	if err == nil {
		err = f.Close()
	}
	if err != nil {
		t.Error(err)
	}
}

// opens measures, in milliseconds, how long it takes from a person's choice of a run until its last
// turn is drawn: the median of some times.
func (b *tab) opens(run, last string) float64 {
	b.t.Helper()
	var took []float64
	for range 7 {
		b.at("")
		b.until(`!document.querySelector(".turn")`)
		took = append(took, eval[float64](b, fmt.Sprintf(`(async () => {
			const began = performance.now(), frame = () => new Promise(requestAnimationFrame);
			location.hash = %q;
			while (!document.querySelector(%q)) await frame();
			await frame();
			return performance.now() - began;
		})()`, "#"+run, fmt.Sprintf(".turn[data-turn='%s']", last))))
	}
	slices.Sort(took)
	return took[len(took)/2]
}

// spent is how much processor time the page took so far, in milliseconds: ScriptDuration,
// LayoutDuration or TaskDuration.
func (b *tab) spent(what string) float64 {
	b.t.Helper()
	for _, m := range call(b, performance.GetMetrics, cdp.Empty{}).Metrics {
		if m.Name == what {
			return 1000 * m.Value
		}
	}
	b.t.Fatalf("the browser has no %s", what)
	return 0
}

// What the page's script takes of each frame while a long text grows at 100 tokens a second.
func TestScriptOfAFrame(t *testing.T) {
	w := newWorld(t, stories())
	m, err := stage.StartModel()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.Close)
	m.Says(func(int) stage.Answer {
		return stage.Answer{Tokens: append([]string{strings.Repeat("some words of a long text ", 2000)}, slices.Repeat([]string{"word "}, 1<<14)...), Pace: 10 * time.Millisecond, Last: true}
	})
	conf := filepath.Join(w.dir, "home", ".config", "agent")
	if err := os.MkdirAll(conf, 0o700); err != nil {
		t.Fatal(err)
	}
	text := fmt.Sprintf("[providers.paced]\nkind = \"chat\"\nbase_url = %q\napi_key_env = \"ANTHROPIC_API_KEY\"\n", m.URL)
	if err := os.WriteFile(filepath.Join(conf, "config.toml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	w.serve()
	run := w.run("tell much", "--model", "paced/test")
	b := w.login(open(t))
	b.at(run)
	b.until(`document.querySelector(".prose.live")?.innerText.length > 52000`)
	call(b, performance.Enable, performance.EnableParams{TimeDomain: performance.EnableTimeDomainThreadTicks})
	const drawn = `new Promise((done) => {
		let n = 0;
		const eye = window.eye = new MutationObserver(() => { if (++n === 30) { eye.disconnect(); done(n); } });
		eye.observe(document.querySelector(".run .story"), { childList: true, characterData: true, subtree: true });
	})`
	script, layout, all := b.spent("ScriptDuration"), b.spent("LayoutDuration"), b.spent("TaskDuration")
	frames := eval[float64](b, drawn)
	figure(t, "page: script a frame, while 100 tokens a second come behind 52,000 characters", (b.spent("ScriptDuration")-script)/frames, "ms", 8)
	t.Logf("layout %.1f ms a frame, everything %.1f ms", (b.spent("LayoutDuration")-layout)/frames, (b.spent("TaskDuration")-all)/frames)
	if !eval[bool](b, `/^(some words of a long text ){2000}(word )+(w|wo|wor|word)?$/.test(document.querySelector(".prose.live").textContent)`) {
		t.Error("a piece of the live text is missing, or there twice")
	}
	b.clean(w.page)
}
