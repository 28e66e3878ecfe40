package db

import (
	"bytes"
	"context"
	"crypto/aes"
	"crypto/cipher"
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
	"unicode"

	"agent/db/dbsqlc"
	"agent/db/redact"
)

// vault names the secrets that are taken out of the record, seals them, and gives them back to who may have them. What this
// process named or opened it keeps in memory, as the run that it drives does.
type vault struct {
	aead  cipher.AEAD // nil without the key: nothing is sealed and nothing opened
	names []byte      // key of the ids
	set   atomic.Pointer[redact.Set]

	mu     sync.Mutex
	byID   map[string]secret
	values map[string]string // what set knows, with its rule
	heads  map[uint64][]string
	tails  map[uint64][]string // values by eight bytes of their beginnings and ends, see remember
	bits   [1024]uint64        // of heads and tails
	given  map[string]bool     // rules of values that were given, and not found
	kept   map[string][]Kept   // by run, until it was said
	said   map[string]bool     // run and rule
}

// secret is a value under its id.
type secret struct {
	rule   string
	raw    []byte // as it stood: inside JSON with its escapes
	stored bool   // there is a row for it
	shut   bool   // the row under this id cannot be opened; raw says nothing
}

// Kept is a secret that was kept out of the record.
type Kept struct {
	Rule        string
	Placeholder string
}

// ruleLiteral is that of a text which looks like a placeholder and is none: it is put aside like a secret, so that nothing
// that a page or a model writes is ever turned into somebody's secret.
const ruleLiteral = "literal"

// idLetters is how much of a name is used: the first length that no other value has.
func idLetters() []int { return []int{10, 16, 26, 52} }

// newVault works the vault's keys out from the key of the state folder; nil when there is none.
func newVault(key []byte, known []redact.Known) (*vault, error) {
	v := &vault{byID: map[string]secret{}, values: map[string]string{}, heads: map[uint64][]string{}, tails: map[uint64][]string{},
		given: map[string]bool{}, kept: map[string][]Kept{}, said: map[string]bool{}}
	v.set.Store(redact.New(nil))
	v.know(known)
	if key == nil { // names are needed all the same, for what is shown
		v.names = make([]byte, sha256.Size)
		rand.Read(v.names) // never fails: crypto/rand ends the process instead
		return v, nil
	}
	var err error
	if v.names, err = hkdf.Key(sha256.New, key, nil, "agent: names of secrets", sha256.Size); err != nil {
		return nil, fmt.Errorf("derive a key: %w", err)
	}
	sealing, err := hkdf.Key(sha256.New, key, nil, "agent: sealed secrets", 32)
	if err != nil {
		return nil, fmt.Errorf("derive a key: %w", err)
	}
	block, err := aes.NewCipher(sealing)
	if err != nil {
		return nil, fmt.Errorf("seal secrets: %w", err)
	}
	if v.aead, err = cipher.NewGCM(block); err != nil {
		return nil, fmt.Errorf("seal secrets: %w", err)
	}
	return v, nil
}

// openVault makes the store's vault. Who only reads can do without the key: values stay placeholders then.
func (s *Store) openVault() error {
	key := s.key
	if key == nil {
		data, err := os.ReadFile(filepath.Join(s.file.Dir(), keyName))
		if err == nil && len(data) == keySize {
			key = data
		}
	}
	v, err := newVault(key, s.o.Known)
	s.vault = v
	return err
}

// name gives a value its id: the same value gets the same one. It is the beginning of a keyed hash.
func (v *vault) name(rule string, raw []byte) string {
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
func (v *vault) seal(id string, raw []byte) ([]byte, error) {
	if v.aead == nil {
		return nil, errors.New("seal a secret: there is no key")
	}
	nonce := make([]byte, v.aead.NonceSize(), v.aead.NonceSize()+len(raw)+v.aead.Overhead())
	rand.Read(nonce) // never fails, as above
	return v.aead.Seal(nonce, nonce, raw, []byte(id)), nil
}

func (v *vault) unseal(id string, sealed []byte) ([]byte, error) {
	if v.aead == nil {
		return nil, errors.New("there is no key")
	}
	n := v.aead.NonceSize()
	if len(sealed) < n {
		return nil, errors.New("it is cut off")
	}
	return v.aead.Open(nil, sealed[:n], sealed[n:], []byte(id))
}

func (v *vault) get(id string) (secret, bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	s, ok := v.byID[id]
	return s, ok
}

func (v *vault) put(id string, s secret) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.byID[id] = s
}

