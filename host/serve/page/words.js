// What the page says in words, as the terminal says it.

export const terminal = (status) => ['completed', 'failed', 'cancelled'].includes(status);

export const count = (n, one, many = `${one}s`) => `${n.toLocaleString('en')} ${n === 1 ? one : many}`;

export function took(ms) {
	if (ms < 1000) return `${Math.round(ms)} ms`;
	const s = ms / 1000;
	if (s < 10) return `${s.toFixed(1)} s`;
	if (s < 60) return `${Math.round(s)} s`;
	const m = Math.floor(s / 60);
	if (m < 60) return `${m} min ${Math.round(s) % 60} s`;
	return `${Math.floor(m / 60)} h ${m % 60} min`;
}

export function ago(time) {
	const s = Math.max(0, (Date.now() - new Date(time)) / 1000);
	if (s < 5) return 'now';
	if (s < 60) return `${Math.floor(s)} s`;
	if (s < 3600) return `${Math.floor(s / 60)} min`;
	if (s < 86400) return `${Math.floor(s / 3600)} h`;
	if (s < 86400 * 30) return `${Math.floor(s / 86400)} d`;
	return new Date(time).toISOString().slice(0, 10);
}

export const since = (time) => ago(time) === 'now' ? 'just now' : /^\d{4}-/.test(ago(time)) ? `on ${ago(time)}` : `${ago(time)} ago`;

export const clock = (time) => new Date(time).toLocaleString('en', { dateStyle: 'medium', timeStyle: 'short', hour12: false });

export const bytes = (n) => n < 1024 ? `${n} B` : n < 1 << 20 ? `${(n / 1024).toFixed(1)} KB` : `${(n / (1 << 20)).toFixed(1)} MB`;

export const dollars = (n) => `$${Number(n).toFixed(Number(n) < 0.1 ? 4 : 2)}`;

export const brief = (text, most = 120) => {
	const line = String(text).trim().replace(/\s+/g, ' ');
	return line.length > most ? `${line.slice(0, most - 1)}…` : line;
};

// leaf shortens a folder to its last two names.
export const leaf = (folder) => {
	const names = folder.split('/').filter(Boolean);
	return names.length > 2 ? `…/${names.slice(-2).join('/')}` : folder;
};

export const prompt = (text) => brief(String(text).replace(/^#+\s*/, '')) || '(an empty prompt)';

// Why nobody drives a run, in a sentence.
const causes = {
	crash: 'The process that drove it died.', reboot: 'The machine was started again.',
	shutdown: 'The process that drove it was asked to stop.', answered: 'Its question is answered; nobody drives it.',
	expired: 'Its question expired while nobody drove it.', withdrawn: 'Its question was withdrawn while nobody drove it.',
	model: 'The model could not be used.', takeover: 'Another process took it over.',
	corrupt: 'Its record is damaged.', restored: 'Its database went back in time.',
	moved: 'It went to another store.',
	store: 'The state folder could not be written.',
};
export const causeText = (cause) => causes[cause] || 'Nobody drives it.';

export const leftAlone = (run) => run.status === 'interrupted' && run.fruitless >= 3;

export function statusText(run) {
	if (run.status === 'waiting') return run.pending_request?.kind === 'permission' ? 'waiting for a yes' : 'waiting for you';
	if (leftAlone(run)) return 'left alone';
	if (run.status === 'interrupted' && run.cause) return `interrupted (${run.cause})`;
	return run.status;
}

export function placeText(run) {
	const p = run.place;
	if (!terminal(run.status) && run.num_children > 0) return `${run.num_children_ended || 0} of ${count(run.num_children, 'run')} below done`;
	if (!terminal(run.status) && p) return `${p.tool}, turn ${p.turn}`;
	if (run.status === 'running') return `turn ${run.num_turns + 1}${run.max_turns ? ` of ${run.max_turns}` : ''}`;
	if (run.num_turns === 0) return terminal(run.status) ? '' : 'before turn 1';
	if (terminal(run.status)) return [count(run.num_turns, 'turn'), run.num_calls && count(run.num_calls, 'call')].filter(Boolean).join(', ');
	return `turn ${run.num_turns}${run.max_turns ? ` of ${run.max_turns}` : ''}`;
}

// What recovery decided, as agent show has it.
export function verdictText(verdict, reason) {
	const known = {
		replay: 'replayed, not executed', wait: 'waits for an answer', run: 'run', again: 'run again',
		attach: 'picked up, still running', adopt: 'adopted, not executed', skip: 'not executed',
	};
	let words = known[verdict] || verdict;
	if (verdict === 'skip' && reason?.startsWith('outcome unknown: ')) {
		words = 'outcome unknown, not executed again';
		reason = reason.slice('outcome unknown: '.length);
	}
	return reason ? `${words} (${reason})` : words;
}

export function resultText(r) {
	let words = { unknown: 'outcome unknown', skipped: 'not executed', denied: 'refused, not executed', error: 'failed' }[r.outcome] || r.outcome;
	const d = r.data;
	if (r.outcome === 'error' && d?.cause === 'exited') words = `exit status ${d.status}`;
	if (r.outcome === 'error' && d?.cause === 'signalled') words = `killed by ${d.signal}`;
	if (r.outcome === 'error' && d?.cause === 'timeout') words = 'stopped at its time limit';
	if (r.how === 'attached') words += ', picked up';
	if (r.how === 'adopted') words += ', adopted from its own record';
	if (r.how === 'verified') words += ', adopted: its effect is there';
	return r.took ? `${words}, ${took(r.took / 1e6)}` : words;
}

// callText is what a call is about, in a few words.
export function callText(tool, args) {
	if (!args || typeof args !== 'object') return '';
	if (tool === 'search' || tool === 'find_files') return brief([args.pattern, args.path && args.path !== '.' && `in ${args.path}`, args.glob && `(${args.glob})`].filter(Boolean).join(' '));
	for (const key of ['command', 'path', 'pattern', 'question', 'call', 'url']) {
		if (typeof args[key] === 'string') return brief(args[key]);
	}
	if (typeof args.patch === 'string') return brief([...args.patch.matchAll(/^(?:\+\+\+ (?:b\/)?|\*\*\* (?:Update|Add|Delete) File: )(\S+)/gm)].map((m) => m[1]).join(', ') || 'a patch');
	return Object.keys(args).length ? brief(JSON.stringify(args)) : '';
}

// answerText reads an answer as a person would say it.
export const answerText = (a) => a === true ? 'yes' : a === false ? 'no' : typeof a === 'string' ? a : JSON.stringify(a);

export const faultText = (f) => ({
	rate_limit: 'rate limit', server: 'server error', network: 'no connection', cut: 'answer broke off', garbage: 'answer not understood',
	too_large: 'answer too large', context: 'request too long', filtered: 'refused by the content filter', key: 'key not accepted',
	no_key: 'no key', credit: 'no credit', no_model: 'no such model', request: 'request refused',
})[f] || f;
