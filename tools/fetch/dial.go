package fetch

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"syscall"
	"time"
)

const (
	dialTime     = 5 * time.Second // for one of several addresses
	maxAddresses = 8               // of one host that are tried
)

// dialer connects to one target and to nothing else.
type dialer struct {
	o  Options
	at Target
}

// dial resolves the target's name once and connects to the addresses that may be dialled, one after
// the other. The name that the transport asks for is the target's own.
func (d dialer) dial(ctx context.Context, network, _ string) (net.Conn, error) {
	addresses, err := d.resolve(ctx)
	if err != nil {
		return nil, err
	}
	var failed, refused []error
	tried := 0
	for i, a := range addresses {
		a = a.Unmap()
		if err := d.o.judge(d.at, a); err != nil {
			refused = append(refused, err)
			continue
		}
		if tried++; tried > maxAddresses {
			break
		}
		c, err := d.connect(ctx, network, a, i+1 < len(addresses))
		if err == nil {
			return c, nil
		}
		failed = append(failed, err)
		if ctx.Err() != nil {
			break
		}
	}
	if len(failed) == 0 {
		return nil, fmt.Errorf("connect to %s: refused: %w", d.at, errors.Join(refused...))
	}
	return nil, errors.Join(failed...)
}

func (d dialer) resolve(ctx context.Context) ([]netip.Addr, error) {
	if a, err := netip.ParseAddr(d.at.host); err == nil {
		if err := d.o.judge(d.at, a); err != nil {
			return nil, fmt.Errorf("connect to %s: refused: %w", d.at, err)
		}
		return []netip.Addr{a}, nil
	}
	lookup := d.o.lookup
	if lookup == nil {
		lookup = net.DefaultResolver.LookupNetIP
	}
	addresses, err := lookup(ctx, "ip", d.at.host)
	if err != nil {
		return nil, fmt.Errorf("find the address of %s: %w", d.at.host, err)
	}
	if len(addresses) == 0 {
		return nil, fmt.Errorf("find the address of %s: it has none", d.at.host)
	}
	return addresses, nil
}

// connect opens a connection to one address. Where others are left to try, it stops early.
func (d dialer) connect(ctx context.Context, network string, a netip.Addr, more bool) (net.Conn, error) {
	if more {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, dialTime)
		defer cancel()
	}
	n := net.Dialer{Control: d.control}
	to := netip.AddrPortFrom(a, d.at.port)
	if d.o.route != nil {
		to = d.o.route(to)
		n.Control = nil
	}
	return n.DialContext(ctx, network, to.String())
}

// control looks at the very address that the system is about to connect to.
func (d dialer) control(_, address string, _ syscall.RawConn) error {
	to, err := netip.ParseAddrPort(address)
	if err != nil {
		return fmt.Errorf("connect to %s: %v", address, err)
	}
	return d.o.judge(d.at, to.Addr().Unmap())
}

// transport carries one request to one target. It reads no proxy from the environment, keeps no
// connection, sends nothing of its own accord. A request that writes goes over HTTP/1.1: over a
// fresh connection the transport sends it once, while HTTP/2 sends a request again that a server
// refused late.
func (o Options) transport(at Target, writes bool) *http.Transport {
	protocols := &http.Protocols{}
	protocols.SetHTTP1(true)
	protocols.SetHTTP2(!writes)
	return &http.Transport{
		DialContext: dialer{o, at}.dial, TLSClientConfig: &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: o.roots},
		DisableKeepAlives: true, DisableCompression: true, MaxResponseHeaderBytes: maxHeaderBytes, Protocols: protocols,
	}
}

// ownAddresses are those of this machine's interfaces.
func ownAddresses() []netip.Prefix {
	list, err := net.InterfaceAddrs()
	if err != nil {
		return nil // the address classes are looked at all the same
	}
	var own []netip.Prefix
	for _, a := range list {
		if p, err := netip.ParsePrefix(a.String()); err == nil {
			own = append(own, p)
		}
	}
	return own
}
