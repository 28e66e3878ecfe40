package fetch

import (
	"net/netip"
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	for text, want := range map[string]string{
		"http://example.com":                   "example.com:80 http://example.com",
		"https://Example.COM./a?b#c":           "example.com:443 https://example.com/a?b",
		"http://example.com:80/":               "example.com:80 http://example.com/",
		"https://example.com:8443/":            "example.com:8443 https://example.com:8443/",
		"http://93.184.216.34/":                "93.184.216.34:80 http://93.184.216.34/",
		"http://[2606:4700::1]:81/":            "[2606:4700::1]:81 http://[2606:4700::1]:81/",
		"http://[2606:4700::A]/":               "[2606:4700::a]:80 http://[2606:4700::a]/",
		"http://[2606:4700:0:0:0:0:0:1]/":      "",
		"http://example.com:0443/":             "",
		"http://example.com:/":                 "example.com:80 http://example.com/",
		"http://xn--mnchen-3ya.example/":       "xn--mnchen-3ya.example:80 http://xn--mnchen-3ya.example/",
		"HTTP://example.com/%0d%0aX":           "example.com:80 http://example.com/%0d%0aX",
		"http://a_b.example/..;/%2e%2e/etc":    "a_b.example:80 http://a_b.example/..;/%2e%2e/etc",
		"http://example.com\\@127.0.0.1/":      "",
		"http://2130706433/":                   "",
		"http://0177.0.0.1/":                   "",
		"http://0x7f.0.0.1/":                   "",
		"http://0x7f000001/":                   "",
		"http://127.0.0.0x1/":                  "",
		"http://127.1/":                        "",
		"http://1.2.3.4.5/":                    "",
		"http://1.2.3.256/":                    "",
		"http://١٢٧.0.0.1/":                    "",
		"http://ⓔxample.com/":                  "",
		"http://münchen.example/":              "",
		"http://127%2e0.0.1/":                  "",
		"http://example.com%00.evil/":          "",
		"http://[fe80::1%25eth0]/":             "",
		"http://[::1/":                         "",
		"http://user@example.com/":             "",
		"http://user:pw@example.com/":          "",
		"http://@example.com/":                 "",
		"http://example.com:0/":                "",
		"http://example.com:65536/":            "",
		"http://example.com:x/":                "",
		"http:///a":                            "",
		"http:example.com":                     "",
		"//example.com/":                       "",
		"example.com":                          "",
		"file:///etc/passwd":                   "",
		"gopher://example.com/":                "",
		"ftp://example.com/":                   "",
		"unix:///run/docker.sock":              "",
		"http+unix://%2Frun%2Fdocker.sock/":    "",
		"javascript:alert(1)":                  "",
		"http://a..b/":                         "",
		"http://-/ x":                          "- is a name",
		"http://exa mple.com/":                 "",
		"http://example.com/\r\nX: y":          "",
		"http://" + strings.Repeat("a", 64):    "",
		"http://a/" + strings.Repeat("a", 9e3): "",
	} {
		u, at, err := Parse(text)
		switch {
		case want == "- is a name":
			if err == nil && at.host != "-" {
				t.Errorf("%.40q: %v", text, at)
			}
		case want == "" && err == nil:
			t.Errorf("%.40q was taken as %s %s", text, at, u)
		case want != "" && (err != nil || at.String()+" "+u.String() != want):
			t.Errorf("%.40q: %v, %s %v, want %s", text, err, at, u, want)
		}
	}
}

