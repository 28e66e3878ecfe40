package main

import (
	"strings"
	"testing"
	"testing/fstest"

	"agent/scripts/landed/change"
)

// timesIn runs the check over a tree. A NAP in a file is a sleep, which this file is not to have.
func timesIn(files map[string]string) (code int, printed string) {
	tree := fstest.MapFS{}
	for name, text := range files {
		tree[name] = &fstest.MapFile{Data: []byte(strings.ReplaceAll(text, "NAP", "sleep"))}
	}
	var stdout, stderr strings.Builder
	code = run(tree, []string{"times"}, &stdout, &stderr)
	return code, stdout.String() + stderr.String()
}

// body is a test file with a function; its imports are those that it uses.
func body(code string) string {
	text := "package host\n\n"
	for name, path := range map[string]string{
		"time.": "time", "context.": "context", "os.": "os", "exec.": "os/exec", "runtime.": "runtime", "pprof.": "runtime/pprof", "net.": "net", "http.": "net/http",
		"syscall.": "syscall", "unix.": "golang.org/x/sys/unix", "synctest.": "testing/synctest", "other.": "agent/host/other", "lab.": "example.com/lab",
	} {
		if strings.Contains(code, name) {
			text += "import \"" + path + "\"; "
		}
	}
	return text + "\n\nfunc f() {\n" + code + "\n}\n"
}

