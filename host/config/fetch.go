package config

import (
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

// Private is a place on this machine or in a private network that the fetch tool may ask. Either
// Net is set, or Host and Port.
type Private struct {
	Net  netip.Prefix
	Host string // a name or an address, in small letters
	Port uint16
}

type fetchKeys struct {
	Private []string `toml:"private"`
}

// fetch reads what the person allows the fetch tool.
func (c *checker) fetch(k *fetchKeys) []Private {
	if k == nil {
		return nil
	}
	var all []Private
	for _, text := range k.Private {
		p, ok := private(text)
		if !ok {
			c.wrong([]string{"fetch", "private"},
				`private: %q is neither host:port, such as "127.0.0.1:3000", nor a network, such as "10.0.0.0/8"`, text)
		}
		all = append(all, p)
	}
	return all
}

func private(text string) (Private, bool) {
	if net, err := netip.ParsePrefix(text); err == nil {
		return Private{Net: net}, net == net.Masked()
	}
	at := strings.LastIndexByte(text, ':')
	if at < 0 {
		return Private{}, false
	}
	host := strings.ToLower(strings.TrimSuffix(text[:at], "."))
	port, err := strconv.ParseUint(text[at+1:], 10, 16)
	if err != nil || port == 0 {
		return Private{}, false
	}
	if inner, ok := strings.CutPrefix(host, "["); ok {
		a, err := netip.ParseAddr(strings.TrimSuffix(inner, "]"))
		return Private{Host: a.String(), Port: uint16(port)}, err == nil && a.Is6() && a.Zone() == "" && strings.HasSuffix(inner, "]")
	}
	p := Private{Host: host, Port: uint16(port)}
	if strings.Trim(host, "0123456789.") == "" {
		_, err := netip.ParseAddr(host)
		return p, err == nil
	}
	return p, !slices.ContainsFunc(strings.Split(host, "."), func(label string) bool {
		return label == "" || strings.Trim(label, "abcdefghijklmnopqrstuvwxyz0123456789-_") != ""
	})
}
