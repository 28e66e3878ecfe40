package lab

import (
	"fmt"
	"math/rand/v2"
	"os/exec"
	"strings"
	"sync"
)

// Network is a bridge with an address for the engine and one for the log, and a network namespace
// for each host.
type Network struct {
	lab    *Lab
	bridge string
	prefix string // of the addresses

	mu    sync.Mutex
	hosts int
}

// Network puts the fleet on a network of its own. It comes before the engine and the hosts.
func (l *Lab) Network() *Network {
	l.Helper()
	n := &Network{lab: l, bridge: fmt.Sprintf("fl%04x", rand.N(1<<16)), prefix: fmt.Sprintf("10.77.%d.", rand.N(250))}
	l.Cleanup(func() { _ = exec.Command("ip", "link", "delete", n.bridge).Run() }) // it has a name of its own
	n.ip("link add", n.bridge, "type bridge")
	n.ip("addr add", n.Engine()+"/24 dev", n.bridge)
	n.ip("addr add", n.Log()+"/24 dev", n.bridge)
	n.ip("link set", n.bridge, "up")
	l.IP = n.Engine()
	return n
}

// Engine is the engine's address.
func (n *Network) Engine() string { return n.prefix + "1" }

// Log is the log's address.
func (n *Network) Log() string { return n.prefix + "2" }

func (n *Network) ip(words ...string) {
	n.lab.Helper()
	args := strings.Fields(strings.Join(words, " "))
	if out, err := exec.Command("ip", args...).CombinedOutput(); err != nil {
		n.lab.Fatalf("ip %s: %v: %s", strings.Join(args, " "), err, out)
	}
}

// Host adds a host on the network and starts its worker.
func (n *Network) Host(name string, args ...string) *Host {
	l := n.lab
	l.Helper()
	n.mu.Lock()
	n.hosts++
	address := fmt.Sprintf("%s%d", n.prefix, 10+n.hosts)
	n.mu.Unlock()
	h := l.Machine(name)
	h.Args, h.netns, h.address = args, n.bridge+"-"+name, address
	out, in := fmt.Sprintf("%so%d", n.bridge, n.hosts), fmt.Sprintf("%si%d", n.bridge, n.hosts)
	n.ip("netns add", h.netns)
	n.ip("link add", out, "type veth peer name", in)
	n.ip("link set", in, "netns", h.netns)
	n.ip("link set", out, "master", n.bridge, "up")
	n.ip("-n", h.netns, "addr add", address+"/24 dev", in)
	n.ip("-n", h.netns, "link set", in, "up")
	n.ip("-n", h.netns, "link set lo up")
	h.Boot()
	h.Start()
	return h
}

// Cut has nothing that a host sends reach an address.
func (n *Network) Cut(h *Host, address string) {
	n.lab.Helper()
	n.ip("-n", h.netns, "route add blackhole", address+"/32")
}

// Heal lets it through again.
func (n *Network) Heal(h *Host, address string) {
	n.lab.Helper()
	n.ip("-n", h.netns, "route delete blackhole", address+"/32")
}

// Deafen has nothing that is sent to a host reach it; what it sends arrives.
func (n *Network) Deafen(h *Host) {
	n.lab.Helper()
	n.ip("route add blackhole", h.address+"/32")
	// Hear may have undone it.
	n.lab.Cleanup(func() { _ = exec.Command("ip", "route", "delete", "blackhole", h.address+"/32").Run() })
}

// Hear undoes Deafen.
func (n *Network) Hear(h *Host) {
	n.lab.Helper()
	n.ip("route delete blackhole", h.address+"/32")
}