func TestEveryTimeRuleFires(t *testing.T) {
	const deadline, compared, measured = "a deadline of 2s: wait for an event", "compares a time with 2s: count rows", "compares a measured time: count rows"
	for name, c := range map[string]struct{ code, want string }{
		"moment of a deadline":  {"end := time.Now().Add(2*time.Second); c.SetReadDeadline(end)", deadline},
		"moment of a context":   {"end := time.Now().Add(2*time.Second); context.WithDeadline(ctx, end)", deadline},
		"sleep":                 {"time.Sleep(x)", "host/a_test.go:6: sleeps: wait for an event with testkit.Until"},
		"sleep as a value":      {"nap := time.Sleep; nap(x)", "host/a_test.go:6: sleeps"},
		"after":                 {"<-time.After(2 * time.Second)", "host/a_test.go:6: " + deadline},
		"another spelling":      {"<-time.After(time.Second * 2)", deadline},
		"a conversion":          {"<-time.After(time.Duration(2e9))", deadline},
		"a plain number":        {"<-time.After(2_000_000_000)", deadline},
		"parentheses":           {"<-(time.After)((2 * time.Second))", deadline},
		"a sum":                 {"<-time.After(x + 2*time.Second)", deadline},
		"timer":                 {"time.NewTimer(2 * time.Second)", deadline},
		"timer set again":       {"t := time.NewTimer(x); t.Reset(2 * time.Second)", deadline},
		"function later":        {"time.AfterFunc(2*time.Second, f)", deadline},
		"context":               {"context.WithTimeout(nil, 2*time.Second)", deadline},
		"context with a cause":  {"context.WithTimeoutCause(nil, 2*time.Second, nil)", deadline},
		"context's deadline":    {"context.WithDeadline(nil, time.Now().Add(2*time.Second))", deadline},
		"deadline of a file":    {"c.SetReadDeadline(time.Now().Add(2 * time.Second))", deadline},
		"deadline of both":      {"c.SetDeadline(time.Now().Add(2 * time.Second))", deadline},
		"dial":                  {"net.DialTimeout(n, a, 2*time.Second)", deadline},
		"field of a stub":       {"http.Client{Timeout: 2 * time.Second}", deadline},
		"field that is set":     {"c := http.Client{}; c.ReadTimeout = 2 * time.Second", deadline},
		"field of its own":      {"type o struct { Timeout time.Duration }; _ = o{Timeout: 2 * time.Second}", deadline},
		"field by its place":    {"type o struct { Timeout time.Duration }; _ = o{2 * time.Second}", deadline},
		"constant":              {"const limit = 2 * time.Second; <-time.After(limit)", deadline},
		"constants":             {"const n, unit = 2, time.Second; <-time.After(n * unit)", deadline},
		"variable":              {"limit := 2 * time.Second; <-time.After(limit)", deadline},
		"variable set later":    {"var limit time.Duration; limit = 2 * time.Second; <-time.After(limit)", deadline},
		"variables in a row":    {"a := 2 * time.Second; b := a; c := b; <-time.After(c)", deadline},
		"parameter":             {"wait := func(d time.Duration) { <-time.After(d) }; wait(2 * time.Second)", deadline},
		"table":                 {"for _, c := range []struct{ d time.Duration }{{2 * time.Second}} { <-time.After(c.d) }", deadline},
		"table with names":      {"for _, c := range []struct{ d time.Duration }{{d: 2 * time.Second}} { <-time.After(c.d) }", deadline},
		"a function's value":    {"after := time.After; <-after(x)", "hides time.After from this check: call it where it is needed"},
		"handed on":             {"wait(time.After)", "hides time.After"},
		"returned":              {"g := func() any { return context.WithTimeout }", "hides context.WithTimeout"},
		"ticker as a sleep":     {"<-time.NewTicker(x).C", "sleeps by a ticker"},
		"tick as a sleep":       {"<-time.Tick(x)", "sleeps by a ticker"},
		"comparison":            {"if took < 2*time.Second { }", "host/a_test.go:6: " + compared},
		"the other way":         {"_ = 2*time.Second >= took", compared},
		"by a constant":         {"const limit = 2*time.Second; _ = took > limit", compared},
		"case":                  {"switch { case took > 2*time.Second: }", compared},
		"since":                 {"_ = time.Since(x) < time.Hour", measured},
		"until":                 {"_ = time.Until(x) < time.Hour", measured},
		"sub":                   {"_ = time.Now().Sub(x) < time.Hour", measured},
		"sub of what is known":  {"a, b := time.Now(), time.Now(); _ = time.Hour > b.Sub(a)", measured},
		"sub of a stub":         {"_ = lab.Began().Sub(x) < time.Hour", measured},
		"measured in a unit":    {"_ = time.Since(x).Seconds() < 2", measured},
		"variable in a unit":    {"took := time.Since(x); _ = took.Milliseconds() > 200", measured},
		"variable and another":  {"took := time.Since(x); _ = took > most", measured},
		"variable and variable": {"took := time.Since(x); more := took; most := 2*time.Second; _ = more > most", measured},
		"two measured":          {"a, b := time.Since(x), time.Since(y); _ = a > 2*b", measured},
		"function that does":    {"took := func() float64 { return time.Since(x).Seconds() }(); _ = took > 2", measured},
		"present after":         {"_ = time.Now().After(limit)", measured},
		"before the present":    {"_ = limit.Before(time.Now().Add(time.Hour))", measured},
		"compared with present": {"_ = limit.Compare(time.Now())", measured},
		"goroutines":            {"runtime.NumGoroutine()", "host/a_test.go:6: counts goroutines: testkit.NoneLeft names them"},
		"goroutines by value":   {"n := runtime.NumGoroutine; n()", "counts goroutines"},
		"goroutines' profile":   {"pprof.Lookup(\"goro\" + \"utine\").Count()", "counts goroutines"},
		"process by number":     {"os.FindProcess(n)", "host/a_test.go:6: takes a number for a process: process.Identity"},
		"signal 0":              {"syscall.Kill(n, 0)", "asks whether a number has a process"},
		"signal 0 of unix":      {"unix.Kill(n, unix.Signal(0))", "asks whether a number has a process"},
		"signal 0 by a name":    {"const none = 0; syscall.Kill(n, none)", "asks whether a number has a process"},
		"signal 0 of a process": {"p.Signal(syscall.Signal(0))", "asks whether a number has a process"},
		"pid of nobody":         {"syscall.Kill(999999, s)", "a made-up pid"},
		"pid beside its own":    {"g(os.Getpid() + 1)", "a made-up pid"},
		"port":                  {`net.Listen("tcp", "127.0.0.1:8080")`, "host/a_test.go:6: listens at port 8080: listen on port 0 and read the port back"},
		"port of every address": {`net.Listen("tcp", ":8080")`, "listens at port 8080"},
		"port by a name":        {`const port = "8080"; net.Listen("tcp", "localhost:" + port)`, "listens at port 8080"},
		"port of packets":       {`net.ListenPacket("udp", "[::1]:53")`, "listens at port 53"},
		"port in a structure":   {`net.ListenTCP("tcp", &net.TCPAddr{Port: 80})`, "listens at a port that it chose"},
		"port of a server":      {`http.ListenAndServe("localhost:80", nil)`, "listens at port 80"},
		"port by a method":      {`c := net.ListenConfig{}; c.Listen(nil, "tcp", "localhost:80")`, "listens at port 80"},
		"command that sleeps":   {`exec.Command("sleep", "0.5")`, "starts a sleep of 0.5 s"},
		"text that sleeps":      {`sh("NAP 0.5; test -e file")`, "sleeps and then compares"},
		"text in parts":         {`sh("kill 7 && NAP 1 &&" + " ! kill -0 7")`, "sleeps and then compares"},
		"pid in a bubble":       {"synctest.Test(t, func() { os.FindProcess(n) })", "takes a number for a process"},
		"beside a bubble":       {"story := func(in, out func()) { synctest.Test(t, func() { in() }); out() }; story(nil, func() { time.Sleep(x) })", "sleeps"},
		"behind a bubble":       {"synctest.Test(t, func() { }); time.Sleep(x)", "sleeps"},
	} {
		t.Run(name, func(t *testing.T) {
			if code, printed := timesIn(map[string]string{"host/a_test.go": body(c.code)}); code != 1 || strings.Count(printed, c.want) != 1 {
				t.Errorf("exit code %d, printed:\n%swant once %q", code, printed, c.want)
			}
		})
	}
}

