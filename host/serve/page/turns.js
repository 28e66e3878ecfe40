// How a turn looks.
import { get, open } from './api.js';
import { button, fill, h } from './node.js';
import { changedLines, diffOf } from './story.js';
import { bytes, callText, clock, count, resultText, took, verdictText } from './words.js';

const mostCalls = 40, mostLines = 300; // at once; the rest by a button
const marks = {
	ok: ['✓', 'ok'], error: ['✕', 'bad'], denied: ['⊘', 'off'], skipped: ['⊘', 'off'], unknown: ['?', 'warn'], running: ['▸', 'live'], proposed: ['·', 'off'],
};

// turnNode draws a turn anew; what a person opened stays open, as the turn keeps it.
export function turnNode(story, t, again) {
	const text = t.blocks.filter((b) => b.kind === 'text' && b.text).map((b) => h('div.prose', b.text));
	const mind = t.blocks.filter((b) => b.kind === 'reasoning' && b.text).map((b) => b.text).join('\n\n');
	const early = (n) => n.seq < (t.answered || Infinity);
	const usage = [t.usage && `${(t.usage.input || 0).toLocaleString('en')} in, ${(t.usage.output || 0).toLocaleString('en')} out`, t.served].filter(Boolean).join(' · ');
	return h('li.turn', { 'data-turn': t.n },
		t.n > 0 && h('h3.turn-no', { title: usage }, `Turn ${t.n}`),
		h('div.turn-body',
			t.notes.filter(early).map(noteNode),
			mind && fold(t, 'mind', 'Reasoning', () => h('div.prose.mind', mind)),
			text, liveNodes(story, t), calls(story, t, again), t.notes.filter((n) => !early(n)).map(noteNode), endNode(t)));
}

function noteNode(n) {
	if (n.person) return h('div.note.person', h('strong', `${n.person}: `), n.text);
	return h(n.warn ? 'div.note.warn' : 'div.note', { title: clock(n.time) }, n.text, n.more && h('div.note-more', n.more));
}

function endNode(t) {
	if (!t.end?.text) return null;
	return h('div.note.end', { 'data-status': t.end.status }, t.end.text);
}

// liveNodes are the text and the thoughts that come; their nodes are kept, so that a piece is added
// to what stands there.
function liveNodes(story, t) {
	if (t.answered || t.end) return null;
	const out = [];
	for (const [id, l] of story.live) {
		if (l.turn !== t.n || id.startsWith('c-')) continue;
		out.push(liveNode(l, id.startsWith('mind') ? 'div.prose.mind.live' : 'div.prose.live'));
	}
	if (out.length === 0 && t.asked && !t.settled && story.driven) out.push(h('p.quiet.thinking', 'The model is asked…'));
	return out;
}

function liveNode(l, what, more = {}) {
	l.node = h(what, more, l.cut && h('span.quiet', '… '));
	l.shown = h('span', l.text);
	l.node.append(l.shown);
	return l.node;
}

// grow shows what came since, without drawing the rest anew; false where there is no node to grow.
export function grow(l) {
	if (!l.node?.isConnected) return false;
	fill(l.shown, l.text);
	if (l.node.tagName === 'PRE') l.node.scrollTop = l.node.scrollHeight;
	return true;
}

function calls(story, t, again) {
	const all = t.calls.filter(Boolean);
	if (all.length === 0) return null;
	const shown = t.all ? all : all.slice(0, mostCalls);
	return h('ul.calls', { 'aria-label': `Calls of turn ${t.n}` }, shown.map((c) => h('li', callNode(story, t, c))),
		shown.length < all.length && h('li', button(`Show all ${count(all.length, 'call')}`, () => { t.all = true; again(); }, { class: 'link' })));
}

function outcomeOf(c, driven) {
	if (c.result) return c.result.outcome;
	return !c.started ? 'proposed' : driven ? 'running' : 'unknown';
}

function callNode(story, t, c) {
	const outcome = outcomeOf(c, story.driven), [mark, tone] = marks[outcome] || marks.proposed;
	const live = story.live.get(c.id);
	const verdict = c.verdicts.at(-1);
	const lines = diffOf(c);
	const words = c.result ? resultText(c.result) : c.started ? story.driven ? 'running' : 'started, without a result' : c.question ? 'a question to you' : 'proposed';
	const summary = h('summary', { 'data-key': `call ${t.n}.${c.place.index}` },
		h(`span.mark.${tone}`, { 'aria-hidden': 'true' }, mark),
		h('span.call-tool', c.tool || 'call'), ' ',
		h('span.call-about', callText(c.tool, c.args)),
		lines && h('span.call-diff', changedLines(lines)),
		h(`span.call-end.${tone}`, outcome === 'ok' ? took((c.result.took || 0) / 1e6) : words),
		c.resolved && h('span.call-end', `decided: ${c.resolved}`));
	const isOpen = c.open ?? Boolean(live);
	const body = h('div.call-body');
	const details = h('details.call', { open: isOpen, ontoggle: () => {
		c.open = details.open;
		if (details.open && body.childElementCount === 0) fill(body, callBody(c, live, lines));
	} }, summary, verdict && h('div.verdict', verdictText(verdict.verdict, verdict.reason)), body);
	if (isOpen) fill(body, callBody(c, live, lines));
	return details;
}

