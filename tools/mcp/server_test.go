package mcp_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"agent/recovery/journal"
	"agent/scripts/testkit"
	"agent/tools/mcp"
	"agent/tools/toolstest"
)

// All pages are read; names are what providers take; what cannot be had is said.
func TestTools(t *testing.T) {
	b := one(t)
	var names []string
	for _, n := range b.tools.Names() {
		if len(n) > 64 {
			t.Errorf("name %s is too long", n)
		}
		names = append(names, strings.TrimPrefix(n, "mcp__srv__"))
	}
	want := "a_b ask ask_secret ask_url bare change die die_read echo env fail flood garbage hang key long " +
		"long_long_long_long_long_long_long_long_long__68745b60 mail media note pour progress refuse rules structured swap"
	if diff := cmp.Diff(strings.Fields(want), names); diff != "" {
		t.Error(diff)
	}
	notes := []string{
		`tool "a_b" is left out: the name mcp__srv__a_b is taken`,
		"the arguments of tool \"rules\" are not checked: its schema cannot be read here: jsonschema.Schema: <anonymous schema>: pattern: error parsing regexp: invalid or unsupported Perl syntax: `(?=`",
	}
	if diff := cmp.Diff(notes, b.started[0].Notes); diff != "" {
		t.Error(diff)
	}
	spec := b.tool("note").Spec()
	if spec.Description != "Writes [31ma note." || strings.Contains(string(spec.Schema), "\u202e") {
		t.Errorf("not cleaned: %q %s", spec.Description, spec.Schema)
	}
}

// Annotations count only for trusted servers, and what they leave open is the most dangerous.
func TestEffects(t *testing.T) {
	tests := []struct {
		tool          string
		trusted       bool
		effect        journal.Effect
		retry         bool
		outward       string
		confinedByPin bool
	}{
		{"echo", false, journal.EffectWriteExternal, false, "MCP server srv", true},
		{"note", false, journal.EffectWriteExternal, false, "MCP server srv", true},
		{"echo", true, journal.EffectRead, false, "", true},
		{"note", true, journal.EffectWriteLocal, true, "", true},
		{"mail", true, journal.EffectWriteExternal, false, "MCP server srv", true},
		{"bare", true, journal.EffectWriteExternal, false, "MCP server srv", true},
		{"die_read", true, journal.EffectRead, false, "MCP server srv", true},
	}
	folder := t.TempDir()
	for _, trusted := range []bool{false, true} {
		def := define(t, folder)
		def.Trusted = trusted
		b := start(t, folder, def)
		for _, test := range tests {
			if test.trusted != trusted {
				continue
			}
			got := b.tool(test.tool)
			if e := got.Describe("", nil).Effect; e != test.effect {
				t.Errorf("%s trusted %v: effect %s, want %s", test.tool, trusted, e, test.effect)
			}
			if r := got.Describe("", nil).RetrySafe; r != test.retry {
				t.Errorf("%s trusted %v: retry-safe %v", test.tool, trusted, r)
			}
			if o := got.Describe("", nil).Outward; o != test.outward {
				t.Errorf("%s trusted %v: outward %q, want %q", test.tool, trusted, o, test.outward)
			}
		}
	}
}

