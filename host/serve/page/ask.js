// The form that answers a question. No single key approves, and what a person sees is what is
// answered: nothing is taken within half a second after the form appeared, changed or moved.
import { get, post } from './api.js';
import { button, fill, h, pre, say, visible } from './node.js';
import { answerText, clock, since } from './words.js';

const inert = 500; // milliseconds

// Guard says whether what is on the screen has been there long enough to be meant.
export class Guard {
	#since = performance.now();
	#at = '';

	constructor(el) {
		this.el = el;
		this.#look();
		for (const name of ['focus', 'pageshow']) addEventListener(name, this.restart);
		document.addEventListener('visibilitychange', this.restart);
		// A key that is held down presses once.
		el.addEventListener('keydown', (e) => { if (e.repeat && (e.key === 'Enter' || e.key === ' ')) e.preventDefault(); });
		el.addEventListener('click', (e) => {
			if (!e.target.closest('button') || this.ready()) return;
			e.preventDefault();
			e.stopImmediatePropagation();
		}, true);
	}

	restart = () => { this.#since = performance.now(); };

	ready() {
		this.#measure();
		return performance.now() - this.#since >= inert;
	}

	#measure() {
		const at = [...this.el.querySelectorAll('button')].map((b) => {
			const r = b.getBoundingClientRect();
			return `${Math.round(r.x)},${Math.round(r.y)},${Math.round(r.width)}`;
		}).join(' ');
		if (at === this.#at) return;
		this.#at = at;
		this.restart();
	}

	#look = () => {
		if (this.#at !== '' && !this.el.isConnected) {
			for (const name of ['focus', 'pageshow']) removeEventListener(name, this.restart);
			document.removeEventListener('visibilitychange', this.restart);
			return;
		}
		if (this.el.isConnected) {
			this.#measure();
			const ready = performance.now() - this.#since >= inert;
			this.el.classList.toggle('inert', !ready);
			for (const b of this.el.querySelectorAll('button')) b.ariaDisabled = String(!ready);
		}
		requestAnimationFrame(this.#look);
	};
}

// values reads the schema of an answer: choices with their values, a form's fields, or free text.
function shape(request) {
	const schema = request.schema || {};
	const parts = schema.anyOf?.length === 2 ? schema.anyOf : [];
	if (parts[0]?.properties) return { fields: parts[0], words: parts[1].enum || [] };
	if (request.choices.length > 0) {
		const value = (c) => schema.type === 'boolean' ? c === 'yes' : c;
		return { why: request.kind === 'permission' && schema.pattern?.endsWith('^no, '), text: schema.type === 'string' && !schema.enum, choices: request.choices.map((c, i) => ({ label: c, value: value(c), hint: request.hints[i] })) };
	}
	if (schema.type === 'boolean') return { choices: [{ label: 'yes', value: true }, { label: 'no', value: false }] };
	return { text: true };
}

const titles = {
	phase: 'The flow asks', plan: 'Carry out this plan?', permission: 'May it do this?', confirm_action: 'Please confirm', ask_user: 'A question for you', elicitation: 'A tool asks for this',
	twin: 'This may have happened already', copy: 'This may have happened after the copy was made', max_turns: 'The limit of turns is reached', max_tokens: 'The limit of tokens is reached', max_cost: 'The limit of cost is reached',
};

// Ask is the card of one question.
export class Ask {
	// of names the run below that asks, in the view of the one at the top, and go goes there.
	constructor(id, { done, of, go }) {
		Object.assign(this, { id, done, of, go, typed: {} });
		this.el = h('section.card.ask', { 'aria-label': of ? `Question ${id} of ${of}` : `Question ${id}`, tabindex: -1, 'data-key': 'ask' }, h('p.quiet', 'Loading the question…'));
		this.guard = new Guard(this.el);
		this.load();
	}

	async load() {
		try {
			this.request = (await get(`/v1/pending/${this.id}`)).request;
			this.draw();
		} catch (e) {
			fill(this.el, h('p', e.message), button('Load the question again', () => this.load()));
		}
	}

	// draw shows the question; said is why an answer was not taken, next the commands that help.
	draw(said, next = []) {
		const r = this.request;
		const open = r.status === 'open' && !r.damage;
		this.guard.restart();
		fill(this.el,
			h('h3', this.of && [button(this.of, this.go, { class: 'link', 'data-key': 'of' }), ': '], titles[r.kind] || 'A question', h('span.quiet', ` ${r.tool ? `${r.tool} · ` : ''}asked ${since(r.opened_at)}${r.expires_at ? ` · open until ${clock(r.expires_at)}` : ''}`)),
			pre('shown', 'The question, whole', this.message(r)),
			r.damage && h('p.note.warn', `What it asks is damaged and cannot be answered: ${r.damage}`),
			said && h('p.note.warn', { role: 'alert' }, said), next.map((n) => h('p', h('code', n))),
			open ? this.form(r) : this.closed(r));
	}

