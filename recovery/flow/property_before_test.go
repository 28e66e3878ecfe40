package flow

import (
	"agent/recovery/journal"
)

// behind is a flow of the same file in the thread of another one, which is cancelled where it is
// unless it has ended: the files are as that left them.
func behind(first *world, seed uint64) *world {
	if !first.s.Run.Status.Terminal() {
		first.record(journal.RunStopping{Why: journal.StopCancelled, Reason: "cancelled"})
	}
	for first.step() {
	}
	if first.wrong != "" {
		return first
	}
	w := emptyWorld(seed)
	w.def, w.before, w.did, w.asks = first.def, first.s, first.acted, map[string]*journal.Request{}
	w.disk, w.copies, w.bad, w.seq = first.disk, first.copies, first.bad, first.seq
	w.begin()
	return w
}

// repeats does what the host does with work that may begin: it says whether it is asked about, or
// gives its end where a person keeps what is there.
func (w *world) repeats(p *Part, looks []Look) (asks bool, end journal.Body) {
	x := p.Instance
	if w.before == nil || p.Part != journal.PartWork || p.Why != journal.WhyFirst || !Begins(w.s, *p, looks) || !Worked(w.before, w.s, x) || !Acted(w.before, x) {
		return false, nil
	}
	var in, out []journal.Artifact
	for _, l := range looks {
		in = append(in, l.Artifact)
	}
	wrong := ""
	for _, o := range x.Outputs() {
		c := w.disk[o.Path]
		if c == "" || w.bad[c] {
			wrong = o.Path + " does not hold"
			continue
		}
		w.copies[c], w.seen[c] = true, true
		out = append(out, journal.Artifact{Path: o.Path, SHA: c, Copy: "k-" + c})
	}
	switch Decided(x, in) {
	case DecidedRedo:
		Repeat(w.before, p)
		return false, nil
	case DecidedKeep:
		w.stats["kept from before"]++
		return false, Keep(w.before, x, in, out, wrong)
	}
	w.asks[x.Name()] = AskRepeat(w.before, w.s, x, in, wrong == "")
	return true, nil
}

// judgeRepeat: what an earlier flow did more than its outputs is not done again without a decision,
// whatever became of the files and the process since.
func (w *world) judgeRepeat(b journal.FlowPhaseStarted) {
	if who := name(b.Phase, b.Item); w.did[who] && b.Why == journal.WhyFirst && w.def.Phase(b.Phase).Redo != RedoSafe {
		w.fail("%s did things in the flow before, and begins without a decision", who)
	}
}