// What a server answers becomes a result.
func TestResults(t *testing.T) {
	b := one(t)
	b.want("echo", "hello", "hello")
	b.want("echo", "", "[no output]")
	b.want("garbage", "", "still here")
	b.want("structured", "", `{"who": "a<b", "sum": 3}`)
	b.want("key", "", "r-1/0/2")
	b.want("env", "", "PATH=/usr/bin:/bin\nHOME=/nowhere")
	const sum = "ae4b3280e56e2faf83f414a6e3dabe9d5fbe18976544c05fed121accb85b53fc"
	b.want("media", "", "[image, image/png, 3 bytes, SHA-256 "+sum+"]\n[audio, audio/wav, 3 bytes, SHA-256 "+sum+"]\n"+
		"[link to resource file:///x x]\n[resource file:///y]\ninside y\n[resource file:///z, application/zip, 3 bytes, SHA-256 "+sum+"]")

	r, err := b.call("fail", "", call{})
	if err != nil || r.Outcome != journal.OutcomeError || r.Applied != journal.AppliedYes || r.Content != "the disk is full" {
		t.Errorf("a tool that says it failed: %+v %v", r, err)
	}
	r, err = b.call("refuse", "", call{})
	if err == nil || r.Applied != journal.AppliedNo || err.Error() != "MCP server srv answered with an error: no such[2J thing" {
		t.Errorf("an error of the protocol: %+v %v", r, err)
	}
	r, err = b.call("long", "", call{})
	if err != nil || r.Size != 3_000_010 || len(r.Full) > 1<<20+100 || len(r.Content) > 33<<10 ||
		!strings.HasPrefix(r.Content, "begin ") || !strings.HasSuffix(r.Content, " end") ||
		!strings.Contains(r.Content, "bytes are left out here; 1951434 of those are not kept; read_output with call c-1 reads the others") {
		t.Errorf("a long text: %d, %d kept, %.80s %v", r.Size, len(r.Full), r.Content, err)
	}
}

// Progress is shown.
func TestProgress(t *testing.T) {
	b := one(t)
	shown := &strings.Builder{}
	if r, err := b.call("progress", "", call{shown: shown}); err != nil || r.Content != "done" {
		t.Fatal(r, err)
	}
	if got := shown.String(); got != "1 of 3 step[31m\n2 of 3 step[31m\n3 of 3 step[31m\n" {
		t.Errorf("shown: %q", got)
	}
}

// A server that ends in a call: what the call did is unknown unless it reads, and the next call has
// it again.
func TestDies(t *testing.T) {
	b := one(t)
	r, err := b.call("die", "", call{})
	if err == nil || r.Applied != "" || r.Outcome != journal.OutcomeError {
		t.Errorf("%+v %v", r, err)
	}
	if want := "it ended with exit status 3; it wrote last: panic: out of[31m cheese"; !strings.Contains(err.Error(), want) {
		t.Errorf("the error is %v, want %s", err, want)
	}
	b.want("echo", "alive", "alive")
	for range 3 {
		if _, err := b.call("die", "", call{}); err == nil || !strings.Contains(err.Error(), "the connection was lost in the call") {
			t.Errorf("%v", err)
		}
	}
	r, err = b.call("echo", "x", call{})
	if err == nil || r.Applied != journal.AppliedNo || !strings.Contains(err.Error(), "not started again in this run: it ended or failed 3 times in a row") {
		t.Errorf("%+v %v", r, err)
	}
	if got := b.logged(); got != strings.Repeat("die\n", 4) {
		t.Errorf("the server did %q", got)
	}
}

// A server that does not answer is asked to stop; it is not started again for that.
func TestHangs(t *testing.T) {
	folder := t.TempDir()
	def := define(t, folder, "-marker", filepath.Join(folder, "servers"))
	def.Call = 300 * time.Millisecond
	b := start(t, folder, def)
	r, err := b.call("hang", "", call{})
	if err == nil || r.Applied != "" || !strings.Contains(err.Error(), "did not answer within 300ms and was asked to stop") {
		t.Errorf("%+v %v", r, err)
	}
	testkit.Until(t, "the server hears that it should stop", func() bool { return strings.Contains(b.logged(), "cancelled") })
	testkit.Until(t, "it answers as soon", func() bool {
		r, err := b.call("echo", "alive", call{})
		return err == nil && r.Content == "alive"
	})
	if all := toolstest.ServersOf(t, folder); len(all) != 1 {
		t.Errorf("it was started as %v", all)
	}
}

// Who stops a run stops its calls.
func TestStopped(t *testing.T) {
	b := one(t)
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("asked to stop")
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		r, err := b.call("hang", "", call{ctx: ctx})
		if !errors.Is(err, why) || r.Applied != "" {
			t.Errorf("%+v %v", r, err)
		}
	}()
	testkit.Until(t, "the call is under way", func() bool { return strings.Contains(b.logged(), "hang") })
	cancel(why)
	<-ended
	testkit.Until(t, "the server hears that it should stop", func() bool { return strings.Contains(b.logged(), "cancelled") })
}

