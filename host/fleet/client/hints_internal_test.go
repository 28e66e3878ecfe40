package client

import (
	"strings"
	"testing"
)

// Where a connection fails, the flag is named that helps.
func TestTryInstead(t *testing.T) {
	for why, flag := range map[string]string{
		"tls: failed to verify certificate: x509: certificate signed by unknown authority":                                                  "--tls-ca",
		"tls: failed to verify certificate: x509: certificate is valid for a.corp, not b.corp":                                              "--tls-server-name",
		"tls: failed to verify certificate: x509: cannot validate certificate for 10.0.0.1 because it doesn't contain any IP SANs":          "--tls-server-name",
		"tls: failed to verify certificate: x509: certificate has expired or is not yet valid: current time 2026-11-28 is after 2026-11-27": "renewed",
		"error reading server preface: remote error: tls: unknown certificate authority":                                                    "--tls-cert",
		"tls: first record does not look like a TLS handshake":                                                                              "no TLS",
		"dial tcp 127.0.0.1:1: connect: connection refused":                                                                                 "--engine",
	} {
		if got := tryInstead(why); !strings.Contains(got, flag) {
			t.Errorf("%s: %s", why, got)
		}
	}
}
