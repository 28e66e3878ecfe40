package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"text/tabwriter"
	"time"

	"github.com/urfave/cli/v3"

	"agent/fleet/log"
	"agent/fleet/log/replay"
	"agent/fleet/seal"
)

const logHelp = `Lists the runs of a log: how far each is, who wrote last, when and why. With
a RUN it lists the entries of its log. No content of a run is shown.

EXIT STATUS
   0 listed; 1 failed, or a log is damaged; 2 wrong usage`

func logCommand() *cli.Command {
	return &cli.Command{
		Name: "log", Usage: "list what a log holds", ArgsUsage: "[RUN]", Description: logHelp,
		Flags: append(logFlags(),
			&cli.BoolFlag{Name: "json", Usage: "print JSON, an object a line"}),
		Action: listLog,
	}
}

// logged is a line of the list.
type logged struct {
	Version int       `json:"v"`
	Run     string    `json:"run"`
	Place   int64     `json:"place"`
	Epoch   int64     `json:"epoch"`
	By      string    `json:"by"`
	At      time.Time `json:"at"`
	Why     string    `json:"why"`
	Fence   bool      `json:"fence,omitempty"`
	Over    bool      `json:"over,omitempty"`
	Facts   int64     `json:"facts"` // in the entry
	Error   string    `json:"error,omitempty"`
}

func listLog(ctx context.Context, c *cli.Command) (err error) {
	if err := arguments(c, 0, 1); err != nil {
		return err
	}
	root := c.Args().First()
	if root != "" {
		if err := log.CheckRoot(root); err != nil {
			return usageError{err}
		}
	}
	l, k, err := openLog(ctx, c)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.Close()) }()
	var all []logged
	if root != "" {
		all, err = places(ctx, l, k, c.String("namespace"), root)
	} else {
		all, err = ends(ctx, l, k, c.String("namespace"))
	}
	return errors.Join(printLog(c, all), err)
}

// places are the entries of a log.
func places(ctx context.Context, l log.Log, k seal.Key, namespace, root string) (all []logged, err error) {
	s := replay.NewState(root)
	err = s.CatchUp(ctx, l, k.Sealer(namespace, root), func(place int64, e seal.Entry) error {
		all = append(all, listed(root, place, e))
		return nil
	})
	if err == nil && len(all) == 0 {
		err = fmt.Errorf("the log has no run %s", root)
	}
	return all, err
}

// ends are the last entries of every log.
func ends(ctx context.Context, l log.Log, k seal.Key, namespace string) (all []logged, err error) {
	damaged := 0
	err = l.Roots(ctx, func(root string) error {
		last, err := l.Last(ctx, root)
		if err != nil {
			return err
		}
		e, err := replay.One(ctx, l, k.Sealer(namespace, root), last)
		var damage *seal.DamageError
		var foreign *seal.ForeignError
		if errors.As(err, &damage) || errors.As(err, &foreign) {
			damaged++
			all = append(all, logged{Version: 1, Run: root, Place: last, Error: err.Error()})
			return nil
		}
		if err != nil {
			return err
		}
		all = append(all, listed(root, last, e))
		return nil
	})
	if err == nil && damaged > 0 {
		err = fmt.Errorf("%d of %d logs cannot be read", damaged, len(all))
	}
	return all, err
}

func listed(root string, place int64, e seal.Entry) logged {
	out := logged{Version: 1, Run: root, Place: place, Epoch: e.Epoch, By: e.By, At: e.At, Why: e.Why, Fence: e.Fence(), Over: e.Over}
	for _, r := range e.Records {
		if r.Fact != nil {
			out.Facts++
		}
	}
	return out
}

func printLog(c *cli.Command, all []logged) error {
	out := stdout(c)
	if c.Bool("json") {
		enc := json.NewEncoder(out)
		for _, one := range all {
			if err := enc.Encode(one); err != nil {
				return err
			}
		}
		return nil
	}
	if len(all) == 0 {
		return nil
	}
	w := tabwriter.NewWriter(out, 0, 8, 2, ' ', 0)
	fmt.Fprintln(w, "RUN\tPLACE\tEPOCH\tBY\tAT\tFACTS\tWHY")
	for _, one := range all {
		if one.Error != "" {
			fmt.Fprintf(w, "%s\t%d\t\t\t\t\t%s\n", one.Run, one.Place, one.Error)
			continue
		}
		why := one.Why
		switch {
		case one.Over:
			why = "end: " + why
		case one.Fence:
			why = "fence: " + why
		}
		fmt.Fprintf(w, "%s\t%d\t%d\t%s\t%s\t%d\t%s\n", one.Run, one.Place, one.Epoch, plain(one.By), one.At.Format(time.RFC3339), one.Facts, plain(why))
	}
	return w.Flush()
}

// plain keeps control characters from a terminal.
func plain(text string) string {
	quoted := fmt.Sprintf("%q", text)
	return quoted[1 : len(quoted)-1]
}