	// message is what a terminal shows, whole; what each choice does stands beside its button.
	message(r) {
		const own = visible(r.message).replace(/\n+$/, '');
		return !r.shown || r.shown.startsWith(own) && shape(r).choices ? own : r.shown;
	}

	form(r) {
		const s = shape(r);
		const parts = [];
		if (s.choices) {
			const hints = s.choices.some((c) => c.hint), row = (c, i) => [button(c.label, () => this.answer(c.value), { 'aria-describedby': c.hint && `h-${r.id}-${i}` }), c.hint && h('span.hint', { id: `h-${r.id}-${i}` }, c.hint)];
			parts.push(h(hints ? 'div.choices.hinted' : 'div.choices', { role: 'group', 'aria-label': 'Answers' }, s.choices.map(row)));
		}
		if (s.why) {
			const why = this.input('why', h('input', { type: 'text', 'aria-label': 'Why not', 'data-key': 'why', placeholder: 'Say why not: the model gets it' }));
			parts.push(h('p.field', why, button('No, because…', () => why.value.trim() ? this.answer(`no, ${why.value.trim()}`) : why.focus())));
		}
		if (s.fields) parts.push(this.fields(s));
		if (s.text) {
			const area = this.input('answer', h('textarea', { rows: s.choices ? 2 : 3, 'aria-label': s.choices ? 'Another answer' : 'Your answer', 'data-key': 'answer', placeholder: s.choices && 'Or answer in your own words' }));
			parts.push(area, h('div.choices', button('Answer', () => area.value.trim() ? this.answer(area.value) : area.focus(), { class: 'primary' })));
		}
		parts.push(h('p.withdraw', button('Withdraw the question', () => this.withdraw(), { class: 'link', title: 'Nobody will answer it; the run goes on without an answer' })));
		return parts;
	}

	input(name, el) {
		el.value = this.typed[name] ?? '';
		el.addEventListener('input', () => { this.typed[name] = el.value; });
		return el;
	}

	fields({ fields, words }) {
		const inputs = Object.entries(fields.properties).map(([name, s]) => {
			const id = `f-${this.id}-${name}`, more = { id, 'data-key': name };
			const options = s.enum || (s.type === 'boolean' ? ['yes', 'no'] : null);
			const el = this.input(name, options ? h('select', more, h('option', { value: '' }, ''), options.map((o) => h('option', { value: o }, o))) : h('input', { ...more, type: s.type === 'integer' || s.type === 'number' ? 'number' : 'text' }));
			return { name, s, el, row: h('p.field', h('label', { for: id }, s.title || name), el, s.description && h('span.quiet', s.description)) };
		});
		const send = () => this.answer(Object.fromEntries(inputs.filter((i) => i.el.value !== '').map(({ name, s, el }) => [name, typedValue(s, el.value)])));
		return [inputs.map((i) => i.row), h('div.choices', button('Answer', send, { class: 'primary' }), words.map((w) => button(w, () => this.answer(w))))];
	}

	closed(r) {
		const by = r.answered_by || 'a person';
		const words = r.status === 'resolved' ? `Answered by ${by}: ${answerText(r.answer)}` : r.status === 'expired' ? 'It expired before anybody answered.' : `The question is ${r.status}.`;
		return [h('p.answered', words), !r.taken_by_owner && r.status === 'resolved' && h('p.quiet', 'The run takes the answer when it goes on.')];
	}

	async answer(value) {
		await this.send(`/v1/pending/${this.id}/answer`, { answer: value }, (request) => `Answered: ${answerText(request.answer ?? value)}.`);
	}

	async withdraw() { await this.send(`/v1/pending/${this.id}/withdraw`, {}, () => 'The question is withdrawn.'); }

	async send(path, body, words) {
		if (this.sending) return;
		this.sending = true;
		this.el.ariaBusy = 'true';
		try {
			const { request, run } = await post(path, body);
			this.request = request;
			this.draw();
			say(words(request));
			this.done(run);
		} catch (e) {
			if (e.request) this.request = e.request;
			const first = e.code === 'answered' && e.request?.answer !== undefined;
			const text = first ? `Somebody was faster: ${e.request.answered_by || 'a person'} answered ${answerText(e.request.answer)}. Your answer was not taken.` : e.message;
			this.draw(text, e.request ? [] : e.next);
			say(text);
			if (e.code === 'expired' || e.code === 'answered') this.done();
		} finally {
			this.sending = false;
			this.el.ariaBusy = null;
		}
	}
}

function typedValue(s, text) {
	if (s.type === 'boolean') return text === 'yes';
	if (s.type === 'integer' || s.type === 'number') return Number(text);
	if (s.type === 'array') return text.split(',').map((t) => t.trim());
	return text;
}
