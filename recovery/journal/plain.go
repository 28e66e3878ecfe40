package journal

import (
	"agent/recovery/jsonstring"
	"bytes"
	"encoding/json"
	"strconv"
	"time"
)

// Four kinds of facts are nearly all of a long journal, and reading JSON of any shape is most of
// the time until a run goes on. So they are first read in the one spelling in which this program
// writes them: members in their order, no white space. Whatever is spelled otherwise is read as any
// JSON; both readings give the same body.

// plainly reads a body in that spelling, and says whether it is in it.
func plainly(kind Kind, data []byte) (Body, bool) {
	p := &plain{rest: data}
	var b Body
	switch kind {
	case KindModelRequested:
		p.must("{}")
		b = ModelRequested{}
	case KindModelAnswered:
		b = p.answered()
	case KindCallStarted:
		b = p.started()
	case KindCallSettled:
		b = p.settled()
	case KindTurnSettled:
		b = p.turnSettled()
	default:
		return nil, false
	}
	return b, !p.other && len(p.rest) == 0
}

// plain reads from the front of rest. Once something is spelled otherwise, what is read means
// nothing.
type plain struct {
	rest  []byte
	other bool
}

func (p *plain) answered() ModelAnswered {
	var b ModelAnswered
	p.must("{")
	if p.has(`"blocks":[`) {
		for more := true; more && !p.other; more = p.has(",") {
			p.must(`{"kind":`)
			block := Block{Kind: BlockKind(p.word())}
			if p.has(`,"text":`) {
				block.Text = p.text()
			}
			if p.has(`,"opaque":`) {
				block.Opaque = p.object()
			}
			p.must("}")
			b.Blocks = append(b.Blocks, block)
		}
		p.must("],")
	}
	if p.has(`"calls":[`) {
		for more := true; more && !p.other; more = p.has(",") {
			b.Calls = append(b.Calls, p.proposal())
		}
		p.must("],")
	}
	p.must(`"stop":`)
	b.Stop = AnswerStop(p.word())
	if p.has(`,"usage":{`) {
		b.Usage = p.usage()
	}
	if p.has(`,"served":`) {
		b.Served = p.text()
	}
	if p.has(`,"origin":`) {
		b.Origin = p.text()
	}
	p.must("}")
	return b
}

// usage reads behind the brace that opens it. Any of its members may be missing.
func (p *plain) usage() *Usage {
	u := &Usage{}
	for _, m := range [...]struct {
		name string
		into *int64
	}{
		{`"input":`, &u.Input}, {`"output":`, &u.Output}, {`"cached":`, &u.Cached}, {`"written":`, &u.Written}, {`"reasoning":`, &u.Reasoning},
	} {
		if !p.has(m.name) {
			continue
		}
		*m.into = p.number()
		if p.has("}") {
			return u
		}
		p.must(",")
	}
	p.other = true // without a member, or with another one
	return u
}

func (p *plain) proposal() Proposal {
	var c Proposal
	p.must(`{"id":`)
	c.ID = p.text()
	if p.has(`,"provider":`) {
		c.Provider = p.text()
	}
	p.must(`,"tool":`)
	c.Tool = p.text()
	p.must(`,"args":`)
	c.Args = p.object()
	p.must(`,"fp":`)
	c.Fingerprint = p.text()
	p.must(`,"effect":`)
	c.Effect = Effect(p.word())
	c.RetrySafe = p.has(`,"retry_safe":true`)
	p.must(`,"decision":`)
	c.Decision = Decision(p.word())
	if p.has(`,"why":`) {
		c.Why = p.text()
	}
	if p.has(`,"sandbox":`) {
		c.Sandbox = p.text()
	}
	if p.has(`,"access":`) {
		c.Access = p.text()
	}
	p.must("}")
	return c
}

// place reads a call's place up to the end of its members.
func (p *plain) place() Place {
	var c Place
	p.must(`{"turn":`)
	c.Turn = int(p.number())
	p.must(`,"index":`)
	c.Index = int(p.number())
	if p.has(`,"attempt":`) {
		c.Attempt = int(p.number())
	}
	return c
}

