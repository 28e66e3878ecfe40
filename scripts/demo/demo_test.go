// Package demo holds the runbook that README begins with, and the proof that it works in an empty
// folder.
package demo

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"agent/host/model"
	"agent/host/model/runbook"
	"agent/recovery/journal"
	"agent/tools"
	"agent/tools/builtin"
)

// noOutputs is there because the tools want one: the demo reads no outputs.
type noOutputs struct{ builtin.Outputs }

func builtinTools(t *testing.T) *tools.Registry {
	t.Helper()
	state := t.TempDir()
	all, err := builtin.Tools(builtin.Options{State: state, Calls: filepath.Join(state, "calls"), Exe: "/bin/false", Outputs: noOutputs{}})
	if err != nil {
		t.Fatal(err)
	}
	r, err := tools.NewRegistry(all...)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// carryOut does one call: a command through sh, anything else through its tool. Nobody waits for
// the demo's sleep.
func carryOut(t *testing.T, r *tools.Registry, folder string, c *journal.CallBlock) string {
	t.Helper()
	if c.Tool == "shell" {
		var args struct{ Command string }
		if err := json.Unmarshal(c.Args, &args); err != nil {
			t.Fatal(err)
		}
		sh := exec.Command("sh", "-e", "-c", "sleep() { :; }\n"+args.Command)
		sh.Dir = folder
		out, err := sh.CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v\n%s\n%s", c.Provider, err, args.Command, out)
		}
		return string(out)
	}
	tool, err := r.Get(c.Tool)
	if err != nil {
		t.Fatal(err)
	}
	call := tools.Call{Run: "r-demo", ID: c.ID, Args: c.Args, Folder: folder, Show: func([]byte) {}}
	if p, ok := tool.(tools.Preparer); ok {
		if call.Before, call.Handle, err = p.Prepare(t.Context(), call); err != nil {
			t.Fatalf("%s: prepare: %v", c.Provider, err)
		}
	}
	result, err := tool.(tools.Caller).Call(t.Context(), call)
	if err != nil || result.Outcome != journal.OutcomeOK {
		t.Fatalf("%s: %s: %v, %+v", c.Provider, c.Tool, err, result)
	}
	return result.Content
}

// play carries the runbook out in a folder and returns its last word and what its steps said.
func play(t *testing.T, folder string) (last string, results []string) {
	t.Helper()
	text, err := os.ReadFile("runbook.md")
	if err != nil {
		t.Fatal(err)
	}
	r, m := builtinTools(t), runbook.New()
	m.Check = r.Read
	turns, err := m.Plan(nil, string(text))
	if err != nil {
		t.Fatal(err)
	}
	said := []journal.Message{{Role: journal.RoleUser, Blocks: []journal.Block{{Kind: journal.BlockText, Text: string(text)}}}}
	for range turns {
		var answer *model.Answer
		for d, err := range m.Stream(t.Context(), model.Request{Messages: said}) {
			if err != nil {
				t.Fatal(err)
			}
			answer = d.Answer
		}
		block := answer.Blocks[len(answer.Blocks)-1]
		if block.Call == nil {
			if answer.Stop != journal.AnswerEnd {
				t.Fatalf("the demo ends with %s: %s", answer.Stop, block.Text)
			}
			return block.Text, results
		}
		block.Call.ID = "c-" + block.Call.Provider
		content := carryOut(t, r, folder, block.Call)
		results = append(results, content)
		said = append(said,
			journal.Message{Role: journal.RoleAssistant, Blocks: answer.Blocks},
			journal.Message{Role: journal.RoleTool, Blocks: []journal.Block{{Kind: journal.BlockResult, Result: &journal.ResultBlock{
				ID: block.Call.ID, Outcome: journal.OutcomeOK, Text: content,
			}}}})
	}
	t.Fatalf("the demo is not over after the %d turns that it planned", turns)
	return "", nil
}

// README's first command works on a bare machine: in an empty folder, and again in the same one.
func TestDemo(t *testing.T) {
	folder := t.TempDir()
	for range 2 {
		last, results := play(t, folder)
		if !strings.HasPrefix(last, "8 of 8 steps done:") {
			t.Errorf("the last word is %q", last)
		}
		all := strings.Join(results, "\n")
		for _, want := range []string{"greet.sh", "- Greets whoever is named.", "CHANGES.md:3: ## 1.0", "2 tests passed", "have 5 lines", "packed part 10 of 10"} {
			if !strings.Contains(all, want) {
				t.Errorf("no step says %q:\n%s", want, all)
			}
		}
		parts, err := os.ReadFile(filepath.Join(folder, "dist", "parts"))
		if err != nil || strings.Count(string(parts), "\n") != 10 {
			t.Errorf("dist/parts: %v\n%s", err, parts)
		}
	}
}

// Every form of a step that the model documents makes arguments that the tools take.
func TestStepsFitTheTools(t *testing.T) {
	for _, name := range []string{"items", "blocks", "attributes", "write_file"} {
		a, err := txtar.ParseFile(filepath.Join("..", "..", "host", "model", "runbook", "testdata", "parse", name+".txtar"))
		if err != nil {
			t.Fatal(err)
		}
		m := runbook.New()
		m.Check = builtinTools(t).Read
		if _, err := m.Plan(nil, string(a.Files[0].Data)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
