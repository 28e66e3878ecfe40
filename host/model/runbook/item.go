package runbook

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// kind says how an option's text becomes an argument.
type kind int

const (
	asText   kind = iota
	asNumber      // from 0 on
	asCount       // from 1 on
	asFlag
	asSeconds
	asShell
	asHeaders
	asAccess
)

// shape says what a list item of one tool takes.
type shape struct {
	need []string        // arguments that must be given, in order
	may  []string        // arguments that may follow, in order
	rest string          // argument that takes all further words as a list
	opts map[string]kind // arguments given as name=value
	use  string          // how an item is written
}

// Written says how a list item that calls the tool is written; empty where no item can call it.
func Written(tool string) string { return shapes[tool].use }

// Tools are the tools that items can call: all that are built in.
func Tools() []string { return slices.Sorted(maps.Keys(shapes)) }

// shapes is read only. The package's documentation lists the same.
var shapes = map[string]shape{
	"read_file": {need: []string{"path"}, opts: map[string]kind{"offset": asCount, "limit": asCount},
		use: "read_file PATH [offset=N] [limit=N]"},
	"list_dir": {may: []string{"path"}, opts: map[string]kind{"path": asText}, use: "list_dir [PATH]"},
	"find_files": {need: []string{"pattern"}, may: []string{"path"}, opts: map[string]kind{"path": asText},
		use: "find_files PATTERN [PATH]"},
	"search": {need: []string{"pattern"}, may: []string{"path"},
		opts: map[string]kind{"path": asText, "glob": asText, "ignore_case": asFlag, "max": asCount},
		use:  "search PATTERN [PATH] [glob=GLOB] [ignore_case=true] [max=N]"},
	toolFetch: {need: []string{"url"},
		opts: map[string]kind{"method": asText, "headers": asHeaders, "body": asText, "timeout": asSeconds, "max_bytes": asCount, "raw": asFlag},
		use:  `fetch URL [method=POST] [headers='{"Accept": "text/plain"}'] [body=TEXT] [timeout=30s] [max_bytes=N] [raw=true]`},
	toolWrite: {need: []string{"path"}, use: "write_file PATH, and the text in a fenced block below"},
	toolPatch: {use: "apply_patch, and the patch in a fenced block below"},
	"edit_file": {need: []string{"path", "old", "new"}, opts: map[string]kind{"all": asFlag},
		use: `edit_file PATH "OLD" "NEW" [all=true]`},
	toolShell: {need: []string{"command"}, opts: map[string]kind{"shell": asShell, "timeout": asSeconds, "access": asAccess},
		use: `shell "COMMAND" [shell=bash] [timeout=30m] [access=read|write|full]`},
	toolAsk:     {need: []string{"question"}, rest: "choices", use: `ask_user "QUESTION" [CHOICE ...]`},
	toolConfirm: {need: []string{"question"}, use: `confirm_action "QUESTION"`},
	"read_output": {need: []string{"call"}, opts: map[string]kind{"offset": asNumber, "limit": asCount},
		use: "read_output CALL [offset=N] [limit=N]"},
}

// mayBeEmpty names the arguments for which an empty text is a value.
func mayBeEmpty(name string) bool { return name == "new" }

// word is one word of an item. bare is how many bytes of it stood outside quotes at its start.
type word struct {
	text string
	bare int
}

// option splits a word that is written name=value.
func (w word) option() (name, value string, ok bool) {
	name, value, ok = strings.Cut(w.text, "=")
	return name, value, ok && len(name) < w.bare
}

