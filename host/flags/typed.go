package flags

import (
	"fmt"
	"slices"
	"strings"

	"github.com/urfave/cli/v3"

	"agent/host/app"
	"agent/host/help"
	"agent/host/view"
)

// NoSuchCommand names what is near, and where nothing is, the command that carries the words out.
func NoSuchCommand(c *cli.Command) error {
	name := c.Args().First()
	if topics, err := help.Topics(); err == nil && slices.ContainsFunc(topics, func(t help.Topic) bool { return t.Name == name }) {
		return app.Usage(fmt.Errorf("there is no command %q; it is a topic: agent help %s", name, name))
	}
	near := Meant(cli.SuggestCommand(c.Root().VisibleCommands(), name), name)
	for _, sub := range c.Root().VisibleCommands() {
		if letters(sub.Name) == letters(name) { // typed in another order
			near = Meant(sub.Name, name)
		}
	}
	if words := c.Args().Slice(); near == "" && strings.ContainsAny(strings.Join(words, " "), " \t\n") {
		return app.Usage(fmt.Errorf("there is no command %q; as a prompt it is carried out by:\n    agent run %s", name, view.ShellWord(strings.Join(words, " "))))
	}
	return app.Usage(fmt.Errorf("there is no command %q%s; see agent --help", name, near))
}

// letters are those of a name, in one order.
func letters(name string) string {
	all := []rune(name)
	slices.Sort(all)
	return string(all)
}

// Meant asks whether the nearest name was meant. Something is always the nearest, so the beginnings
// have to be the same.
func Meant(near, typed string) string {
	dashes := len(near) - len(strings.TrimLeft(near, "-"))
	if len(near) == dashes || len(typed) <= dashes+1 || near[:dashes+1] != typed[:dashes+1] {
		return ""
	}
	return fmt.Sprintf(" (did you mean %s?)", near)
}

// Unquoted refuses a prompt in several arguments, with the command that has it as one. args is the
// whole command line.
func Unquoted(c *cli.Command, args []string) error {
	words := c.Args().Slice()
	typed := slices.Clone(args[1:])
	for _, w := range slices.Backward(words) { // what is left are the command and its flags
		if i := lastIndex(typed, w); i > 0 {
			typed = slices.Delete(typed, i, i+1)
		}
	}
	command := "agent"
	for _, w := range append(typed, strings.Join(words, " ")) {
		command += " " + view.ShellWord(w)
	}
	return app.Usage(fmt.Errorf("give the prompt as one argument, in quotes:\n    %s", command))
}

func lastIndex(list []string, text string) int {
	for i, t := range slices.Backward(list) {
		if t == text {
			return i
		}
	}
	return -1
}

// Typed is a flag as it was typed in args, with its dashes.
func Typed(args []string, name string) string {
	for _, arg := range args[1:] {
		bare, _, _ := strings.Cut(arg, "=")
		if strings.TrimLeft(bare, "-") == name && bare != name {
			return bare
		}
	}
	return "--" + name
}
