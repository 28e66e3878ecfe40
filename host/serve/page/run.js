// One run: its story, what streams now, what it asks, and what can be done about it.
import { get, post } from './api.js';
import { Ask, Guard } from './ask.js';
import { Diff } from './diff.js';
import { Flow } from './flow.js';
import { promptForm } from './form.js';
import { button, fill, h, pre, say, show, sync } from './node.js';
import { Stream } from './sse.js';
import { Story } from './story.js';
import { TurnWindow } from './window.js';
import { factsBefore, grow } from './turns.js';
import { tellForm } from './tell.js';
import { Undo } from './undo.js';
import { brief, causeText, clock, count, dollars, leaf, leftAlone, placeText, prompt, since, statusText, terminal, took, verdictText } from './words.js';

export class RunView {
	#changed = new Set();
	#grown = new Set();
	#frame = 0;

	// mark hears which run of the list this one belongs to.
	constructor(id, open, mark) {
		Object.assign(this, { id, open, mark, path: `/v1/runs/${id}`, stream: null, how: 'loading', cards: {} });
		this.head = h('header.run-head');
		this.state = h('div.states', { 'data-region': 'states' });
		this.foot = h('div.foot');
		this.planned = h('div.plan');
		this.flow = new Flow(open, () => { this.refresh(); this.draw(); });
		this.ticking = setInterval(() => this.flow.tick(performance.now()), 1000);
		this.scroller = h('div.scroller');
		this.el = h('section.run', { 'aria-label': `Run ${id}` }, this.head, this.scroller);
		this.watchVisible = () => document.visibilityState === 'visible' ? this.connect() : this.disconnect();
		document.addEventListener('visibilitychange', this.watchVisible);
		this.begin();
	}

	close() {
		document.removeEventListener('visibilitychange', this.watchVisible);
		this.closed = true;
		clearInterval(this.ticking);
		this.disconnect();
		this.turns?.close();
	}

	// begin reads where the run stands and its last turns, then follows what comes.
	async begin() {
		this.disconnect();
		this.how = 'loading';
		this.story = new Story();
		this.story.run = this.id;
		this.turns?.close();
		this.turns = new TurnWindow(this.scroller, this.story, () => this.earlier());
		fill(this.scroller, h('div.column', this.beginning = h('div'), this.turns.el, this.flow.el, this.state, this.foot));
		fill(this.state, h('p.quiet', 'Loading the run…'));
		try {
			this.take(await get(this.path));
			const last = Number.parseInt(this.snapshot.cursor, 10);
			const page = await factsBefore(this.id, last + 1);
			for (const line of page.facts) this.apply(line);
			this.cursor = page.cursor;
			if (this.story.first > 1) this.firstFact();
			this.loaded = true;
			this.draw();
			this.turns.end();
			if (document.visibilityState === 'visible') this.connect();
		} catch (e) {
			if (this.closed) return;
			fill(this.state, this.card(e.status === 404 ? 'There is no such run' : 'The run could not be read', [h('p', e.message)], button('Try again', () => this.begin())));
		}
	}

	async firstFact() {
		const page = await get(`${this.path}/facts?limit=1`).catch(() => null);
		if (page?.facts[0]) this.story.created = page.facts[0].data;
		this.draw();
	}

	async earlier() {
		const page = await factsBefore(this.id, this.story.first);
		const last = this.story.last;
		for (const line of page.facts) this.apply(line);
		this.story.last = last;
	}

	connect() {
		if (this.stream || this.closed || !this.loaded) return;
		this.stream = new Stream(`${this.path}/events`, {
			cursor: () => this.cursor, event: (line, id) => this.event(line, id), state: (how, more) => this.connection(how, more),
		});
	}

	disconnect() {
		this.stream?.stop();
		this.stream = null;
	}

	connection(how, more) {
		if (this.closed || how === 'connecting') return;
		if (how === 'refused' && more.code === 'cursor_foreign') {
			this.reread = 'The database was put back from a copy, so this run was read again.';
			this.begin();
			return;
		}
		this.how = how;
		this.more = more;
		if (how === 'ended') this.refresh();
		this.draw();
	}