// fill turns the words after a tool's name into its arguments.
func (s shape) fill(words []word) (map[string]any, error) {
	args := map[string]any{}
	put := func(name string, value any) error {
		if _, double := args[name]; double {
			return fmt.Errorf("%s is given twice", name)
		}
		if value == "" && !mayBeEmpty(name) {
			return fmt.Errorf("%s is empty", name)
		}
		args[name] = value
		return nil
	}
	places := slices.Concat(s.need, s.may)
	var rest []string
	for _, w := range words {
		var err error
		if name, value, ok := w.option(); ok && s.has(name) {
			var v any
			if v, err = s.opts[name].read(value); err == nil {
				err = put(name, v)
			} else {
				err = fmt.Errorf("%s: %v", name, err)
			}
		} else if len(places) > 0 {
			err = put(places[0], w.text)
			places = places[1:]
		} else if s.rest != "" {
			if w.text == "" || slices.Contains(rest, w.text) {
				err = fmt.Errorf("the choice %q is empty or given twice", w.text)
			}
			if rest = append(rest, w.text); len(rest) > choiceLimit {
				err = fmt.Errorf("%d choices are too many: up to %d", len(rest), choiceLimit)
			}
		} else {
			err = fmt.Errorf("%q is one word too many", w.text)
		}
		if err != nil {
			return nil, err
		}
	}
	for _, name := range s.need {
		if _, ok := args[name]; !ok {
			return nil, fmt.Errorf("%s is missing", name)
		}
	}
	if rest != nil {
		args[s.rest] = rest
	}
	return args, nil
}

func (s shape) has(option string) bool {
	_, ok := s.opts[option]
	return ok
}

func (k kind) read(value string) (any, error) {
	switch k {
	case asNumber, asCount:
		least := int64(0)
		if k == asCount {
			least = 1
		}
		n, err := strconv.ParseInt(value, 10, 32)
		if err != nil || n < least {
			return nil, fmt.Errorf("%q is not a whole number from %d on", value, least)
		}
		return n, nil
	case asFlag:
		if value != "true" && value != "false" {
			return nil, fmt.Errorf("%q is neither true nor false", value)
		}
		return value == "true", nil
	case asSeconds:
		return readSeconds(value)
	case asShell:
		if value != "sh" && value != "bash" {
			return nil, fmt.Errorf("%q is neither sh nor bash", value)
		}
	case asAccess:
		if value != "read" && value != "write" && value != "full" {
			return nil, fmt.Errorf("%q is neither read nor write nor full", value)
		}
	case asHeaders:
		var headers map[string]string
		if err := json.Unmarshal([]byte(value), &headers); err != nil || headers == nil {
			return nil, fmt.Errorf(`%q is no JSON object of texts, such as {"Accept": "text/plain"}`, value)
		}
		return headers, nil
	}
	return value, nil
}

// longest is the longest time limit that the shell tool takes.
const longest = 365 * 24 * time.Hour

// choiceLimit is how many choices the ask_user tool takes.
const choiceLimit = 50

// readSeconds reads a duration such as 90s, 30m or 1h30m as whole seconds.
func readSeconds(value string) (int64, error) {
	d, err := time.ParseDuration(value)
	if err != nil || d < time.Second || d%time.Second != 0 || d > longest {
		return 0, fmt.Errorf("%q is not a time of whole seconds, up to a year, such as 90s, 30m or 1h30m", value)
	}
	return int64(d / time.Second), nil
}

// item reads the text of a list item as a call. ok is false where the item is prose.
func item(content string) (s step, ok bool, err error) {
	content = strings.TrimSpace(content)
	content, checked := untick(content)
	content = unspan(content)
	name, after, _ := strings.Cut(strings.ReplaceAll(content, "\t", " "), " ")
	sh, known := shapes[name]
	if !known || name == toolFetch && !beginsWithAddress(after) { // to fetch is plain English too
		return step{}, false, nil
	}
	after = content[len(content)-len(after):]
	if checked {
		return step{}, true, errors.New("the task is checked: uncheck it to have it carried out, or take the item out")
	}
	words, err := split(after)
	if err != nil {
		return step{}, true, fmt.Errorf("%s: %v", name, err)
	}
	args, err := sh.fill(words)
	if name == toolAsk && len(words) > 1 && words[0].bare == len(words[0].text) {
		err = errors.New("put the question in quotes")
	}
	if err == nil {
		err = settle(name, args)
	}
	if err != nil {
		return step{}, true, fmt.Errorf("%s: %v (written as: %s)", name, err, sh.use)
	}
	return step{tool: name, args: args, noun: name, title: firstLine(content, titleLimit)}, true, nil
}

