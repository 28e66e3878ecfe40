// What a run, or one of its turns, changed in files: asked for on demand, and shown path by path.
import { get } from './api.js';
import { button, fill, h, say } from './node.js';
import { linesNode } from './turns.js';
import { count } from './words.js';

const unfolded = 5; // paths that are open from the start
const most = 100; // paths that are shown at once; the rest by a button
const sign = { added: '+', removed: '-', changed: '~' };

export class Diff {
	#shown = most;

	// query are the parameters of the question; done hears that the person leaves it.
	constructor(run, query, label, done) {
		Object.assign(this, { path: `/v1/runs/${run}/diff?${new URLSearchParams(query)}`, label, done, el: h('section.card.changes-card', { 'aria-label': label, tabindex: -1 }) });
		this.read();
	}

	async read() {
		fill(this.el, h('p.quiet', 'Asking what was changed…'));
		try {
			this.diff = await get(this.path);
			this.draw();
			say(`${this.label}: ${count(this.diff.files.length, 'path')}`);
		} catch (e) {
			fill(this.el, h('p.note.warn', { role: 'alert' }, e.message), h('div.choices', button('Ask again', () => this.read()), button('Close', () => this.done())));
		}
	}

	draw() {
		const d = this.diff, all = d.files, n = (key) => all.reduce((sum, f) => sum + f[key], 0);
		fill(this.el, h('h3', this.label), all.length === 0 ? h('p', 'No file is otherwise than before.') : h('p.quiet', `${count(all.length + (d.num_more || 0), 'path')}, +${n('added')} −${n('removed')}`),
			all.slice(0, this.#shown).map((f) => this.#file(f, all.length <= unfolded)),
			this.#shown < all.length && button(`Show all ${all.length}`, () => { this.#shown = all.length; this.draw(); }, { class: 'link', 'data-key': 'all' }),
			d.num_more > 0 && h('p.quiet', `${count(d.num_more, 'more path')}: `, h('code', `agent diff ${d.run_id} --stat`)),
			h('div.choices', button('Ask again', () => this.read()), button('Close', () => this.done())));
	}

	#file(f, open) {
		const body = h('div.fold-body'), calls = f.calls.map((c) => c.place && `${c.place.turn}.${c.place.index}${c.run_id === this.diff.run_id ? '' : ` of ${c.run_id}`}`).filter(Boolean);
		const unfold = () => body.childElementCount === 0 && fill(body, f.diff && linesNode(`Diff of ${f.path}`, f.diff.replace(/\n$/, '').split('\n')),
			f.cut && h('p.quiet', 'It is longer than this page shows: ', h('code', `agent diff ${this.diff.run_id}`)), f.notes.map((n) => h('p.note.warn', n)), calls.length > 0 && h('p.quiet', `by ${calls.join(', ')}`));
		const el = h('details.fold', { open, ontoggle: () => el.open && unfold() }, h('summary', { 'data-key': `file ${f.path}` }, h('code', `${sign[f.kind]}${f.path}`), ' ', h('span.quiet', f.binary ? 'no text' : `+${f.added} −${f.removed}`)), body);
		if (open) unfold();
		return el;
	}
}
