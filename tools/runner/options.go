package runner

// MainOptions of the runner process.
type MainOptions struct {
	// Hit, if set, is called at runner.before_began, runner.after_began, runner.after_start, runner.after_command (ended, exit not
	// yet durable) and runner.after_exit. A test may end the process there.
	Hit func(name string)
}
