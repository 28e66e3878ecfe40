package log

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// postgres keeps logs in the table agent_fleet_log, one row a place. That a place has one row is
// for its primary key.
type postgres struct {
	pool      *pgxpool.Pool
	namespace string
}

const (
	// tableLock keeps two hosts from making the table at once, which "if not exists" does not.
	tableLock = `select pg_advisory_xact_lock(hashtext('agent_fleet_log'))`
	isThere   = `select to_regclass('agent_fleet_log') is not null`
	makeTable = `create table if not exists agent_fleet_log (
	namespace text collate "C" not null,
	root      text collate "C" not null,
	place     bigint not null check (place > 0),
	entry     bytea not null,
	at        timestamptz not null default now(),
	primary key (namespace, root, place))`

	// durable undoes a setting with which a commit that was answered can be lost.
	durable = `select set_config('synchronous_commit', 'on', false)
	where current_setting('synchronous_commit') in ('off', 'local')`

	create = `insert into agent_fleet_log (namespace, root, place, entry) values ($1, $2, $3, $4) on conflict do nothing`
	read   = `select entry from agent_fleet_log where namespace = $1 and root = $2 and place = $3`
	last   = `select coalesce(max(place), 0) from agent_fleet_log where namespace = $1 and root = $2`
	roots  = `with recursive r (root) as (
	(select root from agent_fleet_log where namespace = $1 order by root limit 1)
	union all
	select (select l.root from agent_fleet_log l where l.namespace = $1 and l.root > r.root order by l.root limit 1)
	from r where r.root is not null)
select root from r where root is not null`
)

func openPostgres(ctx context.Context, url, namespace string) (Log, error) {
	config, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, fmt.Errorf("open the log: %w", err)
	}
	config.AfterConnect = func(ctx context.Context, c *pgx.Conn) error {
		_, err := c.Exec(ctx, durable)
		return err
	}
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, fmt.Errorf("open the log: %w", err)
	}
	p := &postgres{pool, namespace}
	if err := p.ready(ctx); err != nil {
		pool.Close()
		return nil, fmt.Errorf("open the log: %w", err)
	}
	return p, nil
}

// ready makes the table, unless it is there.
func (p *postgres) ready(ctx context.Context) error {
	var there bool
	if err := p.pool.QueryRow(ctx, isThere).Scan(&there); err != nil || there {
		return err
	}
	return pgx.BeginFunc(ctx, p.pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, tableLock); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, makeTable)
		return err
	})
}

func (p *postgres) Create(ctx context.Context, root string, place int64, entry []byte) error {
	if err := check(root, place); err != nil {
		return err
	}
	if entry == nil {
		entry = []byte{} // nil is null
	}
	done, err := p.pool.Exec(ctx, create, p.namespace, root, place, entry)
	switch {
	case err != nil:
		return err
	case done.RowsAffected() == 0:
		return ErrTaken
	}
	return nil
}

func (p *postgres) Read(ctx context.Context, root string, place int64) (entry []byte, err error) {
	if err := check(root, place); err != nil {
		return nil, err
	}
	err = p.pool.QueryRow(ctx, read, p.namespace, root, place).Scan(&entry)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, ErrNone
	}
	return entry, err
}

func (p *postgres) Last(ctx context.Context, root string) (place int64, err error) {
	if err := CheckRoot(root); err != nil {
		return 0, err
	}
	err = p.pool.QueryRow(ctx, last, p.namespace, root).Scan(&place)
	return place, err
}

func (p *postgres) Roots(ctx context.Context, each func(root string) error) error {
	rows, err := p.pool.Query(ctx, roots, p.namespace)
	if err != nil {
		return err
	}
	all, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return err
	}
	for _, root := range all {
		if err := each(root); err != nil {
			return err
		}
	}
	return nil
}

func (p *postgres) Close() error {
	p.pool.Close()
	return nil
}
