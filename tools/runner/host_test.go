//go:build linux

package runner_test

func host(args []string) {}
