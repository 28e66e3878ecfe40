package lab_test

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"agent/fleet/lab"
)

// A fleet whose engine and whose log are reached over TLS, by those that the engine knows.
func TestAFleetOverTLS(t *testing.T) {
	l := lab.New(t)
	ours, theirs := lab.NewAuthority(l, "ours"), lab.NewAuthority(l, "theirs")
	ours.Issue("fleet")
	theirs.Issue("fleet")
	l.StartEngine()
	l.Postgres().Secure(ours)
	g := ours.Gate("k-7d0c")
	t.Setenv("TEMPORAL_TLS_SERVER_CA_CERT_PATH", ours.File("ca.pem"))
	t.Setenv("TEMPORAL_TLS_CLIENT_CERT_PATH", ours.File("fleet.pem"))
	t.Setenv("TEMPORAL_TLS_CLIENT_KEY_PATH", ours.File("fleet.key"))
	t.Setenv("TEMPORAL_API_KEY", "k-7d0c")
	h := g.Machine("h-01")
	h.Boot()
	for name, x := range map[string]struct {
		args []string
		says string
	}{
		"another server":           {[]string{"--tls-ca", theirs.File("ca.pem")}, "--tls-ca FILE has"},
		"a certificate of others":  {[]string{"--tls-cert", theirs.File("fleet.pem"), "--tls-key", theirs.File("fleet.key")}, "--tls-cert FILE"},
		"a certificate and no key": {[]string{"--tls-key", ""}, "needs its key"},
		"another name":             {[]string{"--tls-server-name", "elsewhere.corp"}, "--tls-server-name NAME says"},
		"another key":              {[]string{"--api-key", "k-0000"}, "--api-key"},
		"no certificates at all":   {[]string{"--tls-ca", filepath.Join(l.Dir, "key")}, "holds no certificate"},
		"a server without TLS":     {[]string{"--engine", l.Address()}, "it speaks no TLS"},
		"a log of another server":  {[]string{"--log", strings.ReplaceAll(g.LogURL, "/ours/", "/theirs/")}, "signed by unknown authority"},
	} {
		if text, code := h.Refused(x.args...); code == 0 || !strings.Contains(text, x.says) {
			t.Errorf("%s: exit %d: %s", name, code, text)
		}
	}
	h.Start()
	id := g.Begin("tls", []string{"true", "?Publish", "true"})
	r := g.Until(id, "waiting", time.Minute, lab.Run.Asks)
	ours.Issue("fleet") // the one before is not good any more
	g.Do("answer", r.Asked.ID, "yes")
	if r = g.Until(id, "ended", time.Minute, lab.Run.Ended); r.Status != "completed" {
		t.Errorf("it ended as %+v", r)
	}
	l.Once("tls", 1, 3)
}
