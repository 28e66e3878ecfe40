// What an undo of a run would do, path by path with the reasons, and its start. What is shown is what
// is done: the server compares the plan with how things are then.
import { get, post } from './api.js';
import { Guard } from './ask.js';
import { button, fill, h, say } from './node.js';
import { clock, count } from './words.js';

const most = 40; // paths of a kind that are shown at once; the rest by a button
const kinds = [['restore', 'restored'], ['remove', 'made by the run, and removed'], ['git', 'moved by git, and left alone'], ['left_out', 'not kept, and left alone']];

export class Undo {
	#overwrite = new Set();
	#whole = new Set(); // kinds that are shown whole

	// done hears the id of the run that does it; nothing where the person leaves it.
	constructor(run, done) {
		Object.assign(this, { path: `/v1/runs/${run}/rewind`, done, el: h('section.card.undo', { 'aria-label': 'Undo', tabindex: -1 }) });
		fill(this.el, h('p.quiet', 'Asking what it would do…'));
		new Guard(this.el);
		this.read();
	}

	async read() {
		const paths = [...this.#overwrite].map((p) => `&overwrite=${encodeURIComponent(p)}`).join('');
		try {
			this.plan = await get(`${this.path}?turn=0${paths}`);
			this.draw();
		} catch (e) {
			this.refused(e);
		}
	}

	refused(e) {
		say(e.message);
		fill(this.el, h('h3', 'That was not done'), h('p', { role: 'alert' }, e.message), (e.next || []).map((n) => h('p', h('code', n))), h('div.choices', button('Close', () => this.done())));
	}

	draw(note) {
		const p = this.plan;
		fill(this.el, h('h3', `Undo ${count(p.num_turns, 'turn')}?`), note && h('p.note.warn', { role: 'alert' }, note),
			p.ends && h('p.note.warn', `Run ${p.ends} has not ended: it is cancelled first.`),
			kinds.map(([kind, words]) => this.#paths(kind, words, p[kind])), this.#yours(p.yours),
			p.restore.length + p.remove.length + this.#overwrite.size === 0 && h('p', 'No file is to be changed.'),
			p.git_moves.map((m) => h('p', `HEAD of git went from ${m.from} to ${m.to} and stays there; back: `, h('code', m.back))),
			p.stands.length > 0 && h('div', h('p', 'What these calls did elsewhere stays:'), h('ul', p.stands.slice(0, most).map((s) => h('li', h('code', `${s.place} ${s.tool}: ${s.words}`), s.unknown && ' (it may have happened)')))),
			p.notes.map((n) => h('p.quiet', n)), p.conversation && h('p.quiet', 'The conversation goes back too. Nothing is deleted, and this can be undone.'),
			h('div.choices', button('Take it back', () => this.#start(), { class: 'danger' }), button('Leave it', () => this.done())));
	}

	#paths(kind, words, list, row = (p) => h('li', h('code', p.path), ' ', h('span.quiet', p.text))) {
		if (list.length === 0) return null;
		const shown = this.#whole.has(kind) ? list : list.slice(0, most);
		return h('div', { 'data-kind': kind }, h('p', `${count(list.length, 'path')} ${words}:`), h('ul', shown.map(row)),
			shown.length < list.length && button(`Show all ${list.length}`, () => { this.#whole.add(kind); this.draw(); }, { class: 'link', 'data-key': `all ${kind}` }));
	}

	#yours(list) {
		return this.#paths('yours', 'that somebody else changed too, left alone unless you tick it', list, (p) => h('li', h('label', h('input', {
			type: 'checkbox', checked: this.#overwrite.has(p.path), disabled: !!p.held, 'data-key': `yours ${p.path}`, onchange: (e) => {
				this.#overwrite[e.target.checked ? 'add' : 'delete'](p.path);
				this.read();
			},
		}), ' ', h('code', p.path)), ' ', h('span.quiet', p.since_at ? `${p.text}, ${clock(p.since_at)}` : p.text)));
	}

	async #start() {
		if (this.starting) return;
		this.starting = true;
		try {
			this.done((await post(this.path, { turn: 0, overwrite: [...this.#overwrite], digest: this.plan.digest })).run_id);
		} catch (e) {
			if (e.code !== 'plan_changed') return void this.refused(e);
			this.plan = e.plan;
			this.draw('Something changed meanwhile. Nothing was done; this is what it would do now.');
		} finally {
			this.starting = false;
		}
	}
}
