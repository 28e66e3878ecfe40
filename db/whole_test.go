package db

import "os"

// whole says that every place at which a file or a row can be damaged is tried; a plain go test tries some of them. All of them:
// AGENT_TESTS=whole go test ./db
func whole() bool { return os.Getenv("AGENT_TESTS") == "whole" }
