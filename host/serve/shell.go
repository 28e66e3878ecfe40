package serve

import (
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os/exec"
	"path"
	"runtime"

	"agent/host/serve/page"
)

// shell are the routes of the page's files. They hold no data, so they want no credential: the page
// has none before it is loaded.
func (s *Server) shell() []route {
	types := map[string]string{".html": "text/html; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8"}
	names, err := fs.Glob(page.Files, "*")
	if err != nil {
		panic(err) // the pattern is not malformed
	}
	var list []route
	for _, name := range names {
		kind, at := types[path.Ext(name)], "/"+name
		if name == "index.html" {
			at = "/{$}"
		}
		list = append(list, route{method: "GET", path: at, open: true, answer: func(w http.ResponseWriter, r *http.Request) error {
			text, err := page.Files.ReadFile(name)
			if err != nil {
				return err
			}
			if _, err := query(r); err != nil {
				return err
			}
			w.Header().Set("Content-Type", kind)
			_, _ = w.Write(text) // a client that went away misses it
			return nil
		}})
	}
	return list
}

// protect says of an answer what a browser may do with it: nothing but what this server gave, in no
// frame, and no text of it becomes a script.
func protect(h http.Header) {
	for name, value := range map[string]string{
		"Cache-Control": "no-store",
		"Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; base-uri 'none'; " +
			"form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'",
		"Cross-Origin-Opener-Policy":   "same-origin",
		"Cross-Origin-Resource-Policy": "same-origin",
		"Referrer-Policy":              "no-referrer",
		"X-Content-Type-Options":       "nosniff",
	} {
		h.Set(name, value)
	}
}

// Browse opens a link in the browser of whoever sits at this machine.
func Browse(env func(string) string, link string) error {
	opener := "xdg-open"
	switch {
	case runtime.GOOS == "darwin":
		opener = "open"
	case env("DISPLAY") == "" && env("WAYLAND_DISPLAY") == "":
		return errors.New("there is no display here")
	}
	path, err := exec.LookPath(opener)
	if err != nil {
		return fmt.Errorf("there is no program %s", opener)
	}
	c := exec.Command(path, link)
	apart(c)
	if err := c.Start(); err != nil {
		return fmt.Errorf("start %s: %w", opener, err)
	}
	go func() { _ = c.Wait() }() // it may be the browser itself, which stays
	return nil
}
