package config_test

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"agent/host/config"
)

// The person says which private places fetch may ask: a host and port, or a network.
func TestPrivatePlaces(t *testing.T) {
	user, workspace := files(t, `
[fetch]
private = ["127.0.0.1:3000", "[::1]:80", "Wiki.Corp.:443", "10.0.0.0/8", "fd00::/8"]
`, "")
	got, err := config.Load(user, workspace, known)
	if err != nil {
		t.Fatal(err)
	}
	want := []config.Private{
		{Host: "127.0.0.1", Port: 3000}, {Host: "::1", Port: 80}, {Host: "wiki.corp", Port: 443},
		{Net: netip.MustParsePrefix("10.0.0.0/8")}, {Net: netip.MustParsePrefix("fd00::/8")},
	}
	if diff := cmp.Diff(want, got.Private, cmp.Comparer(func(a, b netip.Prefix) bool { return a == b })); diff != "" {
		t.Error(diff)
	}
}

// What is neither is refused by its place in the file, not ignored.
func TestPrivatePlacesRefused(t *testing.T) {
	for _, text := range []string{
		"10.0.0.0", "10.0.0.1/8", "10.0.0.0/33", "host", "host:", "host:0", "host:65536", ":80", "127.1:80", "0x7f.1:80 ", "::1:80",
		"[::1]", "[fe80::1%eth0]:80", "[127.0.0.1]:80", "http://host:80", "host/path:80", "*.corp:80", "a..b:80", "",
	} {
		user, workspace := files(t, "[fetch]\nprivate = [\""+text+"\"]\n", "")
		c, err := config.Load(user, workspace, known)
		if err == nil || !strings.Contains(err.Error(), "user.toml:2:1") || !strings.Contains(err.Error(), "10.0.0.0/8") {
			t.Errorf("%q: %v, %+v", text, err, c.Private)
		}
	}
	for text, want := range map[string]string{
		"[fetch]\nprivate = \"127.0.0.1:80\"\n": "private wants places as a list",
		"[fetch]\nprivte = []\n":                "what may stand here: private",
		"fetch = 1\n":                           "wants a table",
	} {
		user, workspace := files(t, text, "")
		if _, err := config.Load(user, workspace, known); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// A repository cannot open a private place.
func TestPrivatePlacesOfAWorkspace(t *testing.T) {
	user, workspace := files(t, "", "[fetch]\nprivate = [\"127.0.0.1:3000\"]\n")
	if _, err := config.Load(user, workspace, known); err == nil || !strings.Contains(err.Error(), "may not stand in the file of a workspace") {
		t.Error(err)
	}
}