function callBody(c, live, lines) {
	const known = [['id', c.id], ['effect', c.effect], ['allowed', [c.decision, c.why].filter(Boolean).join(': ')], ['confined', c.sandbox || 'by nothing that is on record']];
	if (c.attempt > 1) known.push(['attempt', c.attempt]);
	const verdicts = c.verdicts.slice(0, -1).map((v) => verdictText(v.verdict, v.reason));
	return [
		lines ? diffNode(c, lines) : argsText(c) && h('pre.args', { tabindex: 0, role: 'group', 'aria-label': 'Arguments' }, argsText(c)),
		c.invalid && h('p.note.warn', c.invalid),
		[...verdicts, ...c.notes].map((text) => h('div.verdict', text)),
		live && liveOutput(live),
		c.result && resultNode(c),
		h('dl.known', known.filter(([, v]) => v).flatMap(([k, v]) => [h('dt', k), h('dd', v)])),
	];
}

// argsText are the arguments whole; nothing where the line of the call has all of them.
function argsText(c) {
	const names = Object.keys(c.args || {}), only = names.length === 1 && c.args[names[0]];
	if (names.length === 0 || typeof only === 'string' && callText(c.tool, c.args) === only && only.length < 60) return '';
	return names.length === 1 && typeof only === 'string' ? only : JSON.stringify(c.args, null, 2);
}

function liveOutput(l) {
	return liveNode(l, 'pre.output.live', { tabindex: 0, role: 'group', 'aria-label': 'Output as it comes' });
}

function resultNode(c) {
	const r = c.result, text = r.content || '';
	const pre = h('pre.output', { tabindex: 0, role: 'group', 'aria-label': 'Result' }, text || '(no output)');
	const part = r.size > text.length;
	return [pre, part && button(`Show the whole output (${bytes(r.size)})`, (e) => whole(c, pre, e.target), { class: 'link' }),
		r.alive?.length > 0 && h('p.note.warn', `may still be running: ${r.alive.join(', ')}`),
		(r.put_back || []).map((text) => h('p.note.warn', text))];
}

const most = 1 << 20;

async function whole(c, pre, from) {
	try {
		const answer = await open('GET', `/v1/calls/${encodeURIComponent(c.id)}/output`, { headers: { Range: `bytes=0-${most - 1}` } });
		fill(pre, await answer.text(), c.result.size > most && '\n… the rest: agent show ', c.result.size > most && c.id);
		from.remove();
	} catch (e) {
		from.after(h('p.note.warn', e.message));
	}
}

function diffNode(c, lines) {
	const shown = c.allLines ? lines : lines.slice(0, mostLines);
	const pre = h('pre.diff', { tabindex: 0, role: 'group', 'aria-label': 'Change' }, grouped(shown).map(([tone, text]) => h(`span.${tone}`, text)));
	const path = c.args.path && h('p.diff-path', c.args.path);
	const more = shown.length < lines.length && button(`Show ${count(lines.length - shown.length, 'more line')}`, (e) => {
		pre.append(lines.slice(mostLines).join('\n'));
		e.target.remove();
	}, { class: 'link' });
	return [path, pre, more];
}

// grouped joins lines of one kind: a node for each group.
function grouped(lines) {
	const out = [];
	for (const l of lines) {
		const tone = diffTone(l);
		if (out.at(-1)?.[0] === tone) out.at(-1)[1] += `${l}\n`;
		else out.push([tone, `${l}\n`]);
	}
	return out;
}

const diffTone = (l) => /^(---|\+\+\+|diff |index |rename |new |old |deleted )/.test(l) ? 'head' : l.startsWith('@@') ? 'hunk' : l.startsWith('+') ? 'plus' : l.startsWith('-') ? 'minus' : 'same';

// fold is what is shown on demand.
function fold(keep, name, label, make) {
	const body = h('div');
	const d = h('details.fold', { open: Boolean(keep[name]), ontoggle: () => {
		keep[name] = d.open;
		if (d.open && body.childElementCount === 0) body.append(make());
	} }, h('summary', { 'data-key': `${name} ${keep.n}` }, label), body);
	if (keep[name]) body.append(make());
	return d;
}

export const factsBefore = (run, seq, limit = 200) => get(`/v1/runs/${run}/facts?before=${seq}&limit=${limit}`);
