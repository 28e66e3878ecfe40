//go:build linux

package main

import (
	"fmt"

	"agent/host/model/modeltest"
)

// shapes are the ways in which the host speaks with a model.
func shapes() []string { return []string{"anthropic", "responses", "chat", "runbook"} }

// modelOf names the model of a shape.
func modelOf(shape string) string {
	return map[string]string{
		"anthropic": "anthropic/claude-test", "responses": "openai/gpt-test", "chat": "openrouter/qwen/test", "runbook": "runbook",
	}[shape]
}

const key = "testkey4c1b7e9a0d"

// shapeEnv is what a command finds in its environment to reach the server.
func shapeEnv(shape, url string) []string {
	switch shape {
	case "anthropic":
		return []string{"ANTHROPIC_API_KEY=" + key, "ANTHROPIC_BASE_URL=" + url}
	case "responses":
		return []string{"OPENAI_API_KEY=" + key, "OPENAI_BASE_URL=" + url + "/v1"}
	case "chat":
		return []string{"OPENROUTER_API_KEY=" + key}
	}
	return nil
}

// runArgs begin the story's run.
func (s *story) runArgs(prompt, url string) []string {
	args := append([]string{"run", "--model", modelOf(s.shape), "--mode", s.mode}, s.flags...)
	if s.maxTurns > 0 {
		args = append(args, "--max-turns", fmt.Sprint(s.maxTurns))
	}
	if s.shape == "chat" {
		args = append(args, "--base-url", url+"/v1")
	}
	if s.shape == "runbook" {
		return append(args, "-f", "book.md")
	}
	return append(args, prompt)
}

// continueArgs begin a run in the thread of the one before it.
func (s *story) continueArgs(url string) []string {
	args := []string{"run", "--model", modelOf(s.shape), "--mode", s.mode}
	if s.shape == "chat" {
		args = append(args, "--base-url", url+"/v1")
	}
	return append(args, "-c", "continue")
}

// config is the person's configuration.
func (s *story) config(counter string) string {
	text := fmt.Sprintf("[providers.openai]\nkind = \"responses\"\n[fetch]\nprivate = [%q]\n", counter)
	if s.window > 0 {
		text += fmt.Sprintf("[models.%q]\nwindow = %d\nmax_output = 1000\n", modelOf(s.shape), s.window)
	}
	return text
}

func protocolOf(shape string) []modeltest.Protocol {
	if shape == "runbook" {
		return nil
	}
	return []modeltest.Protocol{modeltest.Protocol(shape)}
}
