package person

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"agent/host/model/modeltest"
)

// The stories of what people run into, from the first to the last. // issue 17
func TestPerson(t *testing.T) {
	for _, width := range []int{80, 120} {
		t.Run(fmt.Sprint(width), func(t *testing.T) {
			t.Parallel()
			p := sit(t, width)
			defer p.keep()
			p.start()
			p.approve()
			p.see()
			p.steer()
			p.plan()
			p.resume()
			p.mistype()
			p.talk()
		})
	}
}

const token = "qZ8-Vt4w_canary_Lk2jH9sXe"

func call(tool, args string) modeltest.Call { return modeltest.Call{Tool: tool, Args: []byte(args)} }

func story(prompt string, turns ...modeltest.Turn) modeltest.Story {
	return modeltest.Story{Prompt: prompt, Turns: turns}
}

func says(text string) modeltest.Turn { return modeltest.Turn{Text: text} }

func does(calls ...modeltest.Call) modeltest.Turn { return modeltest.Turn{Calls: calls} }

func shell(command string) modeltest.Call {
	return call("shell", fmt.Sprintf(`{"command": %q}`, command))
}

func reading(command string) modeltest.Call {
	return call("shell", fmt.Sprintf(`{"command": %q, "access": "read"}`, command))
}

// family is an emoji that is joined of several characters, and a word of Persian that needs a
// joiner.
const family = "👨\u200d👩\u200d👧 می\u200cخواهم"

func script() modeltest.Script {
	return modeltest.Script{Stories: []modeltest.Story{
		story("echo from a fence", says("That is a note, and I only read it.")),
		story("summarize this", says("Something went boom.")),
		story("look at the history", does(shell("git log --oneline -1")), does(shell("git  log '--oneline' -1")), does(shell("git log --oneline -1; touch sneaky")), says("Seen.")),
		story("count in CI", does(shell("git log --format=%h -1")), says("Counted.")),
		story("greet", does(shell("echo \"$GREETING, ${DEPLOY_TOKEN-nobody}\"")), says("Greeted.")),
		story("put it right", does(call("edit_file", `{"path": "notes.txt", "old": "beta", "new": "BETA"}`)), says("Put right.")),
		story("write the report", modeltest.Turn{
			Text: "It begins like this and goes on for a while.", Faults: []modeltest.Fault{{Kind: modeltest.Hold, Attempt: 1, At: -900}},
		}),
		story("no, shorter", says("Shorter it is.")),
		story("ask before you push", does(shell("git push --force")), says("I leave it alone.")),
		story("write notes", does(call("write_file", `{"path": "new.txt", "content": "x\n"}`)), says("I could not write.")),
		story("find gamma", does(call("search", `{"pattern": "gam+a"}`), call("read_file", `{"path": "notes.txt", "offset": 2, "limit": 2}`)), says("In line 3.")),
		story("loop for me", does(reading("echo begun; while :; do sleep 0.1; done")), says("It was stopped.")),
		story("print much", does(reading("seq 3000")), says("Printed.")),
		story("plan the file", says("1. Write plan.txt.")),
		story("Carry the plan out", does(call("write_file", `{"path": "plan.txt", "content": "planned\n"}`)), says("All of it is carried out.")),
		story("say it in all languages", says(family)),
		story("warm the cache", does(call("shell", `{"command": "ls $XDG_CACHE_HOME; touch $XDG_CACHE_HOME/warm; test -n \"$GOCACHE\"", "access": "write"}`)), says("Warm.")),
		story("where to", does(call("ask_user", `{"question": "Where to?", "choices": ["north", "south", "east"]}`)), says("Off we go.")),
		story("say hello", says("Hello.")),
		story("show the token", does(reading("echo token is "+token+"; echo shown")), says("Shown.")),
		story("what is in the notes", does(call("read_file", `{"path": "notes.txt"}`)), says("Three words.")),
		story("make a list", does(call("write_file", `{"path": "list.txt", "content": "one\ntwo\n"}`)), says("A list.")),
	}}
}

func (p *person) start() {
	p.write("home/work/note.md", "# Release\n\n```sh\necho from a fence\n```\n")
	p.write("home/work/ten.md", "```sh\nsleep 10\n```\n")
	p.story("1 a key changes nothing: a file with steps is a prompt, unless it is named a runbook", func() {
		p.runs("agent run -f note.md", 0, "That is a note, and I only read it.")
		p.runs("agent run --runbook -f note.md", 0, "│ from a fence")
	})
	p.story("2 durations keep their digits", func() {
		p.runs("agent run --runbook -f ten.md", 0, "sleep 10: ok, ")
		if !regexp.MustCompile(`sleep 10: ok, [1-9][0-9](\.[0-9])?s`).MatchString(p.screen("-J")) { // longer on a busy machine
			p.t.Errorf("ten seconds and more are not shown as that:\n%s", p.screen())
		}
	})
	p.story("3 what is piped in joins the prompt", func() {
		p.runs(`echo "boom in line 3" | agent run "summarize this"`, 0, "Something went boom.")
		if !p.heard("boom in line 3") {
			p.t.Error("the model never got what was piped in")
		}
	})
}