	// event takes in a line; false begins the stream again behind what is here.
	event(line, id) {
		const d = line.data;
		if (line.type === 'run.snapshot') {
			this.take(d);
			this.behind = Math.max(0, Number.parseInt(d.cursor, 10) - this.story.last);
		} else if (line.type === 'run.state') {
			Object.assign(this.run, { status: d.status, cause: d.cause });
			this.driven(d.owner);
			this.refresh();
		} else if (line.type.startsWith('live.')) {
			return this.live(line, d);
		} else if (line.seq) {
			if (line.seq <= this.story.last) return true;
			if (line.seq > this.story.last + 1) return false;
			this.cursor = id || line.cursor;
			this.fact(line);
		}
		this.later();
		return true;
	}

	apply(line) {
		for (const n of this.story.apply(line)) this.#changed.add(n);
	}

	fact(line) {
		this.apply(line);
		if (this.behind > 0) this.behind--;
		if (line.type === 'request.opened') this.question(line.data.request.id);
		if (/^(request|run|turn|phase|artifacts?)\.|call.resolved/.test(line.type)) this.refresh();
	}

	live(line, d) {
		const id = line.type === 'live.output' ? d.call_id : `${line.type === 'live.text' ? 'text' : 'mind'} ${d.message_id}`;
		if (!id) return true;
		if (!this.story.frame(id, line.turn, d)) return false;
		this.#grown.add(id);
		this.later();
		return true;
	}

