// Requests to the server. The session is worth something at this address alone: it is no cookie, and
// ends with the server's process.

const place = 'agent.session';

export class Problem extends Error {
	constructor(status, { detail = `the server answered ${status}`, code, next = [], run_id: run, pending_request: request, plan } = {}) {
		super(detail);
		Object.assign(this, { status, code, next, run, request, plan });
	}
}

// reached waits for what needs the server; what was aborted is none of its faults.
const reached = (what, signal) => what.catch((e) => {
	throw signal?.aborted ? e : new Problem(0, { code: 'offline', detail: 'The server does not answer. What you typed is kept; try again when it is back.' });
});

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
	localStorage.setItem(place, (await post('/v1/login', { code })).session);
	tell();
}

export async function logout() {
	await post('/v1/logout', {}).catch(() => {});
	over();
}

// open sends a request and leaves its body to the caller.
export async function open(method, path, { body, headers = {}, signal } = {}) {
	const used = localStorage.getItem(place);
	const all = { ...headers };
	if (used && path !== '/v1/login') all.Authorization = `Bearer ${used}`;
	if (body !== undefined) all['Content-Type'] = 'application/json';
	const answer = await reached(fetch(path, { method, headers: all, body: body && JSON.stringify(body), signal, cache: 'no-store', credentials: 'omit', redirect: 'error' }), signal);
	if (answer.ok) return answer;
	if (answer.status === 401 && path !== '/v1/login') over(used);
	throw new Problem(answer.status, await answer.json().catch(() => undefined)); // its status says enough
}

async function call(method, path, body, headers) {
	const answer = await open(method, path, { body, headers });
	return answer.status === 204 ? null : reached(answer.json());
}

export const get = (path) => call('GET', path);
export const post = (path, body, headers) => call('POST', path, body, headers);
