package main

import (
	"bytes"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"

	"agent/fleet/log/logtest"
	"agent/scripts/testkit"
)

// asServer has the test binary be the server.
const asServer = "FLEETLAB_S3_SERVER"

func TestMain(m *testing.M) {
	if os.Getenv(asServer) != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

// server is a process with a bucket on a folder, and gives its address.
func server(tb testing.TB) string {
	tb.Helper()
	keys(tb)
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	address := free.Addr().String()
	if err := free.Close(); err != nil {
		tb.Fatal(err)
	}
	var out bytes.Buffer
	cmd := exec.Command(os.Args[0], "-listen", address, "-dir", tb.TempDir(), "-bucket", "logs")
	cmd.Env = append(os.Environ(), asServer+"=1")
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		tb.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		_ = cmd.Wait() // it ends by a signal
		close(ended)
	}()
	tb.Cleanup(func() {
		_ = cmd.Process.Kill()
		<-ended
	})
	testkit.Until(tb, "the server listens", func() bool {
		select {
		case <-ended:
			tb.Fatalf("the server ended:\n%s", out.String())
		default:
		}
		c, err := net.Dial("tcp", address)
		if err == nil {
			_ = c.Close() // nothing was sent
		}
		return err == nil
	})
	return address
}

// A real server: it checks signatures, and keeps objects in files.
func TestServerConforms(t *testing.T) {
	logtest.Run(t, *places, opener(url(server(t), "")))
}

func TestWhatIsWrongIsNamed(t *testing.T) {
	address := server(t)
	nothing := strings.Replace(url(address, ""), "logs", "nothing", 1)
	refused(t, nothing, "make the bucket, or name another")
	refused(t, url("127.0.0.1:1", "&region=x"), "127.0.0.1:1")
	refused(t, url(address, "&region=eu-west-1"), "region")
	t.Setenv("AWS_SECRET_ACCESS_KEY", secret+"2")
	refused(t, url(address, ""), "SignatureDoesNotMatch")
	t.Setenv("AWS_ACCESS_KEY_ID", "nobody")
	refused(t, url(address, ""), "access key ID")
}

// BenchmarkCreate is that of the other stores, in package log.
func BenchmarkCreate(b *testing.B) {
	l := opened(b, server(b))
	logtest.Bench(b, l)
}