// Every class of address that does not lead to the internet is refused by name (RELIABILITY S14).
func TestUnfit(t *testing.T) {
	for text, want := range map[string]string{
		"127.0.0.1": "this machine", "127.255.255.254": "this machine", "::1": "this machine", "0.0.0.0": "no host", "0.1.2.3": "no host",
		"::": "no host", "10.1.2.3": "private", "172.16.0.1": "private", "172.31.255.255": "private", "192.168.1.1": "private",
		"fd12::1": "private", "fc00::1": "private", "fec0::1": "private", "169.254.1.1": "link-local", "fe80::1": "link-local",
		"169.254.169.254": "metadata", "100.100.100.200": "metadata", "192.0.0.192": "metadata", "fd00:ec2::254": "metadata",
		"168.63.129.16": "virtual machine", "100.64.0.1": "carrier", "100.127.255.255": "carrier", "::ffff:127.0.0.1": "IPv4 address written as IPv6",
		"::ffff:8.8.8.8": "IPv4 address written as IPv6", "::127.0.0.1": "IPv4 address written as IPv6", "64:ff9b::7f00:1": "NAT64",
		"64:ff9b::808:808": "NAT64", "64:ff9b:1::1": "NAT64", "2002:7f00:1::": "6to4", "192.88.99.1": "6to4", "2001::1": "Teredo",
		"2001:0:1::": "Teredo", "224.0.0.1": "multicast", "239.1.1.1": "multicast", "ff02::1": "multicast", "255.255.255.255": "broadcast",
		"240.0.0.1": "reserved", "198.18.0.1": "benchmark", "198.19.255.255": "benchmark", "2001:2::1": "benchmark", "192.0.2.1": "documentation",
		"198.51.100.1": "documentation", "203.0.113.1": "documentation", "2001:db8::1": "documentation", "3fff::1": "documentation",
		"100::1": "discards", "5f00::1": "reserved", "4000::1": "reserved", "fe80::1%eth0": "zone",
		"8.8.8.8": "", "1.1.1.1": "", "100.63.255.255": "", "100.128.0.1": "", "172.15.255.255": "", "172.32.0.1": "", "192.167.0.1": "",
		"11.0.0.1": "", "126.255.255.255": "", "128.0.0.1": "", "169.253.1.1": "", "198.17.255.255": "", "198.20.0.1": "", "223.255.255.255": "",
		"2606:4700::1": "", "2a00::1": "", "2001:4860::8888": "", "2001:200::1": "",
	} {
		got := unfit(netip.MustParseAddr(text))
		if want == "" && got != "" || want != "" && !strings.Contains(got, want) {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}

// A person's permission opens exactly what it says.
func TestAdmits(t *testing.T) {
	o := Options{own: func() []netip.Prefix { return []netip.Prefix{netip.MustParsePrefix("93.184.216.34/24")} }, Private: func() []Private {
		return []Private{
			{Host: "127.0.0.1", Port: 3000}, {Host: "wiki.corp", Port: 443}, {Net: netip.MustParsePrefix("10.0.0.0/8")}, {Host: "::1", Port: 80},
			{Host: "93.184.216.34", Port: 9000},
		}
	}}
	for _, c := range []struct {
		url, address string
		ok           bool
	}{
		{"http://127.0.0.1:3000/", "127.0.0.1", true},
		{"http://localhost:3000/", "127.0.0.1", true},
		{"http://localhost:3000/", "::1", false},
		{"http://localhost/", "::1", true},
		{"http://127.0.0.1:3001/", "127.0.0.1", false},
		{"http://127.0.0.2:3000/", "127.0.0.2", false},
		{"http://rebound.example:3000/", "127.0.0.1", false}, // another name that leads there
		{"https://wiki.corp/", "192.168.7.7", true},
		{"https://wiki.corp/", "127.0.0.1", true},
		{"http://wiki.corp/", "192.168.7.7", false},
		{"https://wiki.corp/", "169.254.169.254", false},
		{"https://wiki.corp/", "100.100.100.200", false},
		{"http://any.example/", "10.9.8.7", true},
		{"http://10.9.8.7:22/", "10.9.8.7", true},
		{"http://any.example/", "192.168.7.7", false},
		{"http://93.184.216.34/", "93.184.216.34", false}, // this machine, by its public address
		{"http://93.184.216.34:9000/", "93.184.216.34", true},
		{"http://93.184.216.35/", "93.184.216.35", true},
	} {
		_, at, err := Parse(c.url)
		if err != nil {
			t.Fatal(err)
		}
		if err := o.judge(at, netip.MustParseAddr(c.address)); (err == nil) != c.ok {
			t.Errorf("%s at %s: %v", c.url, c.address, err)
		}
	}
}

func TestCheckRefuses(t *testing.T) {
	for _, r := range []Request{
		{URL: "http://127.0.0.1/"}, {URL: "http://[::1]/"}, {URL: "http://[::ffff:127.0.0.1]/"}, {URL: "http://[::ffff:7f00:1]/"},
		{URL: "http://169.254.169.254/latest/meta-data"}, {URL: "http://100.100.100.200/"}, {URL: "http://127.0.0.1./"},
		{URL: "http://[64:ff9b::7f00:1]/"}, {URL: "http://0/"}, {URL: "http://0.0.0.0/"},
		{URL: "http://a.example/", Method: "TRACE"}, {URL: "http://a.example/", Method: "CONNECT"}, {URL: "http://a.example/", Method: "post"},
		{URL: "http://a.example/", Body: "x"}, {URL: "http://a.example/", Method: "HEAD", Body: "x"},
		{URL: "http://a.example/", Method: "POST", Body: strings.Repeat("x", MaxBytes+1)},
	} {
		if err := (Options{}).Check(r); err == nil {
			t.Errorf("%s %s was not refused", r.Method, r.URL)
		}
	}
	for name, value := range map[string]string{
		"Host": "x", "host": "x", "Idempotency-Key": "x", "IDEMPOTENCY-KEY": "x", "idempotency_key": "x", "Content-Length": "1",
		"Transfer-Encoding": "chunked", "Transfer_Encoding": "chunked", "Connection": "close", "Upgrade": "h2c", "TE": "x", "Trailer": "x",
		"Expect": "100-continue", "Proxy-Authorization": "x", "Accept-Encoding": "br", "X-HTTP-Method-Override": "DELETE", "X-Method-Override": "PUT",
		"X-A": "a\r\nHost: b", "X-B": "a\nb", "X-C": "a\x00", "X D": "x", "X-E:": "x", "": "x", "X-F\r\nG": "x", "Ünsafe": "x",
		"X-Long": strings.Repeat("x", maxHeaderBytes),
	} {
		if err := (Options{}).Check(Request{URL: "http://a.example/", Method: "POST", Headers: map[string]string{name: value}}); err == nil {
			t.Errorf("the header %q: %.20q was not refused", name, value)
		}
	}
	if err := checkHeaders(map[string]string{"accept": "a", "Accept": "b"}); err == nil {
		t.Error("a header was taken twice")
	}
	if err := checkHeaders(map[string]string{"Cookie": "a=b", "Authorization": "Bearer x", "If-None-Match": `"x"`, "X-Tab": "a\tb"}); err != nil {
		t.Error(err)
	}
}
