// Package client is what people and their scripts ask of a fleet: to begin runs, to say where they
// are, to answer, move, resume and cancel them. All of it is asked of the engine; no host is.
package client

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/log"
	"google.golang.org/grpc"

	"agent/fleet/codec"
)

const (
	// callTime bounds one request to the engine.
	callTime = 10 * time.Second
	// handledTime bounds a request that some worker of the fleet has to answer.
	handledTime = 20 * time.Second
)

// Key is what is needed of a fleet's key.
type Key interface {
	codec.Key
	MAC(text string) []byte
}

// Options say where the engine is, and who asks.
type Options struct {
	Address   string // HOST:PORT
	Namespace string
	Key       Key
	TLS       TLS
	APIKey    string
	Identity  string     // as the engine's histories name who asked
	Logger    log.Logger // of the engine's client; nil for none
	Dial      []grpc.DialOption
}

// TLS are the files with which the engine's server and its client prove who they are. Without any
// of them the connection is in the clear, unless On is set or there is an API key.
type TLS struct {
	On         bool
	CA         string // certificates that the server's may be signed by
	Cert, Key  string // of the client
	ServerName string
}

// Client asks things of a fleet.
type Client struct {
	engine    client.Client
	data      converter.DataConverter
	key       Key
	address   string
	namespace string
}

// Engine is the connection itself, for workers. Whatever goes by it is sealed.
func (c *Client) Engine() client.Client { return c.engine }

// Namespace is that of the fleet.
func (c *Client) Namespace() string { return c.namespace }

// Close ends the connection.
func (c *Client) Close() { c.engine.Close() }

// Connect connects with the engine, and refuses a namespace that is none of this fleet.
func Connect(ctx context.Context, o Options) (*Client, error) {
	c, err := dial(ctx, o)
	if err != nil {
		return nil, err
	}
	if err := c.check(ctx); err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

// dial connects, and checks nothing but that somebody answers.
func dial(ctx context.Context, o Options) (*Client, error) {
	data, failures, err := codec.Converters(o.Key)
	if err != nil {
		return nil, err
	}
	tlsConfig, err := o.TLS.config(o.APIKey != "")
	if err != nil {
		return nil, fmt.Errorf("connect to the engine %s: %w", o.Address, err)
	}
	if o.Logger == nil {
		o.Logger = silent{}
	}
	opts := client.Options{
		HostPort: o.Address, Namespace: o.Namespace, Identity: o.Identity, Logger: o.Logger,
		DataConverter: data, FailureConverter: failures,
		ConnectionOptions: client.ConnectionOptions{TLS: tlsConfig, GetSystemInfoTimeout: callTime, DialOptions: o.Dial},
	}
	if o.APIKey != "" {
		opts.Credentials = client.NewAPIKeyStaticCredentials(o.APIKey)
	}
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	engine, err := client.DialContext(ctx, opts)
	if err != nil {
		return nil, unreachable(o.Address, err)
	}
	return &Client{engine: engine, data: data, key: o.Key, address: o.Address, namespace: o.Namespace}, nil
}

func unreachable(address string, err error) error {
	if errors.As(err, new(*serviceerror.PermissionDenied)) {
		return fmt.Errorf("connect to the engine %s: it refuses who asks: %w; --api-key, or --tls-cert and --tls-key, say who it is", address, err)
	}
	why := innermost(err)
	return fmt.Errorf("connect to the engine at %s: %s; %s", address, why, tryInstead(why))
}

// tryInstead names the flags that help where a connection failed.
func tryInstead(why string) string {
	const names = "--tls-server-name NAME says whom its certificate names"
	for _, x := range []struct{ says, flags string }{
		{"certificate is valid for", names}, {"certificate is not valid for any names", names},
		{"cannot validate certificate for", names}, {"Common Name", names},
		{"expired or is not yet valid", "its certificate has to be renewed, or the clock here is wrong"},
		{"x509: ", "--tls-ca FILE has the certificate of the authority that signed its own"},
		{"remote error: tls: ", "--tls-cert FILE and --tls-key FILE are what it is shown"},
		{"does not look like a TLS handshake", "it speaks no TLS: leave out the flags and variables of TLS and of an API key"},
	} {
		if strings.Contains(why, x.says) {
			return x.flags
		}
	}
	return "--engine HOST:PORT names another; --tls, or --tls-cert FILE and --tls-key FILE, is what it may want"
}

// innermost is what went wrong, without the layers of the connection that pass it on.
func innermost(err error) string {
	text := err.Error()
	if i := strings.LastIndex(text, "desc = "); i >= 0 {
		text = strings.Trim(text[i+len("desc = "):], `"`)
	}
	return strings.TrimPrefix(strings.TrimPrefix(text, "failed reaching server: "), "transport: Error while dialing: ")
}

func (t TLS) config(needed bool) (*tls.Config, error) {
	if t == (TLS{}) && !needed {
		return nil, nil
	}
	out := &tls.Config{ServerName: t.ServerName, MinVersion: tls.VersionTLS12}
	if t.CA != "" {
		pem, err := os.ReadFile(t.CA)
		if err != nil {
			return nil, fmt.Errorf("read the certificates of the server: %w", err)
		}
		out.RootCAs = x509.NewCertPool()
		if !out.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("%s holds no certificate", t.CA)
		}
	}
	if (t.Cert == "") != (t.Key == "") {
		return nil, errors.New("a certificate of the client needs its key, and the key its certificate: --tls-cert FILE --tls-key FILE")
	}
	if t.Cert != "" {
		pair := func() (tls.Certificate, error) { return tls.LoadX509KeyPair(t.Cert, t.Key) }
		if _, err := pair(); err != nil {
			return nil, fmt.Errorf("read the certificate of the client: %w", err)
		}
		// Short-lived ones are replaced while a worker goes on: each connection shows the newest.
		out.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
			c, err := pair()
			return &c, err
		}
	}
	return out, nil
}

// describeNamespace looks at the namespace; nil says that there is none.
func (c *Client) describeNamespace(ctx context.Context) (*workflowservice.DescribeNamespaceResponse, error) {
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	out, err := c.engine.WorkflowService().DescribeNamespace(ctx, &workflowservice.DescribeNamespaceRequest{Namespace: c.namespace})
	if errors.As(err, new(*serviceerror.NamespaceNotFound)) || errors.As(err, new(*serviceerror.NotFound)) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("look at the namespace %s of the engine %s: %w", c.namespace, c.address, err)
	}
	return out, nil
}

// silent is a logger that says nothing: what fails is returned.
type silent struct{}

func (silent) Debug(string, ...any) {}
func (silent) Info(string, ...any)  {}
func (silent) Warn(string, ...any)  {}
func (silent) Error(string, ...any) {}
