//go:build linux

package story

import (
	"fmt"
)

// Shapes are the ways in which the host speaks with a model.
func Shapes() []string { return []string{"anthropic", "responses", "chat", "runbook"} }

// modelName names the model of a shape.
func modelName(shape string) string {
	return map[string]string{
		"anthropic": "anthropic/claude-test", "responses": "openai/gpt-test", "chat": "openrouter/qwen/test", "runbook": "runbook",
	}[shape]
}

// RunArgs begin the story's run.
func (s *Story) RunArgs(prompt, url string) []string {
	args := append([]string{"run", "--model", modelName(s.Shape), "--mode", s.Mode}, s.Flags...)
	if s.maxTurns > 0 {
		args = append(args, "--max-turns", fmt.Sprint(s.maxTurns))
	}
	if s.Shape == "chat" {
		args = append(args, "--base-url", url+"/v1")
	}
	if s.Shape == "runbook" {
		return append(args, "-f", "book.md")
	}
	return append(args, prompt)
}

// ContinueArgs begin a run in the thread of the one before it.
func (s *Story) ContinueArgs(url string) []string {
	args := []string{"run", "--model", modelName(s.Shape), "--mode", s.Mode}
	if s.Shape == "chat" {
		args = append(args, "--base-url", url+"/v1")
	}
	return append(args, "-c", "continue")
}

// Config is the person's configuration.
func (s *Story) Config(counter string) string {
	text := fmt.Sprintf("[providers.openai]\nkind = \"responses\"\n[fetch]\nprivate = [%q]\n", counter)
	if s.window > 0 {
		text += fmt.Sprintf("[models.%q]\nwindow = %d\nmax_output = 1000\n", modelName(s.Shape), s.window)
	}
	return text
}
