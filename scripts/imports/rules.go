package main

import (
	"path"
	"slices"
	"strings"
)

// module is the path in go.mod.
const module = "agent"

// rule lists the packages of this module that a folder may import. It binds the folder and those
// below it that have no rule of their own.
type rule struct {
	dir   string
	allow []string // "x" is that package; "x/..." is it and all below; "..." is everything
	deny  []string // same forms, and stronger
	why   string

	tests  []string // of a fleet: what its tests may import beside that
	others []string // of a fleet: what its packages may import of other modules; its tests are free
}

// layers is who may import whom: the shape in words of import statements. What is not listed is
// refused, so that a new dependency between two folders is a decision somebody makes here.
func layers() []rule {
	const performs = "host performs what recovery decided; which model, command or page is used is wired above it"
	below := []string{"recovery", "recovery/journal", "recovery/fault", "db", "db/dbtest", "db/family", "db/keep", "db/maintain", "tools/...", "host/model", "host/stream", "host/permission", "host/guard", "host/owner"}
	feature := append([]string{"host"}, below...)
	return slices.Concat(frontDoors(), pureLayers(), toolLayers(), storeLayers(), transcripts(), []rule{
		{dir: "host", allow: append([]string{"host/drive", "host/drive/bind", "host/words"}, below...), why: performs},
		{dir: "host/gate", allow: []string{"recovery/journal", "db", "host/stream"},
			why: "what observers may see is decided for every event alone; it knows no run"},
		{dir: "host/words", allow: []string{"host/model", "tools/patch", "recovery/journal"},
			why: "a call is put into a few words from its arguments and facts alone"},
		{dir: "host/drive", allow: append([]string{"host/drive/bind", "host/drive/disknote", "host/drive/fold", "host/drive/brief", "host/drive/lineage", "host/gate", "host/words"}, below...),
			why: "a driver performs what recovery decided for one run; who may drive it and what is shown of it is decided above it"},
		{dir: "host/drive/disknote", allow: []string{"db", "recovery/journal", "tools/durable", "tools/filesystem"},
			why: "errors of the disk are counted whoever met them"},
		{dir: "host/drive/fold", allow: []string{"db", "recovery", "recovery/journal"},
			why: "what a run's state is follows from its journal; who drives it does not matter"},
		{dir: "host/owner", allow: []string{"tools/ofd", "tools/process"},
			why: "who drives a run follows from locks and processes alone; what the run is does not matter"},
		{dir: "host/doctor", allow: append([]string{"db/prune", "host/drive", "host/drive/disknote", "host/workspace"}, feature...),
			why: "doctor looks at what the service and the store say; it drives nothing"},
		{dir: "host/serve/servetest", allow: []string{"db", "db/mark", "recovery/journal", "tools/sandbox"}, why: "journals are written for tests as whoever drives a run does"},
		{dir: "host/serve", allow: []string{"host", "host/app", "host/carry", "host/diff", "host/undo", "host/input", "host/launch", "host/owner", "host/serve/body", "host/serve/holder", "host/serve/login", "host/serve/once", "host/serve/page", "host/serve/servetest", "host/view", "host/watch", "recovery", "recovery/journal", "tools/durable"},
			why: "a server shows what watch and view give it, and leaves rows; it drives no run and reaches neither the store nor what acts"},
		{dir: "host/serve/once", why: "who waits for whom does not depend on what for"},
		{dir: "host/serve/holder", why: "who has a port is read from what the kernel shows alone"},
		{dir: "host/serve/login", why: "who gets in is decided from secrets and time alone; what is served does not matter"},
		{dir: "host/serve/page", allow: []string{"host/watch"}, why: "the page is files that a browser reads; its test compares the types of lines that it knows"},
		{dir: "host/flow", allow: []string{"db", "host/child", "host/drive", "host/drive/fold", "host/flow/artifact", "host/words", "recovery", "recovery/flow", "recovery/journal", "recovery/fault", "tools"}, why: "a flow is carried out by runs below it; it stands on what drives runs, and knows no front door"},
		{dir: "host/flow/artifact", allow: []string{"db", "db/dbtest", "db/keep", "host/schema", "recovery/flow", "recovery/journal", "recovery/fault", "tools/files", "tools/durable"},
			why: "a file is taken, compared and put back by its record alone; which phase made it, and what follows, it does not know"},
		{dir: "host/gitlink", allow: feature, why: "gitlink stands on host and what is below it"},
		{dir: "host/model", allow: []string{"recovery/journal", "recovery/fault", "recovery/jsonstring", "host/markdown", "host/model/..."},
			why: "a model speaks to a provider in the journal's words; it knows no run, no tool and no database"},
		{dir: "host/permission", allow: []string{"recovery/journal", "tools/shelltext"},
			why: "what may run is decided from the rules and the call alone; it knows no tool, no file and no run"},
		{dir: "host/guard", allow: []string{"recovery", "tools/shelltext"},
			why: "what of a call acts is read from its arguments and its schema alone; who compares and who is asked is decided elsewhere"},
		{dir: "host/config", allow: []string{"tools/durable", "recovery/journal", "host/permission"},
			why: "the configuration is read and checked alone; what becomes of it is decided by the command line"},
		{dir: "host/hook", allow: []string{"db", "host/config", "host/stream", "host/view", "recovery", "recovery/journal", "recovery/fault"},
			why: "a notification follows from facts and rows alone, and a hook before a call from the call; neither can write"},
		{dir: "host/prompt", allow: []string{"host/markdown", "recovery/journal"},
			why: "the system prompt is made from files alone; it is recorded with the run and knows no run"},
		{dir: "host/markdown", why: "text is read alone"},
		{dir: "host/help", why: "help is text that is read alone"},
		{dir: "host/flow/file", allow: []string{"host/markdown", "host/model/runbook", "host/schema", "recovery/flow", "recovery/journal"},
			why: "a flow file is read alone; what it is checked against is given"},
		{dir: "host/flow/outline", allow: []string{"host/flow/file", "host/terminal", "host/view", "recovery/flow", "recovery/journal"},
			why: "what a file says is shown before anything is opened; nothing is carried out"},
		{dir: "host/input", allow: []string{"host/markdown"},
			why: "what a person gives is read before anything is opened; it knows no run and no model"},
		{dir: "host/stream", allow: []string{"recovery/journal"},
			why: "observers read what is durable or live; they can neither write nor hold up a run"},
		{dir: "host/watch", allow: []string{"recovery", "recovery/journal", "db", "db/family", "host/stream"},
			why: "who watches reads the journal and live files; it can neither write nor hold up a run"},
		{dir: "tools/durable", why: "a file is written without knowing what is in it"},
		{dir: "recovery/fault", why: "fault points are a leaf, so that db, tools and host can all name them"},
	})
}

