package config

import (
	"errors"
	"fmt"

	"github.com/pelletier/go-toml/v2/unstable"

	"agent/host/permission"
	"agent/recovery/journal"
)

// ruleKeys is one rule of permission as it is written.
type ruleKeys struct {
	Tool    string `toml:"tool"`
	Text    string `toml:"text"`
	Command string `toml:"command"`
	Access  string `toml:"access"`
	Path    string `toml:"path"`
	Host    string `toml:"host"`
	Method  string `toml:"method"`
	Folder  string `toml:"folder"`
	Full    bool   `toml:"full"`
}

// restrictKeys are the rules that a workspace's file may hold too.
type restrictKeys struct {
	Ask  []ruleKeys `toml:"ask"`
	Deny []ruleKeys `toml:"deny"`
}

// isRules says whether a key names a list of rules.
func isRules(key string) bool {
	switch journal.Decision(key) {
	case journal.DecisionAllow, journal.DecisionAsk, journal.DecisionDeny:
		return true
	}
	return false
}

// rulePlaces are where the rules and hooks of a file stand and, by key, what they say.
type rulePlaces map[string][]map[string]place

// begin notes a [[table]] of a list, and returns where its keys are to be noted; nil for anything
// else.
func (d *document) begin(table []string, e *unstable.Node) map[string]place {
	if !isList(table[0]) {
		return nil
	}
	if e.Kind == unstable.Table || len(table) != 1 {
		d.single = append(d.single, table)
		return nil
	}
	at := map[string]place{}
	for it := e.Key(); it.Next(); {
		at[""] = d.start(it.Node())
	}
	if d.rules == nil {
		d.rules = rulePlaces{}
	}
	d.rules[table[0]] = append(d.rules[table[0]], at)
	return at
}

// noteKey keeps where a rule's key stands.
func (d *document) noteKey(at map[string]place, e *unstable.Node) {
	if at == nil {
		return
	}
	for it := e.Key(); it.Next(); {
		at[string(it.Node().Data)] = d.start(it.Node())
		return
	}
}

// rules reads the rules of one list. In a workspace's file they hold in that workspace.
func (c *checker) rules(decision journal.Decision, list []ruleKeys, workspace bool) []permission.Rule {
	var out []permission.Rule
	for _, table := range c.d.single {
		if table[0] == string(decision) {
			c.wrong(table, "rules are a list: write [[%s]]", decision)
		}
	}
	for i, k := range list {
		at := c.d.ruleAt(string(decision), i)
		r := permission.Rule{
			Decision: decision, Tool: k.Tool, Text: k.Text, Command: k.Command, Access: k.Access, Full: k.Full, Path: k.Path, Host: k.Host, Method: k.Method,
			Folder: k.Folder, Where: fmt.Sprintf("%s:%d", c.d.file, at("").line),
		}
		if workspace && k.Folder != "" {
			c.all = append(c.all, c.d.errorAt(at("folder"), "folder: a rule in the file of a workspace holds in that workspace"))
		}
		for key, value := range map[string]string{"text": k.Text, "command": k.Command} {
			if there, written := c.d.ruleKey(string(decision), i, key); written && value == "" {
				c.all = append(c.all, c.d.errorAt(there, key+": it is empty; leave it out to mean every command"))
			}
		}
		c.all = append(c.all, c.d.wrongKeys(r.Check(), at)...)
		out = append(out, r)
	}
	return out
}

// ruleKey finds the place of a key of a rule, if it was written.
func (d *document) ruleKey(list string, i int, key string) (at place, written bool) {
	if all := d.rules[list]; i < len(all) {
		at, written = all[i][key]
	}
	return at, written
}

// ruleAt finds the keys of a rule. One that is written as a list in one line is found at that line.
func (d *document) ruleAt(list string, i int) func(key string) place {
	return func(key string) place {
		if all := d.rules[list]; i < len(all) {
			if at, ok := all[i][key]; ok {
				return at
			}
			return all[i][""]
		}
		if at, ok := d.at[list]; ok {
			return at
		}
		return place{1, 1}
	}
}

// wrongKeys puts what is wrong with a rule at its keys.
func (d *document) wrongKeys(err error, at func(string) place) []error {
	if err == nil {
		return nil
	}
	if many, ok := err.(interface{ Unwrap() []error }); ok {
		var all []error
		for _, e := range many.Unwrap() {
			all = append(all, d.wrongKeys(e, at)...)
		}
		return all
	}
	var key *permission.KeyError
	if errors.As(err, &key) {
		return []error{d.errorAt(at(key.Key), err.Error())}
	}
	return []error{d.errorAt(at(""), err.Error())}
}
