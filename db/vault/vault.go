package vault

import (
	"bytes"
	"context"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"database/sql"
	"encoding/base32"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode"

	"agent/db/dbsqlc"
	"agent/db/redact"
)

// Rows are where sealed secrets lie.
type Rows struct {
	Read func(ctx context.Context, what string, do func(q *dbsqlc.Queries) error) error
	Now  func() time.Time
}

// Vault names the secrets that are taken out of the record, seals them, and gives them back to who
// may have them. What this process named or opened it keeps in memory, as the run that it drives
// does.
type Vault struct {
	stored Rows
	box    *Box   // nil without the key: nothing is sealed and nothing opened
	names  []byte // key of the ids
	set    atomic.Pointer[redact.Set]

	mu     sync.Mutex
	byID   map[string]secret
	values map[string]string // what set knows, with its rule
	heads  map[uint64][]string
	tails  map[uint64][]string   // values by eight bytes of their beginnings and ends, see remember
	bits   [1024]uint64          // of heads and tails
	given  map[string]bool       // rules of values that were given, and not found
	taken  map[string][]Redacted // by run, until somebody took it
	noted  map[string]bool       // run and rule
}

// secret is a value under its id.
type secret struct {
	rule   string
	raw    []byte // as it stood: inside JSON with its escapes
	stored bool   // there is a row for it
	shut   bool   // the row under this id cannot be opened; raw says nothing
}

// Redacted is a secret that was kept out of the record.
type Redacted struct {
	Rule        string
	Placeholder string
}

// ruleLiteral is that of a text which looks like a placeholder and is none: it is put aside like a
// secret, so that nothing that a page or a model writes is ever turned into somebody's secret.
const ruleLiteral = "literal"

// idLetters is how much of a name is used: the first length that no other value has.
func idLetters() []int { return []int{10, 16, 26, 52} }

// New works the vault's keys out from the key of the state folder; nil when there is none.
func New(key []byte, known []redact.Known, rows Rows) (*Vault, error) {
	v := &Vault{byID: map[string]secret{}, values: map[string]string{}, heads: map[uint64][]string{}, tails: map[uint64][]string{},
		given: map[string]bool{}, taken: map[string][]Redacted{}, noted: map[string]bool{}, stored: rows}
	v.set.Store(redact.New(nil))
	v.Know(known...)
	if key == nil { // names are needed all the same, for what is shown
		v.names = make([]byte, sha256.Size)
		rand.Read(v.names) // never fails: crypto/rand ends the process instead
		return v, nil
	}
	var err error
	if v.names, err = hkdf.Key(sha256.New, key, nil, "agent: names of secrets", sha256.Size); err != nil {
		return nil, fmt.Errorf("derive a key: %w", err)
	}
	if v.box, err = NewBox(key, "agent: sealed secrets"); err != nil {
		return nil, err
	}
	return v, nil
}

// Open is New with the key that lies in the folder. Who only reads can do without it: values stay
// placeholders then.
func Open(dir string, known []redact.Known, rows Rows) (*Vault, error) {
	key, err := os.ReadFile(filepath.Join(dir, KeyName))
	if err != nil || len(key) != KeySize {
		key = nil
	}
	return New(key, known, rows)
}

// name gives a value its id: the same value gets the same one. It is the beginning of a keyed hash.
func (v *Vault) name(rule string, raw []byte) string {
	m := hmac.New(sha256.New, v.names)
	m.Write([]byte("secret")) // a hash takes everything without an error
	m.Write(raw)
	whole := base32.NewEncoding("0123456789abcdefghjkmnpqrstvwxyz").WithPadding(base32.NoPadding).EncodeToString(m.Sum(nil))
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, n := range idLetters() {
		id := whole[:n]
		have, taken := v.byID[id]
		if !taken {
			v.byID[id] = secret{rule: rule, raw: bytes.Clone(raw)}
			return id
		}
		if !have.shut && bytes.Equal(have.raw, raw) {
			return id
		}
	}
	return whole // 260 bits of a hash
}

// seal makes ciphertext that only this id can be opened with.
func (v *Vault) seal(id string, raw []byte) ([]byte, error) {
	if v.box == nil {
		return nil, errors.New("seal a secret: there is no key")
	}
	return v.box.Seal([]byte(id), raw), nil
}

