package command_test

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"agent/host/model/modeltest"
)

// Two secrets: the environment's is known by its value, the other one is found by what it looks
// like. It is put together here so that nobody who looks for secrets in this file finds one.
const ofEnvironment = "qZ8-Vt4w_canary_Lk2jH9sXe"

func ofPattern() string { return "ghp_" + "a8F3kLm9Qx2ZtR7vB1nYc5WdE6uJhT0pKs4G"[:36] }

// forms are the bytes in which a secret must stand nowhere: as it is, encoded, and in halves.
func forms(secret string) []string {
	return []string{
		secret, url.QueryEscape(secret), hex.EncodeToString([]byte(secret)), secret[:16], secret[len(secret)-16:],
		strings.TrimRight(base64.StdEncoding.EncodeToString([]byte(secret)), "=")[:24],
	}
}

// secretive is a story in which both secrets come by every way there is.
func secretive(env, pat string) modeltest.Script {
	shell := func(command string) modeltest.Call {
		args, err := json.Marshal(map[string]string{"command": command})
		if err != nil {
			panic(err) // strings always encode
		}
		return call("shell", string(args))
	}
	both := env + " and " + pat
	lines := func(n int) string { return fmt.Sprintf("seq -s ' ' %d; echo %s; seq -s ' ' %d", n, both, n) }
	return modeltest.Script{
		Chunk: 3, // every secret is cut somewhere
		Turns: []modeltest.Turn{
			{Thinking: "I think of " + both + " now", Text: "I shall use " + both + ".", Calls: []modeltest.Call{
				shell("echo " + both + "; printf %s " + env + " | base64; touch '" + env + "' '" + pat + "'"),
				call("list_dir", `{}`), call("read_file", `{"path":"missing-`+env+`.txt"}`),
			}},
			{Text: "more", Calls: []modeltest.Call{shell(lines(8000))}},
			{Text: "much more", Calls: []modeltest.Call{shell(lines(40000)), shell("echo " + env + " >&2; exit 7")}},
			{Text: "and now " + both, Faults: hold(500), Calls: []modeltest.Call{call("ask_user", `{"question":"Is `+both+` right?"}`)}},
			{Text: "It was " + both + "."},
		},
	}
}

// SEC, behaviour 4 of issue 4: a secret in the prompt, in a folder's and a file's name, in
// instructions, in an answer of the model that is cut anywhere, in arguments, in results of every
// size, in an error and in a person's answer stands nowhere in the state folder and in no output.
// Killed in the middle, the model gets the same bytes as before, true values in them.
// EX-70.
// EN-58.
func TestSecretsStandNowhere(t *testing.T) {
	eachSpeaker(t, func(t *testing.T, p speaker) {
		env, pat := ofEnvironment, ofPattern()
		own := p.env
		p.env = func(s *modeltest.Server, key string) []string { return append(own(s, key), "DEPLOY_TOKEN="+env) }
		k := newTalk(t, p, secretive(env, pat))
		k.dir = filepath.Join(k.dir, "of "+env)
		if err := os.Mkdir(k.dir, 0o755); err != nil {
			t.Fatal(err)
		}
		k.write("AGENTS.md", "Use "+env+" or "+pat+" where a token is wanted.\n")

		first := k.runs("deploy with "+env+" or "+pat, "--verbose")
		held := k.held(0)
		spools := filepath.Join(k.home, "state", "calls", "*", "*", "out")
		if !first.eventually(func() bool { left, err := filepath.Glob(spools); return err == nil && len(left) == 0 }) {
			t.Error("what commands have printed is not gone, though it is stored")
		}
		for _, secret := range []string{env, pat} {
			nowhereIn(t, filepath.Join(k.home, "state"), secret)
		}
		first.kill()
		all := []*spoken{first, k.start("ls"), k.start("show", "last", "--json"), k.start("resume", "--dry-run", "last")}
		for _, s := range all[1:] {
			s.end(0)
		}
		second := k.start("resume", "last").end(3)
		again := k.server.Exchanges()[held.Number]
		if again.Turn != held.Turn || again.Body != held.Body {
			t.Errorf("after the kill the model is asked otherwise:\n%s\n\n%s", held.Body, again.Body)
		}
		for _, secret := range []string{env, pat} {
			if n := strings.Count(held.Body, secret); n < 8 {
				t.Errorf("the model sees %s %d times", secret, n)
			}
		}
		if strings.Contains(held.Body, "[secret:") {
			t.Errorf("the model sees placeholders: %s", held.Body)
		}
		all = append(all, second, k.start("pending"), k.start("answer", "it is "+env+", or "+pat).end(0))
		var ended struct{ Run struct{ ID string } }
		k.shown(&ended)
		all = append(all, k.start("show", "last", "--calls"), k.start("show", "last"), k.start("ls", "--json"), k.start("checkpoints", "last"),
			k.start("resume", ended.Run.ID), k.start("show", "last", "--follow"), k.start("doctor"), k.start("doctor", "--secrets"),
			k.start("doctor", "--salvage", "-"))
		for _, s := range all[len(all)-9:] {
			s.end(0)
		}
		k.clean()
		if last := k.server.Exchanges(); !strings.Contains(last[len(last)-1].Body, "it is "+env+", or "+pat) {
			t.Errorf("the model does not see the true answer:\n%s", last[len(last)-1].Body)
		}
		for _, secret := range []string{env, pat} {
			nowhereIn(t, filepath.Join(k.home, "state"), secret)
			for _, s := range all {
				for _, form := range forms(secret) {
					if text := s.out.String() + s.err.String(); strings.Contains(text, form) {
						t.Errorf("agent %s shows %q:\n%s", strings.Join(s.cmd.Args[1:], " "), form, text)
					}
				}
			}
		}
		first.says("[secret:env-deploy-token:", "[secret:github-pat:", "is kept out of the record")
		all[len(all)-1].says("[secret:env-deploy-token:")
		if !strings.Contains(all[len(all)-5].out.String(), "It was [secret:") {
			t.Errorf("the answer is not shown with placeholders:\n%s", all[len(all)-5].out.String())
		}
	})
}

// nowhereIn expects no form of a secret in the bytes of any file.
func nowhereIn(t *testing.T, folder, secret string) {
	t.Helper()
	for _, form := range forms(secret) {
		nowhere(t, folder, form)
	}
}