// What is written elsewhere, or called something else, is seen as well.
func TestTimesAcrossFiles(t *testing.T) {
	const head = "package host\n\nimport \"time\"\n\n"
	use := head + "func g() { <-time.After(limit) }\n"
	for name, c := range map[string]struct {
		files map[string]string
		want  string
	}{
		"constant of the product":   {map[string]string{"host/a.go": head + "const limit = 2 * time.Second\n", "host/a_test.go": use}, "host/a_test.go:5: a deadline of 2s"},
		"constant of another test":  {map[string]string{"host/b_test.go": head + "const limit = 2 * time.Second\n", "host/a_test.go": use}, "host/a_test.go:5: a deadline of 2s"},
		"variable of another test":  {map[string]string{"host/b_test.go": head + "var limit = 2 * time.Second\n", "host/a_test.go": use}, "host/b_test.go:5: a deadline of 2s"},
		"function of another test":  {map[string]string{"host/b_test.go": head + "func wait(d time.Duration) { <-time.After(d) }\n", "host/a_test.go": head + "func g() { wait(2 * time.Second) }\n"}, "host/a_test.go:5: a deadline of 2s"},
		"constant of other package": {map[string]string{"host/other/a.go": "package other\n\nimport \"time\"\n\nconst Limit = 2 * time.Second\n", "host/a_test.go": body("<-time.After(other.Limit)")}, "a deadline of 2s"},
		"test from outside":         {map[string]string{"host/b_test.go": head + "const Limit = 2 * time.Second\n", "host/a_test.go": "package host_test\n\nimport (\n\"time\"\n\"agent/host\"\n)\n\nfunc g() { <-time.After(host.Limit) }\n"}, "host/a_test.go:8: a deadline of 2s"},
		"renamed import":            {map[string]string{"host/a_test.go": "package host\nimport tm \"time\"\nfunc g() { tm.Sleep(1) }\n"}, "host/a_test.go:3: sleeps"},
		"import with a dot":         {map[string]string{"host/a_test.go": "package host\nimport . \"time\"\nfunc g() { Sleep(1) }\n"}, "host/a_test.go:2: hides package time from this check: import it by its name"},
		"runtime with a dot":        {map[string]string{"host/a_test.go": "package host\nimport . \"runtime\"\nvar n = NumGoroutine()\n"}, "host/a_test.go:2: hides package runtime"},
		"package that tests share":  {map[string]string{"host/kit/a.go": "package kit\nimport (\n\"testing\"\n\"time\"\n)\nfunc g(testing.TB) { time.Sleep(1) }\n"}, "host/kit/a.go:6: sleeps"},
		"nested module":             {map[string]string{"host/fleet/lab/a_test.go": body("time.Sleep(1)")}, "host/fleet/lab/a_test.go:6: sleeps"},
		"scripts' own tests":        {map[string]string{"scripts/page/a_test.go": body("time.Sleep(1)")}, "scripts/page/a_test.go:6: sleeps"},
		"other systems":             {map[string]string{"host/a_windows_test.go": "//go:build windows\n\n" + body("time.Sleep(1)")}, "sleeps"},
	} {
		t.Run(name, func(t *testing.T) {
			if code, printed := timesIn(c.files); code != 1 || !strings.Contains(printed, c.want) {
				t.Errorf("exit code %d, printed:\n%swant %q", code, printed, c.want)
			}
		})
	}
}