// transcripts is who may import whom where models are briefed and runs are written for people.
func transcripts() []rule {
	return []rule{
		{dir: "host/acp", allow: []string{"host", "host/app", "host/carry", "host/follow", "host/input", "host/launch", "host/owner", "host/stream", "host/view", "host/watch", "recovery", "recovery/journal"},
			why: "the editor's window shows runs and takes answers; what drives a run is a process of its own, and no window knows another"},
		{dir: "host/witness", allow: []string{"db", "db/moves", "host/drive", "host/pack", "host/witness/line", "host/witness/witnesstest", "recovery/journal"}, why: "what a witness hears is read from the facts of runs; what they do, and when, is decided by who drives them"},
		{dir: "host/witness/witnesstest", allow: []string{"host/pack", "host/witness/line"}, why: "a witness for tests knows what it hears alone"},
		{dir: "host/witness/line", allow: []string{"host/pack"}, why: "what two programs say to each other is read by both alone"},
		{dir: "host/demo", why: "it is a person who runs this binary, and knows no more of it"},
		{dir: "host/objects", allow: []string{"host/flow/outline", "host/flow/table", "host/fork", "host/githook", "host/stats", "host/view", "host/watch", "recovery/journal"}, why: "what is printed is described from its types; nothing of it is made here"},
		{dir: "host/serve/unit", why: "a file is written from its few words; no server is needed for it"},
		{dir: "host/serve/body", why: "what a request says is read by its form alone; what it is for does not matter"},
		{dir: "host/optionlines", why: "help is broken into lines whatever it says"},
		{dir: "host/schema", why: "a value is compared with a schema alone; whose they are does not matter"},
		{dir: "host/drive/bind", allow: []string{"recovery/journal"}, why: "what a yes is bound to is given"},
		{dir: "host/drive/brief", allow: []string{"host/schema", "recovery", "recovery/journal"}, why: "what a model is to know follows from the facts of its run alone"},
		{dir: "host/export", allow: []string{"host/flow/table", "host/markdown", "host/stream", "host/view", "recovery", "recovery/journal", "tools/durable"}, why: "a transcript is made from what view shows of runs alone; which runs those are, and how they are read, it does not know"},
		{dir: "host/export/gather", allow: []string{"host/app", "host/diff", "host/undo", "host/view"}, why: "runs are read here for a transcript, with placeholders for secrets; which form it has, it does not know"},
	}
}

