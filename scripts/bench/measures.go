//go:build linux

package main

// measures are all parts of the table, in its order.
func measures() []measure {
	return []measure{
		{"turns", "turns a second of one run and of many at once, beside what the disk takes", turns},
		{"river", "the same chain of durable steps on River, and what others take", river},
		{"speckit", "a flow killed in its second step, here and on spec-kit's engine, with the same witness", speckit},
		{"resume", "from agent resume after a kill to the first action, and the memory then", resume},
		{"journal", "bytes on the disk and time of a turn, in short and in long runs", journalSize},
		{"requests", "what a turn of a long conversation with a provider on loopback takes beyond sending it", requests},
		{"outputs", "calls that put out 1 MB: time, disk and memory", outputs},
		{"commands", "short commands over few and many runs: time and memory", commands},
		{"prune", "commits of a run while others are removed beside it", pruned},
		{"streaming", "tokens a second from a model into the record, with and without observers", streaming},
		{"flows", "what a flow costs beside the runs that it consists of", flows},
		{"runner", "a command that outlives the host, beside a plain one", runner},
		{"sandbox", "a command that is confined, beside a plain one", sandbox},
		{"server", "what a server and those who watch take, each beside its limit", server},
		{"size", "the binary's size", size},
	}
}