func (v *Vault) unseal(id string, sealed []byte) ([]byte, error) {
	if v.box == nil {
		return nil, errors.New("there is no key")
	}
	return v.box.Open([]byte(id), sealed)
}

func (v *Vault) get(id string) (secret, bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	s, ok := v.byID[id]
	return s, ok
}

func (v *Vault) put(id string, s secret) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.byID[id] = s
}

// learn has what was found once found wherever it stands, and says whether that was news.
func (v *Vault) learn(found []secret) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	var more []redact.Known
	for _, f := range found {
		if f.rule == ruleLiteral || f.shut || v.given[f.rule] {
			continue // an encoded form of a value is found again as it was found now
		}
		for _, value := range spellings(f.raw) {
			if v.values[value] == "" && telling(value) {
				v.remember(value, f.rule)
				more = append(more, redact.Known{Rule: f.rule, Value: value})
			}
		}
	}
	if len(more) > 0 {
		v.set.Store(v.set.Load().With(more...))
	}
	return len(more) > 0
}

// Know adds values that must not come to rest in the clear.
func (v *Vault) Know(known ...redact.Known) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, k := range known {
		v.remember(k.Value, k.Rule)
		v.given[k.Rule] = true
	}
	v.set.Store(v.set.Load().With(known...))
}

// spellings are what the bytes of a secret mean: as they are, and without the escapes of JSON.
func spellings(raw []byte) []string {
	out := []string{string(raw)}
	var plain string
	if bytes.IndexByte(raw, '\\') >= 0 && json.Unmarshal([]byte(`"`+string(raw)+`"`), &plain) == nil {
		out = append(out, plain)
	}
	return out
}

// mostLearned is the longest value that is looked for once it was found: the private key of an RSA
// key of 16384 bits has 12.7 KB. What is longer says by itself what it is, and looking for its
// beginning in every piece of a stream takes its length squared.
const mostLearned = 16 << 10

// telling says whether a value that a pattern found is so unlike a word that it is a secret
// wherever it stands: the password of a test database may be "postgres".
func telling(value string) bool {
	digit := strings.ContainsFunc(value, unicode.IsDigit)
	mixed := strings.ContainsFunc(value, unicode.IsLower) && strings.ContainsFunc(value, unicode.IsUpper)
	if len(value) > mostLearned {
		return false
	}
	return len(value) >= 20 || len(value) >= 8 && (digit || mixed)
}

// Value is what a placeholder with an id stands for, with the rule by which it was found.
func (v *Vault) Value(ctx context.Context, id string) (rule string, raw []byte, ok bool, err error) {
	s, ok, err := v.open(ctx, id)
	return s.rule, s.raw, ok, err
}

// RowAs seals a value that came from another store, under the id that it has there.
func (v *Vault) RowAs(id, rule string, raw []byte) (Row, error) {
	sealed, err := v.seal(id, raw)
	return Row{id: id, rule: rule, raw: raw, sealed: sealed}, err
}

// Row is a secret as it is stored.
type Row struct {
	id, rule string
	raw      []byte
	sealed   []byte // nil where a row is there already
}

// rows seals what was found, each value once.
func (v *Vault) rows(found []redact.Secret) ([]Row, error) {
	var out []Row
	seen := map[string]bool{}
	for _, f := range found {
		if seen[f.ID] {
			continue
		}
		seen[f.ID] = true
		r := Row{id: f.ID, rule: f.Rule, raw: f.Raw}
		if have, ok := v.get(f.ID); !ok || !have.stored {
			var err error
			if r.sealed, err = v.seal(f.ID, f.Raw); err != nil {
				return nil, err
			}
		}
		out = append(out, r)
	}
	return out, nil
}

// ErrNameTaken says that another value has the id of a secret: it gets a longer one when it is
// named again, at most Names times.
var ErrNameTaken = errors.New("another secret has this name")

// Names is how many names a value may get.
func Names() int { return len(idLetters()) }