// learn has what was found once found wherever it stands, and says whether that was news.
func (v *vault) learn(found []secret) bool {
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

// know adds values that the caller knows to be secret.
func (v *vault) know(known []redact.Known) {
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

// mostLearned is the longest value that is looked for once it was found: the private key of an RSA key of 16384 bits has 12.7 KB.
// What is longer says by itself what it is, and looking for its beginning in every piece of a stream takes its length squared.
const mostLearned = 16 << 10

// telling says whether a value that a pattern found is so unlike a word that it is a secret wherever it stands: the password
// of a test database may be "postgres".
func telling(value string) bool {
	digit := strings.ContainsFunc(value, unicode.IsDigit)
	mixed := strings.ContainsFunc(value, unicode.IsLower) && strings.ContainsFunc(value, unicode.IsUpper)
	if len(value) > mostLearned {
		return false
	}
	return len(value) >= 20 || len(value) >= 8 && (digit || mixed)
}

// Know adds values that must not come to rest in the clear: keys that were fetched since the store was opened.
func (s *Store) Know(known ...redact.Known) { s.vault.know(known) }

// secretRow is a secret as it is stored.
type secretRow struct {
	id, rule string
	raw      []byte
	sealed   []byte // nil where a row is there already
}

// rows seals what was found, each value once.
func (v *vault) rows(found []redact.Secret) ([]secretRow, error) {
	var out []secretRow
	seen := map[string]bool{}
	for _, f := range found {
		if seen[f.ID] {
			continue
		}
		seen[f.ID] = true
		r := secretRow{id: f.ID, rule: f.Rule, raw: f.Raw}
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

// errNameTaken says that another value has the id of a secret: it gets a longer one when it is named again.
var errNameTaken = errors.New("another secret has this name")

// addSecrets stores secrets in the transaction of what names them.
func (s *Store) addSecrets(t *tx, rows []secretRow) error {
	ctx := context.Background()
	for _, r := range rows {
		if r.sealed == nil {
			continue
		}
		n, err := t.q.AddSecret(ctx, r.id, r.rule, r.sealed, s.now().UnixMicro())
		if err != nil {
			return fmt.Errorf("keep a secret: %w", err)
		}
		if n == 1 {
			continue
		}
		there, err := t.q.GetSecret(ctx, r.id)
		if err != nil {
			return fmt.Errorf("keep a secret: %w", err)
		}
		raw, err := s.vault.unseal(r.id, there.Sealed)
		if err == nil && bytes.Equal(raw, r.raw) {
			continue
		}
		s.vault.put(r.id, secret{rule: there.Rule, raw: raw, stored: true, shut: err != nil})
		return errNameTaken
	}
	return nil
}

// stored remembers which secrets have a row now, and what was kept out of the record of a run.
func (v *vault) stored(run string, rows []secretRow) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, r := range rows {
		if r.sealed != nil {
			v.byID[r.id] = secret{rule: r.rule, raw: r.raw, stored: true}
		}
		said := run + " " + r.rule
		if run != "" && r.rule != ruleLiteral && !v.said[said] {
			v.said[said] = true
			v.kept[run] = append(v.kept[run], Kept{Rule: r.rule, Placeholder: mark + r.rule + ":" + r.id + "]"})
		}
	}
}

// TakeKept says which secrets were kept out of a run's record since it was last asked: the first of each rule.
func (s *Store) TakeKept(run string) []Kept {
	s.vault.mu.Lock()
	defer s.vault.mu.Unlock()
	out := s.vault.kept[run]
	delete(s.vault.kept, run)
	return out
}

// open finds a secret by its id: in memory, else in the database. It says false where there is none that can be opened.
func (s *Store) openSecret(ctx context.Context, id string) (secret, bool, error) {
	if have, ok := s.vault.get(id); ok {
		return have, !have.shut, nil
	}
	var found secret
	err := s.read(ctx, "open a secret", func(q *dbsqlc.Queries) error {
		r, err := q.GetSecret(ctx, id)
		if errors.Is(err, sql.ErrNoRows) || isMissingTable(err) {
			return nil
		}
		if err != nil {
			return err
		}
		raw, err := s.vault.unseal(id, r.Sealed)
		found = secret{rule: r.Rule, raw: raw, stored: true, shut: err != nil}
		return nil
	})
	if err != nil || !found.stored {
		return secret{}, false, err
	}
	s.vault.put(id, found)
	return found, !found.shut, nil
}

// isMissingTable is for a database of the first format that is only read: it has no secrets.
func isMissingTable(err error) bool {
	return err != nil && strings.Contains(err.Error(), "no such table")
}