// A server that floods is cut off, and memory does not grow with what it sends.
func TestFloods(t *testing.T) {
	b := one(t)
	r, err := b.call("flood", "", call{})
	if err == nil || r.Applied != "" || !strings.Contains(err.Error(), "it sent a message of more than 16 MiB") {
		t.Errorf("%+v %v", r, err)
	}
	b.want("echo", "alive", "alive")

	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	poured := make(chan error, 1)
	go func() {
		_, err := b.call("pour", "", call{ctx: ctx})
		poured <- err
	}()
	testkit.Until(t, "much has poured", func() bool { return strings.Contains(b.logged(), "pour") })
	cancel()
	if err := <-poured; err == nil {
		t.Error("it poured for ever and was not stopped")
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	if m.HeapInuse > 128<<20 {
		t.Errorf("%d MiB of memory are in use", m.HeapInuse>>20)
	}
	// What it still pours is nobody's, so it is cut off before the next call.
	b.want("echo", "alive", "alive")
}

// A tool that was changed is refused until the next run, whether the server says so or not.
func TestRugPull(t *testing.T) {
	for _, how := range []string{"change", "swap"} {
		t.Run(how, func(t *testing.T) {
			b := one(t)
			b.want("echo", "before", "before")
			b.want(how, "", "changed")
			r, err := b.call("echo", "after", call{})
			if err == nil || r.Applied != journal.AppliedNo || !strings.Contains(err.Error(), "MCP server srv changed what it says of tool echo") {
				t.Errorf("%+v %v", r, err)
			}
			if d := b.tool("echo").Spec().Description; d != "Says a text again." {
				t.Errorf("the model is shown %q", d)
			}
			b.want("bare", "others go on", "others go on")
		})
	}
}

// What does not start is said, and does not keep the others.
func TestStarts(t *testing.T) {
	folder := t.TempDir()
	gone := mcp.Server{Name: "gone", Command: filepath.Join(folder, "nothing"), Start: within}
	silent := define(t, folder, "-mode", "silent")
	silent.Name, silent.Start = "silent", 300*time.Millisecond
	dies := define(t, folder, "-mode", "dies")
	dies.Name = "dies"
	many := define(t, folder, "-mode", "many")
	many.Name = "many"
	endless := define(t, folder, "-mode", "endless")
	endless.Name = "endless"
	garbage := define(t, folder, "-mode", "garbage")
	garbage.Name = "garbage"
	off := define(t, folder, "-marker", filepath.Join(folder, "off"))
	off.Name, off.Disabled = "off", true
	few := define(t, folder)
	few.Name, few.Only = "few", []string{"echo", "nothing"}
	b := start(t, folder, gone, silent, dies, many, endless, garbage, off, few)
	said := map[string]string{}
	for _, s := range b.started {
		said[s.Server.Name] = fmt.Sprintf("%d tools, %v %v", s.Tools, s.Err, s.Notes)
	}
	for name, want := range map[string]string{
		"gone":    "no such file or directory",
		"silent":  "it did not answer within 300ms; start_timeout in its definition gives it longer []",
		"dies":    "it ended with exit status 7; it wrote last: no[31m config[0m found",
		"many":    "it has more than 1000",
		"endless": "its list has no end",
		"garbage": "26 tools, <nil>",
		"few":     `1 tools, <nil> [it has no tool "nothing", which its definition names]`,
	} {
		if !strings.Contains(said[name], want) {
			t.Errorf("%s: %q, want %q", name, said[name], want)
		}
	}
	if _, err := os.Stat(filepath.Join(folder, "off")); err == nil {
		t.Error("a disabled server was started")
	}
	if b.tools.Names()[0] != "mcp__few__echo" {
		t.Error(b.tools.Names())
	}
}
