// The turns of a run that are in the document: never more nodes than a page of this kind may have,
// however long the run is. What is not there stays in the story, or with the server.
import { button, fill, h, refocus } from './node.js';
import { count } from './words.js';
import { turnNode } from './turns.js';

const most = 2600; // nodes of all turns
const step = 12; // turns that are added at once

export class TurnWindow {
	#from = 0;
	#to = 0;
	#order = [];
	#loading = false;

	// earlier loads a page of earlier facts and says whether there was one.
	constructor(scroller, story, earlier) {
		Object.assign(this, { scroller, story, earlier });
		this.list = h('ol.turns', { 'aria-label': 'Turns' });
		this.up = h('div.more');
		this.down = h('div.more');
		this.el = h('div.story', this.up, this.list, this.down);
		this.eye = new IntersectionObserver((seen) => {
			for (const s of seen) if (s.isIntersecting) s.target === this.up ? this.#earlier() : this.#later();
		}, { root: scroller, rootMargin: '500px 0px' });
		this.eye.observe(this.up);
		this.eye.observe(this.down);
	}

	close() { this.eye.disconnect(); }

	get #more() { return this.story.first > 1 && this.story.first < Infinity; } // facts that only the server has
	get atEnd() { return this.#to === this.#order.length; }
	get nodes() { return this.list.getElementsByTagName('*').length; }

	// end shows the last turns, at their end.
	end() {
		this.#sort();
		this.#to = this.#from = this.#order.length;
		this.list.textContent = '';
		for (let i = 0; i < step && this.nodes < most / 2; i++) this.#prepend();
		this.#edges();
		this.scroller.scrollTop = this.scroller.scrollHeight;
	}

	#sort() {
		this.#order = [...this.story.turns.keys()].filter((n) => n > 0 || this.story.turns.get(0).notes.length > 0).sort((a, b) => a - b);
	}

	#node(n) {
		return turnNode(this.story, this.story.turns.get(n), () => this.update(new Set([n])));
	}

	#prepend() {
		if (this.#from === 0) return false;
		this.list.prepend(this.#node(this.#order[--this.#from]));
		return true;
	}

	// follow has who reads at the end stay there while change happens.
	follow(change) {
		const s = this.scroller, stuck = s.scrollHeight - s.scrollTop - s.clientHeight < 60;
		change(stuck);
		if (stuck) s.scrollTop = s.scrollHeight;
	}

	// update draws turns again that changed.
	update(changed, stuck = false) {
		const had = this.#order.length, atEnd = this.atEnd;
		const first = this.#order[this.#from], last = this.#order[this.#to - 1];
		this.#sort();
		this.#from = first === undefined ? 0 : this.#order.indexOf(first);
		this.#to = last === undefined ? 0 : this.#order.indexOf(last) + 1;
		for (const el of [...this.list.children]) {
			const n = Number(el.dataset.turn);
			if (!changed.has(n)) continue;
			refocus(el, () => {
				const fresh = this.#node(n);
				el.replaceWith(fresh);
				return fresh;
			});
		}
		if (atEnd && this.#order.length > had) {
			while (this.#to < this.#order.length) this.list.append(this.#node(this.#order[this.#to++]));
			if (stuck) this.#trim(true);
		}
		this.#edges();
	}

	// keep has what is seen stay where it is while change happens elsewhere.
	#keep(change) {
		const top = this.scroller.getBoundingClientRect().top;
		const anchor = [...this.list.children].find((el) => el.getBoundingClientRect().bottom > top);
		const before = anchor?.getBoundingClientRect().top;
		change();
		if (anchor?.isConnected) this.scroller.scrollTop += anchor.getBoundingClientRect().top - before;
	}

	async #earlier() {
		if (this.#loading || this.#from === 0 && !this.#more) return;
		this.#loading = true;
		try {
			if (this.#from === 0) {
				fill(this.up, h('p.quiet', 'Loading earlier turns…'));
				const first = this.#order[0];
				await this.earlier();
				this.#sort();
				const moved = this.#order.indexOf(first);
				this.#from += moved;
				this.#to += moved;
			}
			this.#keep(() => {
				for (let i = 0; i < step; i++) if (!this.#prepend()) break;
				this.#trim(false);
			});
			this.#edges();
		} catch (e) {
			fill(this.up, h('p.quiet', e.message, ' '), button('Load earlier turns', () => this.#earlier(), { class: 'link' }));
		} finally {
			this.#loading = false;
		}
	}

	#later() {
		if (this.#loading || this.atEnd) return;
		this.#keep(() => {
			for (let i = 0; i < step && !this.atEnd; i++) this.list.append(this.#node(this.#order[this.#to++]));
			this.#trim(true);
		});
		this.#edges();
	}

	// trim takes turns out at the side that nobody looks at.
	#trim(head) {
		while (this.nodes > most && this.list.children.length > 2) {
			(head ? this.list.firstChild : this.list.lastChild).remove();
			head ? this.#from++ : this.#to--;
		}
	}

	#edges() {
		const before = this.#order[this.#from];
		const earlier = this.#from > 0 || this.#more;
		this.#edge(this.up, earlier && (before > 1 ? `Show turns before ${before}` : 'Show earlier turns'), () => this.#earlier());
		this.#edge(this.down, !this.atEnd && `Show ${count(this.#order.length - this.#to, 'later turn')}`, () => this.#later());
	}

	// edge keeps its button while that says the same, and has the observer look at it once more.
	#edge(el, label, act) {
		if (el.dataset.label !== (label || '')) {
			el.dataset.label = label || '';
			fill(el, label && button(label, act, { class: 'link' }));
		}
		this.eye.unobserve(el);
		if (label) this.eye.observe(el);
	}
}
