package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v3"

	"agent/fleet/client"
)

const lsHelp = `Lists the runs of the fleet, the newest first: those that have not ended, and
the 20 newest that have; all of them with --all. Each line ends with the
command that brings the run forward, without agent-fleet where there is no
room.

EXAMPLE
   agent-fleet ls
   agent-fleet ls --all --json

EXIT STATUS
   0 listed, also when there is nothing; 1 the engine cannot be asked;
   2 wrong usage`

func lsCommand() *cli.Command {
	return &cli.Command{
		Name: "ls", Usage: "list the runs of the fleet", Description: lsHelp,
		Flags: slices.Concat([]cli.Flag{
			&cli.BoolFlag{Name: "all", Usage: "every run that the engine still knows"}, jsonFlag(),
		}, engineFlags()),
		Action: act(func(ctx context.Context, c *cli.Command, f *client.Client) error {
			if c.Args().Len() > 0 {
				return usage("ls: it takes no argument; agent-fleet show RUN shows one run")
			}
			rows, err := f.List(ctx, c.Bool("all"))
			if err != nil {
				return err
			}
			if c.Bool("json") {
				list := struct {
					Version int       `json:"version"`
					Runs    []runView `json:"runs"`
				}{1, []runView{}}
				for _, r := range rows {
					list.Runs = append(list.Runs, viewOf(r))
				}
				return printJSON(stdout(c), list)
			}
			if len(rows) == 0 {
				fmt.Fprintln(c.Root().ErrWriter, `no runs: agent-fleet run "prompt" begins one`)
				return nil
			}
			table(stdout(c), rows, time.Now())
			return nil
		}),
	}
}

// table prints runs in 80 columns.
func table(w io.Writer, rows []client.Row, now time.Time) {
	host, place := len("HOST"), len("PLACE")
	for _, r := range rows {
		host, place = max(host, min(len(r.Host), 12)), max(place, min(len(placeOf(r)), 20))
	}
	const fixed = 10 + 2 + 11 + 2 + 2 + 4 + 2 + 2
	place = min(place, max(80-fixed-host-17, len("PLACE"))) // 17: attach r-7k2m9qx4
	room := 80 - fixed - host - place
	line := func(run, status, on, age, at, next string) {
		text := fmt.Sprintf("%-10s  %-11s  %-*s  %-4s  %-*s  %s", run, status, host, cut(on, host), age, place, cut(at, place), next)
		fmt.Fprintln(w, strings.TrimRight(text, " "))
	}
	line("RUN", "STATUS", "HOST", "AGE", "PLACE", "NEXT")
	for _, r := range rows {
		on := r.Host
		if on == "" {
			on = "-"
		}
		next := r.Next
		for _, shorter := range []func() string{
			func() string { short, _, _ := strings.Cut(next, " --"); return short },
			func() string { return strings.TrimPrefix(next, "agent-fleet ") },
		} {
			if room < len(next) {
				next = shorter()
			}
		}
		age := strings.ReplaceAll(client.Span(max(now.Sub(r.Began), 0)), " ", "")
		line(r.Run, r.Status, on, age, placeOf(r), next)
	}
}

func cut(s string, most int) string {
	if r := []rune(s); len(r) > most {
		return string(r[:most-1]) + "…"
	}
	return s
}
