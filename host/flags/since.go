package flags

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v3"

	"agent/host/app"
)

// SinceFlag names the time from which on runs are meant.
func SinceFlag() cli.Flag {
	return &cli.StringFlag{Name: "since", Usage: "only runs that were started since `TIME`: 2d, 3h, 90m, or a date, 2026-11-01"}
}

// ReadSince is the time that --since names; zero without it.
func ReadSince(c *cli.Command, now time.Time) (time.Time, error) {
	text := c.String("since")
	if text == "" {
		return time.Time{}, nil
	}
	at, ok := since(text, now)
	switch {
	case !ok:
		return at, app.Usage(fmt.Errorf("--since %s: give a time such as 2d, 3h or 90m, or a date such as 2026-11-01", text))
	case at.After(now):
		return at, app.Usage(fmt.Errorf("--since %s: this is still to come", text))
	}
	return at, nil
}

// maxDays bounds how far back a number of days goes.
const maxDays = 100 * 366

// since reads a span that ends now, or a date as it begins here.
func since(text string, now time.Time) (time.Time, bool) {
	for _, layout := range []string{time.DateOnly, "2006-01-02T15:04", time.RFC3339} {
		if at, err := time.ParseInLocation(layout, text, time.Local); err == nil {
			return at, true
		}
	}
	days, rest, counted := strings.Cut(text, "d")
	var span time.Duration
	if counted {
		n, err := strconv.ParseUint(days, 10, 32)
		if err != nil || n > maxDays {
			return now, false
		}
		span = time.Duration(n) * 24 * time.Hour
	} else {
		rest = text
	}
	if rest != "" {
		more, err := time.ParseDuration(rest)
		if err != nil || more < 0 {
			return now, false
		}
		span += more
	}
	return now.Add(-span), span > 0
}
