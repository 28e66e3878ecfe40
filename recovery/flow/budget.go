package flow

import (
	"agent/recovery/journal"
	"slices"
	"time"
)

// afford gives each part that may begin its limits: its own, and its share of what the flow has
// left. What children that are under way may still use is taken off first, so that a limit of the
// flow is never passed by more than a request of each. Where nothing is left, parts wait for them.
func (a *assessment) afford(parts []Part) []Part {
	total := a.s.Def.Limits.Tighten(a.s.Run.Limits)
	left, live := a.left(total)
	var n int64
	for _, p := range parts {
		if p.Part == journal.PartWork {
			n++
		}
	}
	share := func(limit, left int64) int64 {
		if limit <= 0 || n == 0 {
			return 0
		}
		return max(0, left/n)
	}
	tokens, cost := share(total.MaxTokens, left.tokens), share(total.MaxCost, left.cost)
	none := total.MaxTokens > 0 && tokens == 0 || total.MaxCost > 0 && cost == 0
	var out []Part
	for _, p := range parts {
		p.Limits = p.Instance.own()
		if p.Part == journal.PartWork {
			if none && live {
				continue
			}
			p.Limits = p.Limits.Tighten(journal.Limits{MaxTokens: least(total.MaxTokens, tokens), MaxCost: least(total.MaxCost, cost)})
		}
		if total.Timeout > 0 {
			p.Limits = p.Limits.Tighten(journal.Limits{Timeout: max(1, total.Timeout-a.w.Spent)})
		}
		out = append(out, p)
	}
	return out
}

// least keeps a limit from being none: at the smallest one a child asks a person.
func least(limit, share int64) int64 {
	if limit <= 0 {
		return 0
	}
	return max(1, share)
}

// left is what the flow has left of its limits, and whether a child that is under way holds some of
// it.
func (a *assessment) left(total journal.Limits) (left spent, live bool) {
	left = spent{tokens: total.MaxTokens, cost: total.MaxCost}
	for _, p := range a.s.phases {
		for _, x := range p.all {
			left.tokens -= x.spent.tokens
			left.cost -= x.spent.cost
			if x.Open == nil || x.Open.Part != journal.PartWork {
				continue
			}
			child, run := a.w.Children[x.Open.Run], x.Open.Run
			if !slices.Contains(a.drive, run) && !slices.Contains(a.waiting, run) { // it stands: see tightened
				left.tokens -= child.Usage.Tokens()
				left.cost -= child.Cost
				continue
			}
			live = true
			left.tokens -= max(child.Usage.Tokens(), x.Open.Limits.MaxTokens)
			left.cost -= max(child.Cost, x.Open.Limits.MaxCost)
		}
	}
	return left, live
}

// tightened gives the children that are to go on the limits that hold for them from now on, where
// others took of what was theirs while they stood.
func (a *assessment) tightened() map[string]journal.Limits {
	total := a.s.Def.Limits.Tighten(a.s.Run.Limits)
	if total.MaxTokens <= 0 && total.MaxCost <= 0 {
		return nil
	}
	left, _ := a.left(total)
	if left.tokens >= 0 && left.cost >= 0 {
		return nil
	}
	out := map[string]journal.Limits{}
	for _, run := range a.drive {
		child, l := a.w.Children[run], a.s.Of(run).Open.Limits
		if child.State == ChildRunning || a.s.Of(run).Open.Part != journal.PartWork {
			continue
		}
		if left.tokens < 0 && total.MaxTokens > 0 {
			by := min(-left.tokens, l.MaxTokens-child.Usage.Tokens()-1)
			l.MaxTokens, left.tokens = l.MaxTokens-max(0, by), left.tokens+max(0, by)
		}
		if left.cost < 0 && total.MaxCost > 0 {
			by := min(-left.cost, l.MaxCost-child.Cost-1)
			l.MaxCost, left.cost = l.MaxCost-max(0, by), left.cost+max(0, by)
		}
		out[run] = l
	}
	return out
}

// own is what an instance has left of the limits of its phase.
func (x *Instance) own() journal.Limits {
	l := x.Phase.Limits
	return journal.Limits{
		MaxTurns: int(least(int64(l.MaxTurns), int64(l.MaxTurns-x.spent.turns))), MaxTokens: least(l.MaxTokens, l.MaxTokens-x.spent.tokens),
		MaxCost: least(l.MaxCost, l.MaxCost-x.spent.cost), Timeout: time.Duration(least(int64(l.Timeout), int64(l.Timeout)-x.spent.took)),
	}
}
