// Package pick finds what a person means by what they typed: an id or its beginning, last, or
// nothing where there is only one to mean. Every front door that takes an id finds the same.
package pick

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"agent/host/app"
)

// ID completes an id of one of the kinds. What is typed without a type is looked for in the order
// of the kinds. Where runs of one folder alone are meant, it is the newest of them.
func ID(ctx context.Context, s *app.Folder, text string, kinds ...byte) (kind byte, id string, err error) {
	if s.Only != "" {
		id, err := newest(ctx, s, text)
		return 'r', id, err
	}
	typed := strings.ToLower(strings.TrimSpace(text))
	for _, k := range kinds {
		if strings.HasPrefix(typed, string(k)+"-") {
			id, err := app.Find(ctx, s.Store, k, text)
			return k, id, err
		}
	}
	var first error
	for _, k := range kinds {
		id, err := app.Find(ctx, s.Store, k, text)
		var unknown *app.UnknownIDError
		if !errors.As(err, &unknown) {
			return k, id, err
		}
		if first == nil {
			first = err
		}
	}
	return 0, "", first
}

// newest is the newest run of the one folder that is meant. Beside a folder nothing else but last
// can be meant.
func newest(ctx context.Context, s *app.Folder, text string) (string, error) {
	if text != "last" {
		return "", app.Usage(fmt.Errorf("--dir goes with last: %s says itself which one is meant", text))
	}
	row, err := s.Store.LatestRun(ctx, s.Only)
	if err == nil && row == nil {
		err = fmt.Errorf("no run was started%s; all are listed by: agent ls --all", s.Where())
	}
	if err != nil {
		return "", err
	}
	return row.ID, nil
}