// Add stores secrets in the transaction of what names them.
func (v *Vault) Add(q *dbsqlc.Queries, rows []Row) error {
	ctx := context.Background()
	for _, r := range rows {
		if r.sealed == nil {
			continue
		}
		n, err := q.AddSecret(ctx, r.id, r.rule, r.sealed, v.stored.Now().UnixMicro())
		if err != nil {
			return fmt.Errorf("keep a secret: %w", err)
		}
		if n == 1 {
			continue
		}
		there, err := q.GetSecret(ctx, r.id)
		if err != nil {
			return fmt.Errorf("keep a secret: %w", err)
		}
		raw, err := v.unseal(r.id, there.Sealed)
		if err == nil && bytes.Equal(raw, r.raw) {
			continue
		}
		v.put(r.id, secret{rule: there.Rule, raw: raw, stored: true, shut: err != nil})
		return ErrNameTaken
	}
	return nil
}

// Stored remembers which secrets have a row now, and what was kept out of the record of a run.
func (v *Vault) Stored(run string, rows []Row) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, r := range rows {
		if r.sealed != nil {
			v.byID[r.id] = secret{rule: r.rule, raw: r.raw, stored: true}
		}
		first := run + " " + r.rule
		if run != "" && r.rule != ruleLiteral && !v.noted[first] {
			v.noted[first] = true
			v.taken[run] = append(v.taken[run], Redacted{Rule: r.rule, Placeholder: Placeholder + r.rule + ":" + r.id + "]"})
		}
	}
}

// TakeRedacted says which secrets were kept out of a run's record since it was last asked: the
// first of each rule.
func (v *Vault) TakeRedacted(run string) []Redacted {
	v.mu.Lock()
	defer v.mu.Unlock()
	out := v.taken[run]
	delete(v.taken, run)
	return out
}

// open finds a secret by its id: in memory, else in the database. It says false where there is none
// that can be opened.
func (v *Vault) open(ctx context.Context, id string) (secret, bool, error) {
	if have, ok := v.get(id); ok {
		return have, !have.shut, nil
	}
	var found secret
	err := v.stored.Read(ctx, "open a secret", func(q *dbsqlc.Queries) error {
		r, err := q.GetSecret(ctx, id)
		if errors.Is(err, sql.ErrNoRows) || isMissingTable(err) {
			return nil
		}
		if err != nil {
			return err
		}
		raw, err := v.unseal(id, r.Sealed)
		found = secret{rule: r.Rule, raw: raw, stored: true, shut: err != nil}
		return nil
	})
	if err != nil || !found.stored {
		return secret{}, false, err
	}
	v.put(id, found)
	return found, !found.shut, nil
}

// isMissingTable is for a database of the first format that is only read: it has no secrets.
func isMissingTable(err error) bool {
	return err != nil && strings.Contains(err.Error(), "no such table")
}

// LearnSealed makes every value that was ever sealed one that is looked for.
func (v *Vault) LearnSealed(ctx context.Context) error {
	return v.stored.Read(ctx, "read the sealed secrets", func(q *dbsqlc.Queries) error {
		rows, err := q.AllSecrets(ctx)
		if isMissingTable(err) {
			return nil
		}
		if err != nil {
			return err
		}
		var known []secret
		for _, r := range rows {
			if raw, err := v.unseal(r.ID, r.Sealed); err == nil { // one that does not open is reported where a run needs it
				known = append(known, secret{rule: r.Rule, raw: raw})
			}
		}
		v.learn(known)
		return nil
	})
}

// CheckSealed opens every sealed value and says which do not open: such a one is never given back,
// and no call that needs it is run again.
func (v *Vault) CheckSealed(ctx context.Context) (shut []string, err error) {
	if v.box == nil {
		return nil, nil // whoever opens the store for writing gets the error that the key is missing
	}
	err = v.stored.Read(ctx, "open the sealed secrets", func(q *dbsqlc.Queries) error {
		rows, err := q.AllSecrets(ctx)
		for _, row := range rows {
			if _, err := v.unseal(row.ID, row.Sealed); err != nil {
				shut = append(shut, fmt.Sprintf("secret %s (%s) does not open: %v", row.ID, row.Rule, err))
			}
		}
		return err
	})
	return shut, err
}

// Values are those that are known, with their rules.
func (v *Vault) Values() map[string]string {
	v.mu.Lock()
	defer v.mu.Unlock()
	out := make(map[string]string, len(v.values))
	for value, rule := range v.values {
		if len(value) >= 8 {
			out[value] = rule
		}
	}
	return out
}
