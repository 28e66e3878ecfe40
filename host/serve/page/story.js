// A run as its facts tell it: turns with their calls. Facts may come in pages, the last ones first,
// so what a fact says is put in its place whatever was there before.
import { answerText, causeText, count, faultText, took } from './words.js';

export class Story {
	created = null; // the first fact, where it was read
	turns = new Map();
	first = Infinity; // numbers of the facts that are here
	last = 0;
	newer = 0; // facts that only a newer server can read
	end = null;
	driven = false; // a process drives the run
	paths = new Set(); // that calls changed, as far as the facts are here
	live = new Map(); // text, reasoning and output as they come, by their id

	turn(n) {
		if (!this.turns.has(n)) this.turns.set(n, { n, notes: [], blocks: [], calls: [] });
		return this.turns.get(n);
	}

	call(place) {
		const calls = this.turn(place.turn).calls;
		return calls[place.index] ??= { verdicts: [], notes: [], place };
	}

	// apply takes in a fact of a page or of the stream, and says which turns it changed: its own, and
	// that of the call which it is about.
	apply(line) {
		this.first = Math.min(this.first, line.seq);
		this.last = Math.max(this.last, line.seq);
		const t = this.turn(line.turn || 0);
		(kinds[line.type] || kinds.unknown)(this, t, line.data, line);
		return [t.n, line.data?.turn ?? line.data?.during?.turn ?? t.n];
	}

	// frame takes in a piece of live text or output: false where it does not continue what is here.
	frame(id, turn, data) {
		let l = this.live.get(id);
		if (!data.start && l?.end !== data.offset) return false;
		if (data.start) this.live.set(id, l = { turn, text: '', fresh: '', cut: data.offset > 0 });
		l.end = data.end;
		l.text += data.text;
		l.fresh += data.text; // what is not drawn yet
		if (l.text.length > 2 * kept) Object.assign(l, { text: l.text.slice(-kept), cut: true, node: null });
		return true;
	}

	// gone forgets live text that a fact replaces.
	gone(test) {
		for (const [id, l] of this.live) if (test(id, l)) this.live.delete(id);
	}
}

const kept = 64 << 10;
const note = (t, line, text, more = {}) => t.notes.push({ seq: line.seq, time: line.time, text, ...more });

