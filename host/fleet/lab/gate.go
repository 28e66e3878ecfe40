package lab

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"math/big"
	"net"
	"net/http"
	"net/http/httputil"
	"os"
	"path/filepath"
	"time"
)

// Authority signs certificates.
type Authority struct {
	lab    *Lab
	folder string
	cert   *x509.Certificate
	key    *ecdsa.PrivateKey
}

// NewAuthority makes one, whose files are in a folder of that name: ca.pem is its own certificate.
func NewAuthority(l *Lab, name string) *Authority {
	l.Helper()
	a := &Authority{lab: l, folder: l.path(name)}
	if err := os.Mkdir(a.folder, 0o755); err != nil {
		l.Fatal(err)
	}
	a.cert, a.key = a.sign("ca", nil)
	return a
}

// File is the path of a file of the authority: ca.pem, or NAME.pem and NAME.key of what it signed.
func (a *Authority) File(name string) string { return filepath.Join(a.folder, name) }

// Issue signs a certificate by which a server, or its client, is known. The addresses and host
// names that a server is asked by stand in it. One of the same name is replaced.
func (a *Authority) Issue(name string, hosts ...string) { a.lab.Helper(); a.sign(name, hosts) }

func (a *Authority) sign(name string, hosts []string) (*x509.Certificate, *ecdsa.PrivateKey) {
	a.lab.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		a.lab.Fatal(err)
	}
	c := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	for _, host := range hosts {
		if ip := net.ParseIP(host); ip != nil {
			c.IPAddresses = append(c.IPAddresses, ip)
		} else {
			c.DNSNames = append(c.DNSNames, host)
		}
	}
	parent, signer := a.cert, a.key
	if parent == nil { // it signs itself
		c.IsCA, c.BasicConstraintsValid, c.KeyUsage = true, true, x509.KeyUsageCertSign
		parent, signer = c, key
	}
	der, err := x509.CreateCertificate(rand.Reader, c, parent, &key.PublicKey, signer)
	if err != nil {
		a.lab.Fatal(err)
	}
	if c, err = x509.ParseCertificate(der); err != nil {
		a.lab.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		a.lab.Fatal(err)
	}
	a.write(name+".pem", "CERTIFICATE", der)
	a.write(name+".key", "PRIVATE KEY", secret)
	return c, key
}

func (a *Authority) write(name, kind string, der []byte) {
	a.lab.Helper()
	if err := os.WriteFile(a.File(name), pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
		a.lab.Fatal(err)
	}
}

// current reports whether a certificate is the newest of its name.
func (a *Authority) current(c *x509.Certificate) bool {
	b, _ := os.ReadFile(a.File(c.Subject.CommonName + ".pem")) // none is current where there is no file
	block, _ := pem.Decode(b)
	return block != nil && bytes.Equal(block.Bytes, c.Raw)
}

// Gate begins a gate in front of the engine, which speaks TLS and lets in who shows a certificate
// of the authority, and a key. A certificate that was replaced has its connection closed. It gives
// the lab of those who ask the engine by the gate.
func (a *Authority) Gate(key string) *Lab {
	l := a.lab
	l.Helper()
	a.Issue("server", "127.0.0.1")
	pair, err := tls.LoadX509KeyPair(a.File("server.pem"), a.File("server.key"))
	if err != nil {
		l.Fatal(err)
	}
	clients := x509.NewCertPool()
	clients.AddCert(a.cert)
	secure := &tls.Config{
		Certificates: []tls.Certificate{pair}, ClientCAs: clients, ClientAuth: tls.RequireAndVerifyClientCert,
		VerifyConnection: func(s tls.ConnectionState) error {
			if !a.current(s.PeerCertificates[0]) {
				return errors.New("this certificate was replaced")
			}
			return nil
		},
	}
	return front(l, secure, func(engine *httputil.ReverseProxy) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if !a.current(r.TLS.PeerCertificates[0]) {
				w.Header().Set("Connection", "close")
			}
			if r.Header.Get("Authorization") == "Bearer "+key {
				engine.ServeHTTP(w, r)
				return
			}
			w.Header().Set("Content-Type", "application/grpc")
			w.Header().Set("Grpc-Status", "7") // permission denied, in the words of Temporal's authorizer
			w.Header().Set("Grpc-Message", "Request unauthorized.")
		})
	})
}
