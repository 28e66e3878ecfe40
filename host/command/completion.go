package command

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/urfave/cli/v3"
)

const completionHelp = `Prints a script that lets a shell complete commands, flags, files and the ids of runs and questions. It needs no other
package, and what was typed is never executed. zsh completes nothing before compinit ran: in ~/.zshrc it stands first.

EXAMPLE
   source <(agent completion bash)
   autoload -Uz compinit; compinit; source <(agent completion zsh)
   mkdir -p ~/.config/fish/completions; agent completion fish > ~/.config/fish/completions/agent.fish

EXIT STATUS
   0 printed, 2 wrong usage`

func (a *commandLine) completionCommand() *cli.Command {
	return &cli.Command{
		Name:        "completion",
		Usage:       "print a completion script for bash, zsh or fish",
		ArgsUsage:   "bash | zsh | fish",
		Description: completionHelp,
		Action:      a.completion,
	}
}

func (a *commandLine) completion(_ context.Context, c *cli.Command) error {
	if c.Args().Len() != 1 {
		return usage(errors.New("name one shell: agent completion bash, zsh or fish"))
	}
	script, ok := map[string]string{"bash": bashCompletion, "zsh": zshCompletion, "fish": fishCompletion}[c.Args().First()]
	if !ok {
		return usage(fmt.Errorf("there is no completion for %q; name bash, zsh or fish", c.Args().First()))
	}
	_, err := io.WriteString(a.Out, script)
	if err != nil {
		return fmt.Errorf("write the completion script: %v", err)
	}
	return nil
}

// The scripts hand the words to the hidden command as arguments and never evaluate them. It prints one candidate a line: the
// word, a tab, what it is; or completeFiles or completeFolders alone, which the shell knows best.

const bashCompletion = `# Completion of agent for bash.
_agent() {
    local word about
    COMPREPLY=()
    while IFS=$'\t' read -r word about; do
        case $word in
        :files) compopt -o default 2>/dev/null ;;
        :folders) compopt -o dirnames 2>/dev/null ;;
        ?*) printf -v word %q "$word" && COMPREPLY+=("$word") ;;
        esac
    done < <(command agent __complete "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null </dev/null)
}
complete -F _agent agent
`

const zshCompletion = `#compdef agent
# Completion of agent for zsh.
_agent() {
    local word about
    local -a found
    while IFS=$'\t' read -r word about; do
        case $word in
        (:files) _files; return ;;
        (:folders) _files -/; return ;;
        (?*) found+=("${word//:/\\:}${about:+:$about}") ;;
        esac
    done < <(command agent __complete "${(@)words[2,CURRENT]}" 2>/dev/null </dev/null)
    _describe agent found
}
if [[ ${funcstack[1]} == _agent ]]; then
    _agent "$@"
else
    compdef _agent agent
fi
`

const fishCompletion = `# Completion of agent for fish.
function __agent_complete
    set -l before (commandline -opc)
    set -l now (commandline -ct)
    set -l found (command agent __complete $before[2..-1] "$now" 2>/dev/null </dev/null)
    switch "$found[1]"
        case :files
            __fish_complete_path "$now"
        case :folders
            __fish_complete_directories "$now"
        case '*'
            printf '%s\n' $found
    end
end
complete -c agent -f -a '(__agent_complete)'
`
