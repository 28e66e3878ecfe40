package command_test

import (
	"database/sql"

	"github.com/rogpeppe/go-internal/testscript"
)

// cmdSQL changes the database behind the program's back:
//
//	sql STATEMENT...
func cmdSQL(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: sql STATEMENT...")
	}
	pool, err := sql.Open("sqlite", "file:"+ts.Getenv("STATE")+"/agent.db?_pragma=busy_timeout(10000)")
	ts.Check(err)
	for _, statement := range args {
		_, err := pool.Exec(statement)
		ts.Check(err)
	}
	ts.Check(pool.Close())
}
