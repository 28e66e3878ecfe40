package command

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/urfave/cli/v3"

	"agent/host/app"
	"agent/host/flags"
	"agent/host/help"
	"agent/host/lines"
	"agent/host/objects"
)

// namedCommand makes a command. here says what it does with a folder, if it takes one.
type namedCommand struct {
	name    string
	command func() *cli.Command
	here    string
}

// commandsByName lists the commands in the order in which help shows them: what is done every day
// comes first.
func (a *commandLine) commandsByName() []namedCommand {
	return []namedCommand{
		{"run", runCommand{a}.command, ""},
		{"attach", attachCommand{a}.command, "with last: the newest run that works in `FOLDER`"},
		{"ls", lsCommand{a}.command, "only runs that work in `FOLDER`"},
		{"stats", statsCommand{a}.command, "only runs that work in `FOLDER`, with those below them"},
		{"show", showCommand{a}.command, "with last: the newest run that works in `FOLDER`"},
		{"resume", resumeCommand{a}.command, "with last and --all: only runs that work in `FOLDER`; with a run: where its folder is now"},
		{"answer", answerCommand{a}.command, "without an id, and with last: only questions of runs that work in `FOLDER`"},
		{"pending", pendingCommand{a}.command, "only questions of runs that work in `FOLDER`"},
		{"tell", tellCommand{a}.command, "with last: the newest run that works in `FOLDER`"},
		{"cancel", cancelCommand{a}.command, "with last: the newest run that works in `FOLDER`"},
		{"undo", rewindCommand{a}.undo, "with last, and without a run: the newest run that works in `FOLDER`"},
		{"rewind", rewindCommand{a}.command, "with last: the newest run that works in `FOLDER`"},
		{"diff", diffCommand{a}.command, "with last: the newest run that works in `FOLDER`"},
		{"fork", forkCommand{runCommand{a}}.command, ""},
		{"log", logCommand{a}.command, "the repository of `FOLDER`"},
		{"why", logCommand{a}.why, ""},
		{"checkpoints", checkpointsCommand{a}.command, "with last: the newest run that works in `FOLDER`"},
		{"git", gitCommand{a}.command, ""},
		{"serve", serveCommand{a}.command, ""},
		{"web", webCommand{a}.command, ""},
		{"acp", acpCommand{a}.command, ""},
		{"flow", flowCommand{a}.command, ""},
		{"models", modelsCommand{a}.command, ""},
		{"tools", toolsCommand{a}.command, ""},
		{"doctor", doctorCommand{a}.command, ""},
		{"demo", demoCommand{a}.command, ""},
		{"backup", backupCommand{a}.command, ""},
		{"restore", restoreCommand{a}.command, ""},
		{"export", exportCommand{a}.command, "with last: the newest run that works in `FOLDER`"},
		{"import", importCommand{a}.command, ""},
		{"prune", pruneCommand{a}.command, ""},
		{"rm", pruneCommand{a}.rm, "with last: the newest run that works in `FOLDER`"},
		{"version", versionCommand{a}.command, ""},
		{"completion", completionCommand{a}.command, ""},
		{"help", helpCommand{a}.command, ""},
	}
}

// commands are all commands, or the one alone whose name was typed first: to make the others would
// take longer than many a command does. Help lists them all, and so does the answer to a name that
// is none.
func (a *commandLine) commands() []*cli.Command {
	all := a.commandsByName()
	if len(a.args) > 1 && a.args[1] != "help" {
		if i := slices.IndexFunc(all, func(c namedCommand) bool { return c.name == a.args[1] }); i >= 0 {
			all = all[i : i+1]
		}
	}
	var list []*cli.Command
	for _, made := range all {
		c := made.command()
		if made.here != "" {
			c = a.here(c, made.here)
		}
		if !slices.Contains([]string{"flow", "git", "version", "completion", "help"}, made.name) { // which open nothing
			c.Before = a.catchStops
		}
		c.DisableSliceFlagSeparator = true // a comma may stand in the name of a file
		c.OnUsageError = a.wrongUsage      // it is not inherited, and without it the error would come with the whole help
		c.CommandNotFound = ownHelp        // of --help behind a run or a file, which is no topic of its own
		c.Action = a.notEmpty(c.Action)
		if slices.ContainsFunc(c.Flags, func(f cli.Flag) bool { return slices.Contains(f.Names(), "json") }) {
			c.Action = a.oneObject(c.Action)
		}
		list = append(list, c)
	}
	return list
}

// ownHelp shows the help of the command to which --help was added, whatever stands before it.
func ownHelp(ctx context.Context, c *cli.Command, _ string) {
	_ = cli.ShowCommandHelp(ctx, c.Root(), c.Name) // it only fails for a name that is no command
}

