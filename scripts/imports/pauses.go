package main

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// block is a loop of a shell script that is open.
type block struct {
	word   string
	leaves bool // something in it ends it early
	sleeps []finding
}

// pausesOf finds where a script sleeps and then goes on: what it looks at behind the sleep has come
// or has not. A loop that sleeps until something is there only polls. The files in a testscript are
// scripts of their own, and so is quoted text.
func pausesOf(name, text string) (found []finding) {
	var open []*block
	command, line := true, 0
	for code := range strings.Lines(text) {
		line++
		if testscriptFile().MatchString(code) {
			found, open = append(found, sleepsIn(open)...), nil
		}
		if strings.HasPrefix(strings.TrimSpace(code), "#") {
			continue
		}

		tokens := shellTokens().FindAllString(code, -1)
		for i, token := range tokens {
			next := append(unquoted(tokens[i+1:]), "", "")
			switch {
			case command && (token == "while" || token == "until" || token == "for"):
				open = append(open, &block{word: token})
			case command && token == "done" && len(open) > 0:
				last := open[len(open)-1]
				open = open[:len(open)-1]
				if last.word == "for" && !last.leaves {
					found = append(found, last.sleeps...)
				}
			case len(open) > 0 && (token == "break" || token == "exit" || token == "return"):
				open[len(open)-1].leaves = true
			case command && token == "sleep" && pauses(next[0]) && next[1] != "&":
				f := finding{path: name, line: line, text: "sleeps " + next[0] + " s and goes on: wait for an event, in a loop until it is there"}
				if len(open) == 0 {
					found = append(found, f)
				} else {
					open[len(open)-1].sleeps = append(open[len(open)-1].sleeps, f)
				}
			}
			command = begins(token, command)
		}
		command = true
	}
	return append(found, sleepsIn(open)...)
}

// unquoted is a list of tokens that begins with what is in quotes, if it begins with quotes.
func unquoted(tokens []string) []string {
	if len(tokens) > 2 && (tokens[0] == `"` || tokens[0] == "'") && tokens[2] == tokens[0] {
		return slices.Concat(tokens[1:2], tokens[3:])
	}
	return slices.Clone(tokens)
}

// sleepsIn are the sleeps of loops that nothing closes: they are no loops then.
func sleepsIn(open []*block) (found []finding) {
	for _, b := range open {
		found = append(found, b.sleeps...)
	}
	return found
}

// begins reports whether a command may stand behind a token.
func begins(token string, command bool) bool {
	switch token {
	case "do", "then", "else", "elif", "if", "while", "until", "exec", "time", "command", "!":
		return command
	}
	return !shellWord().MatchString(token) || command && strings.Contains(token, "=")
}

func shellTokens() *regexp.Regexp {
	return regexp.MustCompile(`[^\s;&|(){}'"` + "`" + `\\]+|&&|\|\||[;&|(){}'"` + "`" + `\\]`)
}

func shellWord() *regexp.Regexp { return regexp.MustCompile(`^[^\s;&|(){}'"` + "`" + `\\]+$`) }

func testscriptFile() *regexp.Regexp { return regexp.MustCompile(`^-- .+ --$`) }

// pauses reports whether an argument of sleep is a time that a healthy program may need or not:
// from a tenth of a second, which is more than the pause between two looks, to a minute, which no
// test waits for. One that is not known here may be.
func pauses(arg string) bool {
	number, unit := arg, 1.0
	if i := strings.IndexAny(arg, "smhd"); i > 0 && i == len(arg)-1 {
		number, unit = arg[:i], map[byte]float64{'s': 1, 'm': 60, 'h': 3600, 'd': 86400}[arg[i]]
	}
	seconds, err := strconv.ParseFloat(number, 64)
	if err != nil {
		return strings.HasPrefix(arg, "$")
	}
	return seconds*unit >= 0.1 && seconds*unit < 60
}
