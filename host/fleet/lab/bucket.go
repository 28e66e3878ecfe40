package lab

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"
)

// Bucket is a server of buckets, one of which holds the log.
type Bucket struct {
	lab     *Lab
	program string
	address string
	server  *process
}

// Bucket starts a server and has the fleet keep its log there. FLEETLAB_S3 names its program;
// else it is built.
func (l *Lab) Bucket() *Bucket {
	l.Helper()
	b := &Bucket{lab: l, program: os.Getenv("FLEETLAB_S3"), address: net.JoinHostPort("127.0.0.1", strconv.Itoa(freePort(l)))}
	if b.program == "" {
		module, err := filepath.Abs("s3")
		if err != nil {
			l.Fatal(err)
		}
		b.program = l.path("s3-server")
		if err := build(module, b.program, "."); err != nil {
			l.Fatal(err)
		}
	}
	l.Setenv("AWS_ACCESS_KEY_ID", "lab")
	l.Setenv("AWS_SECRET_ACCESS_KEY", "kestrelsecretharbour")
	b.Start()
	l.LogURL = "s3://logs/fleet?endpoint=http://" + b.address
	l.Cleanup(b.Stop)
	return b
}

// Start starts the server and waits until it answers.
func (b *Bucket) Start() {
	b.lab.Helper()
	b.server = start(b.lab, "s3", exec.Command(b.program, "-listen", b.address, "-dir", b.lab.path("s3"), "-bucket", "logs"))
	ok := Wait(time.Minute, func() bool {
		c, err := net.DialTimeout("tcp", b.address, time.Second)
		if err == nil {
			_ = c.Close() // it was only tried
		}
		return err == nil
	})
	if !ok {
		b.lab.Fatal("the server of buckets does not answer")
	}
}

// Stop ends the server at once.
func (b *Bucket) Stop() { b.server.kill() }