func TestScriptsThatSleep(t *testing.T) {
	for name, text := range map[string]string{
		"a command":              "exec NAP 1\nexec cat file\n",
		"a part of a second":     "NAP 0.1\ntest -e file\n",
		"without a zero":         "NAP .5\n",
		"a unit":                 "NAP 5s\n",
		"almost a minute":        "NAP 59\n",
		"an unknown time":        "NAP $PAUSE\n",
		"a quoted time":          "NAP \"$PAUSE\"\n",
		"quoted once":            "NAP '0.5'\n",
		"behind a command":       "touch file; NAP 1; test -e other\n",
		"behind and":             "touch file && NAP 1 && test -e other\n",
		"in a quoted script":     "exec sh -c 'touch file; NAP 1; test -e other'\n",
		"in parentheses":         "(NAP 1; test -e other)\n",
		"in a condition":         "if test -e file; then NAP 1; fi\n",
		"times that are counted": "for i in 1 2 3; do NAP 1; done\ntest -e file\n",
		"in lines":               "for i in 1 2 3\ndo\n\tNAP 1\ndone\n",
		"no loop":                "echo for\nfor you\nNAP 1\n",
		"a file of a script":     "exec agent run -f a.md\n-- a.md --\n```sh\nNAP 0.3; echo two\n```\n",
		"behind a loop":          "until test -e file; do NAP 0.01; done\nNAP 1\n",
		"with an assignment":     "A=b NAP 1\n",
	} {
		t.Run(name, func(t *testing.T) {
			for _, file := range []string{"host/command/testdata/script/a.txt", "host/drive/scripts/a.txt", "scripts/x.bash", "scripts/x"} {
				files := map[string]string{file: text}
				if file == "scripts/x" {
					files[file] = "#!/bin/bash\n" + text
				}
				if code, printed := timesIn(files); code != 1 || !strings.Contains(printed, file+":") || !strings.Contains(printed, "and goes on: wait for an event") {
					t.Errorf("%s: exit code %d, printed:\n%s", file, code, printed)
				}
			}
		})
	}
}

