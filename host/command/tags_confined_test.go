//go:build linux && !portable

package command_test

// buildTags are those of the binary that is tried, and confines says whether it confines commands.
const (
	buildTags = "urfave_cli_no_template"
	confines  = true
)
