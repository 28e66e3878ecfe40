// The list of runs. Rows have one height, so that only those on the screen are in the document.
import { get } from './api.js';
import { button, fill, h, sync } from './node.js';
import { ago, brief, leaf, leftAlone, placeText, prompt, statusText, terminal } from './words.js';

const page = 100, spare = 8;
const filters = [['', 'All'], ['waiting', 'Waiting'], ['running', 'Running'], ['interrupted', 'Interrupted'], ['completed', 'Completed'], ['failed', 'Failed'], ['cancelled', 'Cancelled']];

export class List {
	runs = [];
	status = '';
	text = '';
	#turn = 0;
	#height = 0;

	constructor(open) {
		Object.assign(this, { open, current: '' });
		this.search = h('input.search', { type: 'search', placeholder: 'Search prompts', 'aria-label': 'Search prompts', 'data-key': 'search', oninput: () => this.#typed() });
		this.tabs = h('div.filters', { role: 'group', 'aria-label': 'Status' });
		this.rows = h('ul.rows', { 'aria-label': 'Runs' });
		this.scroller = h('div.scroller', { onscroll: () => this.draw() }, this.rows);
		this.note = h('div.list-note');
		this.el = h('div.list', h('div.tools', this.search, this.tabs), this.note, this.scroller);
		new ResizeObserver(() => this.draw()).observe(this.scroller);
		setInterval(() => this.draw(), 30_000); // ages
		this.#filters();
	}

	#typed() {
		clearTimeout(this.soon);
		this.soon = setTimeout(() => { this.text = this.search.value.trim(); this.load(); }, 200);
	}

	#filters(waiting = 0) {
		fill(this.tabs, filters.map(([value, label]) => h('button', {
			type: 'button', 'data-key': `f ${value}`, 'aria-pressed': String(value === this.status), onclick: () => { this.status = value; this.#filters(this.waiting); this.load(); },
		}, label, value === 'waiting' && waiting > 0 && h('span.badge', waiting))));
	}

	#path(before) {
		const q = new URLSearchParams({ limit: page });
		if (this.status) q.set('status', this.status);
		if (this.text) q.set('q', this.text);
		if (before) q.set('before', before);
		return `/v1/runs?${q}`;
	}

