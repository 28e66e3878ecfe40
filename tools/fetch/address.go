package fetch

import (
	"fmt"
	"net/netip"
)

// Private is a place that a person allows although its address is refused otherwise. Either Net is
// set, or Host and Port.
type Private struct {
	Net  netip.Prefix // every address of this network, under any name and port
	Host string       // a name or an address as it stands in the URL, in small letters
	Port uint16
}

// special are the networks whose addresses do not lead to a host of the internet, by the registries
// of RFC 6890 as IANA keeps them, and what clouds answer on beside them. The first that matches
// names the reason.
func special() []struct {
	net  string
	what string
} {
	return []struct {
		net  string
		what string
	}{
		{"169.254.169.254/32", "the metadata service of a cloud"},
		{"100.100.100.200/32", "the metadata service of a cloud"},
		{"192.0.0.192/32", "the metadata service of a cloud"},
		{"168.63.129.16/32", "the host of a virtual machine"},
		{"fd00:ec2::254/128", "the metadata service of a cloud"},
		{"fd20:ce::254/128", "the metadata service of a cloud"},
		{"0.0.0.0/8", "no host's address"},
		{"10.0.0.0/8", "a private address"},
		{"100.64.0.0/10", "an address behind a carrier's NAT"},
		{"127.0.0.0/8", "this machine"},
		{"169.254.0.0/16", "a link-local address"},
		{"172.16.0.0/12", "a private address"},
		{"192.0.0.0/24", "an address for protocols"},
		{"192.0.2.0/24", "an address for documentation"},
		{"192.52.193.0/24", "an address of a relay"},
		{"192.88.99.0/24", "an address of a 6to4 relay"},
		{"192.168.0.0/16", "a private address"},
		{"198.18.0.0/15", "an address for benchmarks"},
		{"198.51.100.0/24", "an address for documentation"},
		{"203.0.113.0/24", "an address for documentation"},
		{"224.0.0.0/4", "a multicast address"},
		{"255.255.255.255/32", "the broadcast address"},
		{"240.0.0.0/4", "a reserved address"},
		{"::/128", "no host's address"},
		{"::1/128", "this machine"},
		{"::ffff:0:0/96", "an IPv4 address written as IPv6"},
		{"::/96", "an IPv4 address written as IPv6"},
		{"64:ff9b::/96", "an IPv4 address behind NAT64"},
		{"64:ff9b:1::/48", "an IPv4 address behind NAT64"},
		{"100::/64", "an address that discards"},
		{"2001::/32", "a Teredo address"},
		{"2001:2::/48", "an address for benchmarks"},
		{"2001::/23", "an address for protocols"},
		{"2001:db8::/32", "an address for documentation"},
		{"2002::/16", "a 6to4 address"},
		{"3fff::/20", "an address for documentation"},
		{"fc00::/7", "a private address"},
		{"fe80::/10", "a link-local address"},
		{"fec0::/10", "a private address"},
		{"ff00::/8", "a multicast address"},
	}
}

// unfit says why an address is not one of a host of the internet; "" for one that is.
func unfit(a netip.Addr) string {
	if !a.IsValid() || a.Zone() != "" {
		return "an address with a zone"
	}
	for _, s := range special() {
		if netip.MustParsePrefix(s.net).Contains(a) {
			return s.what
		}
	}
	// All that IANA gives out to hosts is here; the rest of IPv6 is reserved.
	if a.Is6() && !netip.MustParsePrefix("2000::/3").Contains(a) {
		return "a reserved address"
	}
	return ""
}

// admits says whether a person allowed an address for what a URL names. An entry with a host counts
// only where the URL says that host: a name that somebody else points at an allowed address does
// not get there. Localhost is another word for this machine's own addresses.
func (o Options) admits(at Target, a netip.Addr) bool {
	if o.Private == nil {
		return false
	}
	for _, p := range o.Private() {
		switch {
		case p.Net.IsValid():
			if p.Net.Contains(a) {
				return true
			}
		case p.Port != at.port:
		case p.Host == at.host:
			if _, err := netip.ParseAddr(p.Host); err == nil || homely(a) {
				return true
			}
		case at.host == "localhost" && a.IsLoopback() && p.Host == a.String():
			return true
		}
	}
	return false
}

// homely says whether a name in the configuration may lead to an address. What a cloud answers on
// must be allowed by address.
func homely(a netip.Addr) bool { return a.IsLoopback() || a.IsPrivate() || inCGNAT(a) }

func inCGNAT(a netip.Addr) bool {
	return netip.MustParsePrefix("100.64.0.0/10").Contains(a) && unfit(a) != "the metadata service of a cloud"
}

// judge says why an address may not be dialled for a target; nil when it may.
func (o Options) judge(at Target, a netip.Addr) error {
	why := unfit(a)
	if why == "" && o.ours(a) {
		why = "this machine"
	}
	if why == "" || o.admits(at, a) {
		return nil
	}
	return fmt.Errorf("%s is %s; only the person can allow it, in config.toml: [fetch] private = [%q]", a, why, at.String())
}

// ours says whether an address is one of this machine's own.
func (o Options) ours(a netip.Addr) bool {
	own := o.own
	if own == nil {
		own = ownAddresses
	}
	for _, p := range own() {
		if p.Addr().Unmap().WithZone("") == a {
			return true
		}
	}
	return false
}
