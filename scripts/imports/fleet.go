package main

import (
	"go/ast"
	"strings"
)

// fleetDir is where the module agent/fleet is, with a module for its lab in it. Its packages are
// named here by their folders, as those of the main module are.
const fleetDir = "host/fleet"

// fleet is who may import whom in a fleet: of the main module only what two programs say to each
// other, how runs travel, and how lines of help are broken. Rooms know no front door, and tests may
// need what stands beside them.
func fleet() []rule {
	const dir, line, pack = fleetDir + "/", "host/witness/line", "host/pack"
	in := func(names ...string) []string {
		for i := range names {
			names[i] = dir + names[i]
		}
		return names
	}
	temporal := []string{"go.temporal.io/api/...", "go.temporal.io/sdk/..."}
	return []rule{
		{dir: fleetDir, why: "what a package of the fleet may import is a decision for each"},
		{dir: dir + "custody", tests: in("codec", "seal"),
			others: []string{"go.temporal.io/api/enums/v1", "go.temporal.io/sdk/temporal", "go.temporal.io/sdk/workflow"},
			why:    "where a run is follows from what the engine replays alone; nothing here acts, and nobody who does is known"},
		{dir: dir + "model", tests: in("log", "log/fake"), why: "the model shows every order of events by itself"},
		{dir: dir + "seal", allow: []string{pack, line}, why: "an entry is sealed and opened with a key alone; where it is kept does not matter"},
		{dir: dir + "codec", others: []string{"go.temporal.io/api/common/v1", "go.temporal.io/sdk/converter", "go.temporal.io/sdk/temporal", "google.golang.org/protobuf/proto"},
			why: "what the engine stores is sealed whatever it says"},
		{dir: dir + "log", tests: in("log/fake", "log/logtest", "log/pgtest"), others: []string{"github.com/jackc/pgx/v5/...", "github.com/minio/minio-go/v7/..."},
			why: "the log stores bytes at places; what they say is sealed"},
		{dir: dir + "log/fake", allow: in("log"), why: "a log for tests is a log"},
		{dir: dir + "log/logtest", allow: in("log"), why: "what every log keeps is tried on a log alone"},
		{dir: dir + "log/pgtest", why: "a server for tests is PostgreSQL's, whatever is stored in it"},
		{dir: dir + "log/replay", allow: append(in("log", "seal"), pack, line), tests: in("log/fake", "log/replay/replaytest", "witness"),
			why: "a record is made of the entries of a log alone; who wrote them, and who drives the run next, does not matter"},
		{dir: dir + "log/replay/replaytest", allow: []string{pack}, why: "records for tests are records"},
		{dir: dir + "witness", allow: append(in("log", "log/replay", "seal"), line), tests: append(in("log/fake", "log/replay/replaytest"), pack),
			why: "a witness hears drivers and extends the log; it knows neither the engine nor who started a driver"},
		{dir: dir + "client", allow: in("codec", "custody"), tests: in("seal"), others: append([]string{"google.golang.org/grpc/...", "google.golang.org/protobuf/..."}, temporal...),
			why: "a client speaks with the engine in custody's words; it opens no log and drives nothing"},
		{dir: dir + "worker", allow: append(in("client", "custody", "log", "log/replay", "seal", "witness"), pack, line), tests: in("log/replay/replaytest"), others: append([]string{"google.golang.org/grpc/...", "google.golang.org/protobuf/...", "golang.org/x/sys/unix"}, temporal...),
			why: "a worker has agent drive what custody asks for; what a person does is known to the front door"},
		{dir: dir + "cmd/agent-fleet", allow: append(in("client", "custody", "log", "log/replay", "seal", "witness", "worker"), "host/optionlines"), tests: append(in("log/replay/replaytest"), line), others: []string{"github.com/urfave/cli/v3", "golang.org/x/term"},
			why: "a front door turns flags into calls of rooms, and what comes back into text; the engine it reaches by client and worker"},
		{dir: dir + "cmd/fleet-figures", allow: in("client", "custody", "log", "log/replay", "seal", "witness"), others: temporal,
			why: "a fleet is measured beside the bare engine, by what its rooms show"},
		{dir: dir + "lab", why: "the lab has programs do what people and machines do; what is in them it sees from outside alone"},
		{dir: dir + "lab/s3", tests: in("log", "log/logtest"), others: []string{"github.com/versity/versitygw/..."}, why: "the bucket is another program's, and knows nothing of a fleet; its tests keep a log there"},
		{dir: dir + "lab/server", others: []string{"go.temporal.io/...", "google.golang.org/protobuf/..."}, why: "the engine is Temporal's, and knows nothing of a fleet"},
	}
}

// folderOf gives the folder of a package of this repository.
func folderOf(target string) (string, bool) {
	if rest, ok := strings.CutPrefix(target, module+"/fleet/"); ok {
		return fleetDir + "/" + rest, true
	}
	return strings.CutPrefix(target, module+"/")
}

// replayed reports whether a file is part of a workflow, which the engine carries out again from
// its history and which therefore starts nothing that is not in it.
func replayed(s *source) bool { return within(s.dir, fleetDir+"/custody") && !s.test }

// ownThreads finds what runs beside a workflow without the engine.
func ownThreads(s *source) []finding {
	var found []finding
	ast.Inspect(s.syntax, func(n ast.Node) bool {
		switch n.(type) {
		case *ast.GoStmt, *ast.SelectStmt, *ast.ChanType:
			found = append(found, s.at(n.Pos(), "runs beside what the engine replays: use workflow.Go, a Selector and a workflow.Channel"))
		}
		return true
	})
	return found
}
