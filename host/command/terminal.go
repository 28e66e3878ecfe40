package command

import "github.com/urfave/cli/v3"

// askHere lets the host put questions to the controlling terminal, where there is one and no program reads the output.
func (s *session) askHere(c *cli.Command) {
	if c.Bool("json") {
		return
	}
}
