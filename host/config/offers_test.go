package config_test

import (
	"encoding/json"
	"testing"

	"agent/host/config"
	"agent/host/permission"
	"agent/recovery/journal"
)

// commandWith is a request to run a script with an access, to which the system keeps it.
func commandWith(access, script string) permission.Request {
	args, err := json.Marshal(map[string]string{"command": script, "access": access})
	if err != nil {
		panic(err) // texts always encode
	}
	q := permission.Request{Mode: journal.ModeAsk, Tool: "shell", Args: args, Effect: journal.EffectWriteExternal, Folder: "/w", Bounded: true}
	if access == "write" {
		q.Effect = journal.EffectWriteLocal
	}
	return q
}

// Whatever is offered comes back as it was written, covers the call that it is offered for, and
// lets nothing else have full powers.
func FuzzOffers(f *testing.F) {
	for _, script := range []string{"go test ./...", "git log -1 && make test", "npm run build -- -x", "FOO=1 ls", "a 'b c' *", "gh pr view 12", "a 'x;y' 3 # z"} {
		f.Add(script)
	}
	f.Fuzz(func(t *testing.T, script string) {
		for _, q := range []permission.Request{commandWith("write", script), commandWith("full", script)} {
			for _, o := range (permission.Policy{}).Offers(q) {
				if o.Answer == journal.AnswerNever {
					continue
				}
				rules, err := config.Rules(o.Rules)
				if err != nil {
					t.Fatalf("%q, %s: %v\n%s", script, o.Answer, err, o.Rules)
				}
				p := permission.New(rules...)
				if v := p.Decide(q); v.Decision != journal.DecisionAllow || v.Access != "" {
					t.Errorf("%q, %s: %+v\n%s", script, o.Answer, v, o.Rules)
				}
				for _, other := range []string{"sudo ls", "curl x\n" + script, script + "\ncurl x", script + " --and-more"} {
					full := commandWith("full", other)
					if v := p.Decide(full); v.Decision == journal.DecisionAllow && !permission.SameScript(full.Args, q.Args) {
						t.Errorf("%q, %s covers %q: %+v\n%s", script, o.Answer, other, v, o.Rules)
					}
				}
			}
		}
	})
}