func TestWhatTimesAllow(t *testing.T) {
	code, printed := timesIn(map[string]string{
		"host/long_test.go":          body("<-time.After(10 * time.Second); context.WithTimeout(nil, time.Minute); _ = took < 10*time.Second; time.NewTimer(0); time.AfterFunc(-1, f)"),
		"host/poll_test.go":          body("for t := time.NewTicker(time.Millisecond); ; <-t.C { }"),
		"host/data_test.go":          body("_ = e.After != 2*time.Second; _ = now.Add(2*time.Second); _ = time.Second < time.Minute; _ = now.Before(then); _ = took > 0"),
		"host/clock_test.go":         body("c.now = c.now.Add(2*time.Second); _ = c.now.Sub(c.began) > time.Minute // time: of a made clock") + "type clock struct{ now, began time.Time }\nvar c clock\n",
		"host/shown_test.go":         body("t.Log(time.Since(x)); took := time.Since(x); t.Log(took.Seconds()); if took > time.Minute { }"),
		"host/bubble_test.go":        body("synctest.Test(t, func() { time.Sleep(1); <-time.After(time.Second); _ = time.Since(x) > time.Second })"),
		"host/story_test.go":         body("tell := func(do func()) { synctest.Test(t, func() { do() }) }; _ = tell") + "func story(do func()) { synctest.Test(t, func() { do() }) }\nfunc g() { story(func() { took := time.Since(x); if took > time.Second { time.Sleep(1) } }) }\n",
		"host/pid_test.go":           body("syscall.Kill(os.Getpid(), syscall.SIGKILL); g(os.Getpid()); syscall.Kill(-n, s); p.Signal(os.Interrupt)"),
		"host/port_test.go":          body(`net.Listen("tcp", "127.0.0.1:0"); net.Listen("unix", "a:b"); net.Dial("tcp", "127.0.0.1:80"); net.ListenTCP("tcp", &net.TCPAddr{})`),
		"host/own_test.go":           body("type timers struct{}; time := timers{}; time.Sleep(2); runtime := time; runtime.NumGoroutine()"),
		"host/long2_test.go":         body(`exec.Command("sleep", "1000"); sh("NAP 600; test -e file"); sh("until test -e file; do NAP 0.5; done; cmp a b"); say("NAP 1")`),
		"host/product.go":            strings.Replace(body("time.Sleep(time.Second); <-time.After(1)"), "f()", "g()", 1),
		"scripts/testkit/a.go":       "package testkit\nimport (\n\"testing\"\n\"time\"\n)\nfunc g(testing.TB) { time.Sleep(1) }\n",
		"scripts/a.bash":             "# NAP 1\nwhile ! test -e file; do NAP 0.5; done\nfor i in 1 2; do test -e file && break; NAP 0.5; done\nNAP 0.05\nNAP 60\nNAP infinity\nNAP 5 &\nwait\necho NAP 1\n",
		"scripts/results/a.txt":      "NAP 1\n",
		"host/testdata/script/a.txt": "# NAP 1\nexec sh -c 'while ! test -e file; do NAP 1; done'\nexec NAP 1000 &\n-- book.md --\nuntil test -e go\ndo\n\tNAP 0.5\ndone\n",
	})
	if code != 0 {
		t.Errorf("exit code %d, printed:\n%s", code, printed)
	}
}

func TestExceptionsOfTimes(t *testing.T) {
	for name, c := range map[string]struct{ file, text, want string }{
		"in Go":            {"host/a_test.go", body("time.Sleep(1) // time: the file's age is looked at"), ""},
		"in a script":      {"host/testdata/a.txt", "exec NAP 1 # time: the lease is of one second\n", ""},
		"no reason":        {"host/a_test.go", body("time.Sleep(1) // time:"), `sleeps: wait for an event with testkit.Until, or use the made clock of testing/synctest; its exception has no reason: "time: REASON"`},
		"nor in a script":  {"host/testdata/a.txt", "exec NAP 1 # time: \n", "its exception has no reason"},
		"another line":     {"host/a_test.go", body("// time: it is needed\ntime.Sleep(1)"), "host/a_test.go:7: sleeps"},
		"another comment":  {"host/a_test.go", body("time.Sleep(1) // times: it is needed"), "sleeps"},
		"text":             {"host/a_test.go", body("time.Sleep(len(` // time: it is needed`))"), "sleeps"},
		"of nothing":       {"host/a_test.go", body("g() // time: it is needed"), `host/a_test.go:6: an exception of nothing: remove "time: it is needed"`},
		"nothing's script": {"host/testdata/a.txt", "echo 1 # time: it is needed\n", "host/testdata/a.txt:1: an exception of nothing"},
	} {
		t.Run(name, func(t *testing.T) {
			code, printed := timesIn(map[string]string{c.file: c.text})
			if code != min(len(c.want), 1) || !strings.Contains(printed, c.want) {
				t.Errorf("exit code %d, printed:\n%swant %q", code, printed, c.want)
			}
		})
	}
}