// pureLayers is who may import whom among the packages that decide and act on nothing.
func pureLayers() []rule {
	return []rule{
		{dir: "recovery", allow: []string{"recovery/..."}, deny: []string{"recovery/fault"},
			why: "recovery decides from its arguments alone, which is what makes it testable to the last case"},
		{dir: "recovery/transcript", allow: []string{"recovery/journal"},
			why: "what the model is shown follows from facts alone; when it is asked is decided above"},
		{dir: "recovery/flow", allow: []string{"recovery", "recovery/journal"},
			why: "what a flow does next follows from its facts and a look at its artifacts alone; it opens no file and knows no clock"},
		{dir: "recovery/workspace", allow: []string{"recovery/journal"},
			why: "what a rewind writes follows from what looks saw alone; it opens no file and knows no clock"},
		{dir: "recovery/workspace/origin",
			why: "whose a line is follows from the versions of a file alone; which call or commit that is, it does not know"},
		{dir: "recovery/workspace/relate", allow: []string{"recovery/journal", "recovery/workspace/origin"},
			why: "what a commit has to do with runs follows from what is known of both alone; it reads no repository"},
		{dir: "recovery/journal", allow: []string{"recovery/jsonstring"},
			why: "facts are nouns: what follows from them is decided above"},
	}
}