func (p *person) approve() {
	p.story("4 an approval reaches as far as the person says", func() {
		p.enters(`agent run "look at the history"`)
		p.until("always", "answer (")
		p.enters("?")
		p.until(`text = "git log --oneline -1"`)
		p.enters("always")
		p.until("git log --oneline -1; touch sneaky", "no allow rule covers: git log --oneline -1; touch sneaky", "answer (")
		p.enters("no, touch nothing")
		p.ends(0, "Seen.")
		if !p.heard("touch nothing") {
			p.t.Error("the model never got the reason")
		}
		if _, err := os.Stat(filepath.Join(p.work(), "sneaky")); err == nil {
			p.t.Error("it was touched")
		}
		p.runs(`agent run --allow "git log *" "count in CI"`, 0, `[the rule "git log *" grants access write and no more]`, "Counted.")
	})
	p.story("5 commands get the person's environment, less its secrets, which are named", func() {
		p.runs("export GREETING=hello DEPLOY_TOKEN="+token, 0)
		p.enters(`agent run "greet"`)
		p.until("answer (")
		p.enters("yes")
		p.ends(0, "│ hello, nobody", "commands do not get", "DEPLOY_TOKEN")
		p.runs("unset DEPLOY_TOKEN GREETING", 0)
	})
	p.story("6 an edit is a diff, in colours, before and after", func() {
		p.enters(`agent run "put it right"`)
		p.until("-beta", "+BETA", "answer (")
		if colours := strings.ReplaceAll(p.screen("-e"), "\x1b[49m", ""); !strings.Contains(colours, "\x1b[31m-beta") || !strings.Contains(colours, "\x1b[32m+BETA") {
			p.t.Errorf("without colours:\n%q", colours)
		}
		p.enters("yes")
		p.ends(0, "Put right.")
		p.runs("agent diff last", 0, "+BETA")
	})
}

func (p *person) see() {
	p.story("8 what was refused shows, and can be the exit code", func() {
		p.enters(`agent run --mode plan --fail-on-refusal "write notes"`)
		p.until("mode plan only reads", "answer (")
		p.enters("stop")
		p.ends(1, "1 call was refused")
	})
	p.story("9 a line says what a call looked at", func() {
		p.runs(`agent run "find gamma"`, 0, "search: gam+a", "notes.txt", "In line 3.")
	})
	p.story("10 long output is folded, and all of it is there", func() {
		p.runs(`agent run "print much"`, 0, "│ 1\n", "│ 3000", "Printed.")
		p.never("│ 1500")
		p.runs("agent show last | head -n 60", 0, "agent show c-")
	})
	p.story("14 stdout is the answer, every character of it", func() {
		p.runs(`agent run "say it in all languages" > answer.txt`, 0)
		if got, err := os.ReadFile(filepath.Join(p.work(), "answer.txt")); err != nil || strings.TrimSpace(string(got)) != family {
			p.t.Errorf("%q, %v", got, err)
		}
	})
	p.story("15 commands that may write find their caches warm", func() {
		for range 2 {
			p.runs(`agent run --mode auto "warm the cache"`, 0, "Warm.")
		}
		p.until("│ warm")
	})
	p.story("18 what checkpoints lists, other commands take", func() {
		p.runs("agent checkpoints last", 0, "@1")
		p.runs("agent rewind last@1 --dry-run", 0)
	})
	p.story("20 names in JSON are the same everywhere", func() {
		p.runs(`agent ls --json | grep -o '"id":"r-[^"]*","thread_id":"t-' | head -n 1`, 0, `"id":"r-`)
		p.runs(`agent help scripting --json | grep -c '"\$defs"'`, 0)
	})
	p.story("21 a watched run shows no secret either", func() {
		p.runs("export DEPLOY_TOKEN="+token, 0)
		p.runs(`agent run --detach "show the token"`, 0, "goes on in the background")
		p.runs("agent show last --follow", 0, "shown")
		p.never("token is " + token)
		p.runs("unset DEPLOY_TOKEN", 0)
	})
}

