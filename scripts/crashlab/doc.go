//go:build linux

// Command crashlab kills the shipped binary wherever it can be killed, lets it go on, and compares
// the world with one in which nothing was killed:
//
//	go run ./scripts/crashlab -short            every fault point and every tool at least once
//	go run ./scripts/crashlab                   each fault point x tool x situation, at every pass
//	go run ./scripts/crashlab -every-shape      the same in every provider shape
//	go run ./scripts/crashlab -for 60s -seed 7  random kills of several runs at once
//	go run ./scripts/crashlab -only KEY         one story again, by the key that a failure prints
//	go run ./scripts/crashlab -faults           only the faults of the machine (-short: a sample)
//	go run ./scripts/crashlab -faults -only KEY one of them again; the name of a fault alone is
//	                                            all of its stories
//
//	go run ./scripts/crashlab -state FILE -limit 45m [-result FILE]
//
// carries the pass out in parts: it begins nothing after the time, keeps in the file what is done,
// and ends with 3; the same command goes on, also after the lab was killed. What is under way at
// the end of the time takes up to ten minutes more (a power cut's recording is one piece). Parts
// are of one commit, one binary and one seed. A complete pass without findings writes its result;
// scripts/check crashlab_whole is that command.
//
// Without -for, -only or a chosen part the pass ends with the faults of the machine: disks that
// fill, fail, turn read-only or are slow, power cuts, clocks that jump, another boot, panics, and
// with what people and other processes do: signals, cancels, messages, takeovers, decisions on
// calls that are asked for again, also in other words, states that are taken away or put back,
// witnesses that are killed, silent or cut off (faults.go lists them). Disks and boots need mounts,
// which the lab makes in a mount namespace of its own, so that nothing is left when it is killed.
// What this machine or this user cannot have (an ordinary user has no mounts) is named at the start
// as not tried, which is no failure.
//
// On two cores -short takes four minutes; the whole pass about an hour and a half, 45 minutes of it
// for the faults, panics, signals, cancels and takeovers; -every-shape about two hours. Every
// minute a line says how far it is and how long the rest of the part takes.
//
// The scripts in fault/attack/scripts attack promises from outside: with the binary, a shell and a
// witness of their own, and without knowing the code. Each is first run as its own control, in
// which it makes the damage itself. lib.bash there says how one is written.
//
// What it trusts is outside of the process and of its database: a file that commands append to, a
// counter that requests reach, and what the kernel says about files that are moved into the
// workspace. Every effect carries a mark that names its story and its step, so one that happens
// twice is seen. The database is read by SQL alone, from a copy, with a reading of its own of what
// the journal holds (packages journal and judge).
//
// Every run begins with controls: damage made on purpose, which the lab must find.
//
// # Map
//
// A package imports only what stands above it in this list (scripts/imports holds the exact rules).
//
//	marks          what effects are recognized by
//	mcp            the MCP server whose tools the stories call
//	story          pure: the tools and situations, and what a model or a runbook asks for in them
//	plan           pure: which fault point is met in which story, and who is killed
//	journal        reads the database by SQL, from a copy
//	judge          pure: holds record, output and witnesses against each other, and names what is
//	               not as promised
//	model          the model that is asked, in the words of three providers
//	machine        disks that fill, fail and remember, mounts, boots
//	disk           a module of its own: the program that serves a disk that fails and remembers
//	world          a state folder, a workspace, processes, and the witness
//	trial          one story on its way through its world
//	lab            many jobs at once, each compared with the same story in which nothing was
//	               killed; the report
//	control        damage made on purpose
//	random         kills at any moment
//	fault/disk     no room, errors, read-only, slow
//	fault/power    power cuts
//	fault/clock    clocks that jump
//	fault/boot     another start of the machine
//	fault/server   agent serve, which is killed while it starts runs, takes answers and
//	               cancels, and has runs go on; who drives for it is killed too
//	fault/delegate  runs that delegate tasks, and who answers in them
//	fault/flows    flows of phases, and what happens to their artifacts in between
//	fault/rewinds  runs that destroy a person's work, and what takes them back
//	fault/commits  runs that commit, and who looks for their commits
//	fault/witness  runs that have a witness, which is killed too, or slow, silent, cut off, or
//	               gives them to another host
//	fault/interfere  signals, cancels, takeovers, panics, decisions, other spellings, states
//	               that are gone or older
//	fault/attack   scripts that attack from outside
//
// A new tool is a line in story.Subjects. A new fault is a package below fault, or a file in one,
// and a line in faults.go.
package main
