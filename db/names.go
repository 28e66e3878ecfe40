package db

import (
	"bytes"
	"context"
	"encoding/hex"
	"regexp"
	"strings"
	"sync"

	"agent/db/dbsqlc"
	"agent/recovery/journal"
)

// foreignNames are the names that contents have in this store which facts of another one name.
// Facts are read with them, so that what they say can be compared with what is seen here. It is
// never changed.
type foreignNames struct {
	find *regexp.Regexp
	own  map[string]string // by those that the other store gave
}

// keptNames are foreignNames as they were read last.
type keptNames struct {
	mu    sync.Mutex
	last  int64 // of the table
	names *foreignNames
}

// read gives the names; nil where nothing came from another store.
func (k *keptNames) read(ctx context.Context, s *core) (names *foreignNames, err error) {
	err = s.read(ctx, "read names of contents", func(q *dbsqlc.Queries) error {
		last, err := q.LastKeptName(ctx)
		if err != nil && strings.Contains(err.Error(), "no such table") {
			return nil // of an older format that is only read
		}
		if err != nil || last == 0 {
			return err
		}
		k.mu.Lock()
		defer k.mu.Unlock()
		if last != k.last {
			rows, err := q.AllKeptNames(ctx)
			if err != nil {
				return err
			}
			n := &foreignNames{own: make(map[string]string, len(rows))}
			n.find = regexp.MustCompile(`"(?:kept|copy|manifest)":"[0-9a-f]{32}"`) // no other member of a fact is called so
			for _, r := range rows {
				n.own[hex.EncodeToString(r.Name)] = hex.EncodeToString(r.ID)
			}
			k.names, k.last = n, last
		}
		names = k.names
		return nil
	})
	return names, err
}

// put replaces the names in the body of a fact about files. Arguments of calls stay as they are: by
// their fingerprints they are known again.
func (n *foreignNames) put(kind journal.Kind, body []byte) []byte {
	if n == nil {
		return body
	}
	switch kind {
	case journal.KindFilesBase, journal.KindFilesChanged, journal.KindPhaseStarted, journal.KindPhaseEnded, journal.KindArtifactsChecked, journal.KindArtifactRestored:
	default:
		return body
	}
	return n.find.ReplaceAllFunc(body, func(m []byte) []byte {
		at := len(m) - 33
		if name := n.own[string(m[at:at+32])]; name != "" {
			return append(bytes.Clone(m[:at]), name+`"`...)
		}
		return m
	})
}
