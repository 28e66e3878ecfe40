//go:build linux

package command_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// diskServer is agent serve on a disk of its own. What it says is kept on another one.
type diskServer struct {
	w   *world
	cmd *exec.Cmd
}

func (w *world) serve() *diskServer {
	w.t.Helper()
	log, err := os.OpenFile(filepath.Join(w.dir, "serve.log"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		w.t.Fatal(err)
	}
	defer log.Close()
	s := &diskServer{w: w, cmd: exec.Command(filepath.Join(binDir(), "agent"), "serve")}
	s.cmd.Dir, s.cmd.Stderr = w.dir, log
	s.cmd.Env = append(os.Environ(), "HOME="+w.home, "AGENT_HOME="+w.state(""))
	if err := s.cmd.Start(); err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(s.stop)
	s.await("socket", 1)
	return s
}

// await waits until the server has said something so many times.
func (s *diskServer) await(text string, times int) {
	s.w.t.Helper()
	defer func() {
		if s.w.t.Failed() {
			s.w.t.Log(s.w.read("serve.log"))
		}
	}()
	await(s.w.t, fmt.Sprintf("%q of the server", text), func() bool { return strings.Count(s.w.read("serve.log"), text) >= times })
}

// stop ends the server and whoever drives for it.
func (s *diskServer) stop() {
	if s.cmd.ProcessState != nil {
		return
	}
	_ = s.cmd.Process.Signal(syscall.SIGTERM) // it may be gone
	_ = s.cmd.Wait()                          // how it ends is in what it says
}

// ask asks the server, which answers with the status, and returns what it said.
func (s *diskServer) ask(method, path, body string, status int) string {
	s.w.t.Helper()
	got, text, err := tryServer(s.w.t, strings.TrimSuffix(s.w.state(""), "/"), method, path, body, "")
	if err != nil || got != status {
		s.w.t.Fatalf("%s %s: %d %s, %v; want %d\n%s", method, path, got, text, err, status, s.w.read("serve.log"))
	}
	return text
}

// full wants a request to be refused because the disk is full, with the command that helps.
func (s *diskServer) full(path, body string) {
	s.w.t.Helper()
	var p struct {
		Code   string   `json:"code"`
		Detail string   `json:"detail"`
		Next   []string `json:"next"`
	}
	text := s.ask("POST", path, body, 507)
	if err := json.Unmarshal([]byte(text), &p); err != nil || p.Code != "disk_full" || fmt.Sprint(p.Next) != "[agent doctor]" || !strings.Contains(p.Detail, "disk") {
		s.w.t.Errorf("POST %s: %s", path, text)
	}
}

// waits has a run wait for an answer, and returns the run and its question.
func (w *world) waits() (run, question string) {
	w.t.Helper()
	code, out := w.say("run", "--no-recover", "--json", "--runbook", "-f", "waits.md")
	var v struct {
		Run     string `json:"run_id"`
		Request struct {
			ID string `json:"id"`
		} `json:"pending_request"`
	}
	if err := json.Unmarshal([]byte(out[strings.Index(out, "{"):]), &v); err != nil || code != 3 {
		w.t.Fatalf("exit %d: %v: %s", code, err, out)
	}
	return v.Run, v.Request.ID
}

// On a full disk a server shows what is recorded and refuses with 507 what would be recorded; once
// there is room it goes on by itself, writes, and has runs go on, also where it was started on the
// full disk. Nothing happens twice. // windows 12
func TestDiskFullServer(t *testing.T) {
	for _, late := range []bool{false, true} {
		t.Run(fmt.Sprintf("started on it %v", late), func(t *testing.T) {
			w, d := newDiskWorld(t, mountDisk, 96)
			w.write("waits.md", "- ask_user \"Which?\" first second\n\n```sh\necho answered >> effects\n```\n")
			w.write("crashes.md", "```sh\necho one >> effects\nwhile ! test -e go; do sleep 0.01; done\n```\n\n```sh\necho two >> effects\n```\n")
			asking, question := w.waits()
			ending, _ := w.waits()
			s := w.serve() // which makes its token
			if late {
				s.stop()
				if err := os.Remove(filepath.Join(w.dir, "serve.log")); err != nil {
					t.Fatal(err)
				}
			}
			if code, out := w.say("run", "--no-recover", "--detach", "--runbook", "-f", "crashes.md"); code != 0 {
				t.Fatalf("exit %d: %s", code, out)
			}
			await(t, "the first effect", func() bool { return w.read("effects") == "one\n" })
			if err := os.Remove(w.state("ballast")); err != nil {
				t.Fatal(err)
			}
			w.killDrivers()
			if late {
				cutLog(t, w.state("agent.db")) // in a log that a killed process leaves there is room for much
			}
			d.fill()
			if late {
				s = w.serve()
			}
			s.await("the disk is full: no run is carried on until 32 MiB are free on it: agent doctor", 1)
			s.full("/v1/runs", fmt.Sprintf(`{"prompt":"- list_dir .\n","folder":%q,"runbook":true}`, w.dir))
			s.full("/v1/pending/"+question+"/answer", `{"answer":"first"}`)
			s.full("/v1/runs/"+ending+"/cancel", `{}`)
			if got := s.ask("GET", "/v1/runs/"+asking, "", 200); !strings.Contains(got, `"status":"waiting"`) {
				t.Error(got)
			}
			if got := s.ask("GET", "/v1/server", "", 200); !strings.Contains(got, `"read_only":true`) {
				t.Error(got)
			}
			d.room()
			s.await("there is room on the disk again: the server starts again", 1)
			s.await("goes on in the background (its process died)", 1)
			w.write("go", "")
			s.ask("POST", "/v1/pending/"+question+"/answer", `{"answer":"first"}`, 200)
			s.ask("POST", "/v1/runs/"+ending+"/cancel", `{}`, 202)
			s.ask("POST", "/v1/runs", fmt.Sprintf(`{"prompt":"- list_dir .\n","folder":%q,"runbook":true}`, w.dir), 201)
			await(t, "the end of all runs", func() bool {
				got := s.ask("GET", "/v1/runs", "", 200)
				return strings.Count(got, `"status":"completed"`) == 4 && strings.Count(got, `"status":"cancelled"`) == 1
			})
			if got := w.read("effects"); strings.Count(got, "one\n") != 1 || strings.Count(got, "two\n") != 1 || strings.Count(got, "answered\n") != 1 {
				t.Errorf("effects: %q\n%s", got, w.read("serve.log"))
			}
			if _, err := os.Stat(w.state("ballast")); err != nil {
				t.Errorf("the ballast was not made again: %v", err)
			}
			s.stop()
			if said := w.read("serve.log"); s.cmd.ProcessState.ExitCode() != 0 || strings.Count(said, "the disk is full: ") != 1 || !strings.Contains(said, "the server has ended") {
				t.Errorf("%v: %s", s.cmd.ProcessState, said)
			}
			if text, err := os.ReadFile(w.state("log/agent.log")); errors.Is(err, os.ErrNotExist) || !strings.Contains(string(text), "the server starts again") {
				t.Errorf("the log: %v", err)
			}
		})
	}
}

// killDrivers kills who drives a run of the world in the background.
func (w *world) killDrivers() {
	w.t.Helper()
	list, err := filepath.Glob("/proc/[0-9]*/environ")
	if err != nil {
		w.t.Fatal(err)
	}
	killed := 0
	for _, path := range list {
		env, _ := os.ReadFile(path) // who is gone drives nothing
		line, _ := os.ReadFile(filepath.Join(filepath.Dir(path), "cmdline"))
		if !strings.Contains(string(env), "AGENT_HOME="+w.state("")) || !strings.Contains(string(line), "\x00__drive\x00") {
			continue
		}
		var pid int
		if _, err := fmt.Sscan(filepath.Base(filepath.Dir(path)), &pid); err != nil {
			w.t.Fatal(err)
		}
		if err := syscall.Kill(pid, syscall.SIGKILL); err == nil {
			killed++
		}
	}
	if killed == 0 {
		w.t.Fatal("nobody drives in the background")
	}
}

// Where the first start ever finds no room, each command that makes the state folder says what it
// was about, why not, and what helps; once there is room it is a first start like any other.
func TestDiskFullFirstStart(t *testing.T) {
	w := newWorld(t)
	d := mountDisk(t, w.home, 8)
	w.write("first.md", "- list_dir .\n")
	d.fill()
	for _, args := range [][]string{{"run", "--runbook", "-f", "first.md"}, {"run", "--detach", "--runbook", "-f", "first.md"}, {"serve"}, {"web", "--no-open"}} {
		code, out := w.say(args...)
		w.expect(code, 1, out, "agent: use state folder "+strings.TrimSuffix(w.state(""), "/")+": the disk is full", "agent doctor", "make room on its disk")
	}
	code, out := w.say("run", "--json", "--runbook", "-f", "first.md")
	w.expect(code, 1, out, `"code":"disk_full"`, `"next":["agent doctor"]`)
	code, out = w.say("ls")
	w.expect(code, 0, out, "no runs yet")
	code, out = w.say("doctor")
	w.expect(code, 1, out, "0 MiB are free")
	d.room()
	code, out = w.say("run", "--runbook", "-f", "first.md")
	w.expect(code, 0, out, "completed")
}