// beginsWithAddress says whether the first word of a text is a URL.
func beginsWithAddress(text string) bool {
	words := strings.Fields(text)
	return len(words) > 0 && strings.Contains(words[0], "://")
}

// settle completes a tool's arguments and refuses what the shape cannot see.
func settle(tool string, args map[string]any) error {
	switch tool {
	case "list_dir":
		if _, ok := args["path"]; !ok {
			args["path"] = "."
		}
	case "search":
		if pattern, ok := args["pattern"].(string); ok {
			if _, err := regexp.Compile(pattern); err != nil {
				return fmt.Errorf("pattern: %v", err)
			}
		}
	case toolShell:
		if args["shell"] == "sh" {
			delete(args, "shell")
		}
	case toolFetch:
		if url, ok := args["url"].(string); ok { // an address of Markdown stands in angle brackets
			if inner, begins := strings.CutPrefix(url, "<"); begins && strings.HasSuffix(inner, ">") {
				args["url"] = strings.TrimSuffix(inner, ">")
			}
		}
	}
	return nil
}

// untick takes the box off a task list's item.
func untick(content string) (rest string, checked bool) {
	if len(content) < 4 || content[0] != '[' || content[2] != ']' || content[3] != ' ' && content[3] != '\t' {
		return content, false
	}
	if !strings.ContainsRune(" xX", rune(content[1])) {
		return content, false
	}
	return strings.TrimSpace(content[3:]), content[1] != ' '
}

// unspan takes the backticks off an item that is one code span.
func unspan(content string) string {
	ticks := len(content) - len(strings.TrimLeft(content, "`"))
	if ticks == 0 || len(content) <= 2*ticks {
		return content
	}
	mark := content[:ticks]
	inner, closed := strings.CutSuffix(content[ticks:], mark)
	if !closed || strings.Contains(inner, mark) || strings.HasSuffix(inner, "`") {
		return content
	}
	return strings.TrimSpace(inner)
}

// split cuts a line into words as a shell does, without expanding anything. An HTML comment between
// words is left out.
func split(line string) ([]word, error) {
	var words []word
	for {
		line = strings.TrimLeft(line, " \t")
		if line == "" {
			return words, nil
		}
		if rest, ok := strings.CutPrefix(line, "<!--"); ok {
			_, after, closed := strings.Cut(rest, "-->")
			if !closed {
				return nil, errors.New("the comment is not closed on the item's line")
			}
			line = after
			continue
		}
		w, rest, err := next(line)
		if err != nil {
			return nil, err
		}
		words, line = append(words, w), rest
	}
}

// next takes one word off the line.
func next(line string) (word, string, error) {
	var b strings.Builder
	bare, quoted := 0, false
	for i := 0; i < len(line); i++ {
		switch c := line[i]; c {
		case ' ', '\t':
			return word{b.String(), bare}, line[i:], nil
		case '\'', '"':
			quoted = true
			n, err := quote(&b, line[i+1:], c)
			if err != nil {
				return word{}, "", err
			}
			i += n
		case '\\':
			quoted = true
			if i++; i == len(line) {
				return word{}, "", errors.New("the line ends in a backslash: a call is written on one line")
			}
			b.WriteByte(line[i])
		default:
			b.WriteByte(c)
			if !quoted {
				bare = b.Len()
			}
		}
	}
	return word{b.String(), bare}, "", nil
}

// quote copies what stands before the closing quote and returns how many bytes it took, the quote
// included.
func quote(b *strings.Builder, line string, end byte) (int, error) {
	for i := 0; i < len(line); i++ {
		c := line[i]
		if c == end {
			return i + 1, nil
		}
		if c == '\\' && end == '"' && i+1 < len(line) && strings.IndexByte("\"\\$`", line[i+1]) >= 0 {
			i++
			c = line[i]
		}
		b.WriteByte(c)
	}
	return 0, fmt.Errorf("a quote %c is not closed: a call is written on one line", end)
}