// storeLayers is who may import whom below db.
func storeLayers() []rule {
	return []rule{
		{dir: "db", allow: []string{"recovery", "recovery/journal", "recovery/fault", "db/dbsqlc", "db/dbtest", "db/sqlitefile", "db/vault", "db/redact", "db/mark", "db/lastlog", "db/fingerprint", "db/blob", "db/identity", "db/keep", "db/words", "tools/durable"},
			why: "the store keeps facts; it knows neither tools nor who drives a run"},
		{dir: "db/sqlitefile", allow: []string{"recovery/fault", "tools/durable"},
			why: "a file is opened, read and written whatever is recorded in it; it knows no run"},
		{dir: "db/vault", allow: []string{"db/dbsqlc", "db/redact", "db/sqlitefile", "tools/durable"},
			why: "secrets are taken out of any text; which record that belongs to is known to the store"},
		{dir: "db/maintain", allow: []string{"db", "db/blob", "db/keep", "db/dbsqlc", "db/dbtest", "db/redact", "db/sqlitefile", "db/vault", "recovery", "recovery/journal"},
			why: "a whole state folder is looked at through what the store shows of it; it drives nothing"},
		{dir: "db/prune", allow: []string{"db", "db/backup", "db/blob", "db/keep", "db/dbsqlc", "db/dbtest", "db/maintain", "db/sqlitefile", "recovery", "recovery/journal", "recovery/fault"},
			why: "what may go follows from the rows and facts of the store; whose locks and folders those are is known to whoever removes them"},
		{dir: "db/find", allow: []string{"db", "db/dbsqlc", "db/dbtest", "recovery/journal"}, why: "what a person types is completed from the rows of the store"},
		{dir: "db/family", allow: []string{"db", "db/dbsqlc", "db/dbtest", "db/maintain", "recovery", "recovery/journal"}, why: "a root and the runs below it are read from the rows of the store; it drives nothing"},
		{dir: "db/words", allow: []string{"db/dbsqlc", "db/sqlitefile", "recovery/journal"}, why: "the index of words is written from facts that are given; when, and of which run, is decided by the store"},
		{dir: "db/search", allow: []string{"db", "db/dbtest", "db/sqlitefile", "recovery", "recovery/journal"}, why: "which runs are meant is found in the rows and the index of the store; how they are shown is decided elsewhere"},
		{dir: "db/commits", allow: []string{"db", "db/dbsqlc", "db/dbtest", "recovery/journal"}, why: "which commits hold whose work is read from the rows of the store; git it does not know"},
		{dir: "db/identity", why: "which file a database is follows from what the system says of it alone"},
		{dir: "db/backup", allow: []string{"db", "db/blob", "db/keep", "db/sqlitefile", "db/vault", "db/dbtest", "recovery/fault", "recovery/journal", "tools/durable", "tools/ofd", "tools/process"},
			why: "a state folder is copied as it is; what a copy is from then on is decided above"},
		{dir: "db/moves", allow: []string{"db", "db/blob", "db/dbsqlc", "db/dbtest", "db/keep", "db/vault", "recovery", "recovery/fault", "recovery/journal"},
			why: "what goes with a thread, and what may come, follows from the rows and facts of the store; the file in which it travels it does not know"},
		{dir: "db/dbsqlc", why: "generated code is a leaf"},
		{dir: "db/dbtest", allow: []string{"recovery/journal"},
			why: "the store is tested with it from inside, so it knows no store"},
		{dir: "db/mark", allow: []string{"db/sqlitefile", "tools/durable"}, why: "a mark is read and written without a store"},
		{dir: "db/blob", allow: []string{"db/dbsqlc", "db/sqlitefile"}, why: "a body is kept by its hash, whatever it says"},
		{dir: "db/keep", allow: []string{"db/dbsqlc", "db/sqlitefile", "db/vault"}, why: "a content is kept by its hash, whatever it is; which fact names it is known to the store"},
		{dir: "db/fingerprint", why: "what makes two calls the same is worked out from their arguments alone"},
		{dir: "db/lastlog", why: "the log is read without a store"},
		{dir: "db/redact",
			why: "redaction works on values and is used by the vault only"},
	}
}

