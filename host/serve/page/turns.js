// How a turn looks.
import { get, open } from './api.js';
import { Diff } from './diff.js';
import { button, fill, h, pre, visible } from './node.js';
import { changedLines, changedText, changeText, diffOf } from './story.js';
import { bytes, callText, clock, count, resultText, took, verdictText } from './words.js';

const mostCalls = 40, mostLines = 300, mostPaths = 200; // at once; the rest by a button
const mostAsked = 50; // paths that are named in a question; of more the whole turn is asked for
const marks = {
	ok: ['✓', 'ok'], error: ['✕', 'bad'], denied: ['⊘', 'off'], skipped: ['⊘', 'off'], unknown: ['?', 'warn'], running: ['▸', 'live'], proposed: ['·', 'off'],
};

// turnNode draws a turn again; what a person opened stays open, as the turn keeps it.
export function turnNode(story, t, again) {
	const text = t.blocks.filter((b) => b.kind === 'text' && b.text).map((b) => h('div.prose', b.text));
	const mind = t.blocks.filter((b) => b.kind === 'reasoning' && b.text).map((b) => b.text).join('\n\n');
	const early = (n) => n.seq < (t.answered || Infinity);
	const usage = [t.usage && `${(t.usage.input || 0).toLocaleString('en')} in, ${(t.usage.output || 0).toLocaleString('en')} out`, t.served].filter(Boolean).join(' · ');
	return h('li.turn', { 'data-turn': t.n },
		t.n > 0 && h('h3.turn-no', { title: usage }, `Turn ${t.n}`),
		h('div.turn-body',
			t.notes.filter(early).map(noteNode),
			mind && fold('fold', t, 'mind', h('summary', { 'data-key': `mind ${t.n}` }, 'Reasoning'), () => h('div.prose.mind', mind)),
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
	const out = [...story.live].filter(([id, l]) => l.turn === t.n && !id.startsWith('c-'))
		.map(([id, l]) => liveNode(l, h(id.startsWith('mind') ? 'div.prose.mind.live' : 'div.prose.live')));
	return out.length === 0 && t.asked && !t.settled && story.driven ? h('p.quiet.thinking', 'The model is asked…') : out;
}

function liveNode(l, node) {
	const text = h('span');
	Object.assign(l, { node, fresh: '', shown: new Text(visible(l.text)) });
	text.append(l.shown);
	if (l.cut) node.append(h('span.quiet', '… '));
	node.append(text);
	return node;
}

// grow shows what came since, without drawing the rest again; false where there is no node to grow.
export function grow(l) {
	if (!l.node?.isConnected) return false;
	l.shown.appendData(visible(l.fresh));
	l.fresh = '';
	if (l.node.matches('pre')) l.node.scrollTop = l.node.scrollHeight;
	return true;
}

function calls(story, t, again) {
	const all = t.calls.filter(Boolean);
	if (all.length === 0) return null;
	const shown = t.all ? all : all.slice(0, mostCalls);
	return h('ul.calls', { 'aria-label': `Calls of turn ${t.n}` }, shown.map((c) => h('li', callNode(story, t, c))),
		shown.length < all.length && h('li', button(`Show all ${count(all.length, 'call')}`, () => { t.all = true; again(); }, { class: 'link' })));
}

// state is the outcome of a call, or how far it came.
function stateOf(c, driven) {
	const r = c.result;
	if (r) return [r.outcome, r.outcome === 'ok' && r.how === 'executed' ? took((r.took || 0) / 1e6) : resultText(r)];
	if (!c.started) return ['proposed', c.question ? 'a question to you' : 'proposed'];
	return driven ? ['running', 'running'] : ['unknown', 'started, without a result'];
}

function callNode(story, t, c) {
	const [outcome, words] = stateOf(c, story.driven), [mark, tone] = marks[outcome] || marks.proposed;
	const live = story.live.get(c.id), verdict = c.verdicts.at(-1), lines = diffOf(c);
	if (live) c.open ??= true;
	const summary = h('summary', { 'data-key': `call ${t.n}.${c.place.index}` },
		h(`span.mark.${tone}`, { 'aria-hidden': 'true' }, mark),
		h('span.call-tool', c.tool || 'call'), ' ',
		h('span.call-about', callText(c.tool, c.args)),
		lines && h('span.call-diff', changedLines(lines)),
		c.changed && !lines && h('span.call-about.changed', changedText(c.changed, 2)),
		h(`span.call-end.${tone}`, words),
		c.resolved && h('span.call-end', `decided: ${c.resolved}`));
	return fold('call', c, 'open', [summary, verdict && h('div.verdict', verdictText(verdict.verdict, verdict.reason))], () => callBody(story, c, live, lines));
}

function callBody(story, c, live, lines) {
	const known = [['id', c.id], ['effect', c.effect], ['allowed', [c.decision, c.why].filter(Boolean).join(': ')], ['confined', c.sandbox || 'no'], ['path', lines && c.args.path], ['attempt', c.attempt > 1 && c.attempt]];
	const verdicts = c.verdicts.slice(0, -1).map((v) => verdictText(v.verdict, v.reason));
	return [
		lines ? linesNode('Change', lines) : argsText(c) && pre('args', 'Arguments', argsText(c)),
		c.invalid && h('p.note.warn', c.invalid),
		[...verdicts, ...c.notes].map((text) => h('div.verdict', text)),
		live && liveNode(live, pre('output.live', 'Output as it comes')),
		c.result && resultNode(c),
		c.changed && changedNode(story, c),
		h('dl.known', known.filter(([, v]) => v).flatMap(([k, v]) => [h('dt', k), h('dd', v)])),
	];
}

// changedNode lists what a call changed, and shows how on demand.
function changedNode(story, c) {
	const all = c.changed, turn = c.place.turn;
	const ask = button('Show the diff', (e) => {
		const shown = new Diff(story.run, [['from', turn - 1], ['to', turn], ...(all.length > mostAsked ? [] : all).map((p) => ['path', p.path])], `Changed in turn ${turn}`, () => { shown.el.replaceWith(ask); ask.focus(); });
		e.target.replaceWith(shown.el);
		shown.el.focus({ preventScroll: true });
	}, { class: 'link', 'data-key': `diff ${turn}.${c.place.index}` });
	const list = h('ul.changes', { 'aria-label': 'Changed files' }, all.slice(0, mostPaths).map(changeNode));
	return [list, h('div', ask), all.length > mostPaths && button(`Show ${count(all.length - mostPaths, 'more path')}`, (e) => {
		list.append(...all.slice(mostPaths).map(changeNode));
		e.target.remove();
	}, { class: 'link' })];
}

const changeNode = (c) => h('li', h('code', changeText(c)));

// argsText are the arguments whole; nothing where the line of the call has all of them.
function argsText(c) {
	const names = Object.keys(c.args || {}), only = names.length === 1 && c.args[names[0]];
	if (names.length === 0 || typeof only === 'string' && callText(c.tool, c.args) === only && only.length < 60) return '';
	return names.length === 1 && typeof only === 'string' ? only : JSON.stringify(c.args, null, 2);
}

function resultNode(c) {
	const r = c.result, text = r.content || '';
	const shown = pre('output', 'Result', text || '(no output)');
	const part = r.size > text.length;
	return [shown, part && button(`Show the whole output (${bytes(r.size)})`, (e) => whole(c, shown, e.target), { class: 'link' }),
		r.alive?.length > 0 && h('p.note.warn', `may still be running: ${r.alive.join(', ')}`),
		(r.put_back || []).map((text) => h('p.note.warn', text))];
}

const most = 1 << 20;

async function whole(c, shown, from) {
	try {
		const answer = await open('GET', `/v1/calls/${encodeURIComponent(c.id)}/output`, { headers: { Range: `bytes=0-${most - 1}` } });
		fill(shown, await answer.text(), c.result.size > most && '\n… the rest: agent show ', c.result.size > most && c.id);
		from.remove();
	} catch (e) {
		from.after(h('p.note.warn', e.message));
	}
}


// linesNode shows a diff, a part of it at once.
export function linesNode(label, lines) {
	const change = pre('diff', label, grouped(lines.slice(0, mostLines)));
	const more = lines.length > mostLines && button(`Show ${count(lines.length - mostLines, 'more line')}`, (e) => {
		change.append(...grouped(lines.slice(mostLines)));
		e.target.remove();
	}, { class: 'link' });
	return [change, more];
}

// grouped has a node for each group of lines of one kind.
function grouped(lines) {
	const out = [];
	for (const l of lines) {
		const tone = diffTone(l);
		if (out.at(-1)?.[0] === tone) out.at(-1)[1] += `${l}\n`;
		else out.push([tone, `${l}\n`]);
	}
	return out.map(([tone, text]) => h(`span.${tone}`, text));
}

const diffTone = (l) => /^(---|\+\+\+|diff |index |rename |new |old |deleted )/.test(l) ? 'head' : l.startsWith('@@') ? 'hunk' : l.startsWith('+') ? 'plus' : l.startsWith('-') ? 'minus' : 'same';

// fold is what is shown on demand: what a person opened stays open, as keep has it by this name.
function fold(kind, keep, name, head, make) {
	const body = h('div.fold-body');
	const unfold = () => body.childElementCount === 0 && fill(body, make());
	const el = h(`details.${kind}`, { open: Boolean(keep[name]), ontoggle: () => {
		keep[name] = el.open;
		if (el.open) unfold();
	} }, head, body);
	if (keep[name]) unfold();
	return el;
}

export const factsBefore = (run, seq, limit = 200) => get(`/v1/runs/${run}/facts?before=${seq}&limit=${limit}`);
