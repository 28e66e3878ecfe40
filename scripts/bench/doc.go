//go:build linux

// Command bench measures speed and size, each figure beside what the machine gives at best, or
// beside a competitor, in the same run:
//
//	go run ./scripts/bench               everything, as one table
//	go run ./scripts/bench -only turns   measures whose name the pattern fits
//	go run ./scripts/bench -quick        few repetitions: does it run, and is a figure off by much
//	go run ./scripts/bench -speckit DIR  also kill a flow of github/spec-kit, checked out there
//	go run ./scripts/bench -json FILE    the figures for programs
//
// Nothing is asserted. What is measured and its limit take turns, and medians are compared, so that
// another program on the machine slows both; compare ratios, not one day's figure with another's.
// Above 1.5 a row says why. What keeping the files of a workspace costs: ./scripts/bench/workspace;
// a backup: ./scripts/bench/copies.
package main
