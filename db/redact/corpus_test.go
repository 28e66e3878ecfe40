package redact

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"os"
	"sort"
	"strconv"
	"strings"
	"testing"
)

// gitleaksCase is one of gitleaks' own test cases, with the secrets that gitleaks v8.30.1 finds in
// it. They are kept compressed so that nobody's scanner takes the made-up keys for real ones.
type gitleaksCase struct {
	Rule    string   `json:"rule"`
	Text    string   `json:"text"`
	Secrets []string `json:"secrets"`
	Benign  bool     `json:"benign"` // gitleaks' authors say that this rule must not find anything
}

func gitleaksCases(t testing.TB) []gitleaksCase {
	f, err := os.Open("testdata/gitleaks-cases.jsonl.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	var cases []gitleaksCase
	lines := bufio.NewScanner(z)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var c gitleaksCase
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			t.Fatal(err)
		}
		cases = append(cases, c)
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return cases
}

// S17: what gitleaks finds in its own cases is found.
func TestFindsWhatGitleaksFinds(t *testing.T) {
	if testing.Short() {
		t.Skip("long, with nothing beside it, and left out with -short: go test ./db/redact")
	}
	s := New(nil)
	secrets, missed, benign, hit := 0, map[string]int{}, 0, map[string]int{}
	shown := 0
	for _, c := range gitleaksCases(t) {
		spans := s.Find("", c.Text)
		if c.Benign && len(c.Secrets) == 0 {
			benign++
			if len(spans) > 0 {
				hit[spans[0].Rule]++
				t.Logf("%s: %.200q\n%v", c.Rule, c.Text, spans)
			}
			continue
		}
		for _, secret := range c.Secrets {
			secrets++
			if !covered(c.Text, secret, spans) {
				missed[c.Rule]++
				if shown++; shown <= 20 {
					t.Errorf("%s: %q in\n%s\nfound %v", c.Rule, secret, c.Text, spans)
				}
			}
		}
	}
	t.Logf("%d secrets that gitleaks finds, %d missed:%s", secrets, total(missed), counted(missed))
	t.Logf("%d texts that gitleaks leaves alone, %d not left alone:%s", benign, total(hit), counted(hit))
}

// covered says whether some place at which the secret stands lies within the spans.
func covered(text, secret string, spans []Span) bool {
	for at := 0; ; at++ {
		i := strings.Index(text[at:], secret)
		if i < 0 {
			return false
		}
		at += i
		in := 0
		for _, f := range spans {
			in += max(0, min(f.To, at+len(secret))-max(f.From, at))
		}
		if in == len(secret) {
			return true
		}
	}
}

func total(m map[string]int) int {
	n := 0
	for _, v := range m {
		n += v
	}
	return n
}

// counted writes counts, the greatest first.
func counted(m map[string]int) string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	sort.Slice(keys, func(i, j int) bool { return m[keys[i]] > m[keys[j]] || m[keys[i]] == m[keys[j]] && keys[i] < keys[j] })
	var b strings.Builder
	for _, k := range keys {
		b.WriteString(" ")
		b.WriteString(k)
		b.WriteString(" ")
		b.WriteString(strconv.Itoa(m[k]))
	}
	return b.String()
}
