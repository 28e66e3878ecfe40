package lab

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Postgres is a server of Debian's PostgreSQL that holds the log.
type Postgres struct {
	lab    *Lab
	bin    string
	folder string
	ip     string
	port   int
	more   []string // arguments of the server
	server *process
}

// Postgres starts a server and has the fleet keep its log there.
func (l *Lab) Postgres() *Postgres { return l.PostgresAt("127.0.0.1") }

// PostgresAt is Postgres on an address.
func (l *Lab) PostgresAt(ip string) *Postgres {
	l.Helper()
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin")
	if len(found) == 0 {
		l.Skip("there is no PostgreSQL here: apt-get install postgresql")
	}
	p := &Postgres{lab: l, bin: found[len(found)-1], folder: l.path("pg"), ip: ip, port: freePort(l)}
	if err := os.Mkdir(p.folder, 0o700); err != nil {
		l.Fatal(err)
	}
	p.as("chown", "postgres", p.folder).asRoot().run()
	if err := os.Chmod(l.Dir, 0o711); err != nil { // the server runs as another user
		l.Fatal(err)
	}
	p.as(filepath.Join(p.bin, "initdb"), "-D", p.folder, "-A", "trust", "-U", "fleet", "--no-sync").run()
	hba, err := os.OpenFile(filepath.Join(p.folder, "pg_hba.conf"), os.O_APPEND|os.O_WRONLY, 0)
	if err == nil {
		_, err = fmt.Fprintln(hba, "host all all 10.0.0.0/8 trust")
		_ = hba.Close() // the server reads it, and says what it lacks
	}
	if err != nil {
		l.Fatal(err)
	}
	p.Start()
	l.LogURL = fmt.Sprintf("postgres://fleet@%s:%d/postgres?sslmode=disable&connect_timeout=5", ip, p.port)
	l.Cleanup(p.Stop)
	return p
}

type pgCommand struct {
	lab *Lab
	cmd *exec.Cmd
}

// as is a command that the server's user runs.
func (p *Postgres) as(args ...string) pgCommand {
	cmd := exec.Command("setpriv", append([]string{"--reuid=postgres", "--regid=postgres", "--clear-groups", "--"}, args...)...)
	cmd.Dir = "/"
	return pgCommand{p.lab, cmd}
}

func (c pgCommand) asRoot() pgCommand {
	args := c.cmd.Args[5:]
	c.cmd = exec.Command(args[0], args[1:]...)
	return c
}

func (c pgCommand) run() {
	c.lab.Helper()
	if out, err := c.cmd.CombinedOutput(); err != nil {
		c.lab.Fatalf("%v: %v\n%s", c.cmd.Args, err, out)
	}
}

// Start starts the server and waits until it answers.
func (p *Postgres) Start() {
	p.lab.Helper()
	c := p.as(filepath.Join(p.bin, "postgres"), "-D", p.folder, "-p", strconv.Itoa(p.port), "-k", p.folder, "-c", "listen_addresses="+p.ip)
	c.cmd.Args = append(c.cmd.Args, p.more...)
	p.server = start(p.lab, "postgres", c.cmd)
	ok := Wait(time.Minute, func() bool {
		return exec.Command(filepath.Join(p.bin, "pg_isready"), "-q", "-h", p.ip, "-p", strconv.Itoa(p.port)).Run() == nil
	})
	if !ok {
		p.lab.Fatal("PostgreSQL does not answer")
	}
}

// Secure has the server speak TLS, and the fleet reach its log by that alone.
func (p *Postgres) Secure(a *Authority) {
	p.lab.Helper()
	a.Issue("pg", p.ip)
	p.as("chown", "postgres", a.File("pg.pem"), a.File("pg.key")).asRoot().run()
	p.Stop()
	p.more = []string{"-c", "ssl=on", "-c", "ssl_cert_file=" + a.File("pg.pem"), "-c", "ssl_key_file=" + a.File("pg.key")}
	p.Start()
	p.lab.LogURL = strings.Replace(p.lab.LogURL, "sslmode=disable", "sslmode=verify-full&sslrootcert="+a.File("ca.pem"), 1)
}

// Stop ends the server at once.
func (p *Postgres) Stop() { p.server.signal(syscall.SIGQUIT) }