const kinds = {
	'run.created': (s, t, d) => { s.created = d; },
	'run.claimed': (s, t, d, line) => {
		if (d.epoch > 1) note(t, line, `went on in process ${d.pid}${d.why ? `: ${d.why}` : ''}`);
	},
	'run.interrupted': (s, t, d, line) => {
		s.gone((id, l) => l.turn <= t.n);
		note(t, line, `interrupted: ${d.detail || causeText(d.cause)}`, { warn: !['answered', 'expired', 'withdrawn'].includes(d.cause) });
	},
	'run.noted': (s, t, d, line) => note(t, line, d.text),
	'run.stopping': (s, t, d, line) => note(t, line, `ending: ${d.reason}`, { warn: true }),
	'run.completed': (s, t, d, line) => ended(s, t, line, 'completed', d.text),
	'run.failed': (s, t, d, line) => ended(s, t, line, 'failed', d.reason),
	'run.cancelled': (s, t, d, line) => ended(s, t, line, 'cancelled', d.reason),
	'model.requested': (s, t, d, line) => { t.asked = line.time; },
	'model.answered': (s, t, d, line) => {
		s.gone((id, l) => l.turn <= t.n && !id.startsWith('c-'));
		Object.assign(t, { blocks: d.blocks || [], usage: d.usage, served: d.served, answered: line.seq });
		(d.calls || []).forEach((c, index) => Object.assign(s.call({ turn: t.n, index }), c));
	},
	'model.failed': (s, t, d, line) => {
		const again = d.again ? `; asking again${d.wait ? ` in ${took(d.wait / 1e6)}` : ''} (try ${d.tries + 1})` : '';
		note(t, line, `${faultText(d.fault)}: ${d.detail}${again}`, { warn: true, more: d.again ? '' : d.remedy });
	},
	'context.compacted': (s, t, d, line) => note(t, line, 'earlier turns are shown to the model in short', { more: d.summary }),
	'call.judged': (s, t, d) => s.call(d).verdicts.push(d),
	'call.started': (s, t, d, line) => Object.assign(s.call(d), { started: line.time, attempt: d.attempt }),
	'call.settled': (s, t, d) => {
		const c = s.call(d);
		c.result = d.result;
		s.gone((id, l) => id === c.id || l.place === `${d.turn}.${d.index}`);
	},
	'call.resolved': (s, t, d, line) => {
		const who = d.by ? ` (${d.by})` : '';
		if (d.run && d.run !== line.run_id) note(t, line, `a call of run ${d.run}: ${d.word}${who}`);
		else s.call(d).resolved = `${d.word}${who}`;
	},
	'approval.voided': (s, t, d) => s.call(d).notes.push(`the yes counts no more: ${d.reason}`),
	'request.opened': () => {}, // its card has it, and then what became of it
	'request.answered': (s, t, d, line) => note(t, line, `${d.by || 'a person'} answered: ${answerText(d.answer)}`),
	'request.closed': (s, t, d, line) => note(t, line, `the question was ${d.status}: ${d.reason}`),
	'turn.settled': (s, t) => { t.settled = true; },
	'message.added': (s, t, d, line) => note(t, line, d.text, { person: d.by || 'you' }),
	'run.parked': (s, t, d, line) => note(t, line, 'it waits for people who were asked by runs below it'),
	'run.restored': (s, t, d, line) => note(t, line, `the database went back in time: ${d.reason}`, { warn: true }),
	'run.exported': (s, t, d, line) => note(t, line, `${d.by || 'a person'} had the run go to another store`, { warn: true, more: d.to }),
	'workspace.behind': (s, t, d, line) => note(t, line, `${d.files.length + (d.more || 0)} files are not in ${d.folder} as the run left them`, { warn: true, more: d.files.map((f) => f.path).join('\n') }),
	'phase.started': (s, t, d, line) => note(t, line, `${phase(d)} begins (attempt ${d.attempt}) in run ${d.run}`, { more: d.reason }),
	'phase.ended': (s, t, d, line) => note(t, line, `${phase(d)}: ${d.outcome}${d.reason ? `, ${d.reason}` : ''}`, { warn: d.outcome === 'failed' }),
	'artifacts.checked': (s, t, d, line) => {
		for (const a of d.artifacts || []) if (a.state !== 'intact') note(t, line, `${a.path} is ${a.state}: ${a.verdict}`, { warn: true, more: a.reason });
	},
	'files.base': (s, t, d, line) => note(t, line, d.mode === 'all' ? `${count(d.paths || 0, 'path')} watched over` : `only what file tools change can be given back: ${d.why}`),
	'files.changed': (s, t, d, line) => {
		const list = (d.changes || []).filter((c) => !['outside', 'late'].includes(c.proof));
		for (const c of list) s.paths.add(c.path);
		if (d.during && list.length > 0) {
			const c = s.call(d.during);
			c.changed = [...(c.changed || []), ...list];
		} else if (list.length > 0) note(t, line, changedText(list, 3));
	},
	'commit.seen': (s, t, d, line) => note(t, line, `commit ${d.commit_id.slice(0, 9)} ${d.checkpoint_id} ${JSON.stringify(d.subject || '')}${d.relation === 'made' ? '' : `, ${d.relation}`}`),
	'artifact.restored': (s, t, d, line) => note(t, line, `${d.path} was put back from its copy`),
	'phase.rewound': (s, t, d, line) => {
		for (const p of d.phases) note(t, line, `${phase(p)} is done again: ${p.reason}`);
	},
	unknown: (s) => { s.newer++; },
};

// changeText is a path with what became of it; changedText names some of them, as the terminal does.
export const changeText = (c) => `${!c.before ? '+' : !c.after ? '-' : '~'}${c.path}`;
export const changedText = (list, most) => `changed ${list.slice(0, most).map(changeText).join(' ')}${list.length > most ? ` and ${list.length - most} more` : ''}`;
const phase = (d) => `phase ${d.phase}${d.item ? ` (${d.item.name})` : ''}${d.part && d.part !== 'work' ? `, ${d.part}` : ''}`;

function ended(s, t, line, status, text) {
	s.end = { status, text, time: line.time };
	s.live.clear();
	const said = t.blocks.filter((b) => b.kind === 'text').map((b) => b.text).join('');
	t.end = { status, text: text && text.trim() !== said.trim() ? text : '' };
	if (status === 'completed' && !text) t.end.text = '';
}

// changedLines says how much an edit changes.
export function changedLines(lines) {
	const plus = lines.filter((l) => /^\+(?!\+\+ )/.test(l)).length, minus = lines.filter((l) => /^-(?!-- )/.test(l)).length;
	return plus + minus ? `+${plus} −${minus}` : count(lines.length, 'line');
}

// diffOf gives an edit as lines with the prefixes of a diff; nothing for calls that edit nothing.
export function diffOf(c) {
	const a = c.args;
	if (!a || typeof a !== 'object') return null;
	const cut = (text, prefix) => String(text ?? '').replace(/\n$/, '').split('\n').map((l) => prefix + l);
	if (c.tool === 'apply_patch' && typeof a.patch === 'string') return a.patch.replace(/\n$/, '').split('\n');
	if (c.tool === 'edit_file') return [...(a.old ? cut(a.old, '-') : []), ...(a.new ? cut(a.new, '+') : [])];
	if (c.tool === 'write_file' && typeof a.content === 'string') return cut(a.content, '+');
	return null;
}