func (p *plain) started() CallStarted {
	b := CallStarted{Place: p.place()}
	if p.has(`,"before":`) {
		b.Before = p.object()
	}
	if p.has(`,"binding":`) {
		b.Binding = p.text()
	}
	p.must("}")
	return b
}

func (p *plain) settled() CallSettled {
	b := CallSettled{Place: p.place()}
	p.must(`,"fp":`)
	b.Fingerprint = p.text()
	p.must(`,"result":{"outcome":`)
	r := &b.Result
	r.Outcome = Outcome(p.word())
	p.must(`,"applied":`)
	r.Applied = Applied(p.word())
	if p.has(`,"how":`) {
		r.How = How(p.word())
	}
	p.must(`,"content":`)
	r.Content = p.text()
	if p.has(`,"data":`) {
		r.Data = p.object()
	}
	if p.has(`,"blob":`) {
		r.Blob = p.text()
	}
	if p.has(`,"size":`) {
		r.Size = p.number()
	}
	if p.has(`,"took":`) {
		r.Took = time.Duration(p.number())
	}
	p.must("}}")
	return b
}

func (p *plain) turnSettled() TurnSettled {
	var b TurnSettled
	p.must(`{"checkpoint":`)
	b.Checkpoint = p.text()
	if p.has(`,"turns_left":`) {
		b.TurnsLeft = int(p.number())
	}
	p.must("}")
	return b
}

// has takes words from the front if they are there.
func (p *plain) has(words string) bool {
	if len(p.rest) < len(words) || string(p.rest[:len(words)]) != words {
		return false
	}
	p.rest = p.rest[len(words):]
	return true
}

func (p *plain) must(words string) {
	if !p.has(words) {
		p.other = true
	}
}

// number takes digits that fit into an int.
func (p *plain) number() int64 {
	n := 0
	for n < len(p.rest) && '0' <= p.rest[n] && p.rest[n] <= '9' {
		n++
	}
	v, err := strconv.ParseInt(string(p.rest[:n]), 10, strconv.IntSize)
	if err != nil || (n > 1 && p.rest[0] == '0') {
		p.other = true
		return 0
	}
	p.rest = p.rest[n:]
	return v
}

// text takes a string.
func (p *plain) text() string {
	text, rest, ok := jsonstring.Read(p.rest)
	if !ok {
		p.other = true
		return ""
	}
	p.rest = rest
	return text
}

// word takes a string that is mostly one of a few, which is then not copied.
func (p *plain) word() string {
	for _, w := range [...]string{
		string(BlockText), string(BlockReasoning), string(AnswerCalls), string(AnswerEnd),
		string(EffectRead), string(EffectWriteLocal), string(EffectWriteExternal), string(DecisionAllow), string(DecisionAsk),
		string(OutcomeOK), string(OutcomeError), string(AppliedYes), string(AppliedNo), string(HowExecuted),
	} {
		if n := len(w) + 1; len(p.rest) > n && p.rest[n] == '"' && p.rest[0] == '"' && string(p.rest[1:n]) == w {
			p.rest = p.rest[n+1:]
			return w
		}
	}
	return p.text()
}

// object takes a JSON object as it stands.
func (p *plain) object() json.RawMessage {
	if len(p.rest) == 0 || p.rest[0] != '{' {
		p.other = true
		return nil
	}
	depth := 0
	for i := 0; i < len(p.rest); i++ {
		switch p.rest[i] {
		case '"':
			end, _ := jsonstring.Close(p.rest[i:])
			if end < 0 {
				p.other = true
				return nil
			}
			i += end
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				return p.raw(i + 1)
			}
		}
	}
	p.other = true
	return nil
}

func (p *plain) raw(n int) json.RawMessage {
	text := p.rest[:n:n]
	p.rest = p.rest[n:]
	if !json.Valid(text) {
		p.other = true
		return nil
	}
	return bytes.Clone(text)
}
