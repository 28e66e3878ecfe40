// Command least is the least that a list of runs takes: it opens the database with the product's
// driver, reads the rows of one query, and says how many.
//
//	least FILE QUERY
package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"

	_ "modernc.org/sqlite"
)

func main() {
	if err := list(os.Args[1:]); err != nil {
		fmt.Fprintf(os.Stderr, "least: %v\n", err)
		os.Exit(1)
	}
}

func list(args []string) (err error) {
	if len(args) != 2 {
		return errors.New("name the database and give the query")
	}
	pool, err := sql.Open("sqlite", "file:"+args[0]+"?mode=ro")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, pool.Close()) }()
	rows, err := pool.QueryContext(context.Background(), args[1])
	if err != nil {
		return err
	}
	n, err := read(rows)
	if err == nil {
		_, err = fmt.Println(n)
	}
	return errors.Join(err, rows.Close())
}

func read(rows *sql.Rows) (int, error) {
	columns, err := rows.Columns()
	if err != nil {
		return 0, err
	}
	cells := make([]any, len(columns))
	for i := range cells {
		cells[i] = new(any)
	}
	n := 0
	for rows.Next() {
		if err := rows.Scan(cells...); err != nil {
			return n, err
		}
		n++
	}
	return n, rows.Err()
}
