// A flow as a table of its phases, and the runs below a run: the way to each, and what they ask.
import { Ask } from './ask.js';
import { button, h } from './node.js';
import { bytes, count, dollars, statusText, took } from './words.js';

const most = 40; // branches, and runs, that are shown at once; the rest by a button

// below lists the runs below a run, each before those that it made itself.
const below = (run) => (run.children || []).flatMap((c) => [c, ...below(c)]);

// filesText counts what the runs of a phase changed.
const filesText = (f) => [['~', f.changed], ['+', f.added], ['−', f.removed]].filter(([, n]) => n > 0).map(([mark, n]) => mark + n).join(' ');

const label = (p) => p.item ? `${p.name}[${p.item}]` : p.name;

function phaseText(p) {
	if (p.status === 'running' && p.part === 'check') return 'checking';
	if (p.status === 'done' && p.reused) return 'reused';
	return p.status === 'done' && p.passed === false ? 'done, says no' : p.status;
}

const tryText = (p) => ['running', 'waiting', 'interrupted', 'failed'].includes(p.status) && p.tries > 1 && p.try > 0 ? `${p.try} of ${p.tries}` : p.num_attempts || '';

const fileNode = (a) => h('li', { title: `SHA-256 ${a.digest}` }, h('code', a.path), ' ',
	h('span.quiet', bytes(a.bytes)), a.state !== 'intact' && h('span.bad', ` ${a.state}`), a.put_back && ' put back', a.edited && ' yours');

export class Flow {
	version = 0; // of what a person wants to see
	#asks = new Map();
	#open = new Map(); // which lists of branches are open, and which are shown whole, by phase

	// open goes to a run; changed hears that an answer was given, or that a person wants to see more.
	constructor(open, changed) {
		Object.assign(this, { open, changed, el: h('div.flow') });
	}

	// cards are those of the questions that runs below ask, by the place of each.
	cards(run) {
		const asked = below(run).filter((c) => c.status === 'waiting' && c.pending_request);
		this.#asks = new Map(asked.map((c) => [c.pending_request.id, this.#asks.get(c.pending_request.id) ||
			new Ask(c.pending_request.id, { of: c.role, go: () => this.open(c.id), done: () => this.changed() })]));
		return [...this.#asks.values()].map((a) => a.el);
	}

	get first() { return this.#asks.values().next().value; }

	// nodes are the table of a flow, and the other runs below: whoever is asked for them has read
	// the snapshot at that time.
	nodes({ run, phases, artifacts = [] }, at) {
		this.at = at;
		const all = below(run), of = (p) => all.filter((c) => c.role?.startsWith(`${label(p)}#`));
		const known = new Set((phases || []).flatMap((p) => [p, ...p.branches || []]).flatMap((p) => of(p)));
		const others = all.filter((c) => !known.has(c)), was = artifacts.filter((a) => !a.phase);
		return [phases && h('table.phases', h('caption', 'Phases'), h('thead', h('tr', ['Phase', 'Status', 'Attempts', 'Time', 'Cost', 'Files'].map((t) => h('th', { scope: 'col' }, t)))),
			phases.map((p) => h('tbody', this.#rows(p, of, artifacts), this.#branches(p, of, artifacts)))),
		was.length > 0 && h('div.sources', h('h3', 'Files that no phase made'), h('ul', was.map(fileNode))),
		others.length > 0 && h('div.sources', h('h3', 'Runs below'), h('ul', this.#some('', others).map((c) => h('li', this.#link(c, c.role), ' ', h('span.quiet', statusText(c)))), this.#more('', others)))];
	}

	// tick shows how long what is under way has been at work by now.
	tick(now) {
		for (const el of this.el.querySelectorAll('[data-took]')) el.textContent = took(Number(el.dataset.took) + now - this.at);
	}

	#link(c, text) { return button(text, () => this.open(c.id), { class: 'link', 'data-key': `run ${c.id}`, 'aria-label': `${c.role}, run ${c.id}` }); }

	#rows(p, of, artifacts) {
		const runs = p.each ? [] : of(p), files = p.each ? [] : artifacts.filter((a) => a.phase === p.name && (a.item || '') === (p.item || ''));
		const counts = Object.entries(p.branches_by_status || {}).filter(([, n]) => n > 0).map(([s, n]) => `${n} ${s}`).join(', ');
		const live = p.status === 'running' && !p.each;
		return [h('tr', { 'data-status': p.status, class: p.item && 'branch' }, h('th', { scope: 'row' }, label(p), p.title && h('span.quiet', ` ${p.title}`)),
			h('td', h('span.phase', phaseText(p))),
			h('td', p.each ? this.#toggle(p) : [tryText(p), runs.map((c) => [' ', this.#link(c, c.role.slice(label(p).length))])]),
			h('td', h('span', { 'data-took': live ? p.duration_ms : undefined }, p.num_attempts > 0 && took(p.duration_ms))),
			h('td', p.cost_usd && dollars(p.cost_usd)),
			h('td', p.files && h('span.quiet', filesText(p.files)), files.length > 0 && h('ul', files.map(fileNode)), counts)),
		p.reason && h(p.item ? 'tr.why.branch' : 'tr.why', h('td', { colspan: 6 }, p.reason))];
	}

	#branches(p, of, artifacts) {
		const all = p.branches || [];
		if (!this.#shown(p)) return null;
		return [this.#some(p.name, all).map((b) => this.#rows(b, of, artifacts)), all.length > most && h('tr', h('td', { colspan: 6 }, this.#more(p.name, all)))];
	}

	#shown(p) { return this.#open.get(p.name) ?? p.branches?.length <= 8; }

	#toggle(p) {
		const n = p.branches?.length;
		return n > 0 && button(count(n, 'branch', 'branches'), () => this.#see(p.name, !this.#shown(p)), { class: 'link', 'aria-expanded': String(this.#shown(p)), 'data-key': `branches ${p.name}` });
	}

	#see(what, how) {
		this.#open.set(what, how);
		this.version++;
		this.changed();
	}

	#some(name, list) { return this.#open.get(`all ${name}`) ? list : list.slice(0, most); }

	#more(name, list) {
		return this.#some(name, list).length < list.length && button(`Show all ${list.length}`, () => this.#see(`all ${name}`, true), { class: 'link', 'data-key': `all ${name}` });
	}
}