// toolLayers is who may import whom below tools.
func toolLayers() []rule {
	return []rule{
		{dir: "tools", allow: []string{"recovery", "recovery/journal", "recovery/fault", "tools/..."},
			why: "a tool acts and reports; what is recorded and when is decided above it"},
		{dir: "host/drive/lineage", allow: []string{"db", "db/family", "host/drive/fold", "recovery/journal"},
			why: "what a run inherits follows from the journals that it comes from; who drives it does not matter"},
		{dir: "host/child", allow: []string{"host/drive", "host/owner", "db", "db/family", "recovery", "recovery/journal", "recovery/fault", "tools", "tools/excerpt"},
			why: "a child is driven as any run is, and its call is a tool's; which run delegates, and how it is shown, it does not know"},
		{dir: "tools/shelltext", why: "what a text runs is read from the text alone; who decides by it does not matter"},
		{dir: "tools/excerpt", why: "what of a text is shown follows from the text alone"},
		{dir: "tools/files", allow: []string{"tools/durable", "recovery", "recovery/journal", "recovery/fault", "tools", "tools/excerpt", "tools/gitrepo", "tools/ignore", "tools/ignore/ignoretest", "tools/patch", "tools/toolstest"},
			why: "file tools act by themselves; they start no process and know no other tool"},
		{dir: "tools/shell/inspect", allow: []string{"recovery", "recovery/journal", "tools", "tools/files", "tools/gitrepo/gitconfig", "tools/gitrepo/hooklines", "tools/gitrepo/objects", "tools/shelltext", "tools/toolstest"},
			why: "an inspection looks at files alone; it neither starts nor ends a process"},
		{dir: "tools/gitrepo/gitconfig", why: "settings are read alone; what they may run is judged by who asks"},
		{dir: "tools/gitrepo/hooklines", allow: []string{"tools/gitrepo/gitconfig"}, why: "what is ours is told from the text alone; who reads and writes it does not matter"},
		{dir: "tools/gitrepo/worktree", allow: []string{"tools/gitrepo/gitconfig", "tools/gitrepo/objects"},
			why: "a worktree is added and removed whatever is in it; what is laid over it is decided above"},
		{dir: "tools/gitrepo/objects", allow: []string{"recovery/journal", "tools/durable", "tools/gitrepo/gitconfig"},
			why: "what a repository keeps is read from its files alone; what is done with it is decided above"},
		{dir: "tools/gitrepo/history", allow: []string{"tools/gitrepo/gitconfig", "tools/gitrepo/objects"},
			why: "what happened to a repository is read from its files and objects alone; which run it has to do with is decided above"},
		{dir: "tools/githook", allow: []string{"tools/gitrepo/gitconfig", "tools/gitrepo/hooklines"},
			why: "what becomes of a message follows from git's files; which runs there are is asked of who knows"},
		{dir: "tools/hidden", allow: []string{"recovery/fault", "tools/githook", "tools/gitrepo/hooklines", "tools/runner", "tools/sandbox"},
			why: "whatever it needs is initialised in each start of the runner and of the confining process"},
		{dir: "tools/dirent", why: "the names of a folder are read without knowing what for"},
		{dir: "tools/ignore", allow: []string{"tools/gitrepo/gitconfig", "tools/ignore/ignoretest"}, why: "what is ignored follows from the rules alone; who asks does not matter"},
		{dir: "tools/scan", allow: []string{"recovery/fault", "recovery/journal", "tools/dirent", "tools/durable", "tools/ignore", "tools/ignore/ignoretest", "tools/toolstest"},
			why: "what a workspace holds is read and made again alone; what is kept of it, and what is made again, it does not know"},
		{dir: "host/talk", allow: []string{"host/terminal", "host/view", "recovery/journal"}, why: "a conversation is lines that stand for commands; how those are carried out is given to it"},
		{dir: "host/environ", why: "which variables commands get follows from an environment and rules that are given"},
		{dir: "tools/process", allow: []string{"tools/process/procfs"}, why: "processes are identified by what the kernel reports alone"},
	}
}

