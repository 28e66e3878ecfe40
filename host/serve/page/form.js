// What a person asks for: the first prompt of a thread, or the next one. What is typed is kept until
// the run is there, over every refusal and every reload.
import { get, post } from './api.js';
import { button, fill, h, say } from './node.js';

const place = (thread) => `agent.draft.${thread || 'new'}`;

// newKey names a start, so that it comes once. A key is kept in the clear, so it looks like no secret.
const newKey = () => `page ${new Date().toISOString()} ${Math.floor(Math.random() * 1e6)}`;

function draftOf(thread) {
	try {
		return JSON.parse(localStorage.getItem(place(thread))) || {};
	} catch {
		return {};
	}
}

// promptForm is the form; open goes to the run that comes of it.
export function promptForm({ thread, folder, label, open, options }) {
	const draft = { folder, ...draftOf(thread) };
	const said = h('div', { role: 'alert' });
	const area = h('textarea', { rows: thread ? 2 : 6, 'aria-label': label, placeholder: label, 'data-key': 'prompt', spellcheck: true, value: draft.prompt || '' });
	const send = button(thread ? 'Send' : 'Start the run', () => submit(), { class: 'primary' });
	const keep = (change) => {
		Object.assign(draft, change, { key: newKey() }); // another request is another key
		localStorage.setItem(place(thread), JSON.stringify(draft));
	};
	area.addEventListener('input', () => keep({ prompt: area.value }));
	async function submit() {
		if (!area.value.trim()) area.focus();
		if (!area.value.trim() || send.disabled) return;
		send.disabled = true;
		fill(said, h('p.quiet', 'Starting…'));
		draft.key ||= newKey();
		try {
			const run = await post('/v1/runs', body(draft, area.value, thread), { 'Idempotency-Key': draft.key });
			localStorage.removeItem(place(thread));
			area.value = '';
			fill(said);
			say(`Run ${run.run_id} is started.`);
			open(run.run_id);
		} catch (e) {
			fill(said, h('p.note.warn', e.message, ' Your text is kept.'), e.run && button(`Open run ${e.run}`, () => open(e.run), { class: 'link' }), e.next.map((n) => h('p', h('code', n))));
			say(e.message);
		} finally {
			send.disabled = false;
		}
	}
	return sendForm(submit, send, area, options?.(draft, keep), said);
}

// sendForm is a form that its button and Ctrl+Enter send.
export const sendForm = (submit, send, ...parts) => h('form.prompt-form', {
	onsubmit: (e) => { e.preventDefault(); submit(); },
	onkeydown: (e) => { if (e.key === 'Enter' && (e.ctrlKey || e.metaKey)) { e.preventDefault(); submit(); } },
}, parts, h('div.choices', send, h('span.quiet', 'Ctrl+Enter')));

// body is the request; what is undefined is not in it.
const body = ({ folder, model, mode, turns }, prompt, thread) =>
	({ prompt, folder, thread, model: model || undefined, mode: mode || undefined, max_turns: turns ? Number(turns) : undefined, ask_plan: true });

const modes = [['', 'as configured'], ['plan', 'plan: it only reads'], ['ask', 'ask: it reads; everything else needs your yes'], ['auto', 'auto: it writes in the folder; the rest needs your yes'], ['yolo', 'yolo: nothing needs a yes']];

// newRun is the page of a new run.
export function newRun(open) {
	const folders = h('datalist', { id: 'folders' }), models = h('select', { id: 'model', 'data-key': 'model' }), why = h('p.quiet');
	const options = (draft, keep) => {
		const input = h('input', { id: 'folder', type: 'text', list: 'folders', value: draft.folder || '', placeholder: '/home/you/project', autocomplete: 'off', 'data-key': 'folder', oninput: () => keep({ folder: input.value }), onchange: () => load(draft) });
		models.addEventListener('change', () => keep({ model: models.value }));
		const mode = h('select', { id: 'mode', 'data-key': 'mode', onchange: () => keep({ mode: mode.value }) }, modes.map(([value, words]) => h('option', { value, selected: value === (draft.mode || '') }, words)));
		const turns = h('input', { id: 'turns', type: 'number', min: 1, value: draft.turns || '', placeholder: 'as configured', oninput: () => keep({ turns: turns.value }) });
		get('/v1/folders').then(({ folders: list }) => {
			const names = list.map((f) => f.folder ?? f);
			fill(folders, names.map((f) => h('option', { value: f })));
			if (!input.value && names[0]) keep({ folder: input.value = names[0] });
		}).catch(() => {}).finally(() => load(draft));
		return h('div.options', field('folder', 'Folder', input, folders), field('model', 'Model', models, why), field('mode', 'What needs a yes', mode), field('turns', 'Turns at most', turns));
	};
	const load = async (draft) => {
		try {
			const m = await get(`/v1/models${draft.folder ? `?folder=${encodeURIComponent(draft.folder)}` : ''}`);
			const list = m.models.filter((x) => x.usable);
			fill(models, h('option', { value: '' }, m.would_use.model ? `as configured (${m.would_use.model})` : 'as configured'), list.map((x) => h('option', { value: x.name, selected: x.name === draft.model }, x.name)));
			fill(why, m.would_use.error || (m.would_use.why && `chosen because: ${m.would_use.why}`));
		} catch (e) {
			fill(models, h('option', { value: '' }, 'as configured'));
			fill(why, e.status !== 404 && e.message);
		}
	};
	return h('section.run.new', { 'aria-label': 'New run' }, h('div.scroller', h('div.column',
		h('div.run-top', button('Runs', () => open(''), { class: 'back', 'aria-label': 'Back to the list of runs' }), h('h2', 'New run')),
		h('p.quiet', 'It goes on in the background, whatever becomes of this page.'),
		promptForm({ label: 'What is to be done?', open, options }))));
}

const field = (id, label, ...what) => h('div.field', h('label', { for: id }, label), what);