	// later draws once a frame, whatever came meanwhile.
	later() {
		if (this.#frame) return;
		this.#frame = requestAnimationFrame(() => {
			this.#frame = 0;
			if (!this.closed) this.turns.follow((stuck) => this.drawAll(stuck));
		});
	}

	drawAll(stuck) {
		for (const id of this.#grown) {
			const l = this.story.live.get(id);
			if (l && !grow(l)) this.#changed.add(l.turn);
		}
		this.#grown.clear();
		if (this.#changed.size > 0) this.turns.update(this.#changed, stuck);
		this.#changed.clear();
		this.draw();
	}

	take(snapshot) {
		const before = this.run?.status;
		this.snapshot = snapshot;
		this.at = performance.now();
		this.run = snapshot.run;
		if (this.run.root_run_id) this.mark(this.run.root_run_id);
		this.driven(Boolean(this.run.owner));
		const asked = this.run.pending_request || snapshot.kept_answer;
		if (asked) this.question(asked.id);
		if (before && before !== this.run.status) say(`Run ${this.id}: ${statusText(this.run)}`);
	}

	// driven says whether a process drives the run: what its last turn says depends on that.
	driven(held) {
		if (this.held !== held) this.#changed.add(Math.max(0, ...this.story.turns.keys()));
		this.held = this.story.driven = held;
		this.later();
	}

	// refresh reads where the run stands, once for all that comes within a moment.
	refresh() {
		clearTimeout(this.soon);
		this.soon = setTimeout(async () => {
			try {
				this.take(await get(this.path));
			} catch { /* the stream says what is wrong */ }
			if (!this.closed) this.draw();
		}, 120);
	}

	question(id) {
		if (this.ask?.id === id) return;
		this.ask = new Ask(id, { done: (run) => { if (run) Object.assign(this.run, run); this.refresh(); this.draw(); } });
	}

	draw() {
		if (!this.run) return;
		const r = this.run;
		this.below = this.flow.cards(terminal(r.status) ? {} : r);
		show(this.head, [r, this.snapshot.usage, this.sure, this.asked?.id, this.story.paths.size, this.story.first > 1, this.held, !this.undoing, !this.diff], () => this.header());
		show(this.beginning, [this.story.created?.prompt, r.prompt], () => this.promptText());
		show(this.flow.el, [this.snapshot.phases, this.snapshot.artifacts, r.children, this.flow.version], () => this.flow.nodes(this.snapshot, this.at));
		this.cardsNow();
		this.footer();
	}

	header() {
		const r = this.run, s = this.snapshot;
		const files = this.story.paths.size;
		const limits = [r.model, r.mode, placeText(r), files > 0 && `${this.story.first > 1 || r.children?.length > 0 ? 'at least ' : ''}${count(files, 'path')} changed`, s.cost_usd !== null && s.cost_usd !== undefined && dollars(s.cost_usd), s.usage?.input > 0 && count(s.usage.input + s.usage.output, 'token')];
		return [
			h('div.run-top', button('Runs', () => this.open(''), { class: 'back', 'aria-label': 'Back to the list of runs' }),
				h('h2', { tabindex: -1, 'data-key': 'title', title: brief(r.prompt, 500) }, r.role && `${r.role}: `, prompt(r.prompt)),
				h('div.actions', { role: 'group', 'aria-label': 'Actions' }, this.actions())),
			h('p.facts', h('span.pill', { 'data-status': leftAlone(r) ? 'left' : r.status }, statusText(r)), h('code', r.id), r.root_run_id && button(`below run ${r.root_run_id}`, () => this.open(r.root_run_id), { class: 'link' }), h('span', { title: r.folder }, leaf(r.folder)),
				limits.filter(Boolean).map((t) => h('span.less', t)),
				h('span', { title: clock(r.created_at) }, `${terminal(r.status) && r.ended_at ? `took ${took(new Date(r.ended_at) - new Date(r.created_at))}` : `began ${since(r.created_at)}`}`),
				r.owner && h('span.less', `process ${r.owner.pid}`)),
		];
	}

	actions() {
		const undo = this.story.paths.size > 0 && !this.held && !this.run.root_run_id && !this.undoing && button('Undo…', () => this.undo());
		const diff = (this.story.paths.size > 0 || this.run.num_children > 0) && !this.diff && button('Changes', () => this.changes());
		if (terminal(this.run.status)) return [diff, undo];
		if (this.sure) {
			return [h('span', 'End it for good?'), button('End the run', () => this.act('cancel', {}), { class: 'danger' }), button('Keep it', () => { this.sure = false; this.draw(); })];
		}
		return [this.asked && button('Go to the question', () => this.toQuestion(), { class: 'primary' }), diff, undo, button('End…', () => { this.sure = true; this.draw(); })];
	}

	changes() {
		this.diff = new Diff(this.id, [], 'Changes of this run', () => { this.diff = null; this.draw(); });
		this.draw();
		this.diff.el.scrollIntoView({ block: 'nearest' });
		this.diff.el.focus({ preventScroll: true });
	}

	undo() {
		this.undoing = new Undo(this.id, (made) => {
			this.undoing = null;
			if (made) this.open(made);
			else this.draw();
		});
		this.draw();
		this.undoing.el.scrollIntoView({ block: 'center' });
		this.undoing.el.focus({ preventScroll: true });
	}

	promptText() {
		const text = this.story.created?.prompt ?? this.run.prompt;
		const c = this.story.created;
		return h('div.prompt', h('span.quiet', this.run.role ? 'The run above asked' : `${c?.by || 'you'} asked`), h('div.prose', { tabindex: 0, role: 'group', 'aria-label': 'Prompt' }, text), c?.input && h('details.fold', h('summary', 'What was piped in'), pre('output', 'What was piped in', c.input)));
	}

	// asked is the question that is gone to: the run's own, else the first of those below it.
	get asked() { return this.run?.status === 'waiting' && this.ask || this.flow.first; }

	toQuestion() {
		const ask = this.asked;
		this.wanted = !ask?.el.isConnected; // then it is gone to once it is there
		if (this.wanted) return;
		ask.el.scrollIntoView({ block: 'center' });
		ask.el.focus({ preventScroll: true });
	}

	card(title, body, ...buttons) {
		return h('section.card', { 'aria-label': title }, h(this.run ? 'h3' : 'h2', title), body, buttons.length > 0 && h('div.choices', buttons));
	}

	// cardsNow shows the states that want a word. A card is drawn again only when it changes, so that a
	// button stays under the pointer.
	cardsNow() {
		const r = this.run, list = [];
		const now = (key, make) => { list.push(this.cards[key] ??= make()); };
		const offline = this.how === 'offline';
		this.el.classList.toggle('offline', offline);
		this.el.dataset.offline = offline ? 'on' : '';
		if (this.reread) now(`reread ${this.reread}`, () => this.card('Read again', [h('p', this.reread)]));
		if (this.behind > 20) now(`behind ${this.behind}`, () => h('p.quiet', `Catching up: ${count(this.behind, 'fact')} to go.`));
		if (this.story.newer) now('newer', () => this.card('A newer agent wrote a part of this', [h('p', 'This server is older than what it reads. Start it again to see all of it: '), h('code', 'agent serve')]));
		if (this.how === 'refused') now('refused', () => this.card('The run cannot be followed', [h('p', this.more.message)], button('Read it again', () => this.begin())));
		for (const u of r.unknown || []) now(`unknown ${u.id}`, () => this.unknownCard(u));
		if (r.damage) now('damage', () => this.card('The record is damaged', [h('p', r.damage), h('code', 'agent doctor')]));
		if (this.ask && (r.status === 'waiting' || this.ask.request?.status !== 'open' && !terminal(r.status) && !this.held)) list.push(this.ask.el);
		else if (r.status !== 'waiting') this.ask = null;
		list.push(...this.below);
		if (r.status === 'interrupted') now(`interrupted ${r.cause} ${r.fruitless} ${r.detail}`, () => this.interruptedCard(r));
		if (this.diff) list.push(this.diff.el);
		if (this.undoing) list.push(this.undoing.el);
		if (this.problem) now(`problem ${this.problem.message}`, () => this.problemCard());
		sync(this.state, list);
		if (this.wanted && this.asked) this.toQuestion();
		for (const key of Object.keys(this.cards)) if (!list.includes(this.cards[key])) delete this.cards[key];
	}

	unknownCard(u) {
		const el = this.card('Did this happen?', [
			h('p', 'The process that ran it died, and no record says whether it took place. Nothing executes it again without your decision.'),
			pre('shown', 'The call', `${u.tool}${u.summary ? `: ${u.summary}` : ''}`)],
		button('It happened', () => this.act(`/v1/calls/${u.id}/resolution`, { word: 'happened' })), button('Leave it unknown', () => this.act(`/v1/calls/${u.id}/resolution`, { word: 'leave' })));
		new Guard(el);
		return el;
	}

	interruptedCard(r) {
		const resume = button('Resume', () => this.act('resume', {}), { class: 'primary' });
		const alone = leftAlone(r);
		return this.card(alone ? 'Left alone' : 'Interrupted', [
			h('p', alone ? `${count(r.fruitless, 'resume')} in a row made no progress, so nothing resumes it but you.` : causeText(r.cause)),
			r.detail && h('p.quiet', r.detail), this.planned],
		resume, button('Show what a resume would do', () => this.plan()));
	}

	async plan() {
		const at = this.planned;
		fill(at, h('p.quiet', 'Asking…'));
		try {
			const p = await get(`${this.path}/plan`);
			fill(at, h('ul', (p.artifacts || []).filter((a) => a.state !== 'intact').map((a) => h('li', h('code', a.path), ` is ${a.state}: ${a.verdict}`, a.reason && ` (${a.reason})`)),
				(p.redone || []).map((d) => h('li', `${d.phase} is done again: ${d.reason}`)), p.steps.map((s) => h('li', h('code', `${s.tool}: ${s.summary}`), ' ', verdictText(s.verdict, s.reason)))),
				p.replayed > 0 && h('p.quiet', `${count(p.replayed, 'call')} before that: replayed, not executed`), h('p', `Then: ${p.then}`), p.notes.map((n) => h('p.quiet', n)));
		} catch (e) {
			fill(at, h('p.note.warn', e.message));
		}
	}

	problemCard() {
		const p = this.problem;
		const held = p.code === 'held' && button('Take it over', () => this.act('resume', { takeover: true }));
		return this.card(p.code === 'held' ? 'Another process drives it' : 'That was not done', [h('p', { role: 'alert' }, p.message), p.next.map((n) => h('p', h('code', n)))],
			...[held, button('Dismiss', () => { this.problem = null; this.draw(); })].filter(Boolean));
	}

	async act(what, body) {
		if (this.acting || this.how === 'offline') return;
		this.acting = true;
		this.problem = null;
		this.sure = false;
		try {
			const data = await post(what.startsWith('/') ? what : `${this.path}/${what}`, body);
			if (data?.run?.status) this.take({ ...this.snapshot, ...data });
		} catch (e) {
			this.problem = e;
			say(e.message);
		} finally {
			this.acting = false;
		}
		this.refresh();
		this.draw();
	}

	// hears says whether a model reads what a person says to this run.
	hears(r) {
		return r.model !== 'runbook' && !this.snapshot.phases && r.cause !== 'moved';
	}

	footer() {
		const r = this.run, done = terminal(r.status);
		if (!done) return sync(this.foot, this.hears(r) ? [this.telling ??= tellForm(r.id)] : []);
		if (this.foot.querySelector('.done')) return undefined;
		const words = { completed: 'Completed', failed: 'Failed', cancelled: 'Cancelled' }[r.status];
		return fill(this.foot, h('p.done', { 'data-status': r.status }, h('strong', words), ` ${clock(r.ended_at || r.updated_at)}`),
			!r.root_run_id && promptForm({ thread: r.thread_id, folder: r.folder, label: 'Next prompt for this thread', open: this.open }));
	}
}