// frontDoors is what a person or a program reaches, and what the doors share. No door imports
// another.
func frontDoors() []rule {
	return []rule{
		{dir: ".", allow: []string{"host/command", "tools/hidden"},
			why: "main only hands arguments, streams and signals to the command line, and has the hidden commands carried out before it"},
		{dir: "host/command", allow: []string{"host/...", "recovery/..."}, deny: []string{fleetDir + "/..."},
			why: "a command turns flags into calls of app and host, and what comes back into text; it reaches neither the store nor tools"},
		{dir: "host/view", allow: []string{"host", "host/model/rewind", "host/doctor", "host/flow/table", "host/owner", "db", "recovery", "recovery/journal", "host/stream", "host/markdown", "tools/process"},
			why: "what is shown is made from rows and outcomes alone; it opens nothing, and every front door shows the same"},
		{dir: "host/records", allow: []string{"db"}, why: "what the store keeps is read for who shows it; what it is about does not matter"},
		{dir: "host/undo", allow: []string{"host", "host/drive", "host/drive/fold", "host/model/rewind", "host/view", "host/words", "host/workspace", "db", "db/family", "db/keep", "recovery", "recovery/journal", "recovery/workspace", "tools", "tools/restore"},
			why: "what is taken back follows from the record and from what lies there now; the run that does it is one like any other"},
		{dir: "host/diff", allow: []string{"host/drive", "host/undo", "host/view", "host/workspace", "db", "recovery/journal", "recovery/workspace", "tools/scan"},
			why: "what is shown of changes follows from the record and the contents that are kept; how it is printed is decided elsewhere"},
		{dir: "host/fork", allow: []string{"host/drive", "host/undo", "host/view", "host/workspace", "db", "recovery/journal", "tools/gitrepo/history", "tools/gitrepo/objects", "tools/gitrepo/worktree", "tools/scan"},
			why: "what a fork's own folder holds follows from the record and the contents that are kept; the run in it is one like any other"},
		{dir: "host/githook", allow: []string{"host/view", "db", "db/commits", "db/dbtest", "db/keep", "recovery/journal", "tools/githook", "tools/gitrepo/hooklines", "tools/gitrepo/gitconfig", "tools/gitrepo/objects", "tools/durable"},
			why: "what git runs, and whether a commit has work of a run in it, follows from files and journals; it drives nothing"},
		{dir: "host/search", allow: []string{"db/search", "host/app", "host/flags", "host/view", "recovery", "recovery/fault"},
			why: "runs are looked for in the store and completed as every list of them; how they are printed is decided by the front door"},
		{dir: "host/stats", allow: []string{"host/app", "host/view", "recovery", "recovery/fault", "recovery/journal"}, why: "what runs used is read from their journals; it drives nothing"},
		{dir: "host/copies", allow: []string{"host", "host/app", "host/view", "db/backup", "db/maintain", "recovery/fault", "recovery/journal", "tools/durable"},
			why: "a copy is made and declared here, for every front door; what is shown of it, it does not know"},
		{dir: "host/moves", allow: []string{"host", "host/app", "host/owner", "host/pack", "host/view", "host/witness", "host/workspace", "db", "db/backup", "db/keep", "db/moves", "db/redact", "recovery", "recovery/fault", "recovery/journal", "tools/durable", "tools/ofd"}, why: "runs go and come here, for every front door; what is shown of it, it does not know"},
		{dir: "host/pack", why: "a pack is a file, whatever it holds: whoever has no store reads it too"},
		{dir: "host/prune", allow: []string{"host/app", "host/config", "host/owner", "host/view", "host/workspace", "db", "db/backup", "db/prune", "tools/ofd", "tools/runner", "tools/sandbox"},
			why: "what of a run lies outside of the store is removed with it; which runs go is decided by the store and the person"},
		{dir: "host/pager", why: "a text is paged whatever it says"},
		{dir: "host/workspace", allow: []string{"host/drive", "host/drive/fold", "db", "db/backup", "db/dbtest", "db/family", "db/keep", "recovery", "recovery/journal", "recovery/fault", "tools", "tools/durable", "tools/files", "tools/gitrepo/objects", "tools/scan"},
			why: "what calls change is seen by looking at files alone; which call it is, and who is shown it, is decided by who drives"},
		{dir: "host/commits", allow: []string{"host/drive", "host/drive/fold", "host/owner", "host/view", "host/workspace", "db", "db/commits", "db/keep", "recovery", "recovery/fault", "recovery/journal", "recovery/workspace/...", "tools/gitrepo/history", "tools/gitrepo/hooklines", "tools/gitrepo/objects", "tools/ofd"},
			why: "which commits hold whose work follows from git's logs and the record; how it is shown is decided elsewhere"},
		{dir: "host/app", allow: []string{"host", "host/commits", "host/records", "host/undo", "host/workspace", "host/flow/standing", "host/view", "host/stream", "host/tty", "host/model/...", "host/config", "host/environ", "host/hook", "host/permission", "host/doctor", "host/witness",
			"host/logfile", "host/child", "host/flow", "host/owner", "db", "db/family", "db/find", "db/maintain", "db/redact", "recovery", "recovery/journal", "recovery/fault", "tools/..."},
			why: "app wires what a front door runs with; which front door that is, and how it shows things, it does not know"},
		{dir: "host/flow/table", allow: []string{"recovery", "recovery/flow", "recovery/journal"},
			why: "how a flow stands follows from its facts and from rows that are given; it opens nothing, and every front door shows the same"},
		{dir: "host/flow/standing", allow: []string{"host", "host/flow/table", "host/undo", "host/view", "recovery", "recovery/flow", "recovery/journal"},
			why: "what is under way of a flow is read of the runs below it; who shows it, and where they are stored, it does not know"},
		{dir: "host/complete", allow: []string{"db/family", "host/app", "host/view", "host/help", "host/stream", "recovery/journal", "recovery/fault"},
			why: "what may be typed next follows from the commands, the lists that app gives and the families of their runs; nothing is carried out"},
		{dir: "host/follow", allow: []string{"db/family", "host/app", "host/records", "host/view", "host/watch", "host/terminal", "host/stream", "recovery", "recovery/journal", "recovery/fault"},
			why: "a follower shows what watch gives it at a terminal; it drives nothing"},
		{dir: "host/carry", allow: []string{"host", "host/app", "host/launch", "host/owner", "host/view", "recovery", "recovery/fault"},
			why: "what goes on in a process of its own is decided and started here, for every front door; what is shown of it, it does not know"},
		{dir: "host/launch", allow: []string{"recovery/fault"},
			why: "a process is started with a command line, and its answer is read; what the command does, it does not know"},
		{dir: "host/lines", allow: []string{"host", "host/app", "host/follow", "host/help", "host/view", "host/watch", "host/stream", "recovery/journal"},
			why: "lines are what watch gives for programs; which command they are of, they do not know"},
		{dir: "host/report", allow: []string{"host", "host/app", "host/stats", "host/terminal", "host/view", "recovery", "recovery/journal"},
			why: "what became of a run is printed at a terminal; whatever was done with it is done"},
		{dir: "host/flags", allow: []string{"host", "host/app", "host/config", "host/flow/file", "host/help", "host/input", "host/model/catalog", "host/model/runbook", "host/permission", "host/view", "recovery/journal", "host/schema"},
			why: "flags are read and checked alone; what becomes of them is decided by the command"},
		{dir: "host/pick", allow: []string{"host", "host/app", "host/view", "recovery", "recovery/fault", "recovery/journal"},
			why: "what a person means is looked up in the store; what becomes of it is decided by the front door"},
		{dir: "host/signals", allow: []string{"host"}, why: "a signal ends a context, with a cause that host knows; what stops then, it does not know"},
		{dir: "host/tty", why: "a terminal is known by what the kernel says of it alone"},
		{dir: "host/terminal", allow: []string{"host/flow/table", "host/pager", "host/terminal/terminaltest", "host/view", "host/stream", "host/tty", "recovery", "recovery/journal", "recovery/fault"},
			why: "a terminal shows what it is given; what that comes from is known to whoever gives it"},
	}
}

