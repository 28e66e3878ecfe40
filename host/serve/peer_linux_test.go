package serve

import (
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// connectTo names the socket, or the address of the page, to which this binary connects when a test
// starts it again.
const connectTo = "SERVE_TEST_CONNECT"

// connectAs says what a process of another user gets from the server.
func connectAs(to string) int {
	network, host := "unix", "localhost"
	if !strings.HasPrefix(to, "/") {
		network, host = "tcp", to
	}
	c, err := net.Dial(network, to)
	if err != nil {
		fmt.Println("dial:", err)
		return 1
	}
	_ = c.SetDeadline(time.Now().Add(patience))
	_, _ = io.WriteString(c, "GET /v1/server HTTP/1.0\r\nHost: "+host+"\r\n\r\n") // the reply tells
	text, _ := io.ReadAll(c)
	fmt.Printf("%q\n", text)
	return 0
}

// A process of another user is not heard, also where the modes of folder and socket would let it
// in, and not at the page's port. // S1
func TestPeerOfAnotherUser(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can start a process of another user")
	}
	w := newWorld(t).serve()
	bin := filepath.Join(filepath.Dir(w.home), "bin")
	self, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(bin, self, 0o755); err != nil {
		t.Fatal(err)
	}
	socket := filepath.Join(w.home, socketName)
	for path, mode := range map[string]os.FileMode{filepath.Dir(w.home): 0o755, w.home: 0o755, socket: 0o666, bin: 0o755} {
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
	}
	ask := func(to string, uid uint32) string {
		c := exec.Command(bin)
		c.Env, c.Dir = []string{connectTo + "=" + to}, "/"
		c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: uid}}
		out, err := c.CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v", out, err)
		}
		return strings.TrimSpace(string(out))
	}
	for _, to := range []string{socket, strings.TrimPrefix(w.door(), "http://")} {
		if got := ask(to, 65534); got != `""` {
			t.Errorf("uid 65534 got %s from %s", got, to)
		}
		if got := ask(to, 0); !strings.Contains(got, "401 Unauthorized") {
			t.Errorf("our own user got %s from %s", got, to)
		}
	}
}
