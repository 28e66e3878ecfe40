package redact

import (
	"slices"
	"strings"
	"testing"
)

// S17: what gitleaks does not look for, and the forms that other agents let through (EN-56).
func TestFindsWhatOthersMiss(t *testing.T) {
	s := New(nil)
	for _, c := range []struct{ text, secret string }{
		{"psql postgres://admin:hunter2@db.internal:5432/app", "hunter2"},
		{"postgres://user:pw@host", "pw"},
		{`{\"url\":\"postgres:\/\/app:s3cr3t-pw9@db\/x\"}`, "s3cr3t-pw9"},
		{"redis://:p4ss@cache:6379/0", "p4ss"},
		{"amqp://svc:a%2Fb@mq/", "a%2Fb"},
		{"git clone https://x-access-token:abcdef123456@github.com/o/r.git", "abcdef123456"},
		{"remote: https://0123456789abcdef01234567@git.example.com/o/r", "0123456789abcdef01234567"},
		{"mysql://root:p@ssword@db:3306/x", "p@ssword"},
		{"mysql://root:pass/word@db:3306/x", "pass/word"},
		{"Authorization: Bearer abc123def456", "abc123def456"},
		{`curl -H "Authorization: Basic dXNlcjpwYXNzd29yZA==" https://h`, "dXNlcjpwYXNzd29yZA=="},
		{`{"Authorization": "Bearer abc.def-ghi123"}`, "abc.def-ghi123"},
		{"authorization: token 0a1b2c3d4e", "0a1b2c3d4e"},
		{"sent Bearer 8sd7f6g5h4j3k2l1 to it", "8sd7f6g5h4j3k2l1"},
		{"X-Api-Key: 12345abcde67890", "12345abcde67890"},
		{"AKIAQYLPMN5HFIQR7XYA wJalrXUtnFEMI/K7MDENG+bPxRfiCYzzTr4Vw9qZ", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYzzTr4Vw9qZ"},
		{"aws_secret_access_key = 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", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYzzTr4Vw9qZ"},
		{"SUPABASE=sb_secret_aabbccddaabbccdd", "sb_secret_aabbccddaabbccdd"},
		{"use hf_abcdefgh1234abcdefgh1234 now", "hf_abcdefgh1234abcdefgh1234"},
		{"sk-proj-aaaabbbbccccdddd1", "sk-proj-aaaabbbbccccdddd1"},
		{"sk-ant-api03-aaaabbbbcccc-1", "sk-ant-api03-aaaabbbbcccc-1"},
		{"whsec_aaaabbbbccccdddd", "whsec_aaaabbbbccccdddd"},
		{"glpat-aaaabbbbccccdddd1234", "glpat-aaaabbbbccccdddd1234"},
		{"//registry.npmjs.org/:_authToken=npm_aaaabbbbccccdddd1111222233334444", "npm_aaaabbbbccccdddd1111222233334444"},
		{"docker login -p dckr_pat_aaaabbbbccccdddd", "dckr_pat_aaaabbbbccccdddd"},
		{`db_password: "s3cr3t!"`, "s3cr3t!"},
		{`  "client_secret": "ab12-cd34-ef56",`, "ab12-cd34-ef56"},
		{"machine github.com login me password l3tm3in", "l3tm3in"},
		{"machine github.com\n  login me\n  password l3tm3in\n", "l3tm3in"},
		{"db.internal:5432:app:me:l3tm3in", "l3tm3in"},
		{"*:*:*:me:l3tm3in", "l3tm3in"},
		{"export DEPLOY_TOKEN=abc12345", "abc12345"},
		{"DB_PASSWORD=correcthorse make deploy", "correcthorse"},
		{"password=hunter2", "hunter2"},
		{"log in with password=hunter2butlonger and see", "hunter2butlonger"},
		{"then db_password = 'correct-horse-7' is set", "correct-horse-7"},
		{"password = hunter2\n", "hunter2"},
		{"password: hunter2", "hunter2"},
		{"mysql --password=hunter22 -u me", "hunter22"},
		{`client_secret = "ab12-cd34-ef56"`, "ab12-cd34-ef56"},
		{`{"password": "letmein"}`, "letmein"},
		{"tool --api-key 8sd7f6g5h4 run", "8sd7f6g5h4"},
		{"GET /x?access_token=8sd7f6g5h4&y=1", "8sd7f6g5h4"},
		{"<password>hunter2</password>", "hunter2"},
		{`env: {"API_TOKEN": "Lj2^5O%xi214"}`, "Lj2^5O%xi214"},
		{"-----BEGIN RSA PRIVATE KEY-----\nMIIEowIBAAKCAQEAtruncatedhere00\nMIIE", "MIIEowIBAAKCAQEAtruncatedhere00\nMIIE"},
		{`"-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0B\n-----END PRIVATE KEY-----\n"`, `MIIEvQIBADANBgkqhkiG9w0B\n-----END PRIVATE KEY-----`},
		{"…AoGCCqGSM49AwEHoUQDQgAEPR3t\nU2Fta9ktY+6P9G0cWO+0kETA6SFs38==\n-----END EC PRIVATE KEY-----", "U2Fta9ktY+6P9G0cWO+0kETA6SFs38=="},
		{"-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,0011\n\nMIIEowIBAAKCAQEAtruncatedhere00\n-----END RSA PRIVATE KEY-----", "MIIEowIBAAKCAQEAtruncatedhere00"},
		{"-----BEGIN PGP PRIVATE KEY BLOCK-----\n\nlQOYBGPqAAAAAAAAAAAAAAAAAAAAAAAA\n=abcd\n-----END PGP PRIVATE KEY BLOCK-----", "lQOYBGPqAAAAAAAAAAAAAAAAAAAAAAAA\n=abcd"},
	} {
		spans := s.Find("", c.text)
		if !covered(c.text, c.secret, spans) {
			t.Errorf("%q: %q is left, found %v", c.text, c.secret, spans)
			continue
		}
		// What stands around a secret is what makes the text of use.
		if left := len(c.text) - sum(spans); left == 0 && len(c.text) > len(c.secret) && spans[0].Rule != pemRule {
			t.Errorf("%q: nothing is left", c.text)
		}
		// The same, escaped as it stands in JSON inside JSON.
		twice := strings.ReplaceAll(strings.ReplaceAll(c.text, `\`, `\\`), `"`, `\"`)
		twice = strings.ReplaceAll(twice, "\n", `\n`)
		secret := strings.ReplaceAll(strings.ReplaceAll(c.secret, `\`, `\\`), "\n", `\n`)
		if spans := s.Find("", twice); !covered(twice, secret, spans) {
			t.Errorf("%q: %q is left, found %v", twice, secret, spans)
		}
	}
}

func sum(spans []Span) int {
	n := 0
	for _, f := range spans {
		n += f.To - f.From
	}
	return n
}

// What looks like a secret to a careless rule, and is what an agent works with all day.
// EN-56.
func TestLeavesOrdinaryTextAlone(t *testing.T) {
	s := New(nil)
	for _, text := range []string{
		"commit 2b462e4f8c1d9e7a6b5c4d3e2f1a0b9c8d7e6f5a",
		"sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
		`"fingerprint": "hmac-sha256:v1:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"`,
		"agent resume r-0k3v9x2m7q1z", "agent answer c-7h2k9w4m1x8z yes", "run r-0k3v9x2m7q1z is held by process 4711 on host-a1",
		"550e8400-e29b-41d4-a716-446655440000",
		"golang.org/x/oauth2 v0.30.0 h1:dnDm7JmhM45NNpd8FDDeLhK6FwqbOf4MLCM9zb1BOHI=",
		"golang.org/x/oauth2 v0.30.0/go.mod h1:B++QgG3ZKulg6sRPGD/mqlHQs5rB3Ml9erfeDY7xKlU=",
		`      "integrity": "sha512-v2kDEe57lecTulaDIuNTPy3Ry4gLGJ6Z1O3vE1krgXZNrsQ+LFTGHVxVjcXPs17LhbZVGedAJv8XZ1tvj5FvSg==",`,
		`      "resolved": "https://registry.npmjs.org/js-tokens/-/js-tokens-4.0.0.tgz",`,
		`<img src="data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAUAAAAFCAYAAACNbyblAAAAHElEQVQI12P4//8/w38GIAXDIBKE0DHxgljNBAAO9TXL0Y4OHwAAAABJRU5ErkJggg==">`,
		"-----BEGIN CERTIFICATE-----\nMIIDdzCCAl+gAwIBAgIEAgAAuTANBgkqhkiG9w0BAQUFADBaMQswCQYDVQQGEwJJ\n-----END CERTIFICATE-----",
		"-----BEGIN PUBLIC KEY-----\nMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEPR3tU2Fta9ktY+6P9G0cWO+0kETA\n-----END PUBLIC KEY-----",
		"A file that begins with -----BEGIN PRIVATE KEY----- is never read, and the reason is told to whoever asked.",
		`if strings.Contains(text, "-----BEGIN RSA PRIVATE KEY-----") { return true }`,
		"ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGkYx2pQx1vTz3m1b2c3d4e5f6g7h8i9j0k1l2m3n4o5 me@host",
		"password := os.Getenv(\"DB_PASSWORD\")", "password: string", "password = config.Password", "Password string `json:\"password\"`",
		`if password == "" {`, `<input type="password" name="password" placeholder="Your password">`, "password=$PASSWORD", "password=${DB_PASSWORD}",
		`token := scanner.Token()`, "token = next(tokens)", "max_tokens: 4096", `"max_tokens": 128000,`, "tokens=12345678", "key := m.keys[i]",
		"for key, value := range m {", `"key": "value"`, "const keyLen = 32", "GOPRIVATE=example.com/private", "SSH_AUTH_SOCK=/run/user/1000/keyring/ssh",
		"TLS_KEY_FILE=/etc/ssl/private/server.key", "Authorization: Bearer $TOKEN", "Authorization: Bearer <token>", "Authorization: Bearer YOUR_TOKEN",
		"export API_KEY=your-api-key-here", "http://localhost:8080/path", "https://user@example.com/", "mailto:me@example.com", "a://b:${PASSWORD}@c",
		"https://%s:%s@host/", "see https://example.com:8443/@scope/name", "the basic idea, and the bearer of news", "task-management-system-with-sk-learn-included",
		"ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx", "sk-...", "sk_test_...", "hf_xxxxxxxxxxxxxxxxxxxxxxxx", "npm_config_registry_is_a_name_of_npm",
		`auth_x: 014df517-39d1-4453-b7b3-9930c563627c`, "[secret]", "[secret:", "auth: required", "author: Jane Doe <jane@example.com>", "monkey: 12345678ab", "The secret: do it twice.", "secret: kubernetes-name",
		"db/redact/json.go:5432:12: found", "func TestKey(t *testing.T) {", "case tokenWord(word):", "10.0.0.1:5432:up", "12:30:00 token refreshed",
		`{"type":"call.started","call":"c-7h2k9w4m1x8z","seq":12,"epoch":3,"digest":"9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"}`,
	} {
		if spans := s.Find("", text); len(spans) > 0 {
			f := spans[0]
			t.Errorf("%q: %s takes %q", text, f.Rule, text[f.From:f.To])
		}
	}
}

// A member's name says what its value is.
func TestJSONMembers(t *testing.T) {
	s := New(nil)
	for _, c := range []struct {
		in   string
		gone []string
		left []string
	}{
		{`{"password": "letmein"}`, []string{"letmein"}, []string{`"password"`}},
		{`{"user": {"Password": "letmein", "name": "hunter22"}}`, []string{"letmein"}, []string{"hunter22"}},
		{`{"client_secret":"abc-123-def-456"}`, []string{"abc-123-def-456"}, nil},
		{`{"clientSecret":"abc-123-def-456"}`, []string{"abc-123-def-456"}, nil},
		{`{"tokens":["abc-123-def-456"],"access_tokens_used":"abc-123-def-457"}`, nil, []string{"abc-123-def-456", "abc-123-def-457"}},
		{`{"access_token":["abc-123-def-456"]}`, []string{"abc-123-def-456"}, nil},
		{`[{"name":"X-Api-Key","value":"abc-123-def-456"},{"name":"x","value":"abc-123-def-457"}]`, []string{"abc-123-def-456"}, []string{"abc-123-def-457"}},
		{`{"args":["login","--password","letmein","--user","me-and-you"]}`, []string{"letmein"}, []string{"me-and-you", "login"}},
		{`{"password":"string","token":"required","secret":"${SECRET}","api_key":"<api key>","auth":"basic"}`, nil, []string{"string", "required", "${SECRET}", "<api key>", "basic"}},
		{`{"properties":{"password":{"type":"string","description":"the password of the user"}}}`, nil, []string{"the password of the user"}},
		{`{"password":12345678}`, nil, []string{"12345678"}},
		{`{"arguments":"{\"password\":\"letmein\\u0021x\"}"}`, []string{`letmein\\u0021x`}, []string{`{\"password\":\"`}},
		{`{"command":"curl -u me:l3tm3in9 https://h/x"}`, []string{"l3tm3in9"}, []string{"curl"}},
		{`{"ghp_16C7e42F292c6912E7710c838347Ae178B4a":1}`, []string{"ghp_16C7e42F292c6912E7710c838347Ae178B4a"}, []string{":1}"}},
		{`{"adafruit_key":"0123456789abcdef0123456789abcdef"}`, []string{"0123456789abcdef0123456789abcdef"}, nil},
	} {
		out, _, err := s.JSON([]byte(c.in), vault{}.name)
		if err != nil {
			t.Errorf("%s: %v", c.in, err)
			continue
		}
		for _, g := range c.gone {
			if strings.Contains(string(out), g) {
				t.Errorf("%s: %s is left in %s", c.in, g, out)
			}
		}
		for _, l := range c.left {
			if !strings.Contains(string(out), l) {
				t.Errorf("%s: %s is missing in %s", c.in, l, out)
			}
		}
	}
	// A value that stands in the text of the JSON as it is, and not in what that text means.
	odd := New([]Known{{"env-odd-key", `k\nEy-9x7w2`}})
	if out, _, err := odd.JSON([]byte(`["k\nEy-9x7w2", "x"]`), noID); err != nil || string(out) != `["[secret:env-odd-key:0]", "x"]` {
		t.Errorf("got %s, %v", out, err)
	}
	if out, _, err := s.JSON([]byte(`{"a":`), vault{}.name); err == nil || out != nil {
		t.Errorf("what is no JSON gave %q, %v", out, err)
	}
}

// Hermes #77164, minimax #153: the names of variables, and the values that a name alone does not
// tell.
func TestFromEnvironment(t *testing.T) {
	var got []string
	for _, k := range FromEnvironment([]string{
		"OPENAI_API_KEY=sk-abc123def456", "GITHUB_TOKEN=gho-16C7e42F", "PGPASSWORD=pg-secret-1", "MYSQL_PWD=my-secret-1", "SSHPASS=ssh-secret-1",
		"AWS_SECRET_ACCESS_KEY=wJalrXUtnFEMI/K7MD", "AWS_SESSION_TOKEN=FwoGZXIvYXdzE", "NPM_CONFIG__AUTH=bWU6cGFzc3dvcmQ=", "DB_PASS=db-secret-1",
		"GOOGLE_CREDENTIALS={\"type\":\"service_account\",\"private_key\":\"pk-secret-1\",\"client_email\":\"me@example.com\"}",
		"DATABASE_URL=postgres://app:p%40ss-word1@db.internal/app", "REDIS_URL=redis://cache:6379", "SOME_THING=https://me:url-secret-1@h/", "PROXY=http://proxy:3128",
		"SENTRY_DSN=app:dsn-secret-1@tcp(db:3306)/x", "MSSQL=Server=db;User=sa;Password=ms-secret-1;", "Stripe_Secret=str1pe-live-1",
		"SSH_AUTH_SOCK=/tmp/ssh-XXXX/agent.1", "GPG_TTY=/dev/pts/0", "XKB_KEYBOARD=dvorak-intl-1", "TLS_KEY_FILE=/etc/ssl/key.pem", "SSL_KEY=/etc/ssl/private/key.pem",
		"SSH_PUBLIC_KEY=ssh-ed25519 AAAAC3NzaC1lZDI1NTE5", "PUBLIC_KEY=MFkwEwYHKoZIzj0C", "AWS_ACCESS_KEY_ID=AKIAIOSFODNN7EXAMPL", "MAX_TOKENS=1234567890", "PWD=/home/me/project1",
		"OLDPWD=/home/me/project2", "PASSWORD_STORE_DIR=/home/me/.pass-store", "GIT_ASKPASS=/usr/lib/git-askpass", "SHORT_TOKEN=abc1", "AUTH_TOKEN=development",
		"API_KEY=********", "OTHER_KEY=$FROM_ELSEWHERE", "PIN_KEY=123456789", "HOME=/root", "PATH=/usr/bin:/bin", "LS_COLORS=rs=0:di=01;34", "AUTHOR_NAME=Jane Doe-Smith 1", "EMPTY_KEY=", "noequals",
	}) {
		got = append(got, k.Rule+" "+k.Value)
	}
	want := []string{
		"env-openai-api-key sk-abc123def456", "env-github-token gho-16C7e42F", "env-pgpassword pg-secret-1", "env-mysql-pwd my-secret-1", "env-sshpass ssh-secret-1",
		"env-aws-secret-access-key wJalrXUtnFEMI/K7MD", "env-aws-session-token FwoGZXIvYXdzE", "env-npm-config--auth bWU6cGFzc3dvcmQ=", "env-db-pass db-secret-1",
		"env-google-credentials pk-secret-1",
		"env-database-url p%40ss-word1", "env-database-url p@ss-word1", "env-some-thing url-secret-1",
		"env-sentry-dsn dsn-secret-1", "env-mssql ms-secret-1", "env-stripe-secret str1pe-live-1",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestUnusable(t *testing.T) {
	for value, why := range map[string]string{
		"abc1234":                 "shorter than 8 bytes",
		"aaaaaaaaaaaa":            "fewer than 4 different characters",
		"development":             "an ordinary word",
		"Administrator":           "an ordinary word",
		"read-only-user":          "an ordinary word",
		"2026-11-21":              "a number, date or address",
		"192.168.100.1":           "a number, date or address",
		"/usr/local/bin":          "a path",
		`C:\keys\a.pem`:           "a path",
		"https://example.com/x":   "a URL",
		"${SOMETHING}":            "a reference to a value",
		"correcthorsebattery":     "",
		"hunter2hunter2":          "",
		"1234567890123456":        "",
		"/9j/4AAQSkZJRg+abc=":     "",
		"p4ssword":                "",
		"Tr0ub4dor&3":             "",
		"ABCDEFGHIJKLMNOPQRSTUVW": "",
	} {
		if got := Unusable(value); got != why {
			t.Errorf("%q: got %q, want %q", value, got, why)
		}
	}
}