// crashlab is who may import whom in the crash lab: what decides knows nothing of what starts and
// kills.
func crashlab() []rule {
	const lab = "scripts/crashlab/"
	in := func(names ...string) []string {
		for i := range names {
			names[i] = lab + names[i]
		}
		return names
	}
	worlds := in("marks", "mcp", "story", "plan", "journal", "judge", "model", "machine", "world", "trial", "lab")
	below := append([]string{"recovery/fault", "host/model/modeltest"}, worlds...)
	return []rule{
		{dir: "scripts/crashlab", allow: append(append(in("control", "random", "fault/..."), "scripts/testkit/seed"), below...),
			why: "main reads the command line and lists the kinds of faults"},
		{dir: lab + "marks", why: "marks are texts"},
		{dir: lab + "mcp", why: "the server is a process of its own, which knows nothing of the lab"},
		{dir: lab + "story", allow: append(in("marks", "mcp"), "host/model/modeltest"), why: "a story is data"},
		{dir: lab + "plan", allow: append(in("story"), "recovery/fault"), why: "what is tried follows from the stories and a seed"},
		{dir: lab + "journal", why: "the record is read by SQL alone: what the product misreads is not misread here"},
		{dir: lab + "judge", allow: in("journal", "marks"), why: "the judge decides from the record and from what was seen and printed"},
		{dir: lab + "model", allow: []string{"host/model/modeltest"}, why: "the model sees requests and nothing else"},
		{dir: lab + "machine", why: "disks, mounts and boots are made for whoever needs them"},
		{dir: lab + "world", allow: append(in("marks", "mcp", "story", "judge", "model"), "host/terminal/terminaltest", "scripts/testkit/testbin"), why: "a world starts and kills processes; what is tried and what it means is decided elsewhere"},
		{dir: lab + "trial", allow: in("marks", "story", "plan", "journal", "judge", "world"), why: "a trial is one story on its way"},
		{dir: lab + "lab", allow: append(in("story", "plan", "judge", "world", "trial"), "recovery/fault"), why: "the lab knows no kind of fault"},
		{dir: lab + "control", allow: worlds, why: "controls damage what the lab has made"},
		{dir: lab + "random", allow: worlds, why: "chance kills in the same worlds"},
		{dir: lab + "fault/witness", allow: append([]string{"host/witness/line", "host/witness/witnesstest"}, below...), why: "the witness is the one of the product's tests; what its log means is judged without the product"},
		{dir: lab + "fault", allow: below, why: "kinds of faults stand on the lab, and know nothing of each other"},
	}
}

