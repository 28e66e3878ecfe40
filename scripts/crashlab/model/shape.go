//go:build linux

package model

import (
	"agent/host/model/modeltest"
)

const key = "testkey4c1b7e9a0d"

// Env is what a command finds in its environment to reach the server.
func Env(shape, url string) []string {
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

func Protocols(shape string) []modeltest.Protocol {
	if shape == "runbook" {
		return nil
	}
	return []modeltest.Protocol{modeltest.Protocol(shape)}
}