// notEmpty refuses a flag with an empty value: it is most often a variable of a script that was not
// set, and to go on without the flag would be something else.
func (a *commandLine) notEmpty(f cli.ActionFunc) cli.ActionFunc {
	return func(ctx context.Context, c *cli.Command) error {
		for _, flag := range c.Flags {
			if text, ok := flag.Get().(string); ok && text == "" && flag.IsSet() {
				return app.Usage(fmt.Errorf("--%s is empty: say what is meant, or leave it out; see agent %s --help", flag.Names()[0], c.Name))
			}
		}
		err := attended(c)
		if err == nil && slices.ContainsFunc(c.Flags, func(f cli.Flag) bool { return f.Names()[0] == "output" }) {
			a.answer, err = app.NewAnswerFile(c.String("output"))
		}
		if err != nil {
			return err
		}
		return f(ctx, c)
	}
}

// wrongUsage names the flag that is wrong as it is typed. Reading the line ended there, so whether
// JSON is wanted is looked for in what was typed.
func (a *commandLine) wrongUsage(_ context.Context, c *cli.Command, err error, _ bool) error {
	text := err.Error()
	if rest, ok := strings.CutPrefix(text, "flag provided but not defined: -"); ok {
		text = "there is no flag " + flags.Typed(a.args, rest) + flags.Meant(cli.SuggestFlag(c.Flags, rest, false), "--"+rest)
	} else if value, rest, ok := strings.Cut(strings.TrimPrefix(text, "invalid value "), " for flag -"); ok {
		name, why, _ := strings.Cut(rest, ": ")
		if strings.HasPrefix(why, "strconv.") {
			why = "this is not a whole number"
		}
		if why == "parse error" { // the only one that says no more is a switch's
			why = "this is neither true nor false"
		}
		text = fmt.Sprintf("--%s %s: %s", strings.TrimLeft(name, "-"), value, why)
	}
	name := "agent"
	if c != c.Root() {
		name += " " + c.Name
	}
	err = app.Usage(fmt.Errorf("%s; see %s --help", text, name))
	if a.lines = lines.Asked(a.args, a.Out); a.lines == nil && !wantsJSON(a.args) {
		return err
	}
	return a.refuse(err)
}

// wantsJSON says whether a line that could not be read asks for JSON.
func wantsJSON(args []string) bool {
	for _, arg := range args {
		name, value, set := strings.Cut(arg, "=")
		on, err := strconv.ParseBool(value)
		switch {
		case arg == "--":
			return false
		case name == "--json" || name == "-json":
			return !set || on || err != nil
		}
	}
	return false
}

const helpHelp = `Shows what a command does, its flags, an example and its exit status, or a
topic: a longer text about one subject. Without a name it lists the commands
and the topics.

EXAMPLE
   agent help
   agent help run
   agent help permissions
   agent help scripting --json

EXIT STATUS
   0 shown, 2 there is no such command and no such topic`

type helpCommand struct{ *commandLine }

func (a helpCommand) command() *cli.Command {
	return &cli.Command{
		Name:        "help",
		Usage:       "show help for a command or a topic",
		ArgsUsage:   "[command | topic]",
		Description: helpHelp,
		Flags:       []cli.Flag{&cli.BoolFlag{Name: "json", Usage: "of scripting: print the JSON Schema of every object that --json prints, and of event lines"}},
		Action: func(ctx context.Context, c *cli.Command) error {
			name := c.Args().First()
			topics, err := help.Topics()
			if err != nil {
				return err
			}
			topic := slices.IndexFunc(topics, func(t help.Topic) bool { return t.Name == name })
			switch sub := c.Root().Command(name); {
			case name == "flow" && slices.Equal(c.Args().Slice(), []string{"flow", "check"}): // one page for both words
				return cli.ShowCommandHelp(ctx, c.Root(), name)
			case c.Args().Len() > 1:
				return app.Usage(errors.New("name one command or topic: agent help run"))
			case c.Bool("json"):
				if name != "scripting" {
					return app.Usage(errors.New("--json goes with one topic: agent help scripting --json"))
				}
				d, err := objects.Document()
				if err == nil {
					a.PrintJSON(d)
				}
				return err
			case name == "":
				if err := cli.ShowRootCommandHelp(c.Root()); err != nil {
					return err
				}
				a.Say(a.Out, "\nTOPICS, each shown by agent help TOPIC:\n%s", help.List(topics))
				return nil
			case name == "topics":
				a.Say(a.Out, "%s", help.List(topics))
				return nil
			case sub == nil && topic < 0:
				return noSuchHelp(c, topics, name)
			case sub != nil:
				if err := cli.ShowCommandHelp(ctx, c.Root(), name); err != nil || topic < 0 {
					return err
				}
				a.Say(a.Out, "") // models is a command and a topic
			}
			a.Say(a.Out, "%s", strings.TrimSuffix(topics[topic].Text, "\n"))
			return nil
		},
	}
}

// noSuchHelp names the commands and topics that may have been meant.
func noSuchHelp(c *cli.Command, texts []help.Topic, name string) error {
	for _, sub := range c.Root().VisibleCommands() {
		texts = append(texts, help.Topic{Name: sub.Name, About: sub.Usage, Text: sub.Description})
	}
	return app.Usage(fmt.Errorf("there is no command and no topic %q%s; agent help lists them", name, help.Meant(texts, name)))
}
