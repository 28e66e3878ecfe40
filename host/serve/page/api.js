// Requests to the server. The session is worth something at this address alone: it is no cookie, and
// ends with the server's process.

const place = 'agent.session';

export class Problem extends Error {
	constructor(status, said = {}) {
		super(said.detail || `the server answered ${status}`);
		this.status = status;
		this.code = said.code || (status === 0 ? 'offline' : String(status));
		this.next = said.next || [];
		this.run = said.run_id;
		this.request = said.pending_request;
		this.said = said;
	}
}

const offline = () => new Problem(0, { detail: 'The server does not answer. What you typed is kept; try again when it is back.' });

// watchers hear that the session is over or there is a new one, and whether the server answers.
const watchers = new Set();
export const onSession = (f) => watchers.add(f);
const tell = () => { for (const f of watchers) f(signedIn()); };
addEventListener('storage', (e) => { if (e.key === place) tell(); });

export const signedIn = () => localStorage.getItem(place) !== null;

export function over(used) {
	if (used !== undefined && used !== localStorage.getItem(place)) return; // there is a newer one already
	localStorage.removeItem(place);
	tell();
}

// login takes the code out of the address before anything else happens, and exchanges it.
export async function login() {
	const code = /^#login=([\w-]+)$/.exec(location.hash)?.[1];
	if (!code) return;
	history.replaceState(null, '', location.pathname);
	const { data } = await call('POST', '/v1/login', { code });
	localStorage.setItem(place, data.session);
	tell();
}

export async function logout() {
	await call('POST', '/v1/logout', {}).catch(() => {});
	over();
}

// open sends a request and leaves its body to the caller.
export async function open(method, path, { body, headers = {}, signal } = {}) {
	const used = localStorage.getItem(place);
	const all = { ...headers };
	if (used && path !== '/v1/login') all.Authorization = `Bearer ${used}`;
	if (body !== undefined) all['Content-Type'] = 'application/json';
	let answer;
	try {
		answer = await fetch(path, { method, headers: all, body: body && JSON.stringify(body), signal, cache: 'no-store', credentials: 'omit', redirect: 'error' });
	} catch (e) {
		if (signal?.aborted) throw e;
		throw offline();
	}
	if (answer.ok) return answer;
	if (answer.status === 401 && path !== '/v1/login') over(used);
	let said = {};
	try {
		said = await answer.json();
	} catch { /* its status says enough */ }
	throw new Problem(answer.status, said);
}

export async function call(method, path, body, headers, signal) {
	const answer = await open(method, path, { body, headers, signal });
	try {
		return { status: answer.status, data: answer.status === 204 ? null : await answer.json() };
	} catch (e) {
		if (signal?.aborted) throw e;
		throw offline();
	}
}

export const get = async (path, signal) => (await call('GET', path, undefined, {}, signal)).data;
export const post = (path, body, headers) => call('POST', path, body, headers);
