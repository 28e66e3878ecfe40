package serve

import (
	"net/http"
	"slices"
)

// Code is a reason for which a request is refused. Its name stays, and has one status.
type Code struct {
	Name   string
	Status int
	Do     string // what whoever was refused does about it
	next   string // the command that helps, where nothing better is known
}

// topic is the help that says what can be asked for, and how.
const topic = "agent help server"

// Codes lists every reason, in the order of its status.
func Codes() []Code {
	return []Code{
		{"body", http.StatusBadRequest, "send the body again: it did not come whole", topic},
		{"cursor_malformed", http.StatusBadRequest, "send a cursor as it was given", topic},
		{"http", http.StatusBadRequest, "write the request as HTTP has it", topic},
		{"json", http.StatusBadRequest, "write the body as `detail` says", topic},
		{"parameter", http.StatusBadRequest, "write what `detail` names as it says", topic},
		{"credential", http.StatusUnauthorized, "send the token", "agent web"},
		{"login", http.StatusUnauthorized, "have another link made", "agent web"},
		{"origin", http.StatusForbidden, "ask from a program, or from the page itself", "agent web"},
		{"token_only", http.StatusForbidden, "send the token, not a session", "agent web"},
		{"no_route", http.StatusNotFound, "choose one of the routes above", topic},
		{"not_found", http.StatusNotFound, "write an id whole, as lists have it", "agent ls --all"},
		{"method", http.StatusMethodNotAllowed, "choose a method that `Allow` names", topic},
		{"answered", http.StatusConflict, "nothing: `pending_request` has its answer", ""},
		{"behind", http.StatusConflict, "decide about the database that was put back", "agent restore --here"},
		{"cursor_foreign", http.StatusConflict, "begin again without a cursor", ""},
		{"finished", http.StatusConflict, "nothing: the run has ended", ""},
		{"held", http.StatusConflict, "watch it, or resume it with `takeover`", ""},
		{"no_model", http.StatusConflict, "tell a run that `next` names: this one has no model", ""},
		{"not_unknown", http.StatusConflict, "nothing: the outcome is known", ""},
		{"plan_changed", http.StatusConflict, "look at `plan`, and send its digest", ""},
		{"port_taken", http.StatusConflict, "choose another `port`", "agent web --port 0"},
		{"resolved", http.StatusConflict, "nothing: somebody has decided", ""},
		{"running", http.StatusConflict, "ask again once the call has ended", ""},
		{"thread_busy", http.StatusConflict, "see to the run that is named first", ""},
		{"expired", http.StatusGone, "resume the run: the question is closed", ""},
		{"too_large", http.StatusRequestEntityTooLarge, "send less: `detail` says how much", topic},
		{"media_type", http.StatusUnsupportedMediaType, "say `Content-Type: application/json`", topic},
		{"range", http.StatusRequestedRangeNotSatisfiable, "ask for bytes that there are", ""},
		{"expectation", http.StatusExpectationFailed, "leave out `Expect`, or write `100-continue`", topic},
		{"host", http.StatusMisdirectedRequest, "ask by the address that `detail` names", "agent web"},
		{"folder_gone", http.StatusUnprocessableEntity, "name a folder that is there", topic},
		{"key_reused", http.StatusUnprocessableEntity, "choose another key: it is another request", ""},
		{"looser", http.StatusUnprocessableEntity, "leave it out: a resume only tightens", ""},
		{"refused", http.StatusUnprocessableEntity, "see `detail`: nothing was started", "agent run --help"},
		{"shape", http.StatusUnprocessableEntity, "write the field that `detail` names as it says", topic},
		{"header_large", http.StatusRequestHeaderFieldsTooLarge, "send less in the address and the headers", topic},
		{"damaged", http.StatusInternalServerError, "see what else is damaged", "agent doctor"},
		{"failed", http.StatusInternalServerError, "see the log of the state folder", "agent doctor"},
		{"panic", http.StatusInternalServerError, "report the trace in the log", "agent doctor"},
		{"ending", http.StatusServiceUnavailable, "ask again once there is a server", "agent serve"},
		{"not_started", http.StatusServiceUnavailable, "ask again, with the same key", "agent ls"},
		{"too_many", http.StatusServiceUnavailable, "ask again when a run has ended", "agent ls"},
		{"too_many_requests", http.StatusServiceUnavailable, "ask again after a second", topic},
		{"too_many_streams", http.StatusServiceUnavailable, "close streams, or ask again", topic},
		{"disk_full", http.StatusInsufficientStorage, "make room on the disk", "agent doctor"},
		{"read_only", http.StatusInsufficientStorage, "make the state folder writable", "agent doctor"},
	}
}

// complete gives a refusal its status, and a command that helps where it names none.
func (p *problem) complete() {
	list := Codes()
	c := list[slices.IndexFunc(list, func(c Code) bool { return c.Name == p.Code })]
	p.Status, p.Title = c.Status, http.StatusText(c.Status)
	switch {
	case len(p.Next) > 0:
	case p.Request != nil && len(p.Request.Next) > 0:
		p.Next = p.Request.Next
	case c.next != "" && (p.Run == "" || c.next != topic):
		p.Next = []string{c.next}
	case p.Run != "":
		p.Next = []string{"agent show " + p.Run}
	default:
		p.Next = []string{topic}
	}
}
