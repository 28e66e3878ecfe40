// Package search finds runs: by words of their prompts and answers, by name, status, folder and
// time. The words are those of roots that have ended, as they are stored, without secrets; the
// store writes them when a run ends, and [TakeIn] those of runs that ended before there was an
// index.
//
// Its statements stand here and not in queries: sqlc knows neither the number of a row in a virtual
// table nor the tables that SQLite keeps it in.
package search
