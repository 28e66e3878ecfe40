// The page: what the address asks for, the keys, and how the server is reached.
import { login, logout, onSession, signedIn } from './api.js';
import { newRun } from './form.js';
import { List } from './list.js';
import { button, fill, h, say } from './node.js';
import { RunView } from './run.js';
import { Shared, askNotify, notifying } from './shared.js';
import { terminal } from './words.js';

const $ = (id) => document.getElementById(id);
const loginFailed = login().then(() => null, (e) => e);

const themes = ['auto', 'light', 'dark'];
let theme = localStorage.getItem('agent.theme') || 'auto';
function paint() {
	document.documentElement.dataset.theme = theme;
	$('theme').textContent = { auto: '◐', light: '○', dark: '●' }[theme];
	$('theme').ariaLabel = $('theme').title = `Colours: ${theme}`;
}
paint();
$('theme').onclick = () => {
	theme = themes[(themes.indexOf(theme) + 1) % themes.length];
	localStorage.setItem('agent.theme', theme);
	paint();
	say(`Colours: ${theme}`);
};

let view = null, shared = null;
const open = (id) => { location.hash = id ? `#${id}` : ''; };
const list = new List(open);
$('list').append(list.el);
$('new').onclick = () => open('new');

// route shows what the address asks for.
function route() {
	const id = location.hash.slice(1);
	if (id.startsWith('login=')) location.reload(); // a new link, opened in this tab
	view?.close?.();
	view = null;
	list.select(id);
	const run = /^r-[0-9a-z]+$/.test(id);
	document.body.dataset.view = run ? 'run' : id === 'new' ? 'new' : 'list';
	if (!signedIn()) return;
	if (run) view = new RunView(id, open, (root) => list.select(root));
	const el = view?.el || (id === 'new' ? newRun(open) : welcome());
	$('main').replaceChildren(el);
	if (id === 'new') el.querySelector('textarea').focus();
}

const welcome = () => h('section.run.welcome', { 'aria-label': 'Nothing is chosen' },
	h('div.none', h('p.empty-title', 'No runs yet'), h('p.quiet', 'Start the first one here, or in a terminal:'), h('pre', h('code', 'agent run --detach "say hello"')), h('p', button('Start a run', () => open('new'), { class: 'primary' }))),
	h('div.some', h('p.empty-title', 'Choose a run, or start one'),
	h('p.quiet', 'Runs go on by themselves; this page only watches. Close it whenever you like.'), h('p.quiet', 'Press ', h('kbd', '?'), ' for the keys.')));

function banner(...text) {
	fill($('banner'), text);
	$('banner').hidden = text.length === 0;
}

// connection says in words how the server is reached.
let retryAt = 0, outdated = false;
function connection(how, { at, why }) {
	document.body.dataset.how = how;
	const words = { live: 'connected', connecting: 'connecting…', over: 'session over', refused: 'no list' }[how] || how;
	if ($('how').textContent !== words && how !== 'connecting') say(`The page is ${words}.`);
	$('how').textContent = words;
	retryAt = at;
	if (how === 'offline') {
		banner(outdated ? ['A newer agent has brought the database up to date, and the server of before has ended. Start it again: ', h('code', 'agent serve --web'), '. '] :
			'The server does not answer. Runs go on without it; what is shown may be old. ', h('span', { id: 'retry' }), ' ', button('Try now', () => shared.retry(), { class: 'link' }));
		tick();
	} else if (how === 'refused') banner(`The list cannot be followed: ${why}`);
	else if (how !== 'connecting') banner();
}

// server hears how the server stands. Where nothing can be recorded, what is shown is right, and
// nothing can be done here.
function server(state) {
	outdated = state.outdated;
	if (state.read_only) banner('Nothing can be recorded: the disk is full, or the state folder cannot be written. Make room, then see ', h('code', 'agent doctor'), '.');
}

function tick() {
	const at = $('retry');
	if (at) at.textContent = `Trying again in ${Math.max(0, Math.ceil((retryAt - Date.now()) / 1000))} s.`;
}
setInterval(tick, 500);

// The session: without one there is only the way to a new one.
function session(there) {
	document.body.dataset.session = there ? 'on' : 'off';
	if (!there) {
		banner(); // the server has answered
		view?.close?.();
		view = null;
		$('main').replaceChildren(signIn());
		return;
	}
	shared ??= new Shared({ state: connection, reload: () => list.load(), changed: (runs) => list.upsert(runs), server });
	list.load();
	route();
}

function signIn(failed) {
	const used = failed?.status === 401;
	return h('section.run.welcome', { 'aria-label': 'Session' }, h('div', h('p.empty-title', used ? 'This link was used, or is too old' : failed ? 'The server does not answer' : 'No session'),
		h('p', 'A session ends with the server it was made by, and after twelve hours without use. A new link comes from a terminal:'), h('pre', h('code', 'agent web')),
		h('p.quiet', 'Open it in this browser. Tabs like this one go on by themselves then. Runs are not touched by any of this.')));
}

$('notify').onclick = async () => {
	const words = await askNotify();
	$('notify').ariaPressed = String(notifying());
	toast(words);
};
$('notify').ariaPressed = String(notifying());
$('out').onclick = () => logout();
$('keys').onclick = () => $('help').showModal();
$('close').onclick = () => $('help').close();

let gone = 0;
function toast(words) {
	clearTimeout(gone);
	fill($('toast'), words);
	$('toast').hidden = false;
	say(words);
	gone = setTimeout(() => { $('toast').hidden = true; }, 6000);
}

const acts = {
	j: () => list.step(1), k: () => list.step(-1), '/': () => list.search.focus(), n: () => open('new'), '?': () => $('help').showModal(),
	g: () => view?.turns ? view.turns.end() : list.focus(0), a: () => view && !terminal(view.run?.status) ? view.toQuestion() : list.question(), '.': () => view?.el.querySelector('.actions button')?.focus(),
};
addEventListener('keydown', (e) => {
	const typing = e.target.matches('input, textarea, select');
	if (e.key === 'Escape' && !$('help').open) {
		if (typing) e.target.blur();
		else if (location.hash) open('');
		return;
	}
	if (typing || e.ctrlKey || e.metaKey || e.altKey || $('help').open || !acts[e.key] || !signedIn()) return;
	e.preventDefault();
	acts[e.key]();
});
addEventListener('hashchange', route);
onSession(session);

const failed = await loginFailed;
session(signedIn());
if (failed && !signedIn()) $('main').replaceChildren(signIn(failed));
