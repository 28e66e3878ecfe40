package commits

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"

	"agent/host/drive"
	"agent/host/view"
)

// maxOff is how many linked commits that no branch leads to are listed.
const maxOff = 10

// Log looks what became of the repository that a folder belongs to, and lists its commits: those
// that Reader.Log lists, and those of Reader.Off where no revision is named.
func Log(ctx context.Context, p *drive.Process, folder, rev string, most int) (view.Commits, error) {
	v := view.Commits{Version: 1, Commits: []view.Commit{}, Off: []view.Commit{}}
	err := with(ctx, p, folder, &v, func(r *Reader) (err error) {
		if v.Commits, v.More, err = r.Log(ctx, rev, most); err == nil && rev == "" {
			v.Off, err = r.Off(ctx, maxOff)
		}
		return err
	})
	return v, err
}

// Show is one commit of the repository that a folder belongs to.
func Show(ctx context.Context, p *drive.Process, folder, rev string) (view.Commits, error) {
	v := view.Commits{Version: 1, Commits: []view.Commit{}, Off: []view.Commit{}}
	err := with(ctx, p, folder, &v, func(r *Reader) error {
		id, err := r.Resolve(ctx, rev)
		if err != nil {
			return err
		}
		c, err := r.Commit(ctx, id)
		v.Commits = append(v.Commits, c)
		return err
	})
	return v, err
}

// with catches up, and has do read the repository.
func with(ctx context.Context, p *drive.Process, folder string, v *view.Commits, do func(*Reader) error) error {
	seen, err := CatchUp(ctx, p, folder)
	if err != nil {
		seen.Notes = append(seen.Notes, "what became of the repository since is not known: "+err.Error())
	}
	for _, run := range once(seen.Driven) {
		seen.Notes = append(seen.Notes, "run "+run+" is under way: what later commits hold of it is recorded once it is not")
	}
	for _, run := range once(seen.Stopped) {
		seen.Notes = append(seen.Notes, "run "+run+" was interrupted in a call: what later commits hold of it is recorded after agent resume "+run)
	}
	v.Notes = append([]string{}, seen.Notes...)
	r, err := Open(ctx, p, folder)
	if err != nil {
		return err
	}
	return errors.Join(do(r), r.Close())
}

// once is a list without what is in it twice.
func once(list []string) []string {
	slices.Sort(list)
	return slices.Compact(list)
}

// FileLine reads FILE:LINE, such as parse/read.go:41.
func FileLine(text string) (file string, line int, ok bool) {
	at := strings.LastIndexByte(text, ':')
	if at < 1 {
		return "", 0, false
	}
	line, err := strconv.Atoi(text[at+1:])
	return text[:at], line, err == nil && line > 0
}