	// load reads the first page again; what was loaded beyond it stays, unless the filter changed.
	async load() {
		const turn = ++this.#turn, filter = this.#path();
		try {
			const [answer, pending] = await Promise.all([get(filter), get('/v1/pending')]);
			if (turn !== this.#turn) return;
			const fresh = filter !== this.filter;
			this.filter = filter;
			const last = answer.runs.at(-1)?.id;
			const at = fresh || !last ? -1 : this.runs.findIndex((r) => r.id === last);
			if (at < 0) this.next = answer.next_before ?? answer.next;
			this.runs = [...answer.runs, ...(at < 0 ? [] : this.runs.slice(at + 1))];
			this.loaded = true;
			this.problem = null;
			if (fresh) this.scroller.scrollTop = 0;
			this.questions(pending.requests.length);
		} catch (e) {
			this.problem = e;
		}
		this.draw();
	}

	questions(n) {
		if (n === this.waiting) return;
		this.waiting = n;
		this.#filters(n);
		document.title = n > 0 ? `(${n}) agent` : 'agent';
	}

	async more() {
		if (!this.next || this.loading) return;
		this.loading = true;
		const turn = this.#turn;
		try {
			const answer = await get(this.#path(this.next));
			if (turn === this.#turn) {
				const known = new Set(this.runs.map((r) => r.id));
				this.runs.push(...answer.runs.filter((r) => !known.has(r.id)));
				this.next = answer.next_before ?? answer.next;
			}
		} catch (e) {
			this.problem = e;
		}
		this.loading = false;
		this.draw();
	}

	// upsert takes in runs as they are now.
	upsert(changed) {
		for (const run of changed) {
			const at = this.runs.findIndex((r) => r.id === run.id);
			const fits = !this.status || run.status === this.status;
			if (at >= 0 && fits) this.runs[at] = run;
			else if (at >= 0) this.runs.splice(at, 1);
			else if (fits && !this.text && this.loaded) this.#insert(run);
		}
		this.draw();
		clearTimeout(this.count);
		this.count = setTimeout(() => get('/v1/pending').then((p) => this.questions(p.requests.length)).catch(() => {}), 150);
	}

	#insert(run) {
		const at = this.runs.findIndex((r) => r.created_at < run.created_at);
		if (at >= 0) this.runs.splice(at, 0, run);
		else if (!this.next) this.runs.push(run);
	}

	draw() {
		this.#notes();
		if (this.runs.length === 0) {
			this.rows.style.padding = '';
			return fill(this.rows);
		}
		this.#height ||= this.#measure();
		const top = this.scroller.scrollTop, room = this.scroller.clientHeight || 600;
		const from = Math.max(0, Math.floor(top / this.#height) - spare);
		const to = Math.min(this.runs.length, Math.ceil((top + room) / this.#height) + spare);
		this.rows.style.paddingTop = `${from * this.#height}px`;
		this.rows.style.paddingBottom = `${(this.runs.length - to) * this.#height}px`;
		this.#put(from, to);
		if (to > this.runs.length - 20) this.more();
		return undefined;
	}

	// put has the rows in the document, and draws again only those that changed.
	#put(from, to) {
		const focused = document.activeElement, have = this.drawn || new Map();
		this.drawn = new Map(this.runs.slice(from, to).map((r, i) => {
			const on = JSON.stringify([r, from + i, ago(r.updated_at), this.runs.length, r.id === this.current]), old = have.get(r.id);
			return [r.id, old?.on === on ? old : { on, el: this.#row(r, from + i) }];
		}));
		sync(this.rows, [...this.drawn.values()].map((d) => d.el));
		const id = focused?.dataset.key;
		if (!focused?.isConnected && this.drawn.has(id)) this.drawn.get(id).el.firstChild.focus({ preventScroll: true });
	}

	#measure() {
		fill(this.rows, this.#row(this.runs[0], 0));
		return this.rows.firstChild.getBoundingClientRect().height || 68;
	}

	#row(r, i) {
		const status = leftAlone(r) ? 'left' : r.status;
		const asked = r.pending_request?.message;
		return h('li', { 'aria-setsize': this.next ? -1 : this.runs.length, 'aria-posinset': i + 1 }, h('button.row', {
			type: 'button', 'data-key': r.id, 'data-status': status, 'aria-current': r.id === this.current ? 'true' : undefined, onclick: () => this.open(r.id),
		},
		h('span.row-top', h('span.row-prompt', prompt(r.prompt)), h('span.row-age', ago(terminal(r.status) ? r.ended_at || r.updated_at : r.updated_at))),
		h('span.row-low', h('span.row-status', statusText(r)), h('span.row-more', r.status === 'waiting' && asked ? brief(asked, 80) : [placeText(r), leaf(r.folder)].filter(Boolean).join(' · ')))));
	}

	#notes() {
		document.body.dataset.empty = this.loaded && !this.problem && !this.status && !this.text && this.runs.length === 0 ? 'on' : '';
		if (this.problem) return fill(this.note, h('p', this.problem.message), button('Read the list again', () => this.load(), { class: 'link' }));
		if (!this.loaded) return fill(this.note, h('p.quiet', 'Loading the runs…'));
		if (this.runs.length > 0) return fill(this.note);
		if (this.status || this.text) {
			return fill(this.note, h('p', 'No run is like that.'), button('Show all runs', () => { this.search.value = this.text = this.status = ''; this.#filters(this.waiting); this.load(); }, { class: 'link' }));
		}
		return fill(this.note, h('p.quiet', 'No runs yet.'));
	}

	// step moves the focus by rows.
	step(by) {
		const now = this.runs.findIndex((r) => r.id === (document.activeElement.closest('.row')?.dataset.key || this.current));
		this.focus(Math.max(0, Math.min(this.runs.length - 1, now + by)));
	}

	focus(i) {
		if (!this.runs[i]) return;
		const top = i * this.#height, s = this.scroller;
		if (top < s.scrollTop) s.scrollTop = top;
		else if (top + this.#height > s.scrollTop + s.clientHeight) s.scrollTop = top + this.#height - s.clientHeight;
		this.draw();
		[...this.rows.querySelectorAll('.row')].find((b) => b.dataset.key === this.runs[i].id)?.focus();
	}

	// question opens the newest run that waits.
	question() {
		const run = this.runs.find((r) => r.status === 'waiting');
		if (run) this.open(run.id);
	}

	select(id) {
		this.current = id;
		this.draw();
	}
}
