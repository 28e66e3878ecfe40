package page

import (
	"fmt"
	"testing"

	permissions "github.com/chromedp/cdproto/browser"
	"github.com/chromedp/chromedp"
)

// keepNotes keeps the page's notifications in window.notes, with whether the browser showed them.
const keepNotes = `(() => {
	const Real = Notification;
	window.notes = [];
	window.Notification = class extends Real {
		constructor(title, more) {
			super(title, more);
			const note = { title, body: more.body, shown: false, self: this };
			window.notes.push(note);
			this.addEventListener("show", () => { note.shown = true; });
		}
	};
	return 0;
})()`

func (b *tab) permit(origin string, how permissions.PermissionSetting) {
	b.t.Helper()
	_, err := chromedp.CallBrowser(b.ctx, permissions.SetPermission, permissions.SetPermissionParams{
		Permission: &permissions.PermissionDescriptor{Name: "notifications"}, Setting: how, Origin: origin, BrowserContextID: chromedp.FromContext(b.ctx).BrowserContextID,
	})
	if err != nil {
		b.t.Fatal(err)
	}
}

// Who looks elsewhere is notified of a question, once, where the browser allows it; who looks at
// the page is not.
func TestNotifications(t *testing.T) {
	w := newWorld(t, stories(asks("deploy", "Which environment?", "staging"))).serve()
	b := w.login(open(t))
	b.permit(w.page, permissions.PermissionSettingDenied)
	b.click("Notify")
	b.shows("The browser does not allow notifications for this page")
	b.permit(w.page, permissions.PermissionSettingGranted)
	b.click("Notify")
	b.shows("A notification comes when a run waits or ends while you look elsewhere.")
	b.until(`document.getElementById("notify").ariaPressed === "true"`)
	eval[any](b, keepNotes)
	w.run("deploy while it is seen")
	b.until(`document.querySelectorAll(".row[data-status=waiting]").length === 1`)
	b.hide()
	run := w.run("deploy it")
	b.until(`window.notes.length > 0 && window.notes[0].shown`)
	if got := eval[string](b, `window.notes.map((n) => n.title + ": " + n.body).join("; ")`); got != "waiting for you: deploy it: Which environment?" {
		t.Errorf("notified of %q", got)
	}
	eval[any](b, `window.notes[0].self.onclick(); 0`)
	b.show()
	b.until(fmt.Sprintf(`location.hash === "#%s"`, run))
	b.shows("Which environment?")
	b.click("Notify")
	b.shows("Notifications are off.")
	b.hide()
	w.run("deploy unseen")
	b.until(`document.querySelectorAll(".row[data-status=waiting]").length === 3`)
	if n := eval[int](b, `window.notes.length`); n != 1 {
		t.Errorf("%d notifications", n)
	}
	b.clean(w.page)
}
