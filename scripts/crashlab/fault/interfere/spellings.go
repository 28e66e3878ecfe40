//go:build linux

package interfere

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"agent/recovery/fault"
	"agent/scripts/crashlab/mcp"
	"agent/scripts/crashlab/story"
)

// respelling is a call and other spellings of it. In arguments MARK is the mark of the effect, DIR
// the workspace and ADDR the counter.
type respelling struct {
	name      string
	tool      string // of story.Subjects
	first     string // arguments of the first asking; "" for the tool's own
	files     map[string]string
	spellings map[string]string // arguments by name
	points    []fault.Point     // at which the call's outcome may become unknown where host and command are killed
}

// respellings are calls whose outcome can be unknown, in spellings that do the same.
func respellings() []respelling { return append(commandsRespelled(), othersRespelled()...) }

func commandsRespelled() []respelling {
	began := []fault.Point{fault.RunnerBegan, fault.RunnerRunning, fault.RunnerCommand}
	return []respelling{
		{name: "command", tool: "shell", points: began, spellings: map[string]string{
			"same":    `{"command":"echo MARK >> effects"}`,
			"timeout": `{"command":"echo MARK >> effects","timeout":60}`,
			"shell":   `{"shell":"bash","command":"echo MARK >> effects"}`,
			"access":  `{"command":"echo MARK >> effects","access":"full"}`,
			"write":   `{"command":"echo MARK >> effects","access":"write","timeout":5}`,
			"space":   `{"command":"  echo   MARK  >>   effects   # once more\n"}`,
			"cd":      `{"command":"cd 'DIR' && echo MARK >> effects"}`,
			"nested":  `{"command":"sh -c 'echo MARK >> effects'"}`,
			"list":    `{"command":"ls; echo MARK >> effects; true"}`,
			"inside":  `{"command":"if true; then (echo MARK >> effects); fi"}`,
			"path":    `{"command":"echo MARK >> DIR/effects"}`,
			"quotes":  `{"command":"echo \"MARK\" >> 'effects'"}`,
			"order":   `{"command":">> ./effects echo MARK"}`,
		}},
		{name: "script", tool: "shell", points: began, first: `{"command":"sh ./do-MARK.sh"}`,
			files: map[string]string{"do-MARK.sh": "echo MARK >> effects\n"}, spellings: map[string]string{
				"plain":    `{"command":"sh do-MARK.sh"}`,
				"bash":     `{"command":"bash ./do-MARK.sh","timeout":20}`,
				"source":   `{"command":". ./do-MARK.sh"}`,
				"cd":       `{"command":"cd DIR && sh do-MARK.sh"}`,
				"path":     `{"command":"sh DIR/do-MARK.sh"}`,
				"timeout":  `{"command":"timeout 50 sh do-MARK.sh"}`,
				"wrapped":  `{"command":"env A=b nohup nice sh ./do-MARK.sh"}`,
				"eval":     `{"command":"eval 'sh ./do-MARK.sh'"}`,
				"variable": `{"command":"f=./do-MARK.sh; sh \"$f\""}`,
				"piped":    `{"command":"cat notes.txt | sh -e ./do-MARK.sh"}`,
				"printed":  `{"command":"echo 'sh ./do-MARK.sh' | sh"}`,
			}},
		{name: "bounded", tool: "shell:write", points: began, spellings: map[string]string{
			"access":  `{"command":"echo MARK >> effects","access":"full"}`,
			"default": `{"command":"echo MARK >> effects"}`,
			"space":   `{"access":"write","command":"echo MARK>>effects ;"}`,
		}},
	}
}

func othersRespelled() []respelling {
	sent := []fault.Point{fault.AfterStarted, fault.AfterEffect}
	return []respelling{
		{name: "request", tool: "fetch", points: sent, spellings: map[string]string{
			"same":    `{"url":"http://ADDR/effect/MARK","method":"POST","body":"x"}`,
			"timeout": `{"url":"http://ADDR/effect/MARK","method":"POST","body":"x","timeout":20}`,
			"bytes":   `{"body":"x","max_bytes":5000,"method":"POST","url":"http://ADDR/effect/MARK"}`,
			"raw":     `{"url":"http://ADDR/effect/MARK","raw":false,"method":"POST","body":"x"}`,
			"number":  `{"url":"http://ADDR/effect/MARK","method":"POST","body":"x","timeout":2.5e1}`,
			"scheme":  `{"url":"HTTP://ADDR/effect/MARK","method":"POST","body":"x"}`,
			"part":    `{"url":"http://ADDR/effect/MARK#part","method":"POST","body":"x"}`,
			"headers": `{"url":"http://ADDR/effect/MARK","method":"POST","body":"x","headers":{}}`,
		}},
		{name: "server", tool: mcp.Tool("count"), points: sent, spellings: map[string]string{
			"same":    `{"mark":"MARK"}`,
			"default": `{"mark":"MARK","times":1}`,
			"number":  `{"times":1.0,"mark":"MARK"}`,
		}},
		{name: "asking", tool: mcp.Tool("ask"), points: []fault.Point{fault.AfterStarted, fault.AtQuestion}, spellings: map[string]string{
			"same":    `{"mark":"MARK"}`,
			"default": `{"times":1, "mark":"MARK"}`,
		}},
		{name: "file", tool: "write_file", points: []fault.Point{fault.WriteRenamed, fault.AfterEffect}, spellings: map[string]string{
			"same": `{"path":"out-MARK.txt","content":"written\n"}`,
			"dot":  `{"content":"written\n","path":"./out-MARK.txt"}`,
			"path": `{"path":"DIR/out-MARK.txt","content":"written\n"}`,
		}},
		{name: "edit", tool: "edit_file", points: []fault.Point{fault.WriteRenamed, fault.AfterEffect}, spellings: map[string]string{
			"same":    `{"path":"edit-MARK.txt","old":"one","new":"one two"}`,
			"default": `{"path":"edit-MARK.txt","old":"one","new":"one two","all":false}`,
			"path":    `{"path":"DIR/edit-MARK.txt","old":"one","new":"one two"}`,
		}},
	}
}

// mostSpellings is how often the model asks again for a call that was not done.
const mostSpellings = 3

// change makes a story's call the first asking, and has the model ask again in spellings from the
// named one on.
func (r respelling) change(from string) func(*story.Story) {
	return func(s *story.Story) {
		fill := strings.NewReplacer("MARK", s.Mark, "DIR", s.Dir, "ADDR", s.Counter).Replace
		for name, text := range r.files {
			s.Files[fill(name)] = fill(text)
		}
		if r.first != "" {
			if err := json.Unmarshal([]byte(fill(r.first)), &s.Turns[0][0].Args); err != nil {
				panic(err) // the list of respellings is not JSON
			}
		}
		names := slices.Sorted(maps.Keys(r.spellings))
		at := slices.Index(names, from)
		for n := range min(mostSpellings, len(names)) {
			s.Spellings = append(s.Spellings, json.RawMessage(fill(r.spellings[names[(at+n)%len(names)]])))
		}
	}
}