func (p *person) steer() {
	p.story("7 a person steers: by a new prompt, by a message, by a reason", func() {
		p.enters(`agent run "write the report"`)
		p.until("It begins like")
		p.key("C-c")
		p.ends(4)
		p.enters(`agent run -c "no, shorter"`)
		p.until("has not ended", "press e/m/n")
		p.types("e")
		p.ends(0, "Shorter it is.")
		p.enters(`agent run "ask before you push"`)
		p.until("git push --force", "answer (")
		p.elsewhere(0, "tell", "last", "the branch is protected")
		p.enters("no, somebody else works on it")
		p.ends(0, "to the model: the branch is protected")
		for _, text := range []string{"the branch is protected", "somebody else works on it"} {
			if !p.heard(text) {
				p.t.Errorf("the model never got %q", text)
			}
		}
	})
	p.story("12 a second Ctrl-C stops the command, and 13 one line says so", func() {
		p.enters(`agent run "loop for me"`)
		p.until("│ begun")
		p.key("C-c")
		p.until("Ctrl-C within 2 seconds")
		p.key("C-c")
		p.until("press s/n")
		p.types("s")
		p.ends(4)
		p.runs("agent resume last", 0, "cancelled: stopped by", "It was stopped.")
		p.never("unknown")
	})
}

func (p *person) plan() {
	p.story("11 a plan is a question: it is carried out, changed, or left", func() {
		p.enters(`agent run --mode plan "plan the file"`)
		p.until("1. Write plan.txt.", "answer (")
		p.enters("auto")
		p.ends(0, "All of it is carried out.")
		if _, err := os.Stat(filepath.Join(p.work(), "plan.txt")); err != nil {
			p.t.Error(err)
		}
	})
}

func (p *person) resume() {
	p.write("home/work/kill.md", "```sh\necho one\n```\n\n```sh\ntouch begun; while ! test -e go; do sleep 0.1; done; echo two is done\n```\n")
	p.write("home/other/x", "")
	p.story("16 last is of this folder, and so is a resume", func() {
		p.runs("cd ../other && agent resume last; cd ../work", 0, "no run was started in ~/other")
	})
	p.story("17 choices have numbers", func() {
		p.enters(`agent run "where to"`)
		p.until("1", "north", "answer (")
		p.enters("2")
		p.ends(0, "Off we go.")
	})
	p.story("17 and a question notices an answer from elsewhere", func() {
		p.enters(`agent run "where to"`)
		p.until("answer (")
		p.elsewhere(0, "answer", "--no-resume", regexp.MustCompile(`p-[0-9a-z]{8}`).FindString(p.screen()), "east")
		p.ends(0, "Off we go.")
	})
	p.story("22 killed by its number, it goes on where it was", func() {
		p.enters("agent run --runbook -f kill.md &")
		p.until("shell: touch begun")
		p.types("kill -9 $!; wait $! 2> /dev/null; agent ls --interrupted") // into what the run shows meanwhile
		p.key("Enter")
		p.ends(0, "interrupted (crash)")
		p.enters("touch go; agent resume")
		p.until("answer (1 to 1")
		p.enters("1")
		p.ends(0, "│ two is done", "2 of 2 steps done")
	})
}

func (p *person) mistype() {
	p.story("19 what is mistyped is named, with what was meant", func() {
		p.runs("agent rnu x", 2, "did you mean")
		p.runs(`agent "say hello to all"`, 2, "agent run 'say hello to all'")
		p.runs("agent run say hello", 2, "agent run 'say hello'")
		p.runs("agent run --modle x y", 2, "no flag --modle (did you mean --mode")
		p.runs(`agent run -m anthropic/claude-test -C ../other -o hello.txt "say hello"`, 0, "Hello.")
		p.runs("cat hello.txt", 0, "Hello.")
		p.runs("agent resume", 1, "no run of ~/work can be resumed")
	})
}

func (p *person) talk() {
	p.story("a conversation: questions in place, a list of what can be said, undo", func() {
		p.enters("agent")
		p.until("/help")
		p.enters("what is in the notes")
		p.until("Three words.")
		p.enters("/help")
		p.until("/undo", "/quit")
		p.enters("make a list")
		p.until("list.txt", "answer (")
		p.enters("yes")
		p.until("A list.", "files: 1 added")
		p.enters("/diff")
		p.until("+two")
		p.enters("/undo")
		p.until("rewind? (yes/no)")
		p.enters("yes")
		p.until("1 path given back")
		p.enters("/quit")
		p.ends(0)
		if _, err := os.Stat(filepath.Join(p.work(), "list.txt")); err == nil {
			p.t.Error("the list is still there")
		}
	})
}