// unbound are folders that no rule binds.
func unbound(dir string) bool { return within(dir, "scripts") && !within(dir, "scripts/crashlab") }

// ruleFor finds the rule of the nearest folder that has one. The root's rule binds the root alone,
// so a new top-level folder has none.
func ruleFor(dir string) (rule, bool) {
	for _, r := range slices.Concat(layers(), crashlab(), fleet()) {
		if r.dir == dir {
			return r, true
		}
	}
	parent := path.Dir(dir)
	if parent == "." {
		return rule{}, false
	}
	return ruleFor(parent)
}

func (r rule) permits(target string) bool {
	return !matches(r.deny, target) && matches(r.allow, target)
}

func matches(patterns []string, target string) bool {
	for _, p := range patterns {
		if p == "..." || p == target {
			return true
		}
		if base, ok := strings.CutSuffix(p, "/..."); ok && within(target, base) {
			return true
		}
	}
	return false
}

// within reports whether p is dir or below it.
func within(p, dir string) bool {
	return p == dir || strings.HasPrefix(p, dir+"/")
}

// mayReachSQL are the folders that may import database/sql and the driver. The crash lab reads
// copies, and writes tables of its own.
func mayReachSQL(dir string) bool {
	switch dir {
	case "db", "db/sqlitefile", "db/vault", "db/keep", "db/maintain", "db/backup", "db/prune", "db/moves", "db/dbsqlc", "db/dbtest", "scripts/crashlab/journal", "scripts/crashlab/fault/clock", "scripts/crashlab/fault/power":
		return true
	}
	return false
}

// impureInRecovery are standard packages by which the world, a clock or chance would reach a
// decision.
func impureInRecovery(target string) bool {
	if target == "net/url" {
		return false // it reads a text
	}
	for _, p := range []string{
		"C", "context", "crypto/rand", "log", "math/rand", "net", "os", "runtime", "sync", "syscall", "testing", "unsafe",
	} {
		if within(target, p) {
			return true
		}
	}
	return false
}

// readsClock reports whether the function of package time reads the clock or waits for it.
func readsClock(name string) bool {
	switch name {
	case "Now", "Since", "Until", "After", "AfterFunc", "Sleep", "Tick", "NewTimer", "NewTicker":
		return true
	}
	return false
}