// excused is a test file with so many exceptions.
func excused(n int) string {
	return body(strings.Repeat("time.Sleep(1) // time: a lease ends\n", n))
}

func TestTheChangeAddsNoException(t *testing.T) {
	bytes := func(name string, n int) map[string][]byte { return map[string][]byte{name: []byte(excused(n))} }
	check := map[string][]byte{"scripts/imports/times.go": nil}
	for name, c := range map[string]struct {
		change changed
		want   string
	}{
		"nothing is known": {changed{}, ""},
		"as many":          {changed{bytes("a_test.go", 2), bytes("a_test.go", 2)}, ""},
		"fewer":            {changed{bytes("a_test.go", 1), bytes("a_test.go", 2)}, ""},
		"moved":            {changed{bytes("a_test.go", 2), bytes("b_test.go", 2)}, ""},
		"removed":          {changed{nil, bytes("a_test.go", 2)}, ""},
		"one more":         {changed{bytes("a_test.go", 2), bytes("a_test.go", 1)}, "a_test.go:7: the change has 2 exceptions of times, the last landing had 1 in these files"},
		"a new file":       {changed{bytes("a_test.go", 1), nil}, "has 1 exceptions"},
		"the check is new": {changed{map[string][]byte{"a_test.go": []byte(excused(1)), "scripts/imports/times.go": []byte("x")}, check}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			text := ""
			for _, f := range moreExceptions(c.change) {
				text += f.String()
			}
			if (text == "") != (c.want == "") || !strings.Contains(text, c.want) {
				t.Errorf("%q, want %q", text, c.want)
			}
		})
	}
}

// What is new waits longer, and no change adds an exception.
func TestTimesOfAChange(t *testing.T) {
	half := body("<-time.After(30 * time.Second)")
	tree := landed{
		fstest.MapFS{
			"host/new_test.go":  {Data: []byte(half)},
			"host/old_test.go":  {Data: []byte(half)},
			"host/more_test.go": {Data: []byte(excused(2))},
		},
		fstest.MapFS{
			"host/gone_test.go": {Data: []byte(half)},
			"host/old_test.go":  {Data: []byte(half)},
			"host/more_test.go": {Data: []byte(excused(1))},
		},
	}

	var stdout, stderr strings.Builder
	code := run(tree, []string{"times"}, &stdout, &stderr)
	for _, want := range []string{"host/new_test.go:6: a deadline of 30s", "host/more_test.go:7: the change has 2 exceptions", "3 files, 2 violations"} {
		if code != 1 || !strings.Contains(stdout.String(), want) {
			t.Errorf("exit code %d, printed:\n%s%swant %q", code, &stdout, &stderr, want)
		}
	}
}

// Where the last landing cannot be found, nothing is known of what is new, and that is not a pass.
func TestTimesNeedTheLastLanding(t *testing.T) {
	t.Setenv(change.Folder, t.TempDir())
	var stdout, stderr strings.Builder
	code := run(openRepository(t.TempDir()), []string{"times"}, &stdout, &stderr)
	if want := "compare tests with the last landing: landed: read the folder"; code != 2 || !strings.HasPrefix(stderr.String(), want) {
		t.Errorf("exit code %d, printed:\n%s%swant %q", code, &stdout, &stderr, want)
	}
}
